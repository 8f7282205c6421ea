#include "compiler/tensor/group.h"

namespace tvmvm::tensor {

bool TakesConvolution(const GroupView&) { return false; }

Expected<GroupProgram> ScheduleConvolution(const GroupView&, const TargetInfo&) {
  return MakeError(Code::kInternal, "not a group around a convolution");
}

}  // namespace tvmvm::tensor
