#include "compiler/graph/core/procedural/loop_access.h"

#include <algorithm>

namespace tvmvm::ir {

std::vector<tensor::Expr> FlatPosition(const Type& type, const tensor::Expr& position) {
  std::vector<tensor::Expr> index(type.dims.size(), tensor::IntConstant(0));
  if (!index.empty()) index.back() = position;
  return index;
}

AxisSplit SplitAt(const Dims& dims, const Dim& axis) {
  AxisSplit split{1, 1, 1};
  for (size_t i = 0; i < dims.size(); ++i) {
    Dim here(static_cast<int64_t>(i));
    split.outer = split.outer * Select(Less(here, axis), dims[i], 1);
    split.size = split.size * Select(Equal(here, axis), dims[i], 1);
    split.inner = split.inner * Select(Less(axis, here), dims[i], 1);
  }
  return split;
}

Dim ElementsOf(const Type& type) { return type.dtype == DType::kInvalid ? Dim(0) : Product(type.dims); }

Dim BytesOf(const Type& type) { return CeilDiv(ElementsOf(type) * Dim(DTypeBits(type.dtype)), Dim(8)); }

Dim BytesOnce(const WorkContext& context) {
  Dim bytes = 0;
  for (const Type& type : context.inputs) bytes = bytes + BytesOf(type);
  for (const Type& type : context.outputs) bytes = bytes + BytesOf(type);
  return bytes;
}

int LanesOf(const TargetInfo& target, DType dtype) {
  if (IsSubByte(dtype) || IsGpu(target)) return 1;
  return target.vector_bits / std::clamp(DTypeBits(dtype), IsFloat(dtype) ? 32 : 8, 64);
}

}  // namespace tvmvm::ir
