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

// The nodes of the group that read a value.
std::vector<const ir::Node*> ReadersOf(const GroupView& group, ValueId value) {
  std::vector<const ir::Node*> readers;
  for (ir::NodeId id : group.nodes()) {
    const ir::Node& node = group.function().node(id);
    if (std::ranges::find(node.inputs, value) != node.inputs.end()) readers.push_back(&node);
  }
  return readers;
}

bool IsOutput(const GroupView& group, ValueId value) {
  return std::ranges::find(group.outputs(), value) != group.outputs().end();
}

// Operators that give NaN where an operand is NaN.
bool KeepsNan(const ir::Node& node) {
  switch (node.op->scalar) {
    case ExprOp::kAdd:
    case ExprOp::kSub:
    case ExprOp::kMul:
    case ExprOp::kDiv:
    case ExprOp::kExp:
    case ExprOp::kLog:
      return node.op->kind == OpKind::kElementwise;
    default:
      return false;
  }
}

// Whether a NaN of `source` makes that element of the value NaN or, `by_sum`, all elements of the row.
bool IsMadeOf(const GroupView& group, ValueId value, ValueId source, bool by_sum) {
  if (value == source && !by_sum) return true;
  const ir::NodeId producer = group.function().value(value).producer;
  if (!producer.valid() || group.InputNumber(value) >= 0) return false;
  const ir::Node& node = group.function().node(producer);
  if (node.op->kind == OpKind::kReduce)
    return by_sum && node.String("kind") == "sum" && IsMadeOf(group, node.inputs[0], source, false);
  return KeepsNan(node) && std::ranges::any_of(node.inputs, [&](ValueId input) {
           return IsMadeOf(group, input, source, by_sum);
         });
}

// Whether all that is made of an element of `source` is made of their sum, too.
bool MeetsSum(const GroupView& group, ValueId element, ValueId source) {
  if (IsOutput(group, element)) return false;
  return std::ranges::all_of(ReadersOf(group, element), [&](const ir::Node* node) {
    const ValueId result = node->outputs[0];
    return IsMadeOf(group, result, source, true) || (KeepsNan(*node) && MeetsSum(group, result, source));
  });
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

bool OnlyShiftsExponentials(const GroupView& group, ValueId maximum) {
  const ir::NodeId producer = group.function().value(maximum).producer;
  if (!producer.valid() || group.InputNumber(maximum) >= 0 || IsOutput(group, maximum)) return false;
  const ir::Node& reduce = group.function().node(producer);
  if (reduce.op->kind != OpKind::kReduce || reduce.String("kind") != "max") return false;
  return std::ranges::all_of(ReadersOf(group, maximum), [&](const ir::Node* node) {
    const ValueId shifted = node->outputs[0];
    return node->op->scalar == ExprOp::kSub && node->inputs[0] == reduce.inputs[0] &&
           node->inputs[1] == maximum && MeetsSum(group, shifted, shifted);
  });
}

}  // namespace tvmvm::tensor
