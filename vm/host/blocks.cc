#include "vm/host/blocks.h"

#include <cstring>

namespace tvmvm {

AroundAxis Around(const Shape& shape, int axis) {
  if (*shape.ElementCount() == 0) return {0, shape[axis], 0};  // the other dims' products may be too large
  AroundAxis around;
  for (int i = 0; i < axis; ++i) around.outer *= shape[i];
  around.axis = shape[axis];
  for (int i = axis + 1; i < shape.rank(); ++i) around.inner *= shape[i];
  return around;
}

Status CopyBlocks(const HostCall& call, const TensorObject& to, const TensorObject& from,
                  const BlockCopy& copy) {
  constexpr int64_t kShort = 4096;
  if (copy.run == 0) return {};
  for (int64_t block = 0; block < copy.blocks; ++block) {
    const int64_t to_at = copy.to_first + block * copy.to_stride;
    const int64_t from_at = copy.from_first + block * copy.from_stride;
    if (to.dtype == DType::kString) {
      for (int64_t i = 0; i < copy.run; ++i)
        TVMVM_CHECK_OK(Append(call, &StringsOf(to)[static_cast<size_t>(to_at + i)],
                              StringsOf(from)[static_cast<size_t>(from_at + i)]));
    } else {
      const int64_t size = DTypeBits(to.dtype) / 8;
      const int64_t bytes = copy.run * size;
      if (bytes <= kShort) {
        std::memcpy(to.data + to_at * size, from.data + from_at * size, static_cast<size_t>(bytes));
      } else {
        TVMVM_CHECK_OK(Copy(call, to.data + to_at * size, from.data + from_at * size, bytes));
      }
      TVMVM_CHECK_OK(PollWork(call, 4 + bytes / 8));
    }
  }
  return {};
}

Status CheckWholeBytes(DType dtype) {
  if (!IsSubByte(dtype)) return {};
  return MakeError(Code::kUnsupported, "elements of " + std::string(DTypeName(dtype)) + " share bytes");
}

}  // namespace tvmvm
