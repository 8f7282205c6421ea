// Attention as kernels of its parts: the scores, the arithmetic on their rows, the result.
#pragma once

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// Adds the calls, which run where `when` is not 0, and workspaces for what goes from part to part. The group
// is one around attention (attention_group.h).
Status AddAttentionParts(const GroupView& group, const ir::Dim& when, const TargetInfo& target,
                         GroupProgram* program);

}  // namespace tvmvm::tensor
