// What only running tells of tensors: their rank, whether indices are in range.
#include <algorithm>
#include <string>

#include "vm/host/operands.h"

namespace tvmvm {
namespace {

// The number of the first index that is out of range, or -1. No size is negative. Errors: kCancelled.
template <class T>
Expected<int64_t> FirstOutside(const HostCall& call, const TensorObject& indices, const int64_t* sizes,
                               int64_t columns) {
  constexpr int64_t kPart = 1 << 16;
  const T* values = DataOf<T>(indices);
  const int64_t count = ElementCount(indices);
  for (int64_t begin = 0; begin < count; begin += kPart) {
    const int64_t end = std::min(count, begin + kPart);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t size = sizes[columns == 1 ? 0 : i % columns];
      if (values[i] < -size || values[i] >= size) return i;
    }
    TVMVM_CHECK_OK(Poll(call));
  }
  return -1;
}

// The shape of the tensor with the rows behind its own.
Expected<Shape> AppendedShape(const TensorObject& tensor, const TensorObject& rows, int64_t axis) {
  Shape shape = tensor.shape;
  bool fits = DTypeBits(tensor.dtype) % 8 == 0 && tensor.dtype != DType::kString && axis >= 0 &&
              axis < shape.rank() && rows.shape.rank() == shape.rank();
  for (int other = 0; fits && other < shape.rank(); ++other)
    fits = other == axis || (shape[other] == rows.shape[other] && (other > axis || shape[other] == 1));
  const int at = static_cast<int>(axis);
  if (fits && !__builtin_add_overflow(shape[at], rows.shape[at], &shape[at]) && shape.ElementCount())
    return shape;
  return MakeError(Code::kInvalidArgument, rows.shape.ToString() + " cannot be put behind " +
                                               tensor.shape.ToString() + " along axis " +
                                               std::to_string(axis));
}

// The same elements in another shape, which has as many. The memory is shared where it may be.
Status GiveShaped(HostCall& call, TensorObject* tensor, const Shape& shape) {
  TVMVM_TRY(Object * retained, Retained(call, tensor));
  Owned<TensorObject> kept(call.pool, static_cast<TensorObject*>(retained));
  ObjectPool::Retain(kept->buffer);
  TensorObject* result = call.pool.NewTensor(kept->buffer, kept->dtype, shape);
  result->data = kept->data;
  call.ref_results[0] = result;
  return {};
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
  for (int64_t column = 0; column < columns; ++column)
    if (bounds[column] < 0)
      return MakeError(Code::kInvalidArgument, "size " + std::to_string(bounds[column]) + " (number " +
                                                   std::to_string(column) + " of the sizes) is negative");
  TVMVM_TRY(const int64_t at, wide ? FirstOutside<int64_t>(call, *indices, bounds, columns)
                                   : FirstOutside<int32_t>(call, *indices, bounds, columns));
  if (at < 0) return {};
  const int64_t index = wide ? DataOf<int64_t>(*indices)[at] : DataOf<int32_t>(*indices)[at];
  const std::string size = std::to_string(bounds[at % columns]);
  return MakeError(Code::kInvalidArgument, "index " + std::to_string(index) + " (number " +
                                               std::to_string(at) + " of the indices) is out of range [-" +
                                               size + ", " + size + ")");
}

// (axis)(tensor, rows) -> the tensor with the rows behind its own. Bytes behind the last that any tensor
// shows may be written: whoever holds the old tensor sees the same as before.
Status HostTensorAppend(HostCall& call) {
  TVMVM_TRY(TensorObject * tensor, TensorOperand(call, 0, "tensor"));
  TVMVM_TRY(const TensorObject* rows, TypedOperand(call, 1, tensor->dtype, "rows"));
  TVMVM_TRY(Shape shape, AppendedShape(*tensor, *rows, call.scalars[0]));
  int64_t bytes = 0;
  if (__builtin_add_overflow(tensor->bytes, rows->bytes, &bytes))
    return MakeError(Code::kOutOfMemory, "the tensor would have too many bytes");
  Buffer* old = tensor->buffer;
  const bool fits = old->origin == BufferOrigin::kHost && !old->read_only &&
                    tensor->data + tensor->bytes == old->data + old->used &&
                    rows->bytes <= old->bytes - old->used;
  const int64_t begin = fits ? tensor->data - old->data : 0;
  Buffer* found = old;
  if (fits) {
    ObjectPool::Retain(old);
  } else {
    Expected<Buffer*> roomy =
        call.pool.AllocateBuffer(bytes > INT64_MAX / 2 ? bytes : 2 * bytes, "tensor.append");
    if (!roomy) roomy = call.pool.AllocateBuffer(bytes, "tensor.append");
    if (!roomy) return tl::unexpected(roomy.error());
    found = *roomy;
  }
  Owned<Buffer> buffer(call.pool, found);
  if (!fits) TVMVM_CHECK_OK(Copy(call, buffer->data, tensor->data, tensor->bytes));
  TVMVM_CHECK_OK(Copy(call, buffer->data + begin + tensor->bytes, rows->data, rows->bytes));
  buffer->used = begin + bytes;
  char* data = buffer->data + begin;
  TensorObject* result = call.pool.NewTensor(buffer.Give(), tensor->dtype, shape);
  result->data = data;
  call.ref_results[0] = result;
  return {};
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

// ()(tensor) -> its elements along one axis
Status HostTensorFlat(HostCall& call) {
  TVMVM_TRY(TensorObject * tensor, TensorOperand(call, 0, "tensor"));
  return GiveShaped(call, tensor, Shape({ElementCount(*tensor)}));
}

// ()(tensor, like) -> the tensor in the shape of the other one
Status HostTensorShapedLike(HostCall& call) {
  TVMVM_TRY(TensorObject * tensor, TensorOperand(call, 0, "tensor"));
  TVMVM_TRY(const TensorObject* like, TensorOperand(call, 1, "like"));
  if (ElementCount(*tensor) != ElementCount(*like))
    return MakeError(Code::kInvalidArgument,
                     tensor->shape.ToString() + " cannot have the shape " + like->shape.ToString());
  return GiveShaped(call, tensor, like->shape);
}

// (rank)(tensor) -> the tensor with axes of size 1 in front, or without them
Status HostTensorWithRank(HostCall& call) {
  TVMVM_TRY(TensorObject * tensor, TensorOperand(call, 0, "tensor"));
  const int64_t rank = call.scalars[0], given = tensor->shape.rank();
  bool fits = rank >= 0 && rank <= kMaxRank;
  for (int64_t axis = 0; fits && axis < given - rank; ++axis)
    fits = tensor->shape[static_cast<int>(axis)] == 1;
  if (!fits)
    return MakeError(Code::kInvalidArgument,
                     tensor->shape.ToString() + " cannot have rank " + std::to_string(rank));
  Shape shape;
  for (int64_t axis = given; axis < rank; ++axis) shape.push_back(1);
  for (int64_t axis = std::max<int64_t>(given - rank, 0); axis < given; ++axis)
    shape.push_back(tensor->shape[static_cast<int>(axis)]);
  return GiveShaped(call, tensor, shape);
}

}  // namespace tvmvm
