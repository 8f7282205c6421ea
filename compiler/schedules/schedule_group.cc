#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/storage.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/single_sizes.h"

namespace tvmvm::tensor {
namespace {

bool IsProcedural(const GroupView& group) {
  return std::any_of(group.nodes().begin(), group.nodes().end(), [&](ir::NodeId id) {
    const ir::CoreOp* op = group.function().node(id).op;
    return op != nullptr && ir::BuildsLoops(op->kind);
  });
}

ir::Dim BytesOf(const ir::Type& type) { return lowering::BytesOf(type.dtype, type.dims); }

// What one argument holds. Panels are made of the group's constants.
ir::Dim BytesOf(const GroupView& group, const GroupProgram& program, const KernelArgument& argument) {
  switch (argument.kind) {
    case ArgumentKind::kInput:
      return BytesOf(group.type(group.inputs()[argument.index]));
    case ArgumentKind::kOutput:
      return BytesOf(group.type(group.outputs()[argument.index]));
    case ArgumentKind::kWorkspace: {
      const Workspace& space = program.workspaces[argument.index];
      return space.elements * ir::Dim(DTypeBits(space.dtype) / 8);
    }
    case ArgumentKind::kPacked:
      if (argument.index > 0) return 0;  // the first one stands for all
      break;
  }
  ir::Dim bytes = 0;
  for (size_t i = 0; i < group.outer_inputs().size(); ++i)
    if (group.function().ConstantOf(group.outer_inputs()[i]) != nullptr)
      bytes = bytes + BytesOf(group.type(group.inputs()[i]));
  return bytes;
}

// Products say what they compute; they move everything once at least.
void StateBytes(const GroupView& group, GroupProgram* program) {
  for (KernelCall& call : program->calls) {
    if (!call.kernel.bytes.IsConstant(0)) continue;
    for (const KernelArgument& argument : call.arguments)
      call.kernel.bytes = call.kernel.bytes + BytesOf(group, *program, argument);
  }
}

Expected<GroupProgram> Schedule(const GroupView& group, const TargetInfo& target) {
  if (IsGpu(target)) return ScheduleForGpu(group, target);
  if (IsProcedural(group)) return ScheduleProcedural(group, target);
  if (TakesAttention(group)) return ScheduleAttention(group, target);
  if (TakesContraction(group)) return ScheduleContraction(group, target);
  if (TakesConvolution(group)) return ScheduleConvolution(group, target);
  if (TakesPlanarWindow(group)) return SchedulePlanarWindow(group, target);
  return ScheduleSingleSizes(group, [&](const GroupView& sized) {
    return TakesRows(sized) ? ScheduleRows(sized, target) : ScheduleGeneric(sized, target);
  });
}

}  // namespace

Expected<GroupProgram> ScheduleGroup(const ir::Function& function, ir::NodeId group, const TargetInfo& target,
                                     const ScheduleOverrides* overrides) {
  const GroupView view(function, group, overrides);
  Expected<GroupProgram> program = Schedule(view, target);
  if (!program) {
    return MakeError(program.error().code,
                     fmt::format("{}: {}", function.node(group).source, program.error().message));
  }
  StateBytes(view, &*program);
#ifndef NDEBUG
  for (const KernelCall& call : program->calls) TVMVM_CHECK_OK(VerifyLoops(call.kernel));
#endif
  return program;
}

}  // namespace tvmvm::tensor
