#include "compiler/lowering/steps.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/storage.h"
#include "fmt/format.h"

namespace tvmvm::lowering {
namespace {

using ir::Node;
using ir::NodeId;
using ir::OpKind;
using tensor::GroupProgram;
using tensor::KernelCall;

// The calls of one group must be alike at every level: only bodies differ.
bool SameStructure(const GroupProgram& a, const GroupProgram& b) {
  if (a.calls.size() != b.calls.size() || a.workspaces.size() != b.workspaces.size() ||
      a.packed.size() != b.packed.size())
    return false;
  for (size_t i = 0; i < a.workspaces.size(); ++i)
    if (a.workspaces[i].dtype != b.workspaces[i].dtype ||
        !(a.workspaces[i].elements == b.workspaces[i].elements))
      return false;
  for (size_t i = 0; i < a.calls.size(); ++i) {
    const KernelCall &x = a.calls[i], &y = b.calls[i];
    if (x.arguments.size() != y.arguments.size() || !(x.when == y.when)) return false;
    for (size_t k = 0; k < x.arguments.size(); ++k)
      if (x.arguments[k].kind != y.arguments[k].kind || x.arguments[k].index != y.arguments[k].index)
        return false;
    for (int axis = 0; axis < 3; ++axis)
      if (!(x.kernel.grid_size[axis] == y.kernel.grid_size[axis])) return false;
  }
  return true;
}

class Scheduler {
 public:
  Scheduler(const ir::Function& function, const ir::RangeLookup& ranges, const LoweringOptions& options,
            KernelTable* kernels, tensor::ScheduleCache* schedules)
      : function_(function),
        ranges_(ranges),
        options_(options),
        kernels_(kernels),
        schedules_(schedules),
        views_(function) {}

  Expected<RegionSteps> Region(ir::RegionId id) {
    RegionSteps steps;
    steps.region = id;
    const std::vector<NodeId>& nodes = function_.region(id).nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (options_.progress && id == function_.body)
        options_.progress("schedule", double(i) / double(nodes.size()));
      if (IsSilent(function_.node(nodes[i]))) continue;
      TVMVM_TRY(Step step, MakeStep(nodes[i]));
      steps.steps.push_back(std::move(step));
    }
    steps.end = position_++;
    return steps;
  }

 private:
  // Nothing runs for it.
  bool IsSilent(const Node& node) const {
    return node.op->kind == OpKind::kConstant || node.op->kind == OpKind::kRequire ||
           Views::IsView(function_, node);
  }

  Expected<Step> MakeStep(NodeId id) {
    const Node& node = function_.node(id);
    Step step;
    step.node = id;
    step.first = position_++;
    step.device = ir::DeviceOf(function_, node);
    TVMVM_TRY(step.kind, KindOf(node));
    if (step.kind == StepKind::kLaunch) {
      TVMVM_CHECK_OK(Schedule(&step));
      position_ += static_cast<uint32_t>(std::max<size_t>(1, step.uses.size()) - 1);
    } else if (step.kind == StepKind::kLoop && node.decided.outline && Outline(&step)) {
      step.kind = StepKind::kOutlinedLoop;
    } else {
      for (ir::RegionId region : node.regions) {
        TVMVM_TRY(RegionSteps inner, Region(region));
        step.regions.push_back(std::move(inner));
      }
    }
    step.last = position_ - 1;
    return step;
  }

  Expected<StepKind> KindOf(const Node& node) const {
    if (node.decided.in_place && node.op->traits.axes == ir::AxisMap::kConcat) return StepKind::kJoin;
    switch (node.op->kind) {
      case OpKind::kDefineDims:
        return StepKind::kDefineDims;
      case OpKind::kDimsTensor:
        return StepKind::kDimsTensor;
      case OpKind::kTransfer:
        return StepKind::kTransfer;
      case OpKind::kHost:
        return StepKind::kHost;
      case OpKind::kIf:
        return StepKind::kIf;
      case OpKind::kLoop:
        return StepKind::kLoop;
      case OpKind::kCall:
        return StepKind::kCall;
      default:
        return StepKind::kLaunch;
    }
  }

  Status Schedule(Step* step) {
    const std::string& source = function_.node(step->node).source;
    const std::vector<TargetInfo>& targets =
        step->device == kHostDevice ? options_.targets : options_.gpu_targets;
    for (const TargetInfo& target : targets) {
      TVMVM_TRY(std::shared_ptr<const GroupProgram> program,
                schedules_->Schedule(function_, step->node, target));
      if (!step->programs.empty() && !SameStructure(*step->programs[0], *program))
        return MakeError(Code::kInternal, fmt::format("schedules differ between targets (node {})", source));
      step->programs.push_back(std::move(program));
    }
    auto [uses, is_new] = uses_.try_emplace(step->programs[0].get());
    for (size_t call = 0; is_new && call < step->programs[0]->calls.size(); ++call) {
      std::vector<const KernelCall*> variants;
      for (const auto& program : step->programs) variants.push_back(&program->calls[call]);
      uses->second.emplace_back();
      // A schedule does not know what is known of the symbols.
      if (ir::Simplify(variants[0]->when, ranges_).IsConstant(0)) continue;
      uses->second.back() = kernels_->Add(variants, source, ir::SpecOf(step->device).device_class);
    }
    step->uses = uses->second;
    return {};
  }

  bool Outline(Step* step) {
    step->outlined = OutlineLoop(function_, step->node, views_, ranges_, options_.targets, schedules_);
    if (!step->outlined) return false;
    std::vector<KernelCall> calls;
    for (const tensor::LoopKernel& kernel : step->outlined->kernels) calls.push_back({.kernel = kernel});
    std::vector<const KernelCall*> variants;
    for (const KernelCall& call : calls) variants.push_back(&call);
    step->outlined_use = kernels_->Add(variants, function_.node(step->node).source, DeviceClass::kCpu, false);
    return true;
  }

  const ir::Function& function_;
  const ir::RangeLookup& ranges_;
  const LoweringOptions& options_;
  KernelTable* kernels_;
  tensor::ScheduleCache* schedules_;
  const Views views_;
  // By the first of a step's programs, which the cache keeps: the others follow from it.
  std::unordered_map<const GroupProgram*, std::vector<KernelUse>> uses_;
  uint32_t position_ = kEntryPosition + 1;
};

}  // namespace

Expected<RegionSteps> ScheduleSteps(const ir::Function& function, const ir::RangeLookup& ranges,
                                    const LoweringOptions& options, KernelTable* kernels,
                                    tensor::ScheduleCache* schedules) {
  return Scheduler(function, ranges, options, kernels, schedules).Region(function.body);
}

}  // namespace tvmvm::lowering
