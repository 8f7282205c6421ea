// Dims as polynomials over atoms, the form in which they are simplified. Private to compiler/dim.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/dim/dim.h"

namespace tvmvm::ir {

struct Dim::Node {
  DimOp op = DimOp::kConstant;
  int64_t value = 0;
  SymbolId symbol;   // kSymbol
  std::string name;  // kNamed
  std::vector<Dim> operands;
  DimRange range = {};                 // kNamed
  std::vector<SymbolId> symbols = {};  // kNamed: those of the definition
  size_t hash = 0;
  size_t size = 1;
  int depth = 0;
};

struct DimFactory {
  static Dim Wrap(Dim::Node node) {
    size_t hash = static_cast<size_t>(node.op) * 0x9e3779b97f4a7c15u;
    auto mix = [&hash](size_t part) { hash = (hash ^ part) * 0xff51afd7ed558ccdu + (hash >> 29); };
    mix(static_cast<size_t>(node.value));
    if (!node.symbol.is_none()) mix(node.symbol.Hash());
    if (!node.name.empty()) mix(std::hash<std::string>{}(node.name));
    for (const Dim& operand : node.operands) {
      mix(operand.Hash());
      if (__builtin_add_overflow(node.size, operand.size(), &node.size)) node.size = SIZE_MAX;
      node.depth = std::max(node.depth, operand.depth());
    }
    if (node.op == DimOp::kNamed) {
      node.size = 1;
      ++node.depth;
    }
    node.hash = hash;
    return Dim(std::make_shared<const Dim::Node>(std::move(node)));
  }
  static Dim Make(DimOp op, std::vector<Dim> operands) {
    return Wrap({.op = op, .operands = std::move(operands)});
  }
  static Dim Constant(int64_t value) { return Wrap({.op = DimOp::kConstant, .value = value}); }
  static std::shared_ptr<const Dim::Node> SmallConstant(int64_t value);
  // Of a kNamed.
  static const std::vector<SymbolId>& SymbolsOf(const Dim& named) { return named.node_->symbols; }
};

// Integers that wrap.
inline int64_t WrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t WrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// By anything but 0.
inline int64_t FloorDivide(int64_t a, int64_t b) { return tvmvm::Apply(DimOp::kFloorDiv, a, b).value_or(a); }
inline int64_t FloorRemainder(int64_t a, int64_t b) {
  return tvmvm::Apply(DimOp::kFloorMod, a, b).value_or(0);
}

// A total order that does not depend on addresses, so that canonical forms and texts are reproducible.
int Compare(const Dim& a, const Dim& b);

// coefficient * factors[0] * factors[1] ..., factors sorted, none of them a constant.
struct Term {
  std::vector<Dim> factors;
  int64_t coefficient = 0;
};
// Sorted by factors (the constant term, having none, is last); no coefficient is 0.
using Polynomial = std::vector<Term>;

Term TermOf(const Dim& dim);
Polynomial PolynomialOf(const Dim& dim);
Dim DimOf(const Term& term);
Dim DimOf(const Polynomial& terms);

// a + scale * b
Polynomial AddScaled(const Polynomial& a, const Polynomial& b, int64_t scale);
Term Multiply(const Term& a, const Term& b);
Polynomial Multiply(const Polynomial& a, const Polynomial& b);

struct Division {
  Polynomial quotient, remainder;  // a == quotient * b + remainder
};
Division Divide(const Polynomial& a, const Polynomial& b);

// Greatest common divisor of the coefficients of all terms that have factors, and of `with`.
int64_t CoefficientGcd(const Polynomial& terms, int64_t with);
// floor(a / divisor) and a mod divisor, divisor > 1
Dim FloorDivByConstant(const Dim& a, int64_t divisor);
Dim FloorModByConstant(const Dim& a, int64_t divisor);

}  // namespace tvmvm::ir
