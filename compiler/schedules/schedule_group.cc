#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {
namespace {

bool IsProcedural(const GroupView& group) {
  return std::any_of(group.nodes().begin(), group.nodes().end(), [&](ir::NodeId id) {
    const ir::CoreOp* op = group.function().node(id).op;
    return op != nullptr && op->kind == ir::OpKind::kProcedural;
  });
}

Expected<GroupProgram> Schedule(const GroupView& group, const TargetInfo& target) {
  if (IsGpu(target)) return ScheduleForGpu(group, target);
  if (IsProcedural(group)) return ScheduleProcedural(group, target);
  if (TakesContraction(group)) return ScheduleContraction(group, target);
  if (TakesConvolution(group)) return ScheduleConvolution(group, target);
  if (TakesRows(group)) return ScheduleRows(group, target);
  return ScheduleGeneric(group, target);
}

}  // namespace

Expected<GroupProgram> ScheduleGroup(const ir::Function& function, ir::NodeId group,
                                     const TargetInfo& target) {
  Expected<GroupProgram> program = Schedule(GroupView(function, group), target);
  if (!program) {
    return MakeError(program.error().code,
                     fmt::format("{}: {}", function.node(group).source, program.error().message));
  }
#ifndef NDEBUG
  for (const KernelCall& call : program->calls) TVMVM_CHECK_OK(VerifyLoops(call.kernel));
#endif
  return program;
}

}  // namespace tvmvm::tensor
