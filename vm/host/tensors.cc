// Tensors of a rank that only running tells.
#include "vm/host/operands.h"

namespace tvmvm {

// ()(tensor) -> (rank)
Status HostTensorRank(HostCall& call) {
  TVMVM_TRY(const TensorObject* tensor, TensorOperand(call, 0, "tensor"));
  call.scalar_results[0] = tensor->shape.rank();
  return {};
}

// ()(tensor) -> the tensor
Status HostTensorRanked(HostCall& call) {
  TVMVM_TRY(TensorObject* tensor, TensorOperand(call, 0, "tensor"));
  ObjectPool::Retain(tensor);
  call.ref_results[0] = tensor;
  return {};
}

}  // namespace tvmvm
