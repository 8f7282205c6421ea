// Expander: elements of a group's values as expressions over loop variables, producers inlined.
//
// One expander serves one kernel: it remembers each (value, index) that it expanded, so that a value used
// many times is one shared node of the result. Results are therefore graphs: walk them with a memo by node,
// as Sharing does.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// Numbers expressions so that equal structure means equal number. Linear in the size of the graph.
class ExprNumbering {
 public:
  uint32_t Number(const Expr& a);

 private:
  struct Key {
    ExprOp op;
    DType dtype;
    int lanes;
    uint32_t id;
    int64_t integer;
    uint64_t number;
    bool saturate;
    uint32_t dim;
    const Reduction* reduction;
    std::vector<uint32_t> operands;
    auto operator<=>(const Key&) const = default;
  };
  std::unordered_map<const ExprNode*, uint32_t> by_node_;
  std::vector<Expr> kept_;  // keeps the nodes of by_node_ alive
  std::map<Key, uint32_t> by_key_;
  std::unordered_map<ir::Dim, uint32_t> dims_;
};

class Expander {
 public:
  Expander(const GroupView& group, GroupView::Leaf leaf, LoopKernel* kernel)
      : group_(group), leaf_(std::move(leaf)), kernel_(kernel) {}

  // The element; where a value has no element (an operator that is no pull, an input that `leaf` does not
  // know), zero, and `missing` names the value from then on.
  Expr Expand(ir::ValueId value, std::span<const Expr> index);
  ir::ValueId missing() const { return missing_; }
  LoopKernel* kernel() { return kernel_; }
  const GroupView& group() const { return group_; }

 private:
  Expr ExpandNew(ir::ValueId value, std::span<const Expr> index);

  const GroupView& group_;
  GroupView::Leaf leaf_;
  LoopKernel* kernel_;
  ir::ValueId missing_;
  ExprNumbering numbering_;
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, Expr> done_;
};

}  // namespace tvmvm::tensor
