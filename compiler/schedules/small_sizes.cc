#include "compiler/schedules/small_sizes.h"

#include <algorithm>
#include <vector>

namespace tvmvm::tensor {
namespace {

using ir::Dim;

bool HasCoordinatesAsElements(const GroupView& group) {
  return std::ranges::any_of(group.nodes(), [&](ir::NodeId id) {
    const ir::Node& node = group.function().node(id);
    return node.op != nullptr && node.op->traits.axes == ir::AxisMap::kIndex &&
           group.type(node.outputs[0]).dtype == DType::kI64;
  });
}

// All that the call's kernel counts to.
std::vector<Dim> SizesOf(const GroupView& group, const GroupProgram& program, const KernelCall& call) {
  std::vector<Dim> sizes = ScalarArguments(call.kernel);
  for (const Dim& size : call.kernel.grid_size) sizes.push_back(size * Dim(call.kernel.GroupItems()));
  for (const KernelArgument& argument : call.arguments) {
    if (argument.kind == ArgumentKind::kWorkspace) {
      sizes.push_back(program.workspaces[argument.index].elements);
    } else {
      bool is_input = argument.kind == ArgumentKind::kInput;
      sizes.push_back(
          Product(group.type((is_input ? group.inputs() : group.outputs())[argument.index]).dims));
    }
  }
  return sizes;
}

}  // namespace

Dim AreSmall(std::span<const Dim> sizes) {
  std::vector<Dim> asked;  // each once: every launch asks
  Dim small = 1;
  for (const Dim& size : sizes) {
    if (std::ranges::find(asked, size) != asked.end()) continue;
    asked.push_back(size);
    small = And(small, LessEqual(size, Dim(kSmallSize)));
    if (RangeOf(size).low < -kSmallSize) small = And(small, LessEqual(Dim(-kSmallSize), size));
  }
  return small;
}

void SplitBySize(const GroupView& group, GroupProgram* program) {
  if (HasCoordinatesAsElements(group)) return;
  std::vector<KernelCall> calls;
  for (KernelCall& call : program->calls) {
    const Dim small = AreSmall(SizesOf(group, *program, call)), when = call.when;
    if (!small.IsConstant(1)) {
      calls.push_back(call);
      calls.back().when = And(when, Not(small));
    }
    if (small.IsConstant(0)) continue;
    call.kernel.small_sizes = true;
    call.when = And(when, small);
    calls.push_back(std::move(call));
  }
  program->calls = std::move(calls);
}

}  // namespace tvmvm::tensor
