#include "compiler/schedules/row_shape.h"

#include <algorithm>
#include <map>

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::OpKind;
using ir::ValueId;

constexpr int kWorthKeeping = 8;  // operations from which on an element is kept rather than computed again

// Operations behind one element, down to inputs and statistics; counts no further than kWorthKeeping.
int CostOf(const GroupView& group, const RowShape& shape, ValueId value) {
  ir::NodeId producer = group.function().value(value).producer;
  if (group.type(value).dims != shape.whole || group.InputNumber(value) >= 0 || !producer.valid()) return 0;
  const ir::Node& node = group.function().node(producer);
  if (node.op->kind != OpKind::kElementwise) return 0;
  int cost = node.op->traits.cheap ? 1 : kWorthKeeping;
  for (ValueId input : node.inputs)
    if (input.valid() && cost < kWorthKeeping) cost += CostOf(group, shape, input);
  return std::min(cost, kWorthKeeping);
}

}  // namespace

std::optional<RowShape> FindRowShape(const GroupView& group) {
  RowShape shape;
  for (ir::NodeId id : group.nodes()) {
    const ir::Node& node = group.function().node(id);
    if (node.op->kind != OpKind::kReduce) continue;
    const Dims& dims = group.type(node.inputs[0]).dims;
    const Dims& flags = node.DimList("flags");
    bool is_fixed =
        std::all_of(flags.begin(), flags.end(), [](const Dim& flag) { return flag.is_constant(); });
    if (!is_fixed || node.String("kind").starts_with("arg")) return std::nullopt;
    if (shape.reductions++ > 0 && (dims != shape.whole || flags != shape.flags)) return std::nullopt;
    shape.whole = dims;
    shape.flags = flags;
  }
  if (shape.reductions == 0) return std::nullopt;
  for (size_t axis = 0; axis < shape.whole.size(); ++axis) {
    shape.row.push_back(shape.flags[axis].IsConstant(0) ? shape.whole[axis] : Dim(1));
  }
  for (ir::NodeId id : group.nodes()) {
    const ir::Node& node = group.function().node(id);
    if (node.op->kind == OpKind::kConstant || node.op->kind == OpKind::kDimsTensor) continue;
    const ir::Type& type = group.type(node.outputs[0]);
    bool is_elementwise = node.op->kind == OpKind::kElementwise || node.op->kind == OpKind::kReduce;
    if (!is_elementwise || IsSubByte(type.dtype) || (type.dims != shape.whole && type.dims != shape.row))
      return std::nullopt;
  }
  for (ValueId output : group.outputs()) {
    const ir::Type& type = group.type(output);
    if (IsSubByte(type.dtype) || group.InputNumber(output) >= 0) return std::nullopt;
    if (type.dims != shape.whole && type.dims != shape.row) return std::nullopt;
    shape.has_whole_output |= type.dims == shape.whole && shape.whole != shape.row;
  }
  return shape;
}

bool IsExpensive(const GroupView& group, const RowShape& shape, ValueId element) {
  return CostOf(group, shape, element) >= kWorthKeeping;
}

std::set<ValueId> ValuesWorthKeeping(const GroupView& group, const RowShape& shape) {
  std::map<ValueId, int> uses;
  for (ir::NodeId id : group.nodes()) {
    for (ValueId input : group.function().node(id).inputs) {
      if (input.valid()) ++uses[input];
    }
  }
  for (ValueId output : group.outputs()) ++uses[output];
  std::set<ValueId> values;
  for (ir::NodeId id : group.nodes()) {
    const ir::Node& node = group.function().node(id);
    if (node.op->kind != OpKind::kReduce) continue;
    ValueId operand = node.inputs[0];
    if (uses[operand] > 1 && IsExpensive(group, shape, operand)) values.insert(operand);
  }
  return values;
}

}  // namespace tvmvm::tensor
