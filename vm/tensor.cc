#include "vm/tensor.h"

#include <exception>
#include <utility>

#include "allocator/host_memory.h"

namespace tvmvm {

Expected<Tensor> Tensor::Allocate(DType dtype, const Shape& shape) {
  std::optional<int64_t> count = shape.ElementCount();
  // 16 bytes is the largest element.
  if (!count || *count > INT64_MAX / 16)
    return MakeError(Code::kInvalidArgument, "a tensor of shape " + shape.ToString() + " cannot be");
  if (dtype == DType::kString) {
    try {
      return FromStrings(shape, std::vector<std::string>(static_cast<size_t>(*count)));
    } catch (const std::exception&) {
      return MakeError(Code::kOutOfMemory,
                       "the host has no memory for " + std::to_string(*count) + " strings");
    }
  }
  if (DTypeBits(dtype) == 0) return MakeError(Code::kInvalidArgument, "a tensor without an element type");
  int64_t bytes = DTypeBytes(dtype, *count);
  TVMVM_TRY(std::shared_ptr<void> memory, AllocateSharedHost(bytes));
  void* data = memory.get();
  if (IsSubByte(dtype) && bytes > 0) static_cast<uint8_t*>(data)[bytes - 1] = 0;
  return Share(dtype, shape, data, std::move(memory));
}

Tensor Tensor::Borrow(DType dtype, const Shape& shape, void* data) {
  return Share(dtype, shape, data, nullptr);
}

Tensor Tensor::Share(DType dtype, const Shape& shape, void* data, std::shared_ptr<void> owner) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.data_ = data;
  tensor.owner_ = std::move(owner);
  return tensor;
}

Tensor Tensor::FromStrings(const Shape& shape, std::vector<std::string> strings) {
  return ShareStrings(shape, std::make_shared<std::vector<std::string>>(std::move(strings)));
}

Tensor Tensor::ShareStrings(const Shape& shape, std::shared_ptr<std::vector<std::string>> strings) {
  Tensor tensor;
  tensor.dtype_ = DType::kString;
  tensor.shape_ = shape;
  tensor.strings_ = std::move(strings);
  return tensor;
}

int64_t Tensor::element_count() const { return shape_.ElementCount().value_or(0); }

int64_t Tensor::byte_count() const { return DTypeBytes(dtype_, element_count()); }

}  // namespace tvmvm
