#include "vm/binding/signature.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace tvmvm {
namespace {

std::string Quoted(const std::string& name) { return "'" + name + "'"; }

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

// "f32[n, 300]", "sequence<f32[?]>"
std::string TypeText(const TypeSpec& type) {
  if (type.kind != ValueKind::kTensor) {
    std::string text = std::string(KindName(type.kind)) + "<";
    for (const TypeSpec& element : type.elements)
      text += (text.back() == '<' ? "" : ", ") + TypeText(element);
    return text + ">";
  }
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

constexpr const char* kDistinctDims = "; compile the model with --distinct-dims if they may differ";

// Where a value stands: an input, or an element of what stands at `parent`.
struct Place {
  const ParameterSpec& input;
  const Place* parent = nullptr;
  const char* role = "";  // "element", "field"
  size_t number = 0;

  // "input 'x', element 3"
  std::string Text() const {
    if (parent == nullptr) return "input " + Quoted(input.name);
    return parent->Text() + ", " + role + " " + std::to_string(number);
  }
};

tl::unexpected<Error> Wrong(const Place& place, const std::string& what) {
  return MakeError(Code::kInvalidArgument, place.Text() + ": " + what);
}

tl::unexpected<Error> WrongDim(const Place& place, const TypeSpec& type, uint32_t axis,
                               const std::string& wanted, const Tensor& given) {
  return Wrong(place, "dimension " + std::to_string(axis) + " must be " + wanted + ", given " +
                          std::to_string(given.shape()[static_cast<int>(axis)]) + " (shape " +
                          given.shape().ToString() + ", wanted " + TypeText(type) + ")");
}

tl::unexpected<Error> WrongKind(const Place& place, const TypeSpec& type, std::string_view given) {
  if (given == "nothing")
    return Wrong(place, "no " + std::string(KindName(type.kind)) + " given, wanted " + TypeText(type));
  return Wrong(place, "a " + std::string(given) + " given, wanted " + TypeText(type));
}

Status CheckTensor(const Place& place, const TypeSpec& type, const Tensor& tensor) {
  if (tensor.dtype() != type.dtype)
    return Wrong(place, "element type " + std::string(DTypeName(tensor.dtype())) + " given, wanted " +
                            std::string(DTypeName(type.dtype)));
  if (type.has_rank && tensor.shape().rank() != static_cast<int>(type.dims.size()))
    return Wrong(place, "rank " + std::to_string(tensor.shape().rank()) + " given (shape " +
                            tensor.shape().ToString() + "), wanted " + std::to_string(type.dims.size()) +
                            " (" + TypeText(type) + ")");
  if (Status status = Signature::CheckMemory(tensor); !status) return Wrong(place, status.error().message);
  if (!type.has_rank) return {};
  for (uint32_t axis = 0; axis < type.dims.size(); ++axis) {
    const DimSpec& dim = type.dims[axis];
    const int64_t given = tensor.shape()[static_cast<int>(axis)];
    if (dim.value >= 0 && given != dim.value)
      return WrongDim(place, type, axis, std::to_string(dim.value), tensor);
    if (dim.value < 0 && (given < dim.low || given > dim.high)) {
      std::string range = dim.high == INT64_MAX
                              ? "at least " + std::to_string(dim.low)
                              : "from " + std::to_string(dim.low) + " to " + std::to_string(dim.high);
      return WrongDim(place, type, axis, range, tensor);
    }
  }
  return {};
}

Status CheckValue(const Place& place, const TypeSpec& type, const Value& value);

Status CheckSequence(const Place& place, const TypeSpec& type, const Value& value) {
  if (!value.is_sequence()) return WrongKind(place, type, value.kind_name());
  const std::vector<Value>& elements = value.elements();
  if (type.elements.empty() && !elements.empty())
    return Wrong(place, std::to_string(elements.size()) + " elements given, the sequence never has one");
  for (size_t i = 0; i < elements.size(); ++i)
    TVMVM_CHECK_OK(CheckValue({place.input, &place, "element", i}, type.elements[0], elements[i]));
  return {};
}

Status CheckTuple(const Place& place, const TypeSpec& type, const Value& value) {
  if (!value.is_tuple()) return WrongKind(place, type, value.kind_name());
  const std::vector<Value>& fields = value.elements();
  if (type.elements.empty()) return {};
  if (fields.size() != type.elements.size())
    return Wrong(place, std::to_string(fields.size()) + " fields given, wanted " +
                            std::to_string(type.elements.size()) + " (" + TypeText(type) + ")");
  for (size_t i = 0; i < fields.size(); ++i)
    TVMVM_CHECK_OK(CheckValue({place.input, &place, "field", i}, type.elements[i], fields[i]));
  return {};
}

// Recursion ends with the type, which the verifier limits.
Status CheckValue(const Place& place, const TypeSpec& type, const Value& value) {
  switch (type.kind) {
    case ValueKind::kTensor:
      if (!value.is_tensor()) return WrongKind(place, type, value.kind_name());
      return CheckTensor(place, type, value.tensor());
    case ValueKind::kSequence:
      return CheckSequence(place, type, value);
    case ValueKind::kOptional:
      if (value.is_none()) return {};
      if (type.elements.empty())
        return Wrong(place, "a " + std::string(value.kind_name()) + " given, the optional never has one");
      return CheckValue(place, type.elements[0], value);
    case ValueKind::kTuple:
      return CheckTuple(place, type, value);
  }
  return {};
}

}  // namespace

Signature::Signature(const FunctionSpec& function) : function_(function) {
  for (uint32_t input = 0; input < function.inputs.size(); ++input) {
    const TypeSpec& type = function.inputs[input].type;
    if (type.kind != ValueKind::kTensor || !type.has_rank) continue;
    for (uint32_t axis = 0; axis < type.dims.size(); ++axis) {
      const DimSpec& dim = type.dims[axis];
      if (dim.value >= 0 || dim.symbol.empty()) continue;
      Expected<DimExpression> expression = DimExpression::Parse(dim.symbol, &symbols_);
      assert(expression);  // the verifier refuses every other program
      const std::optional<uint32_t> symbol = expression->plain_symbol();
      const bool plain = symbol && !symbols_.name(*symbol).empty();
      (plain ? plain_ : expressions_).push_back({input, axis, *std::move(expression)});
    }
  }
}

Status Signature::CheckInputs(const Arguments& inputs, std::span<int64_t> bound) const {
  if (inputs.size() != function_.inputs.size())
    return MakeError(Code::kInvalidArgument, std::to_string(inputs.size()) +
                                                 " inputs given, the program takes " +
                                                 std::to_string(function_.inputs.size()));
  for (uint32_t i = 0; i < inputs.size(); ++i) TVMVM_CHECK_OK(CheckInput(i, inputs));
  TVMVM_CHECK_OK(BindSymbols(inputs, bound));
  return expressions_.empty() ? Status() : CheckExpressions(inputs, bound);
}

Status Signature::CheckUnusual(const Tensor& tensor) {
  if (!tensor.shape().ElementCount())
    return MakeError(Code::kInvalidArgument,
                     "shape " + tensor.shape().ToString() + " is negative or too large");
  if (tensor.dtype() != DType::kString && tensor.data() == nullptr && !tensor.device() &&
      tensor.byte_count() != 0)
    return MakeError(Code::kInvalidArgument, "its data is null");
  if (tensor.dtype() == DType::kString &&
      (!tensor.shared_strings() || static_cast<int64_t>(tensor.strings().size()) != tensor.element_count()))
    return MakeError(Code::kInvalidArgument,
                     "the number of strings is not that of shape " + tensor.shape().ToString());
  return {};
}

Status Signature::CheckInput(uint32_t input, const Arguments& inputs) const {
  const ParameterSpec& parameter = function_.inputs[input];
  const TypeSpec* type = &parameter.type;
  const Place place{parameter};
  if (const Value* value = inputs.value(input)) return CheckValue(place, *type, *value);
  // Where tensors are given, an optional tensor is one or an empty handle.
  const Tensor* tensor = inputs.tensor(input);
  if (type->kind == ValueKind::kOptional) {
    if (tensor == nullptr) return {};
    if (!type->elements.empty()) type = &type->elements[0];
  }
  if (type->kind != ValueKind::kTensor || tensor == nullptr)
    return WrongKind(place, *type, tensor != nullptr ? "tensor" : "nothing");
  return CheckTensor(place, *type, *tensor);
}

Status Signature::BindSymbols(const Arguments& inputs, std::span<int64_t> bound) const {
  std::fill(bound.begin(), bound.end(), DimExpression::kUnbound);
  for (const Dim& dim : plain_) {
    const uint32_t symbol = *dim.expression.plain_symbol();
    const Tensor& tensor = *inputs.tensor(dim.input);
    const int64_t given = tensor.shape()[static_cast<int>(dim.axis)];
    if (bound[symbol] == DimExpression::kUnbound) bound[symbol] = given;
    if (bound[symbol] == given) continue;
    // Whoever bound the symbol is the first with it.
    const Dim& first = *std::find_if(plain_.begin(), plain_.end(), [&](const Dim& candidate) {
      return candidate.expression.plain_symbol() == symbol;
    });
    const ParameterSpec& parameter = function_.inputs[dim.input];
    auto wrong = WrongDim({parameter}, parameter.type, dim.axis,
                          DimSymbolText(symbols_.name(symbol)) + " = " + std::to_string(bound[symbol]) +
                              " as in dimension " + std::to_string(first.axis) + " of input " +
                              Quoted(function_.inputs[first.input].name),
                          tensor);
    wrong.value().message += kDistinctDims;
    return wrong;
  }
  return {};
}

Status Signature::CheckExpressions(const Arguments& inputs, std::span<const int64_t> bound) const {
  for (const Dim& dim : expressions_) {
    std::optional<int64_t> wanted = dim.expression.Evaluate(bound);
    if (!wanted) continue;  // a symbol that no input gives: the program's own guards see to it
    const Tensor& given = *inputs.tensor(dim.input);
    if (given.shape()[static_cast<int>(dim.axis)] == *wanted) continue;
    const ParameterSpec& parameter = function_.inputs[dim.input];
    return WrongDim({parameter}, parameter.type, dim.axis,
                    parameter.type.dims[dim.axis].symbol + " = " + std::to_string(*wanted), given);
  }
  return {};
}

}  // namespace tvmvm
