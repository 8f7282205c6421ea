#include "compiler/graph/requirements.h"

#include "compiler/graph/core_op.h"
#include "fmt/format.h"

namespace tvmvm::ir {
namespace {

void RequireAll(const Function& function, const Node& node, Requirements* list) {
  for (RegionId region : node.regions)
    for (NodeId inner : function.region(region).nodes) RequireAll(function, function.node(inner), list);
  if (node.op->requirements != nullptr) node.op->requirements(function, node, list);
}

}  // namespace

void Require(Requirements* list, Dim condition, std::string message, Dims values) {
  if (condition.is_constant() && condition.value() != 0) return;
  list->push_back({std::move(condition), std::move(message), std::move(values)});
}

void RequireEqual(Requirements* list, const Dim& found, const Dim& wanted, const std::string& what) {
  if (found == wanted) return;
  Require(list, Equal(found, wanted), what + " is {0}, want {1}", {found, wanted});
}

void RequireBroadcast(const Function& function, const Node& node, Requirements* list) {
  const Dims& result = function.type(node.outputs[0]).dims;
  for (size_t number = 0; number < node.inputs.size(); ++number) {
    if (!node.inputs[number].valid()) continue;
    const Dims& operand = function.type(node.inputs[number]).dims;
    const size_t shift = result.size() - operand.size();
    for (size_t axis = 0; axis < operand.size(); ++axis) {
      const Dim &found = operand[axis], &wanted = result[axis + shift];
      if (found == wanted || found.IsConstant(1)) continue;
      Require(list, Or(Equal(found, wanted), Equal(found, 1)),
              fmt::format("'{}': operand {} has size {{0}} along axis {}, want {{1}} or 1", node.op->name,
                          number, axis),
              {found, wanted});
    }
  }
}

void RequireSmallerIndices(const Function& function, const Node& node, Requirements* list) {
  const Type &data = function.type(node.inputs[0]), &indices = function.type(node.inputs[1]);
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

std::vector<Requirement> RequirementsOf(const Function& function, const Node& node) {
  std::vector<Requirement> list;
  RequireAll(function, node, &list);
  return list;
}

}  // namespace tvmvm::ir
