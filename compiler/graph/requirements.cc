#include "compiler/graph/requirements.h"

#include "compiler/graph/core_op.h"
#include "fmt/format.h"

namespace tvmvm::ir {
namespace {

using Requirements = std::vector<Requirement>;

void Require(Requirements* list, Dim condition, std::string message, Dims values) {
  if (condition.is_constant() && condition.value() != 0) return;
  list->push_back({std::move(condition), std::move(message), std::move(values)});
}

void RequireEqual(Requirements* list, const Dim& found, const Dim& wanted, const std::string& what) {
  if (found == wanted) return;
  Require(list, Equal(found, wanted), what + " is {0}, want {1}", {found, wanted});
}

void RequireBroadcast(Requirements* list, const Node& node, const Type& operand, const Type& result,
                      size_t number) {
  size_t shift = result.dims.size() - operand.dims.size();
  for (size_t axis = 0; axis < operand.dims.size(); ++axis) {
    const Dim &found = operand.dims[axis], &wanted = result.dims[axis + shift];
    if (found == wanted || found.IsConstant(1)) continue;
    Require(list, Or(Equal(found, wanted), Equal(found, 1)),
            fmt::format("'{}': operand {} has size {{0}} along axis {}, want {{1}} or 1", node.op->name,
                        number, axis),
            {found, wanted});
  }
}

void RequireContraction(Requirements* list, const Node& node, const Type& a, const Type& b) {
  for (auto [lhs, rhs] : {std::pair{"lhs_batch", "rhs_batch"}, std::pair{"lhs_contract", "rhs_contract"}}) {
    const std::vector<int64_t>&left = node.Ints(lhs), &right = node.Ints(rhs);
    for (size_t i = 0; i < left.size(); ++i)
      RequireEqual(
          list, a.dims[static_cast<size_t>(left[i])], b.dims[static_cast<size_t>(right[i])],
          fmt::format("axis {} of the left operand, paired with axis {} of the right,", left[i], right[i]));
  }
}

void RequireChannels(Requirements* list, const Node& node, const Type& x, const Type& w) {
  if (node.op->name == "conv_transpose")
    return RequireEqual(list, x.dims[1], w.dims[0], "the number of channels");
  auto channels = [&](const char* layout, const Type& type) {
    return type.dims[node.String(layout) == "channels_last" ? type.dims.size() - 1 : 1];
  };
  RequireEqual(list, channels("layout", x), channels("weights", w) * Dim(node.Int("groups", 1)),
               "the number of channels");
}

void RequireJoinable(Requirements* list, const Function& function, const Node& node) {
  const Type& first = function.type(node.inputs[0]);
  int64_t axis = node.Int("axis");
  if (axis < 0) axis += first.rank();
  for (size_t i = 1; i < node.inputs.size(); ++i)
    for (int other = 0; other < first.rank(); ++other)
      if (other != axis)
        RequireEqual(list, function.type(node.inputs[i]).dims[static_cast<size_t>(other)],
                     first.dims[static_cast<size_t>(other)], fmt::format("axis {} of input {}", other, i));
}

void RequireInside(Requirements* list, const Function& function, const Node& node) {
  const Type& type = function.type(node.inputs[0]);
  const Dims &starts = node.DimList("starts"), &steps = node.DimList("steps"), &sizes = node.DimList("dims");
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    if (starts[axis].IsConstant(0) && steps[axis].IsConstant(1) && sizes[axis] == type.dims[axis]) continue;
    Dim last = starts[axis] + (sizes[axis] - Dim(1)) * steps[axis];
    auto inside = [&](const Dim& position) {
      return And(LessEqual(0, position), Less(position, type.dims[axis]));
    };
    Require(list, Or(Equal(sizes[axis], 0), And(inside(starts[axis]), inside(last))),
            fmt::format("a slice of axis {} goes from {{0}} to {{1}}, the axis has size {{2}}", axis),
            {starts[axis], last, type.dims[axis]});
  }
}

void RequireSmaller(Requirements* list, const Node& node, const Type& data, const Type& indices) {
  int64_t axis = node.Int("axis");
  if (axis < 0) axis += data.rank();
  for (int other = 0; other < data.rank(); ++other) {
    const Dim &found = indices.dims[static_cast<size_t>(other)],
              &limit = data.dims[static_cast<size_t>(other)];
    if (other != axis && !(found == limit))
      Require(list, LessEqual(found, limit),
              fmt::format("the indices have size {{0}} along axis {}, the data {{1}}", other),
              {found, limit});
  }
}

void RequireAll(const Function& function, const Node& node, Requirements* list) {
  for (RegionId region : node.regions)
    for (NodeId inner : function.region(region).nodes) RequireAll(function, function.node(inner), list);
  auto type = [&](size_t input) -> const Type& { return function.type(node.inputs[input]); };
  switch (node.op->kind) {
    case OpKind::kElementwise:
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i].valid()) RequireBroadcast(list, node, type(i), function.type(node.outputs[0]), i);
      break;
    case OpKind::kContraction:
      RequireContraction(list, node, type(0), type(1));
      break;
    case OpKind::kConvolution:
      RequireChannels(list, node, type(0), type(1));
      break;
    case OpKind::kView:
      RequireEqual(list, Product(function.type(node.outputs[0]).dims), Product(type(0).dims),
                   "the number of elements of the new shape");
      break;
    case OpKind::kMovement:
      if (node.op->name == "expand")
        RequireBroadcast(list, node, type(0), function.type(node.outputs[0]), 0);
      else if (node.op->name == "concat")
        RequireJoinable(list, function, node);
      else if (node.op->name == "slice")
        RequireInside(list, function, node);
      else if (node.op->name == "gather_elements")
        RequireSmaller(list, node, type(0), type(1));
      break;
    case OpKind::kRequire:
      Require(list, std::get<Dim>(*node.Find("condition")), node.String("message"), node.DimList("values"));
      break;
    default:
      break;
  }
}

}  // namespace

std::vector<Requirement> RequirementsOf(const Function& function, const Node& node) {
  std::vector<Requirement> list;
  RequireAll(function, node, &list);
  return list;
}

}  // namespace tvmvm::ir
