// ai.onnx.ml: tables from keys to values.
#include <fmt/core.h>

#include <numeric>

#include "compiler/onnx/ops/ml/onnx_ml.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

// The list "<prefix>_tensor", "<prefix>_strings", "<prefix>_int64s" or "<prefix>_floats".
std::optional<TensorData> ListOf(OnnxContext& c, const std::string& prefix) {
  if (const OnnxAttribute* tensor = c.Attr(prefix + "_tensor"); tensor && tensor->tensor)
    return *tensor->tensor;
  if (const OnnxAttribute* texts = c.Attr(prefix + "_strings")) return StringList(texts->texts);
  if (c.HasAttribute(prefix + "_int64s")) {
    std::vector<int64_t> values = c.Ints(prefix + "_int64s");
    return TensorData::FromVector(DType::kI64, {static_cast<int64_t>(values.size())}, values);
  }
  if (c.HasAttribute(prefix + "_floats")) {
    std::vector<double> values = c.Floats(prefix + "_floats");
    return TensorData::FromVector(DType::kF32, {static_cast<int64_t>(values.size())},
                                  std::vector<float>(values.begin(), values.end()));
  }
  c.b.Fail(Code::kInvalidArgument, fmt::format("the {} of the table are missing", prefix));
  return std::nullopt;
}

// What keys get that the table does not have: one element of the values' type.
TensorData DefaultOf(OnnxContext& c, DType dtype) {
  if (const OnnxAttribute* tensor = c.Attr("default_tensor"); tensor && tensor->tensor)
    return *tensor->tensor;
  int64_t integer = c.Int("default_int64", -1);
  double number = c.Float("default_float", -0.0);
  if (dtype == DType::kString) return StringList({c.Text("default_string", "_Unused")});
  if (dtype == DType::kI64) return IntegerList({integer});
  if (dtype == DType::kI32)
    return TensorData::FromVector<int32_t>(dtype, {1}, {static_cast<int32_t>(integer)});
  if (dtype == DType::kI16)
    return TensorData::FromVector<int16_t>(dtype, {1}, {static_cast<int16_t>(integer)});
  if (dtype == DType::kF64) return TensorData::FromVector<double>(dtype, {1}, {number});
  return TensorData::FromVector<float>(DType::kF32, {1}, {static_cast<float>(number)});
}

void Encode(OnnxContext& c, TensorData key_list, TensorData value_list, TensorData otherwise) {
  OpBuilder& b = c.b;
  if (b.dtype(c.in(0)) != key_list.dtype || value_list.dtype != otherwise.dtype ||
      key_list.element_count() != value_list.element_count() || otherwise.element_count() != 1) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("an input of {}, {} keys of {}, {} values of {}", DTypeName(b.dtype(c.in(0))),
                       key_list.element_count(), DTypeName(key_list.dtype), value_list.element_count(),
                       DTypeName(value_list.dtype)));
    return;
  }
  bool takes_strings = value_list.dtype == DType::kString;
  auto flat = [](TensorData data) {
    data.dims = {data.element_count()};
    return data;
  };
  ValueId places = LookUp(b, c.in(0), b.Constant(flat(std::move(key_list))));
  ValueId values = b.Constant(flat(std::move(value_list))), rest = b.Constant(flat(std::move(otherwise)));
  c.Out(0, takes_strings ? TakeStrings(b, places, {values, rest})
                         : b.Gather(b.Concat({values, rest}, 0), places, 0));
}

// Version 1: strings to their positions in a list, or positions to strings.
void ClassesEncoder(OnnxContext& c) {
  const OnnxAttribute* classes = c.Attr("classes_strings");
  if (!classes) {
    c.b.Fail(Code::kInvalidArgument, "the attribute 'classes_strings' is missing");
    return;
  }
  std::vector<int64_t> numbers(classes->texts.size());
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  TensorData texts = StringList(classes->texts), places = IntegerList(numbers);
  if (c.b.dtype(c.in(0)) != DType::kString) std::swap(texts, places);
  TensorData otherwise = DefaultOf(c, places.dtype);
  Encode(c, std::move(texts), std::move(places), std::move(otherwise));
}

void LabelEncoder(OnnxContext& c) {
  auto keys = ListOf(c, "keys");
  if (!keys) return;
  auto values = ListOf(c, "values");
  if (!values) return;
  TensorData otherwise = DefaultOf(c, values->dtype);
  Encode(c, std::move(*keys), std::move(*values), std::move(otherwise));
}

// Strings to integers, or integers to strings.
void CategoryMapper(OnnxContext& c) {
  const OnnxAttribute* strings = c.Attr("cats_strings");
  if (!strings || !c.HasAttribute("cats_int64s")) {
    c.b.Fail(Code::kInvalidArgument, "the attributes 'cats_int64s' and 'cats_strings' are wanted");
    return;
  }
  TensorData from = StringList(strings->texts), to = IntegerList(c.Ints("cats_int64s"));
  if (c.b.dtype(c.in(0)) != DType::kString) std::swap(from, to);
  TensorData otherwise = DefaultOf(c, to.dtype);
  Encode(c, std::move(from), std::move(to), std::move(otherwise));
}

constexpr DTypeSet kLabels{DType::kI64, DType::kString};

constexpr OnnxOp kRows[] = {
    {"ai.onnx.ml", "CategoryMapper", 1, kLatest, 1, 1,
     "cats_int64s cats_strings default_int64 default_string", CategoryMapper, kLabels, StringUse::kNative,
     Runs::kOnHost},
    {"ai.onnx.ml", "LabelEncoder", 1, 1, 1, 1, "classes_strings default_int64 default_string", ClassesEncoder,
     kLabels, StringUse::kNative, Runs::kOnHost},
    {"ai.onnx.ml", "LabelEncoder", 2, kLatest, 1, 1,
     "keys_strings keys_int64s keys_floats keys_tensor values_strings values_int64s values_floats "
     "values_tensor "
     "default_string default_int64 default_float default_tensor",
     LabelEncoder, kNumbers | kStrings},
};

}  // namespace

std::span<const OnnxOp> OnnxLabelRows() { return kRows; }

}  // namespace tvmvm::ir
