// What goes in and out of an Invocation: a dtype, a shape and memory that is the caller's or shared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bytecode/dtype.h"
#include "bytecode/shape.h"
#include "bytecode/status.h"

struct DLManagedTensor;

namespace tvmvm {

// A dense row-major tensor in host memory. Copying a Tensor shares the memory.
class Tensor {
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
  static Tensor FromStrings(const Shape& shape, std::vector<std::string> strings);
  static Tensor ShareStrings(const Shape& shape, std::shared_ptr<std::vector<std::string>> strings);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  void* data() const { return data_; }
  int64_t element_count() const;
  int64_t byte_count() const;
  const std::shared_ptr<void>& owner() const { return owner_; }
  // kString tensors only: element_count() strings.
  std::vector<std::string>& strings() const { return *strings_; }
  const std::shared_ptr<std::vector<std::string>>& shared_strings() const { return strings_; }
  bool empty_handle() const { return data_ == nullptr && !strings_ && dtype_ == DType::kInvalid; }

  // DLPack. FromDLPack takes ownership of `managed` and calls its deleter when the last copy goes; only dense
  // row-major host tensors are taken (kUnsupported otherwise). ToDLPack gives a new managed tensor that
  // shares the memory.
  static Expected<Tensor> FromDLPack(DLManagedTensor* managed);
  Expected<DLManagedTensor*> ToDLPack() const;

 private:
  DType dtype_ = DType::kInvalid;
  Shape shape_;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
  std::shared_ptr<std::vector<std::string>> strings_;
};

}  // namespace tvmvm
