#include "cli/json_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "cli/elements.h"

namespace tvmvm::cli {
namespace {

using nlohmann::json;

tl::unexpected<Error> Wrong(std::string message) {
  return MakeError(Code::kInvalidArgument, std::move(message));
}

// The elements of nested lists, which have to be of one shape.
Status Collect(const json& list, size_t depth, std::vector<int64_t>* dims,
               std::vector<const json*>* elements) {
  if (!list.is_array() && depth == dims->size()) {
    elements->push_back(&list);
    return {};
  }
  if (!list.is_array() || depth >= dims->size() || static_cast<int64_t>(list.size()) != (*dims)[depth])
    return Wrong("the elements are no lists of one shape");
  for (const json& item : list) TVMVM_CHECK_OK(Collect(item, depth + 1, dims, elements));
  return {};
}

Expected<std::vector<int64_t>> DimsOf(const json& list) {
  std::vector<int64_t> dims;
  const json* first = &list;
  for (; first->is_array() && dims.size() < kMaxRank; first = &(*first)[0]) {
    dims.push_back(static_cast<int64_t>(first->size()));
    if (first->empty()) break;
  }
  if (first->is_array() && !first->empty())
    return MakeError(Code::kUnsupported,
                     fmt::format("elements in more than {} lists within one another", kMaxRank));
  return dims;
}

Status WriteIntegerElement(Tensor& tensor, int64_t index, const json& element) {
  const DType dtype = tensor.dtype();
  auto refuse = [&] { return Wrong(fmt::format("{} is no {}", element.dump(), DTypeName(dtype))); };
  if (element.is_boolean()) {
    WriteInteger(tensor, index, element.get<bool>() ? 1 : 0);
    return {};
  }
  if (!element.is_number_integer()) return refuse();
  const bool is_large = element.is_number_unsigned() && element.get<uint64_t>() > INT64_MAX;
  if (is_large && dtype != DType::kU64) return refuse();
  const auto value = static_cast<int64_t>(is_large ? element.get<uint64_t>() : element.get<int64_t>());
  if (!is_large && value < 0 && IsUnsignedInteger(dtype)) return refuse();
  WriteInteger(tensor, index, value);
  return ReadInteger(tensor, index) == value ? Status() : refuse();
}

Status WriteElement(Tensor& tensor, int64_t index, const json& element) {
  if (!IsFloat(tensor.dtype()) && !IsComplex(tensor.dtype()))
    return WriteIntegerElement(tensor, index, element);
  if (element.is_number()) {
    WriteFloat(tensor, index, element.get<double>());
    return {};
  }
  return Wrong(fmt::format("{} is no {}", element.dump(), DTypeName(tensor.dtype())));
}

Expected<Tensor> StringsOf(const Shape& shape, const std::vector<const json*>& elements) {
  std::vector<std::string> texts;
  for (const json* element : elements) {
    if (!element->is_string()) return Wrong(fmt::format("{} is no string", element->dump()));
    texts.push_back(element->get<std::string>());
  }
  return Tensor::FromStrings(shape, std::move(texts));
}

Expected<Tensor> TensorOf(const json& list, DType dtype) {
  TVMVM_TRY(std::vector<int64_t> dims, DimsOf(list));
  std::vector<const json*> elements;
  TVMVM_CHECK_OK(Collect(list, 0, &dims, &elements));
  if (dtype == DType::kString || dtype == DType::kInvalid) return StringsOf(Shape(dims), elements);
  TVMVM_TRY(Tensor tensor, Tensor::Allocate(dtype, Shape(dims)));
  for (size_t i = 0; i < elements.size(); ++i)
    TVMVM_CHECK_OK(WriteElement(tensor, static_cast<int64_t>(i), *elements[i]));
  return tensor;
}

}  // namespace

Expected<Value> ValueFromJson(const json& given, const TypeSpec& wanted) {
  const TypeSpec element = wanted.elements.empty() ? TypeSpec() : TypeSpec(wanted.elements[0]);
  if (wanted.kind == ValueKind::kOptional) {
    if (given.is_null()) return Value();
    return ValueFromJson(given, element);
  }
  if (wanted.kind == ValueKind::kSequence && given.is_array()) {
    std::vector<Value> elements;
    for (const json& item : given) {
      TVMVM_TRY(Value value, ValueFromJson(item, element));
      elements.push_back(std::move(value));
    }
    return Value::Sequence(std::move(elements));
  }
  if (wanted.kind != ValueKind::kTensor) return Wrong("a list is wanted");
  TVMVM_TRY(Tensor tensor, TensorOf(given, wanted.dtype));
  return Value(std::move(tensor));
}

Expected<json> ParseJson(std::string_view text) {
  if (text == "nan") return json(std::numeric_limits<double>::quiet_NaN());
  if (text == "inf") return json(std::numeric_limits<double>::infinity());
  if (text == "-inf") return json(-std::numeric_limits<double>::infinity());
  constexpr int kDeepest = 64;
  int deepest = 0;
  auto limit = [&](int depth, json::parse_event_t, json&) {
    deepest = std::max(deepest, depth);
    return depth <= kDeepest;
  };
  json parsed = json::parse(text, limit, false);
  if (parsed.is_discarded() || deepest > kDeepest) return Wrong("not JSON, or nested too deeply");
  return parsed;
}

bool IsLiteral(std::string_view text) {
  if (text == "null") return false;
  return text.starts_with('[') || text.starts_with('"') || ParseJson(text).has_value();
}

}  // namespace tvmvm::cli
