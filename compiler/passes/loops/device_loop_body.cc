#include "compiler/passes/loops/device_loop_body.h"

#include <algorithm>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/passes/dim_tensor.h"
#include "compiler/passes/region_edit.h"

namespace tvmvm::passes {

using ir::Dim;
using ir::Dims;
using ir::Node;
using ir::NodeId;
using ir::OpBuilder;
using ir::OpKind;
using ir::Region;
using ir::RegionId;
using ir::Type;
using ir::ValueId;
using tensor::ExprOp;

namespace {

// A gather counts negative positions from the end itself.
Dim Unwrapped(const Dim& position, const Dim& size) {
  if (position.op() != ir::DimOp::kSelect) return position;
  const Dim& given = position.operands()[2];
  return position == Select(Less(given, 0), given + size, given) ? given : position;
}

}  // namespace

DeviceLoopBody::DeviceLoopBody(PolledFunction* in, NodeId loop, const DeviceLoop& plan)
    : in_(*in),
      function_(in->function),
      loop_(loop),
      region_(in->function.node(loop).regions[0]),
      plan_(plan),
      maker_(in, in->function.node(loop).source) {}

Status DeviceLoopBody::Rewrite() {
  const std::vector<ir::SymbolId> symbols = function_.node(loop_).Symbols("symbols");
  const std::vector<ir::SymbolId> finals = function_.node(loop_).Symbols("finals");
  const Dims next = function_.node(loop_).DimList("next");
  for (size_t i : plan_.carried) {
    parameters_.push_back(function_.AddValue(Type::Tensor(DType::kI64, {}), symbols[i].name()));
    tensors_[symbols[i]] = parameters_.back();
  }
  if (plan_.polls()) counter_ = function_.AddValue(Type::Tensor(DType::kI64, {}), "steps");
  RewriteRegion(region_);
  if (plan_.polls()) Hold();
  for (size_t i = 0; i < plan_.carried.size(); ++i) {
    ValueId result = Number(next[plan_.carried[i]]);
    if (plan_.polls() && in_.mentioned.contains(finals[plan_.carried[i]]))
      result = maker_.builder().Where(Goes({}), result, parameters_[i]);
    AddCarried(parameters_[i], result);
  }
  if (plan_.polls()) {
    OpBuilder& b = maker_.builder();
    const ValueId zero = b.ScalarInt(DType::kI64, 0);
    const ValueId more = b.Add(counter_, b.ScalarInt(DType::kI64, 1));
    const ValueId goes_on = b.Binary(ExprOp::kNotEqual, Number(plan_.device_condition), zero);
    AddCarried(counter_, b.Where(Goes({}), b.Where(goes_on, more, b.Sub(zero, more)), counter_));
  }
  for (NodeId node : maker_.Take()) function_.region(region_).nodes.push_back(node);
  ForgetElements(region_);
  if (!maker_.builder().failed()) return {};
  return MakeError(Code::kInternal, "poll-loops: " + maker_.builder().TakeError()->message);
}

ValueId DeviceLoopBody::Number(const Dim& dim) {
  return EmitDim(maker_.builder(), dim, [this](const ir::SymbolId& symbol) {
    auto found = tensors_.find(symbol);
    return found == tensors_.end() ? std::nullopt : std::optional(found->second);
  });
}

// ---- what the host read ----

void DeviceLoopBody::RewriteRegion(RegionId region) {
  std::vector<NodeId> nodes;
  for (NodeId id : std::vector<NodeId>(function_.region(region).nodes)) {
    const Node node = function_.node(id);
    const bool is_tensor =
        node.op->kind == OpKind::kDimsTensor &&
        std::ranges::any_of(node.DimList("elements"), [&](const Dim& dim) { return plan_.Mentions(dim); });
    if (node.op->kind == OpKind::kDefineDims) {
      Read(node);
    } else if (is_tensor || DevicePosition(plan_, node) >= 0) {
      const ValueId made = is_tensor ? Tensor(node) : Gather(node);
      if (!maker_.builder().failed()) in_.uses.Replace(node.outputs[0], made);
    } else {
      if (node.op->kind == OpKind::kCheck && plan_.polls()) CheckWhileItGoes(id);
      if (ir::HasControlRegions(node))
        for (RegionId inner : node.regions) RewriteRegion(inner);
      for (NodeId made : maker_.Take()) nodes.push_back(made);
      nodes.push_back(id);
      continue;
    }
    for (NodeId made : maker_.Take()) nodes.push_back(made);
  }
  function_.region(region).nodes = std::move(nodes);
}

void DeviceLoopBody::Read(const Node& node) {
  OpBuilder& b = maker_.builder();
  for (const ir::SymbolId& symbol : node.Symbols("symbols")) {
    ValueId value = node.inputs[0];
    if (b.rank(value) == 1) value = b.SliceAxis(value, 0, plan_.reads.at(symbol).element, 1);
    tensors_[symbol] = b.Cast(b.Reshape(value, {}), DType::kI64);
  }
}

ValueId DeviceLoopBody::Tensor(const Node& dims_tensor) {
  OpBuilder& b = maker_.builder();
  const Type type = function_.type(dims_tensor.outputs[0]);
  std::vector<ValueId> elements;
  for (const Dim& element : dims_tensor.DimList("elements"))
    elements.push_back(b.Reshape(Number(element), {1}));
  const ValueId joined = elements.size() == 1 ? elements[0] : b.Concat(elements, 0);
  return b.Cast(b.Reshape(joined, type.dims), type.dtype);
}

ValueId DeviceLoopBody::Gather(const Node& slice) {
  OpBuilder& b = maker_.builder();
  const int axis = DevicePosition(plan_, slice);
  const auto at = static_cast<size_t>(axis);
  Dims starts = slice.DimList("starts"), steps = slice.DimList("steps"), sizes = slice.DimList("dims");
  ValueId position = b.Reshape(Number(Unwrapped(starts[at], b.dim(slice.inputs[0], axis))), {1});
  if (!sizes[at].IsConstant(1)) {
    const ValueId count = b.Iota(DType::kI64, {sizes[at]}, 0);
    position = b.Add(position, b.Mul(count, b.DimScalar(steps[at])));
  }
  starts[at] = 0, steps[at] = 1, sizes[at] = b.dim(slice.inputs[0], axis);
  const ValueId part = b.Slice(slice.inputs[0], starts, steps, sizes);
  return b.Emit("gather", {part, position}, {{"axis", int64_t{axis}}});
}

// ---- steps after the last one ----

// Whether the loop goes on, as often as `dims` asks for: so that each group finds it out itself.
ValueId DeviceLoopBody::Goes(const Dims& dims) {
  OpBuilder& b = maker_.builder();
  const ValueId counter = b.Expand(counter_, dims);
  return b.Binary(ExprOp::kLessEqual, b.ScalarInt(DType::kI64, 0), counter);
}

// A step after the last one must not fail.
void DeviceLoopBody::CheckWhileItGoes(NodeId check) {
  OpBuilder& b = maker_.builder();
  ValueId when = Goes({});
  const std::vector<ValueId> given = function_.node(check).inputs;
  if (given.size() > 1) when = b.Binary(ExprOp::kAnd, given[1], when);
  function_.node(check).inputs = {given[0], when};
}

void DeviceLoopBody::Hold() {
  const std::vector<ValueId> outputs = function_.node(loop_).outputs;
  for (size_t i = 0; i < ir::CarriedCount(function_.node(loop_)); ++i)
    if (in_.uses.Count(outputs[i]) > 0) HoldValue(i);
}

// Where the step makes the new value, its other uses may see the held one: so the two are one group. The old
// value is read once more, so the new one cannot be made in its place.
void DeviceLoopBody::HoldValue(size_t number) {
  OpBuilder& b = maker_.builder();
  const ValueId old = function_.region(region_).parameters[number];
  const ValueId made = function_.region(region_).results[number];
  if (made == old) return;
  if (NodeId producer = function_.value(made).producer; producer.valid())
    function_.node(producer).decided.in_place = false;
  auto held = [&] { return b.Where(Goes(function_.type(old).dims), made, old); };
  const auto carried = static_cast<std::ptrdiff_t>(ir::CarriedCount(function_.node(loop_)));
  const std::vector<ValueId>& results = function_.region(region_).results;
  const bool once = std::count(results.begin(), results.begin() + carried, made) == 1;
  const std::vector<NodeId>& nodes = function_.region(region_).nodes;
  const auto place = std::find(nodes.begin(), nodes.end(), function_.value(made).producer);
  if (!once || place == nodes.end()) {
    function_.region(region_).results[number] = held();
    for (NodeId node : maker_.Take()) function_.region(region_).nodes.push_back(node);
    return;
  }
  const auto behind = place - nodes.begin() + 1;
  const ValueId stand_in = function_.AddValue(function_.type(made));
  in_.uses.Replace(made, stand_in);
  const ValueId value = held();
  in_.uses.Replace(stand_in, value);
  const std::vector<NodeId> added = maker_.Take();
  std::vector<NodeId>& all = function_.region(region_).nodes;
  all.insert(all.begin() + behind, added.begin(), added.end());
}

void DeviceLoopBody::AddCarried(ValueId parameter, ValueId result) {
  Region& region = function_.region(region_);
  region.results.insert(region.results.begin() + static_cast<std::ptrdiff_t>(region.parameters.size()),
                        result);
  region.parameters.push_back(parameter);
}

// Contents in terms of what bytecode does not know any more.
void DeviceLoopBody::ForgetElements(RegionId region) {
  auto is_forgotten = [&](const Dim& dim) { return plan_.Mentions(dim); };
  for (NodeId id : function_.region(region).nodes) {
    const Node& node = function_.node(id);
    for (ValueId output : node.outputs) {
      if (!output.valid()) continue;
      std::optional<Dims>& elements = function_.value(output).elements;
      if (elements && std::ranges::any_of(*elements, is_forgotten)) elements.reset();
    }
    for (RegionId inner : node.regions) ForgetElements(inner);
  }
}

}  // namespace tvmvm::passes
