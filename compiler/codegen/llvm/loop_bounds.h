// How long loops go on at most, as far as the statements before them tell: a tile ends with its row, what
// whole steps leave of a range is shorter than a step, rows are cut into parts of equal length, and a tile
// has only so many rows that it has no more than some thousand elements, however long they are.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/loops/loop_ir.h"

namespace tvmvm::codegen {

// What a number is at most: each of these holds.
struct Bound {
  using Term = std::pair<ir::Dim, double>;
  struct Share {
    ir::Dim dim;
    double whole, least;
  };

  double most = 0;            // this, which may be infinite
  std::vector<Term> by;       // `second` times the larger of `first` and 1
  std::vector<Share> shares;  // `whole` divided by the larger of `dim` and 1, or `least` if that is larger

  static Bound Unknown();
};

Bound Sum(const Bound& a, const Bound& b);
Bound Larger(const Bound& a, const Bound& b);
Bound Product(const Bound& length, const Bound& each);  // whose `shares` are not looked at
Bound Scaled(const Bound& a, double factor);

// Goes with whoever visits statements in their order, and tells it of each kLet and of what conditions and
// loops around say.
class LoopBounds {
 public:
  void Define(tensor::VariableId variable, const tensor::Expr& value) { lets_[variable] = value; }
  // Until it is forgotten, `variable` is at most `limit`.
  void Limit(tensor::VariableId variable, const tensor::Expr& limit) { limits_[variable] = limit; }
  void Forget(tensor::VariableId variable) { limits_.erase(variable); }
  // Iterations; loops begin at 0 or above it, or a window's width below.
  Bound IterationsOf(const tensor::Stmt& loop);

 private:
  using Expr = tensor::Expr;

  Bound Between(const Expr& begin, const Expr& end);
  Bound ToEnd(const Expr& begin, const Expr& end);
  Bound FromBegin(const Expr& begin, const Expr& end);
  Bound Of(const Expr& e);
  Bound Part(const Expr& begin, const Expr& end);
  bool IsWhole(const tensor::Stmt& loop) const;
  bool IsRest(const Expr& begin, const Expr& end, double* most) const;
  const Expr& Resolved(const Expr& e) const;

  using Identity = std::pair<const void*, uint32_t>;  // of an expression

  std::unordered_map<tensor::VariableId, Expr> lets_, limits_;
  // Of the current question: what was found between two, and how many may still be looked at.
  std::map<std::pair<Identity, Identity>, Bound> known_;
  int steps_left_ = 0;
};

}  // namespace tvmvm::codegen
