// Tensor <-> DLPack (the unversioned DLManagedTensor, which every producer and consumer understands).
#include <dlpack/dlpack.h>

#include <array>
#include <memory>
#include <string>

#include "bytecode/guarded.h"
#include "tvm-vm/tensor.h"

namespace tvmvm {
namespace {

constexpr uint8_t kDlBool = 6;  // newer than the oldest header we build with

struct TypeRow {
  DType dtype;
  DLDataType dl;
};

constexpr TypeRow kTypes[] = {
    {DType::kF32, {kDLFloat, 32, 1}},     {DType::kF64, {kDLFloat, 64, 1}},
    {DType::kF16, {kDLFloat, 16, 1}},     {DType::kBF16, {kDLBfloat, 16, 1}},
    {DType::kI8, {kDLInt, 8, 1}},         {DType::kI16, {kDLInt, 16, 1}},
    {DType::kI32, {kDLInt, 32, 1}},       {DType::kI64, {kDLInt, 64, 1}},
    {DType::kU8, {kDLUInt, 8, 1}},        {DType::kU16, {kDLUInt, 16, 1}},
    {DType::kU32, {kDLUInt, 32, 1}},      {DType::kU64, {kDLUInt, 64, 1}},
    {DType::kBool, {kDlBool, 8, 1}},      {DType::kC64, {kDLComplex, 64, 1}},
    {DType::kC128, {kDLComplex, 128, 1}},
};

bool SameType(const DLDataType& a, const DLDataType& b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

DType DTypeFromDl(const DLDataType& type) {
  for (const TypeRow& row : kTypes)
    if (SameType(row.dl, type)) return row.dtype;
  return DType::kInvalid;
}

// Strides of dims of size 1, and of tensors without elements, mean nothing.
bool IsRowMajor(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t wanted = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] == 0) return true;
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != wanted) return false;
    if (__builtin_mul_overflow(wanted, tensor.shape[axis], &wanted)) return false;
  }
  return true;
}

Expected<Shape> ShapeOf(const DLTensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > kMaxRank)
    return MakeError(Code::kUnsupported, "DLPack: rank " + std::to_string(tensor.ndim) + ", at most " +
                                             std::to_string(kMaxRank) + " is possible");
  Shape shape;
  for (int axis = 0; axis < tensor.ndim; ++axis) shape.push_back(tensor.shape[axis]);
  std::optional<int64_t> count = shape.ElementCount();
  if (!count || *count > INT64_MAX / 16)
    return MakeError(Code::kInvalidArgument,
                     "DLPack: shape " + shape.ToString() + " is negative or too large");
  return shape;
}

// What ToDLPack hands out: the tensor's shape in DLPack's form, and a share of its memory.
struct Export {
  DLManagedTensor managed{};
  Tensor tensor;
  std::array<int64_t, kMaxRank> dims{};
};

}  // namespace

Expected<Tensor> Tensor::FromDLPack(DLManagedTensor* managed) {
  return Guarded([&]() -> Expected<Tensor> {
    if (managed == nullptr) return MakeError(Code::kInvalidArgument, "DLPack: null tensor");
    // Owns from here on, also when the tensor is refused.
    std::shared_ptr<void> owner(managed, [](void* pointer) {
      auto* tensor = static_cast<DLManagedTensor*>(pointer);
      if (tensor->deleter != nullptr) tensor->deleter(tensor);
    });
    const DLTensor& tensor = managed->dl_tensor;
    if (tensor.device.device_type != kDLCPU && tensor.device.device_type != kDLCUDAHost)
      return MakeError(Code::kUnsupported, "DLPack: memory of device type " +
                                               std::to_string(static_cast<int>(tensor.device.device_type)) +
                                               ", only host memory is taken");
    const DType dtype = DTypeFromDl(tensor.dtype);
    if (dtype == DType::kInvalid)
      return MakeError(Code::kUnsupported, "DLPack: element type code " + std::to_string(tensor.dtype.code) +
                                               ", " + std::to_string(tensor.dtype.bits) + " bits, " +
                                               std::to_string(tensor.dtype.lanes) +
                                               " lanes is not supported");
    TVMVM_TRY(Shape shape, ShapeOf(tensor));
    if (!IsRowMajor(tensor))
      return MakeError(Code::kUnsupported, "DLPack: only dense row-major tensors are taken");
    char* data = static_cast<char*>(tensor.data);
    if (data != nullptr) data += tensor.byte_offset;
    return Share(dtype, shape, data, std::move(owner));
  });
}

Expected<DLManagedTensor*> Tensor::ToDLPack() const {
  return Guarded([&]() -> Expected<DLManagedTensor*> {
    if (device())
      return MakeError(Code::kUnsupported, "DLPack: a tensor in the memory of " + device()->name() +
                                               "; a copy on the host can be shared");
    const TypeRow* row = nullptr;
    for (const TypeRow& candidate : kTypes)
      if (candidate.dtype == dtype_) row = &candidate;
    if (row == nullptr)
      return MakeError(Code::kUnsupported,
                       "DLPack has no element type for " + std::string(DTypeName(dtype_)));
    auto exported = std::make_unique<Export>();
    exported->tensor = *this;
    for (int axis = 0; axis < shape_.rank(); ++axis) exported->dims[static_cast<size_t>(axis)] = shape_[axis];
    DLTensor& tensor = exported->managed.dl_tensor;
    tensor.data = data_;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = shape_.rank();
    tensor.dtype = row->dl;
    tensor.shape = exported->dims.data();
    exported->managed.manager_ctx = exported.get();
    exported->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Export*>(self->manager_ctx); };
    return &exported.release()->managed;
  });
}

}  // namespace tvmvm
