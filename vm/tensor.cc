#include "tvm-vm/tensor.h"

#include <cstring>
#include <utility>

#include "allocator/host_memory.h"
#include "bytecode/guarded.h"

namespace tvmvm {

struct Tensor::OnDevice {
  std::shared_ptr<Device> device;
  DeviceMemory memory;
  bool has_memory = false;

  explicit OnDevice(std::shared_ptr<Device> of) : device(std::move(of)) {}
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (has_memory) device->Free(memory);
  }
};

namespace {

// 16 bytes is the largest element.
Expected<int64_t> CountOf(const Shape& shape) {
  std::optional<int64_t> count = shape.ElementCount();
  if (!count || *count > INT64_MAX / 16)
    return MakeError(Code::kInvalidArgument, "a tensor of shape " + shape.ToString() + " cannot be");
  return *count;
}

// How many bytes elements of that type and shape take.
Expected<int64_t> BytesFor(DType dtype, const Shape& shape) {
  TVMVM_TRY(const int64_t count, CountOf(shape));
  if (DTypeBits(dtype) == 0) return MakeError(Code::kInvalidArgument, "a tensor without an element type");
  return DTypeBytes(dtype, count);
}

Expected<Tensor> AllocateStrings(const Shape& shape) {
  TVMVM_TRY(const int64_t count, CountOf(shape));
  try {
    return Tensor::FromStrings(shape, std::vector<std::string>(static_cast<size_t>(count)));
  } catch (const std::exception&) {
    return MakeError(Code::kOutOfMemory, "the host has no memory for " + std::to_string(count) + " strings");
  }
}

Expected<Tensor> AllocateElements(DType dtype, const Shape& shape) {
  TVMVM_TRY(const int64_t bytes, BytesFor(dtype, shape));
  TVMVM_TRY(std::shared_ptr<void> memory, AllocateSharedHost(bytes));
  void* data = memory.get();
  if (IsSubByte(dtype) && bytes > 0) static_cast<uint8_t*>(data)[bytes - 1] = 0;
  return Tensor::Share(dtype, shape, data, std::move(memory));
}

}  // namespace

Expected<Tensor> Tensor::Allocate(DType dtype, const Shape& shape) {
  return Guarded(
      [&] { return dtype == DType::kString ? AllocateStrings(shape) : AllocateElements(dtype, shape); });
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

Expected<Tensor> Tensor::AllocateOn(std::shared_ptr<Device> device, DType dtype, const Shape& shape) {
  return Guarded([&]() -> Expected<Tensor> {
    if (!device || ClassOf(device->target().device) == DeviceClass::kCpu) return Allocate(dtype, shape);
    if (dtype == DType::kString)
      return MakeError(Code::kUnsupported, "strings are on the cpu, not on " + device->name());
    TVMVM_TRY(const int64_t bytes, BytesFor(dtype, shape));
    auto on_device = std::make_shared<OnDevice>(std::move(device));
    TVMVM_TRY(on_device->memory, on_device->device->Allocate(bytes, nullptr));
    on_device->has_memory = true;
    Tensor tensor;
    tensor.dtype_ = dtype;
    tensor.shape_ = shape;
    tensor.on_device_ = std::move(on_device);
    return tensor;
  });
}

const std::shared_ptr<Device>& Tensor::device() const {
  static const std::shared_ptr<Device> host;
  return on_device_ ? on_device_->device : host;
}

DeviceMemory Tensor::device_memory() const { return on_device_ ? on_device_->memory : DeviceMemory(); }

Status Tensor::CopyFrom(const Tensor& source) const {
  return Guarded([&]() -> Status {
    if (source.dtype() != dtype() || !(source.shape() == shape()))
      return MakeError(Code::kInvalidArgument, std::string(DTypeName(source.dtype())) +
                                                   source.shape().ToString() + " given for a copy, " +
                                                   std::string(DTypeName(dtype())) + shape().ToString() +
                                                   " is wanted");
    const std::shared_ptr<Device>& from = source.device();
    if (dtype() == DType::kString) {
      *strings_ = source.strings();
      return {};
    }
    if (!device() && !from) {
      if (byte_count() > 0) std::memmove(data(), source.data(), static_cast<size_t>(byte_count()));
      return {};
    }
    if (device() && from && device() != from) {  // two devices meet at the host
      TVMVM_TRY(const Tensor between, source.CopyTo(nullptr));
      return CopyFrom(between);
    }
    TVMVM_TRY(std::unique_ptr<Queue> queue, (device() ? device() : from)->NewQueue());
    if (!from)
      TVMVM_CHECK_OK(queue->CopyIn({device_memory()}, source.data(), byte_count(), nullptr));
    else if (!device())
      TVMVM_CHECK_OK(queue->CopyOut(data(), {source.device_memory()}, byte_count(), nullptr));
    else
      TVMVM_CHECK_OK(queue->Copy({device_memory()}, {source.device_memory()}, byte_count(), nullptr));
    TVMVM_CHECK_OK(queue->Wait(nullptr));
    return {};
  });
}

Expected<Tensor> Tensor::CopyTo(const std::shared_ptr<Device>& device) const {
  TVMVM_TRY(Tensor copy, AllocateOn(device, dtype(), shape()));
  TVMVM_CHECK_OK(copy.CopyFrom(*this));
  return copy;
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
