// Tensors seen along one axis, and copies of what lies around it.
#pragma once

#include "vm/host/operands.h"

namespace tvmvm {

// A tensor around one axis: `outer` blocks of `axis` runs of `inner` elements. Of a tensor without elements,
// `outer` and `inner` are 0.
struct AroundAxis {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
};
AroundAxis Around(const Shape& shape, int axis);

// Copies `blocks` blocks of `run` elements; block k begins at element first + k * stride of its tensor.
struct BlockCopy {
  int64_t blocks = 0;
  int64_t run = 0;
  int64_t to_first = 0, to_stride = 0;
  int64_t from_first = 0, from_stride = 0;
};
// Both tensors have one element type of whole bytes. Errors: kCancelled.
Status CopyBlocks(const HostCall& call, const TensorObject& to, const TensorObject& from,
                  const BlockCopy& copy);

// Errors: kUnsupported for elements that share bytes.
Status CheckWholeBytes(DType dtype);

}  // namespace tvmvm
