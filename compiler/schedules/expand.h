// Expander: elements of a group's values as expressions over loop variables, producers inlined.
//
// One expander serves one kernel: it remembers each (value, index) that it expanded, so that a value used
// many times is one shared node of the result. Results are therefore graphs: walk them with a memo by node,
// as Sharing does.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "compiler/expr/expr_numbering.h"
#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

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
