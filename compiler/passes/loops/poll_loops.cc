// Loops on a GPU in whose steps the host would wait for numbers: loop_poller.h tells what becomes of one.
#include <algorithm>
#include <set>
#include <utility>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/storage.h"
#include "compiler/graph/transfers.h"
#include "compiler/passes/fuse_groups.h"
#include "compiler/passes/loops/loop_poller.h"
#include "compiler/passes/loops/update_in_place.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/region_edit.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

bool IsAskedFor(const Node& node) { return ir::IsLoop(node) && node.decided.poll >= 1; }

// All loops of one function. Where it has devices, what the steps of such a loop compute goes to the GPU, in
// groups of its own.
class FunctionPoller {
 public:
  FunctionPoller(Module* module, Function* function) : module_(*module), function_(*function) {
    for (const ir::Value& value : function->values) is_placed_ = is_placed_ || value.device != kHostDevice;
  }

  Status Run() {
    std::vector<NodeId> asked;
    for (RegionId region : ir::RunningRegions(function_))
      for (NodeId id : function_.region(region).nodes)
        if (IsAskedFor(function_.node(id))) asked.push_back(id);
    if (asked.empty()) return {};
    if (!is_placed_) return Poll();
    ir::RemoveTransfers(&function_);
    for (NodeId loop : asked) TakeGroupsApart(&function_, function_.node(loop).regions[0]);
    TVMVM_CHECK_OK(Poll());
    for (const Taken& taken : taken_)
      if (ir::IsLoop(function_.node(taken.node))) UpdateLoopInPlace(&function_, taken.node);
    PlaceNew();
    std::set<RegionId> regions;
    for (const Taken& taken : taken_) ListRegions(taken.node, &regions);
    for (NodeId loop : asked) ListRegions(loop, &regions);
    for (RegionId region : regions) FuseRegion(&function_, region);
    DropDead(&function_);
    ir::InsertTransfers(&function_, lowering::Views(function_));
    return {};
  }

 private:
  // What stands in the place of a loop that was taken, and where it goes.
  struct Taken {
    NodeId node;
    uint32_t gpu;
  };

  Status Poll() {
    PolledFunction in{module_, function_};
    std::vector<RegionId> regions = ir::RunningRegions(function_);
    for (auto region = regions.rbegin(); region != regions.rend(); ++region) {
      std::vector<NodeId> nodes;
      for (NodeId id : std::vector<NodeId>(function_.region(*region).nodes)) {
        bool taken = false;
        if (IsAskedFor(function_.node(id))) {
          TVMVM_TRY(taken, PollOne(&in, id, &nodes));
        }
        if (!taken) nodes.push_back(id);
      }
      function_.region(*region).nodes = std::move(nodes);
    }
    return {};
  }

  // True where it was taken; else the loop stays as it is.
  Expected<bool> PollOne(PolledFunction* in, NodeId id, std::vector<NodeId>* nodes) {
    const uint32_t gpu = GpuOf(id);
    const int64_t most_steps = std::exchange(function_.node(id).decided.poll, 0);
    Expected<DeviceLoop> plan = AnalyzeDeviceLoop(function_, id, module_.Ranges());
    if (!plan || (!plan->polls() && plan->carried.empty())) return false;
    TVMVM_TRY(PolledLoop polled, PollLoop(in, id, *std::move(plan), most_steps));
    on_host_.insert(polled.rows_on_host.begin(), polled.rows_on_host.end());
    nodes->insert(nodes->end(), polled.nodes.begin(), polled.nodes.end());
    for (NodeId node : polled.nodes) taken_.push_back({node, gpu});
    return true;
  }

  // ---- devices ----

  // The GPU that runs a part of the loop already.
  uint32_t GpuOf(NodeId loop) const {
    std::set<RegionId> regions;
    ListRegions(loop, &regions);
    for (RegionId region : regions)
      for (NodeId node : function_.region(region).nodes)
        if (const uint32_t device = ir::DeviceOf(function_, function_.node(node)); device != kHostDevice)
          return device;
    return ir::kFirstGpu;
  }

  void PlaceNew() {
    for (const Taken& taken : taken_) {
      gpu_ = taken.gpu;
      PlaceOnGpu(taken.node);
    }
    const lowering::Views views(function_);
    for (size_t i = 0; i < function_.values.size(); ++i) {
      const ValueId value{static_cast<uint32_t>(i)};
      if (ValueId root = views.PlaceOf(value).root; !(root == value))
        function_.value(value).device = function_.value(root).device;
    }
  }

  void PlaceOnGpu(NodeId id) {
    Node& node = function_.node(id);
    const ir::OpKind kind = node.op->kind;
    if (kind == ir::OpKind::kConstant || kind == ir::OpKind::kDimsTensor) return;
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (!ir::IsLoop(node) || !ir::CollectsUnknownLength(function_, node, i)) Move(node.outputs[i]);
    if (!ir::HasControlRegions(node)) return;
    node.decided.outline = false;
    const std::vector<RegionId> regions = node.regions;
    for (RegionId region : regions) {
      for (ValueId parameter : function_.region(region).parameters) Move(parameter);
      for (NodeId inner : function_.region(region).nodes) PlaceOnGpu(inner);
    }
  }

  void Move(ValueId value) {
    if (value.valid() && !on_host_.contains(value) && ir::IsTensorOfNumbers(function_.type(value)))
      function_.value(value).device = gpu_;
  }

  void ListRegions(NodeId id, std::set<RegionId>* regions) const {
    const Node& node = function_.node(id);
    if (!ir::HasControlRegions(node)) return;
    for (RegionId region : node.regions) {
      regions->insert(region);
      for (NodeId inner : function_.region(region).nodes) ListRegions(inner, regions);
    }
  }

  Module& module_;
  Function& function_;
  bool is_placed_ = false;
  std::set<ValueId> on_host_;
  std::vector<Taken> taken_;
  uint32_t gpu_ = ir::kFirstGpu;  // of what is being placed
};

}  // namespace

Status PollLoops(Module& module, const PassContext&) {
  for (Function& function : module.functions) TVMVM_CHECK_OK(FunctionPoller(&module, &function).Run());
  return {};
}

}  // namespace tvmvm::passes
