// The functions of c_api.h for tensors.
#include <string>
#include <vector>

#include "vm/c/objects.h"

using tvmvm::Code;
using tvmvm::DType;
using tvmvm::MakeError;
using tvmvm::Status;
using tvmvm::c::Guarded;
using tvmvm::c::NullArgument;

namespace {

static_assert(TVMVM_F6E3M2 == static_cast<int>(DType::kF6E3M2));
static_assert(TVMVM_F6E3M2 + 1 == tvmvm::kDTypeCount);

tvmvm::Expected<tvmvm::Shape> ShapeFrom(const int64_t* dims, int rank) {
  if (rank < 0 || rank > tvmvm::kMaxRank)
    return MakeError(Code::kInvalidArgument,
                     "rank " + std::to_string(rank) + ", wanted 0 to " + std::to_string(tvmvm::kMaxRank));
  if (rank > 0 && dims == nullptr) return NullArgument("dims");
  return tvmvm::Shape(std::span<const int64_t>(dims, static_cast<size_t>(rank)));
}

tvmvm::Expected<DType> DTypeFrom(tvmvm_dtype dtype) {
  const auto number = static_cast<int>(dtype);
  if (number <= 0 || number >= tvmvm::kDTypeCount)
    return MakeError(Code::kInvalidArgument, "there is no element type " + std::to_string(number));
  return static_cast<DType>(number);
}

tvmvm::Expected<std::string*> StringAt(const tvmvm_tensor* tensor, int64_t index) {
  if (tensor == nullptr) return NullArgument("tensor");
  if (tensor->tensor.dtype() != DType::kString)
    return MakeError(
        Code::kInvalidArgument,
        "a tensor of " + std::string(tvmvm::DTypeName(tensor->tensor.dtype())) + " has no strings");
  std::vector<std::string>& strings = tensor->tensor.strings();
  if (index < 0 || index >= static_cast<int64_t>(strings.size()))
    return MakeError(Code::kInvalidArgument,
                     "string " + std::to_string(index) + " of a tensor of " + std::to_string(strings.size()));
  return &strings[static_cast<size_t>(index)];
}

// One without elements for null.
const tvmvm::Tensor& Given(const tvmvm_tensor* tensor) {
  static const tvmvm::Tensor none;
  return tensor != nullptr ? tensor->tensor : none;
}

}  // namespace

