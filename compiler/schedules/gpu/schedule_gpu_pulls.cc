#include <fmt/format.h>

#include <algorithm>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/lower_reductions.h"
#include "compiler/schedules/collapse_axes.h"
#include "compiler/schedules/expand.h"
#include "compiler/schedules/gpu/gpu_schedules.h"
#include "compiler/schedules/gpu/schedule_gpu.h"
#include "compiler/schedules/gpu/work_items.h"
#include "compiler/schedules/group_kernel.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;

// A kernel for outputs that all have the same dims.
class PullKernel {
 public:
  PullKernel(const GroupView& group, const TargetInfo& target, std::vector<uint32_t> outputs)
      : group_(group), outputs_(std::move(outputs)), made_(group), nest_(&made_.kernel()) {
    const ir::Type& type = group.type(group.outputs()[outputs_[0]]);
    dims_ = type.dims;
    // Elements that share a byte belong to one work-item.
    for (uint32_t output : outputs_) {
      int bits = DTypeBits(group.type(group.outputs()[output]).dtype);
      if (bits < 8) per_item_ = std::max(per_item_, 8 / bits);
    }
    GpuPullsSchedule schedule;
    decided_ = Decide(group, target, WordsOf(group) + " dims=" + WordOf(dims_), &schedule);
    items_ = static_cast<int>(schedule.group_items);
  }

  Expected<KernelCall> Build() {
    TVMVM_CHECK_OK(ExpandOutputs());
    Dim total = Product(dims_);
    nest_.Grid(0, "group", CeilDiv(total, Dim(items_ * per_item_)));
    nest_.Grid(1, "g", 1);
    nest_.Grid(2, "g", 1);
    Expr item = nest_.Let("item", OneDimensionalGroup(nest_.kernel(), items_));
    Expr end = DimValue(total);
    Expr position = item;
    if (per_item_ > 1) {
      Expr begin = nest_.Let("begin", item * IntConstant(per_item_));
      position = Variable(nest_.Open("position", begin, Min(begin + IntConstant(per_item_), end)));
    } else {
      nest_.OpenIf(Less(position, end));
      position = nest_.LetVariable("position", position);  // loops of reductions stay inside, too
    }
    StoreElement(position);
    nest_.Close();
    made_.Estimate(total, ReductionSteps(roots_), roots_);
    return made_.Take(nest_.Finish(), std::move(decided_));
  }

 private:
  Status ExpandOutputs() {
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      bool is_single = dims_[axis].IsConstant(1);
      variables_.push_back(made_.kernel().NewVariable(fmt::format("i{}", axis)));
      coordinates_.push_back(is_single ? IntConstant(0) : Variable(variables_.back()));
    }
    auto leaf = [this](ir::ValueId value, std::span<const Expr> at) { return made_.LoadInput(value, at); };
    Expander expander(group_, leaf, &made_.kernel());
    for (uint32_t output : outputs_)
      roots_.push_back(expander.Expand(group_.outputs()[output], coordinates_));
    if (expander.missing().valid()) return tl::unexpected(NoSchedule(group_, expander.missing()));
    for (uint32_t output : outputs_) stores_.push_back(made_.AddOutput(output));
    return {};
  }

  void StoreElement(const Expr& position) {
    Dims extents;
    std::vector<VariableId> variables;
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      if (dims_[axis].IsConstant(1)) continue;
      extents.push_back(dims_[axis]);
      variables.push_back(variables_[axis]);
    }
    std::vector<Expr> index = BindCoordinates(nest_, extents, position);
    std::vector<std::pair<VariableId, Expr>> bound;
    for (size_t i = 0; i < index.size(); ++i) bound.emplace_back(variables[i], index[i]);
    ReductionLowering reductions(&nest_, 1);
    std::vector<Expr> elements;
    for (const Expr& root : roots_) elements.push_back(reductions.Lower(Substitute(root, bound), Lanes{}));
    std::vector<Expr> placed = nest_.Place(elements);
    // An output may lie where an input lay: all elements are read before the first is written.
    if (placed.size() > 1)
      for (Expr& value : placed) value = nest_.Let("value", value);
    for (size_t i = 0; i < placed.size(); ++i) nest_.Add(Store(stores_[i], position, placed[i]));
  }

  const GroupView& group_;
  std::vector<uint32_t> outputs_;  // of the group
  GroupKernel made_;
  Nest nest_;
  Dims dims_;
  KernelSchedule decided_;
  int items_ = 0;                      // of a group
  int per_item_ = 1;                   // elements
  std::vector<VariableId> variables_;  // one for each axis; replaced by coordinates
  std::vector<Expr> coordinates_;
  std::vector<Expr> roots_;       // the outputs' elements
  std::vector<uint32_t> stores_;  // arguments that are written
};

}  // namespace

Expected<GroupProgram> SchedulePullsForGpu(const GroupView& group, const TargetInfo& target) {
  auto build = [&](const GroupView& collapsed, const std::vector<uint32_t>& outputs,
                   std::vector<KernelCall>* calls) -> Status {
    TVMVM_TRY(KernelCall call, PullKernel(collapsed, target, outputs).Build());
    calls->push_back(std::move(call));
    return {};
  };
  return ScheduleByDims(group, build);
}

}  // namespace tvmvm::tensor
