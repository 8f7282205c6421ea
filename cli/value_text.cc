#include "cli/value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/digest.h"
#include "cli/elements.h"

namespace tvmvm::cli {
namespace {

std::string FormatDim(const DimSpec& dim) {
  if (dim.value >= 0) return std::to_string(dim.value);
  return dim.symbol.empty() ? "?" : dim.symbol;
}

void AppendValue(const std::string& name, const Value& value, int64_t limit, int depth, std::string* text) {
  *text += fmt::format("{}{:{}}{}: {}", text->empty() ? "" : "\n", "", 2 * depth, name, FormatType(value));
  if (value.is_tensor()) *text += " " + FormatValues(value.tensor(), limit);
  if (!value.is_sequence() && !value.is_tuple()) return;
  size_t count = value.elements().size(), shown = std::min(count, static_cast<size_t>(limit));
  for (size_t i = 0; i < shown; ++i)
    AppendValue(fmt::format("{}[{}]", name, i), value.elements()[i], limit, depth + 1, text);
  if (count > shown) *text += fmt::format("\n{:{}}...", "", 2 * (depth + 1));
}

}  // namespace

std::string FormatType(const TypeSpec& type) {
  switch (type.kind) {
    case ValueKind::kSequence:
    case ValueKind::kOptional:
      return fmt::format("{}<{}>", type.kind == ValueKind::kSequence ? "sequence" : "optional",
                         type.elements.empty() ? "?" : FormatType(type.elements[0]));
    case ValueKind::kTuple: {
      std::vector<std::string> parts;
      for (const TypeSpec& element : type.elements) parts.push_back(FormatType(element));
      return fmt::format("tuple<{}>", fmt::join(parts, ", "));
    }
    case ValueKind::kTensor:
      break;
  }
  if (!type.has_rank) return fmt::format("{}[...]", DTypeName(type.dtype));
  std::vector<std::string> dims;
  for (const DimSpec& dim : type.dims) dims.push_back(FormatDim(dim));
  return fmt::format("{}[{}]", DTypeName(type.dtype), fmt::join(dims, ", "));
}

std::string FormatType(const Value& value) {
  if (value.is_none()) return "none";
  if (value.is_tensor())
    return fmt::format("{}{}", DTypeName(value.tensor().dtype()), value.tensor().shape().ToString());
  std::string kind = value.is_sequence() ? "sequence" : fmt::format("tuple {}", value.tag());
  return fmt::format("{} of {}", kind, value.elements().size());
}

std::string FormatValues(const Tensor& tensor, int64_t limit) {
  int64_t count = tensor.element_count();
  std::vector<std::string> shown;
  for (int64_t i = 0; i < std::min(count, limit); ++i) shown.push_back(FormatElement(tensor, i));
  return fmt::format("[{}{}]", fmt::join(shown, ", "), count > limit ? ", ..." : "");
}

std::string FormatValue(const std::string& name, const Value& value, int64_t limit) {
  std::string text;
  AppendValue(name, value, limit, 0, &text);
  return text;
}

Json DescribeValue(const Value& value) {
  if (value.is_none()) return {{"none", true}};
  if (value.is_tensor()) {
    std::span<const int64_t> dims = value.tensor().shape().dims();
    return {{"dtype", DTypeName(value.tensor().dtype())},
            {"shape", std::vector<int64_t>(dims.begin(), dims.end())}};
  }
  Json elements = Json::array();
  for (const Value& element : value.elements()) elements.push_back(DescribeValue(element));
  Json json = {{"elements", std::move(elements)}};
  if (value.is_tuple()) json["tag"] = value.tag();
  return json;
}

Json DescribeContents(const Value& value) {
  if (!value.is_tensor()) return Json::object();
  const Tensor& tensor = value.tensor();
  if (IsComplex(tensor.dtype())) return {{"digest", ElementsDigest(tensor)}};
  constexpr int64_t kLook = 8;
  Json values = Json::array();
  double least = 0, most = 0, sum = 0;
  int64_t finite = 0;
  const bool is_float = IsFloat(tensor.dtype()), is_text = tensor.dtype() == DType::kString;
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    if (is_text) {
      if (i < kLook) values.push_back(tensor.strings()[static_cast<size_t>(i)]);
      continue;
    }
    const int64_t integer = is_float ? 0 : ReadInteger(tensor, i);
    const double number = is_float ? ReadFloat(tensor, i) : static_cast<double>(integer);
    if (i < kLook)
      values.push_back(is_float ? std::isfinite(number) ? Json(number) : Json(FormatElement(tensor, i))
                                : Json(integer));
    if (!std::isfinite(number)) continue;
    least = finite == 0 ? number : std::min(least, number);
    most = finite == 0 ? number : std::max(most, number);
    sum += number;
    ++finite;
  }
  Json json = {{"values", std::move(values)}};
  if (finite > 0) json.update({{"min", least}, {"max", most}, {"mean", sum / static_cast<double>(finite)}});
  json["digest"] = ElementsDigest(tensor);
  if (is_float) json["not_finite"] = tensor.element_count() - finite;
  return json;
}

}  // namespace tvmvm::cli
