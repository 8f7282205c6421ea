// What the kernels of scan share: how the work is divided, which depends on the node and its types alone.
#pragma once

#include "compiler/graph/core/procedural/loop_access.h"

namespace tvmvm::ir {

// The axis, which may be known only at run time.
Dim ScanAxis(const Node& node);

struct ScanPlan {
  ScanPlan(const Node& node, const Type& type);
  // The same for a GPU, where work-groups take what lies along the axis, unless there are rows enough side by
  // side, or rows are short: those are taken by a work-item each.
  void ChooseGroups(const Type& type);

  bool may_cut() const { return !is_cut.IsConstant(0); }
  AxisSplit split;
  Dim is_across, is_whole, is_cut;       // which of the CPU's kernels run
  Dim by_groups = 0, is_cut_groups = 0;  // a row at a group; blocks of a row
  Dim block = 1, blocks = 1;             // steps of one, their number
};

// The numbers of a scan along its axis, as elements of input and output.
class ScanAccess {
 public:
  explicit ScanAccess(LoopContext& context, const AxisSplit& split);

  std::vector<tensor::Expr> At(const tensor::Expr& outer, const tensor::Expr& step,
                               const tensor::Expr& column) const;
  tensor::Expr Identity() const;
  // What inclusive sums begin with: -0, which changes no element.
  tensor::Expr Start() const;
  // What changes nothing where it is combined.
  tensor::Expr Neutral() const;

  tensor::ExprOp combine;
  bool is_exclusive, is_reverse;

 private:
  const Type& type_;
  tensor::Expr size_, inner_;
};

// Work-groups on a GPU (scan_groups.cc): rows; what the blocks of a row come to, in workspace `totals`
// [row][block]; the blocks.
tensor::StmtPtr ScanRowByGroup(LoopContext& context, const ScanPlan& plan);
tensor::StmtPtr ScanTotalsByGroup(LoopContext& context, const ScanPlan& plan, int totals);
tensor::StmtPtr ScanBlocksByGroup(LoopContext& context, const ScanPlan& plan, int totals);

}  // namespace tvmvm::ir
