// What only running tells of tensors: their rank, whether indices are in range.
#include <string>

#include "vm/host/operands.h"

namespace tvmvm {
namespace {

// The number of the first index that is out of range, or -1.
template <class T>
int64_t FirstOutside(const TensorObject& indices, const int64_t* sizes, int64_t columns) {
  const T* values = DataOf<T>(indices);
  const int64_t count = ElementCount(indices);
  if (columns == 1) {
    const int64_t size = sizes[0];
    for (int64_t i = 0; i < count; ++i)
      if (values[i] < -size || values[i] >= size) return i;
    return -1;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t size = sizes[i % columns];
    if (values[i] < -size || values[i] >= size) return i;
  }
  return -1;
}

}  // namespace

// ()(indices, sizes)
Status HostIndicesCheck(HostCall& call) {
  TVMVM_TRY(TensorObject * indices, TensorOperand(call, 0, "indices"));
  TVMVM_TRY(TensorObject * sizes, TypedOperand(call, 1, DType::kI64, "sizes"));
  const int64_t columns = ElementCount(*sizes);
  if (columns < 1) return MakeError(Code::kInvalidProgram, "no sizes are given");
  const bool wide = indices->dtype == DType::kI64;
  if (!wide && indices->dtype != DType::kI32)
    return MakeError(Code::kInvalidProgram,
                     "indices must be i32 or i64, they are " + std::string(DTypeName(indices->dtype)));
  const int64_t* bounds = DataOf<int64_t>(*sizes);
  const int64_t at = wide ? FirstOutside<int64_t>(*indices, bounds, columns)
                          : FirstOutside<int32_t>(*indices, bounds, columns);
  if (at < 0) return {};
  const int64_t index = wide ? DataOf<int64_t>(*indices)[at] : DataOf<int32_t>(*indices)[at];
  const std::string size = std::to_string(bounds[at % columns]);
  return MakeError(Code::kInvalidArgument, "index " + std::to_string(index) + " (number " +
                                               std::to_string(at) + " of the indices) is out of range [-" +
                                               size + ", " + size + ")");
}

// ()(tensor) -> (rank)
Status HostTensorRank(HostCall& call) {
  TVMVM_TRY(const TensorObject* tensor, TensorOperand(call, 0, "tensor"));
  call.scalar_results[0] = tensor->shape.rank();
  return {};
}

// ()(tensor) -> the tensor
Status HostTensorRanked(HostCall& call) {
  TVMVM_TRY(TensorObject * tensor, TensorOperand(call, 0, "tensor"));
  ObjectPool::Retain(tensor);
  call.ref_results[0] = tensor;
  return {};
}

}  // namespace tvmvm
