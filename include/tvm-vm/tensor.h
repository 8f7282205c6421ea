// What goes in and out of an Invocation: a dtype, a shape and memory that is the caller's or shared, of the
// host or of a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tvm-vm/device.h"
#include "tvm-vm/dtype.h"
#include "tvm-vm/export.h"
#include "tvm-vm/shape.h"
#include "tvm-vm/status.h"

struct DLManagedTensor;

namespace tvmvm {

// A dense row-major tensor. Copying a Tensor shares the memory.
class TVMVM_EXPORT Tensor {
 public:
  Tensor() = default;

  // New memory, 64-byte aligned, uninitialised but for the bits behind the last element of a sub-byte type,
  // which are zero. Errors: kOutOfMemory, kInvalidArgument (negative dims, overflow).
  static Expected<Tensor> Allocate(DType dtype, const Shape& shape);
  // Memory of the caller's that outlives every use of the tensor. `data` holds DTypeBytes(dtype, elements)
  // bytes and is aligned to the element size.
  static Tensor Borrow(DType dtype, const Shape& shape, void* data);
  // As Borrow, with `owner` kept alive by the tensor.
  static Tensor Share(DType dtype, const Shape& shape, void* data, std::shared_ptr<void> owner);
  // Memory of a device that has its own, 64-byte aligned, uninitialised; of the host for a CPU. A run on that
  // device takes it as input or output without a copy across the bus. Such a tensor has no data(): CopyFrom
  // and CopyTo reach it. Errors: as Allocate; kUnsupported for strings.
  static Expected<Tensor> AllocateOn(std::shared_ptr<Device> device, DType dtype, const Shape& shape);
  static Tensor FromStrings(const Shape& shape, std::vector<std::string> strings);
  static Tensor ShareStrings(const Shape& shape, std::shared_ptr<std::vector<std::string>> strings);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  void* data() const { return data_; }
  // Where the memory is; null: the host's.
  const std::shared_ptr<Device>& device() const;
  // The memory there; of nothing for tensors of the host.
  DeviceMemory device_memory() const;
  // Copies the elements of a tensor of the same dtype and shape, from wherever they are, and waits until they
  // are here. Nothing else may be using this tensor's memory. Errors: kInvalidArgument, the device's.
  Status CopyFrom(const Tensor& source) const;
  // A copy on a device; null: in host memory.
  Expected<Tensor> CopyTo(const std::shared_ptr<Device>& device) const;

  int64_t element_count() const;
  int64_t byte_count() const;
  const std::shared_ptr<void>& owner() const { return owner_; }
  // kString tensors only: element_count() strings.
  std::vector<std::string>& strings() const { return *strings_; }
  const std::shared_ptr<std::vector<std::string>>& shared_strings() const { return strings_; }
  bool empty_handle() const {
    return data_ == nullptr && !strings_ && !on_device_ && dtype_ == DType::kInvalid;
  }

  // DLPack. FromDLPack takes ownership of `managed` and calls its deleter when the last copy goes; only dense
  // row-major host tensors are taken (kUnsupported otherwise). ToDLPack gives a new managed tensor that
  // shares the memory; kUnsupported for tensors on a device and for element types that it lacks.
  static Expected<Tensor> FromDLPack(DLManagedTensor* managed);
  Expected<DLManagedTensor*> ToDLPack() const;

 private:
  struct TVMVM_PRIVATE OnDevice;

  DType dtype_ = DType::kInvalid;
  Shape shape_;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
  std::shared_ptr<std::vector<std::string>> strings_;
  std::shared_ptr<const OnDevice> on_device_;
};

}  // namespace tvmvm