extern "C" {

tvmvm_status* tvmvm_tensor_allocate(tvmvm_dtype dtype, const int64_t* dims, int rank, tvmvm_tensor** tensor) {
  return Guarded([&]() -> Status {
    if (tensor == nullptr) return NullArgument("tensor");
    TVMVM_TRY(DType type, DTypeFrom(dtype));
    TVMVM_TRY(tvmvm::Shape shape, ShapeFrom(dims, rank));
    TVMVM_TRY(tvmvm::Tensor created, tvmvm::Tensor::Allocate(type, shape));
    *tensor = new tvmvm_tensor{std::move(created)};
    return {};
  });
}
tvmvm_status* tvmvm_tensor_borrow(tvmvm_dtype dtype, const int64_t* dims, int rank, void* data,
                                  tvmvm_tensor** tensor) {
  return Guarded([&]() -> Status {
    if (tensor == nullptr) return NullArgument("tensor");
    TVMVM_TRY(DType type, DTypeFrom(dtype));
    if (type == DType::kString) return MakeError(Code::kInvalidArgument, "strings cannot be borrowed");
    TVMVM_TRY(tvmvm::Shape shape, ShapeFrom(dims, rank));
    *tensor = new tvmvm_tensor{tvmvm::Tensor::Borrow(type, shape, data)};
    return {};
  });
}
tvmvm_status* tvmvm_tensor_from_dlpack(DLManagedTensor* managed, tvmvm_tensor** tensor) {
  return Guarded([&]() -> Status {
    TVMVM_TRY(tvmvm::Tensor taken, tvmvm::Tensor::FromDLPack(managed));
    if (tensor == nullptr) return NullArgument("tensor");
    *tensor = new tvmvm_tensor{std::move(taken)};
    return {};
  });
}
tvmvm_status* tvmvm_tensor_to_dlpack(const tvmvm_tensor* tensor, DLManagedTensor** managed) {
  return Guarded([&]() -> Status {
    if (tensor == nullptr || managed == nullptr) return NullArgument("tensor or managed");
    TVMVM_TRY(*managed, tensor->tensor.ToDLPack());
    return {};
  });
}
tvmvm_status* tvmvm_tensor_allocate_on(const tvmvm_device* device, tvmvm_dtype dtype, const int64_t* dims,
                                       int rank, tvmvm_tensor** tensor) {
  return Guarded([&]() -> Status {
    if (device == nullptr || tensor == nullptr) return NullArgument("device or tensor");
    TVMVM_TRY(DType type, DTypeFrom(dtype));
    TVMVM_TRY(tvmvm::Shape shape, ShapeFrom(dims, rank));
    TVMVM_TRY(tvmvm::Tensor created, tvmvm::Tensor::AllocateOn(device->device, type, shape));
    *tensor = new tvmvm_tensor{std::move(created)};
    return {};
  });
}
tvmvm_status* tvmvm_tensor_copy_to(const tvmvm_tensor* tensor, const tvmvm_device* device,
                                   tvmvm_tensor** copy) {
  return Guarded([&]() -> Status {
    if (tensor == nullptr || copy == nullptr) return NullArgument("tensor or copy");
    TVMVM_TRY(tvmvm::Tensor made, tensor->tensor.CopyTo(device != nullptr ? device->device : nullptr));
    *copy = new tvmvm_tensor{std::move(made)};
    return {};
  });
}
tvmvm_status* tvmvm_tensor_copy_from(tvmvm_tensor* tensor, const tvmvm_tensor* source) {
  return Guarded([&]() -> Status {
    if (tensor == nullptr || source == nullptr) return NullArgument("tensor or source");
    return tensor->tensor.CopyFrom(source->tensor);
  });
}
const char* tvmvm_tensor_device_name(const tvmvm_tensor* tensor) {
  const std::shared_ptr<tvmvm::Device>& device = Given(tensor).device();
  return device ? device->name().c_str() : "";
}
void tvmvm_tensor_free(tvmvm_tensor* tensor) { delete tensor; }
tvmvm_dtype tvmvm_tensor_dtype(const tvmvm_tensor* tensor) {
  return static_cast<tvmvm_dtype>(Given(tensor).dtype());
}
int tvmvm_tensor_rank(const tvmvm_tensor* tensor) {
  return tensor != nullptr ? tensor->tensor.shape().rank() : -1;
}
int64_t tvmvm_tensor_dim(const tvmvm_tensor* tensor, int axis) {
  return axis >= 0 && axis < tvmvm_tensor_rank(tensor) ? tensor->tensor.shape()[axis] : -1;
}
void* tvmvm_tensor_data(const tvmvm_tensor* tensor) { return Given(tensor).data(); }
int64_t tvmvm_tensor_byte_count(const tvmvm_tensor* tensor) { return Given(tensor).byte_count(); }
tvmvm_status* tvmvm_tensor_get_string(const tvmvm_tensor* tensor, int64_t index, const char** text,
                                      size_t* size) {
  return Guarded([&]() -> Status {
    TVMVM_TRY(const std::string* found, StringAt(tensor, index));
    if (text != nullptr) *text = found->c_str();
    if (size != nullptr) *size = found->size();
    return {};
  });
}
tvmvm_status* tvmvm_tensor_set_string(tvmvm_tensor* tensor, int64_t index, const char* text, size_t size) {
  return Guarded([&]() -> Status {
    TVMVM_TRY(std::string * found, StringAt(tensor, index));
    if (text == nullptr && size > 0) return NullArgument("text");
    found->assign(text != nullptr ? text : "", size);
    return {};
  });
}

}  // extern "C"
