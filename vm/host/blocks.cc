#include "vm/host/blocks.h"

#include <algorithm>
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

void CopyBlocks(const TensorObject& to, const TensorObject& from, const BlockCopy& copy) {
  if (copy.run == 0) return;
  for (int64_t block = 0; block < copy.blocks; ++block) {
    const int64_t to_at = copy.to_first + block * copy.to_stride;
    const int64_t from_at = copy.from_first + block * copy.from_stride;
    if (to.dtype == DType::kString) {
      std::copy_n(StringsOf(from).begin() + from_at, copy.run, StringsOf(to).begin() + to_at);
    } else {
      const int64_t size = DTypeBits(to.dtype) / 8;
      std::memcpy(to.data + to_at * size, from.data + from_at * size, static_cast<size_t>(copy.run * size));
    }
  }
}

Status CheckWholeBytes(DType dtype) {
  if (!IsSubByte(dtype)) return {};
  return MakeError(Code::kUnsupported, "elements of " + std::string(DTypeName(dtype)) + " share bytes");
}

}  // namespace tvmvm
