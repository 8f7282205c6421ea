// x[i] W for every step i of a loop is X W, computed once before it: one large product reads W once, where
// the steps would read it each time. Taken where the loop runs over all of X, in branches, too: the large
// product costs less than a few small ones.

#include <algorithm>
#include <optional>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/op_builder.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/region_edit.h"

namespace tvmvm::passes {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpBuilder;
using ir::RegionId;
using ir::ValueId;

// Axes of more than one element.
std::vector<int64_t> RealAxes(const Dims& dims, size_t first) {
  std::vector<int64_t> axes;
  for (size_t axis = first; axis < dims.size(); ++axis)
    if (!dims[axis].IsConstant(1)) axes.push_back(static_cast<int64_t>(axis));
  return axes;
}

class ContractionHoist {
 public:
  ContractionHoist(ir::Module* module, Function* function)
      : module_(module), function_(*function), uses_(function) {}

  void Run() {
    for (RegionId region : ir::RunningRegions(function_)) {
      std::vector<NodeId> nodes;
      for (NodeId id : std::vector<NodeId>(function_.region(region).nodes)) {
        if (ir::IsLoop(function_.node(id))) HoistFrom(id, &nodes);
        nodes.push_back(id);
      }
      function_.region(region).nodes = std::move(nodes);
    }
  }

 private:
  void HoistFrom(NodeId id, std::vector<NodeId>* before) {
    const Node loop = function_.node(id);
    if (!ir::DimAttribute(loop, "continue").IsConstant(1)) return;
    RegionDefinitions inside(function_, loop, loop.regions[0]);
    index_ = Dim::Symbol(loop.Symbol("index"));
    trip_ = ir::DimAttribute(loop, "trip");
    inside_ = &inside;
    before_ = before;
    Visit(loop.regions[0]);
  }

  void Visit(RegionId region) {
    std::vector<NodeId> nodes;
    for (NodeId id : std::vector<NodeId>(function_.region(region).nodes)) {
      if (ir::IsIf(function_.node(id)))
        for (RegionId branch : std::vector<RegionId>(function_.node(id).regions)) Visit(branch);
      if (!TryHoist(id, &nodes)) nodes.push_back(id);
    }
    function_.region(region).nodes = std::move(nodes);
  }

  const Node* Producer(ValueId value) const {
    NodeId producer = function_.value(value).producer;
    return producer.valid() ? &function_.node(producer) : nullptr;
  }

  // X, where the value is X[index], perhaps with axes of size 1 more or less; all of X is gone through.
  std::optional<ValueId> Scanned(ValueId value) const {
    const Node* node = Producer(value);
    while (node != nullptr && node->op->kind == ir::OpKind::kView) node = Producer(node->inputs[0]);
    if (node == nullptr || node->op->traits.axes != ir::AxisMap::kSlice) return std::nullopt;
    ValueId whole = node->inputs[0];
    const Dims &dims = function_.type(whole).dims, &sizes = node->DimList("dims");
    if (dims.empty() || inside_->Defines(whole) || !(dims[0] == trip_)) return std::nullopt;
    if (!(node->DimList("starts")[0] == index_) || !sizes[0].IsConstant(1)) return std::nullopt;
    for (size_t axis = 1; axis < dims.size(); ++axis)
      if (!(sizes[axis] == dims[axis])) return std::nullopt;
    return whole;
  }

  // Emits into a region of its own, whose nodes then go where they belong.
  template <class Build>
  ValueId Emit(const std::string& source, std::vector<NodeId>* to, Build build) {
    RegionId region = function_.AddRegion();
    OpBuilder b(module_, &function_, region);
    b.SetSource(source);
    ValueId value = build(b);
    const std::vector<NodeId>& made = function_.region(region).nodes;
    if (!b.failed()) to->insert(to->end(), made.begin(), made.end());
    for (NodeId node : made) uses_.Add(node);
    return b.failed() ? ValueId{} : value;
  }

  bool TryHoist(NodeId id, std::vector<NodeId>* to) {
    const Node node = function_.node(id);
    if (node.op->kind != ir::OpKind::kContraction || !node.Ints("lhs_batch").empty()) return false;
    ValueId other = node.inputs[1];
    std::optional<ValueId> whole = Scanned(node.inputs[0]);
    if (!whole || inside_->Defines(other)) return false;
    const Dims all = function_.type(*whole).dims, part = function_.type(node.inputs[0]).dims;
    std::vector<int64_t> from = RealAxes(part, 0), to_axes = RealAxes(all, 1);
    if (from.size() != to_axes.size()) return false;
    std::vector<int64_t> contracted;
    for (size_t i = 0; i < from.size(); ++i)
      if (!(part[static_cast<size_t>(from[i])] == all[static_cast<size_t>(to_axes[i])])) return false;
    for (int64_t axis : node.Ints("lhs_contract")) {
      auto found = std::find(from.begin(), from.end(), axis);
      if (found == from.end()) return false;
      contracted.push_back(to_axes[static_cast<size_t>(found - from.begin())]);
    }
    const ir::Type result = function_.type(node.outputs[0]);
    ValueId product = Emit(node.source, before_, [&](OpBuilder& b) {
      return b.Contract(*whole, other, {}, {}, contracted, node.Ints("rhs_contract"), result.dtype);
    });
    if (!product.valid()) return false;
    ValueId step = Emit(node.source, to, [&](OpBuilder& b) {
      return b.Reshape(b.SliceAxis(product, 0, index_, 1), result.dims);
    });
    if (!step.valid()) return false;
    uses_.Replace(node.outputs[0], step);
    return true;
  }

  ir::Module* module_;
  Function& function_;
  UseLists uses_;
  Dim index_, trip_;
  const RegionDefinitions* inside_ = nullptr;
  std::vector<NodeId>* before_ = nullptr;
};

}  // namespace

Status HoistContractions(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions) ContractionHoist(&module, &function).Run();
  return {};
}

}  // namespace tvmvm::passes
