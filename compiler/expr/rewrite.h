// Rebuilding expressions bottom up. Expressions are graphs with shared nodes: each node is visited once.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/expr/expr.h"

namespace tvmvm::tensor {

// The same operation on other operands, simplified again. Operands may have other lanes than before (all one
// number, or scalar); dtypes stay. Not for leaves and kReduce extents, which are kept.
Expr WithOperands(const Expr& a, std::vector<Expr> operands);

// Rewrites a graph bottom up and remembers what became of each node for as long as it lives.
class Rewriter {
 public:
  // Given a node whose operands are rewritten already, gives what replaces it (or the node itself).
  using Rule = std::function<Expr(const Expr&)>;
  explicit Rewriter(Rule rule) : rule_(std::move(rule)) {}
  Expr operator()(const Expr& a);

 private:
  Rule rule_;
  std::unordered_map<const ExprNode*, Expr> done_;
  std::vector<Expr> keep_alive_;  // keys of `done_` must not be freed and reused
};

// Calls `visit` once for every distinct node, operands (and extents of reductions) first.
void VisitOnce(const Expr& a, const std::function<void(const Expr&)>& visit);

// Names for printing; by default "v3", "b2" and the dim's own text.
struct ExprNames {
  std::function<std::string(VariableId)> variable;
  std::function<std::string(uint32_t)> buffer;
  std::function<std::string(const ir::Dim&)> dim;
};
std::string ToString(const Expr& a, const ExprNames& names);

}  // namespace tvmvm::tensor
