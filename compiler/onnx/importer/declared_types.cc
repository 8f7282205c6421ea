#include "compiler/onnx/importer/declared_types.h"

#include <fmt/format.h>

namespace tvmvm::ir {

bool Contradicts(const OnnxType& declared, const Type& computed) {
  if (declared.kind != OnnxType::Kind::kTensor || computed.kind != TypeKind::kTensor) return false;
  if (declared.dtype != DType::kInvalid && declared.dtype != computed.dtype) return true;
  if (!declared.ranked || !computed.ranked) return false;
  if (declared.dims.size() != computed.dims.size()) return true;
  for (size_t i = 0; i < computed.dims.size(); ++i) {
    auto known = computed.dims[i].constant();
    int64_t wanted = declared.dims[i].value.value_or(-1);
    if (wanted >= 0 && known.has_value() && *known != wanted) return true;
  }
  return false;
}

std::string DeclaredText(const OnnxType& declared) {
  std::vector<std::string> dims;
  for (const OnnxDim& dim : declared.dims)
    dims.push_back(dim.value.has_value() ? std::to_string(*dim.value)
                                         : (dim.symbol.empty() ? "?" : dim.symbol));
  return fmt::format("{}{}", declared.dtype == DType::kInvalid ? "?" : DTypeName(declared.dtype),
                     declared.ranked ? fmt::format("[{}]", fmt::join(dims, ",")) : "");
}

}  // namespace tvmvm::ir
