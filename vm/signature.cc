#include "vm/signature.h"

#include <algorithm>
#include <string>

namespace tvmvm {
namespace {

std::string Quoted(const std::string& name) { return "'" + name + "'"; }

// "f32[n, 300]"
std::string TypeText(const TypeSpec& type) {
  std::string text(DTypeName(type.dtype));
  if (!type.has_rank) return text + "[...]";
  text += "[";
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    const DimSpec& dim = type.dims[axis];
    if (axis > 0) text += ", ";
    text += dim.value >= 0 ? std::to_string(dim.value) : dim.symbol.empty() ? "?" : dim.symbol;
  }
  return text + "]";
}

const char* KindName(ValueKind kind) {
  switch (kind) {
    case ValueKind::kTensor:
      return "tensor";
    case ValueKind::kSequence:
      return "sequence";
    case ValueKind::kOptional:
      return "optional";
    case ValueKind::kTuple:
      return "tuple";
  }
  return "value";
}

tl::unexpected<Error> DimError(const ParameterSpec& input, uint32_t axis, const std::string& wanted,
                               const Tensor& given) {
  return MakeError(Code::kInvalidArgument,
                   "input " + Quoted(input.name) + ": dimension " + std::to_string(axis) + " must be " +
                       wanted + ", given " + std::to_string(given.shape()[axis]) + " (shape " +
                       given.shape().ToString() + ", wanted " + TypeText(input.type) + ")");
}

}  // namespace

Signature::Signature(const FunctionSpec& function) : function_(function) {
  for (uint32_t input = 0; input < function.inputs.size(); ++input) {
    const TypeSpec& type = function.inputs[input].type;
    if (type.kind != ValueKind::kTensor || !type.has_rank) continue;
    for (uint32_t axis = 0; axis < type.dims.size(); ++axis) {
      const DimSpec& dim = type.dims[axis];
      if (dim.value >= 0 || dim.symbol.empty()) continue;
      DimExpression expression = DimExpression::Parse(dim.symbol, &symbols_);
      bool plain = expression.plain_symbol().has_value();
      (plain ? plain_ : expressions_).push_back({input, axis, std::move(expression)});
    }
  }
}

Status Signature::CheckInputs(std::span<const Tensor> inputs, std::span<int64_t> bound) const {
  if (inputs.size() != function_.inputs.size())
    return MakeError(Code::kInvalidArgument, std::to_string(inputs.size()) +
                                                 " inputs given, the program takes " +
                                                 std::to_string(function_.inputs.size()));
  for (uint32_t i = 0; i < inputs.size(); ++i) TVMVM_CHECK_OK(CheckType(i, inputs[i]));
  TVMVM_CHECK_OK(BindSymbols(inputs, bound));
  return CheckExpressions(inputs, bound);
}

Status Signature::CheckType(uint32_t input, const Tensor& tensor) const {
  const ParameterSpec& parameter = function_.inputs[input];
  const TypeSpec& type = parameter.type;
  if (type.kind != ValueKind::kTensor)
    return MakeError(Code::kUnsupported, "input " + Quoted(parameter.name) + ": a " + KindName(type.kind) +
                                             " cannot be given from outside");
  if (tensor.empty_handle())
    return MakeError(Code::kInvalidArgument,
                     "input " + Quoted(parameter.name) + ": no tensor given, wanted " + TypeText(type));
  if (tensor.dtype() != type.dtype)
    return MakeError(Code::kInvalidArgument, "input " + Quoted(parameter.name) + ": element type " +
                                                 std::string(DTypeName(tensor.dtype())) + " given, wanted " +
                                                 std::string(DTypeName(type.dtype)));
  if (type.has_rank && tensor.shape().rank() != static_cast<int>(type.dims.size()))
    return MakeError(Code::kInvalidArgument,
                     "input " + Quoted(parameter.name) + ": rank " + std::to_string(tensor.shape().rank()) +
                         " given (shape " + tensor.shape().ToString() + "), wanted " +
                         std::to_string(type.dims.size()) + " (" + TypeText(type) + ")");
  if (!tensor.shape().ElementCount())
    return MakeError(Code::kInvalidArgument, "input " + Quoted(parameter.name) + ": shape " +
                                                 tensor.shape().ToString() + " is negative or too large");
  if (tensor.dtype() != DType::kString && tensor.data() == nullptr && tensor.byte_count() != 0)
    return MakeError(Code::kInvalidArgument, "input " + Quoted(parameter.name) + ": its data is null");
  if (!type.has_rank) return {};
  for (uint32_t axis = 0; axis < type.dims.size(); ++axis) {
    const DimSpec& dim = type.dims[axis];
    const int64_t given = tensor.shape()[static_cast<int>(axis)];
    if (dim.value >= 0 && given != dim.value)
      return DimError(parameter, axis, std::to_string(dim.value), tensor);
    if (dim.value < 0 && (given < dim.low || given > dim.high)) {
      std::string range = dim.high == INT64_MAX
                              ? "at least " + std::to_string(dim.low)
                              : "from " + std::to_string(dim.low) + " to " + std::to_string(dim.high);
      return DimError(parameter, axis, range, tensor);
    }
  }
  return {};
}

Status Signature::BindSymbols(std::span<const Tensor> inputs, std::span<int64_t> bound) const {
  std::fill(bound.begin(), bound.end(), DimExpression::kUnbound);
  for (const Dim& dim : plain_) {
    const uint32_t symbol = *dim.expression.plain_symbol();
    const int64_t given = inputs[dim.input].shape()[static_cast<int>(dim.axis)];
    if (bound[symbol] == DimExpression::kUnbound) bound[symbol] = given;
    if (bound[symbol] == given) continue;
    // Whoever bound the symbol is the first with it.
    const Dim& first = *std::find_if(plain_.begin(), plain_.end(), [&](const Dim& candidate) {
      return candidate.expression.plain_symbol() == symbol;
    });
    return DimError(function_.inputs[dim.input], dim.axis,
                    symbols_.name(symbol) + " = " + std::to_string(bound[symbol]) + " as in dimension " +
                        std::to_string(first.axis) + " of input " +
                        Quoted(function_.inputs[first.input].name),
                    inputs[dim.input]);
  }
  return {};
}

Status Signature::CheckExpressions(std::span<const Tensor> inputs, std::span<const int64_t> bound) const {
  for (const Dim& dim : expressions_) {
    std::optional<int64_t> wanted = dim.expression.Evaluate(bound);
    if (!wanted) continue;  // a symbol that no input gives: the program's own guards see to it
    const Tensor& given = inputs[dim.input];
    if (given.shape()[static_cast<int>(dim.axis)] == *wanted) continue;
    const ParameterSpec& parameter = function_.inputs[dim.input];
    return DimError(parameter, dim.axis,
                    parameter.type.dims[dim.axis].symbol + " = " + std::to_string(*wanted), given);
  }
  return {};
}

}  // namespace tvmvm
