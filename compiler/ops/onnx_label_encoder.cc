// ai.onnx.ml.LabelEncoder: a table from keys to values.
#include <fmt/core.h>

#include "compiler/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

TensorData Texts(std::vector<std::string> texts) {
  TensorData data;
  data.dtype = DType::kString;
  data.dims = {static_cast<int64_t>(texts.size())};
  data.strings = std::move(texts);
  return data;
}

// The list "<prefix>_tensor", "<prefix>_strings", "<prefix>_int64s" or "<prefix>_floats".
std::optional<TensorData> ListOf(OnnxContext& c, const std::string& prefix) {
  if (const OnnxAttribute* tensor = c.Attr(prefix + "_tensor"); tensor && tensor->tensor)
    return *tensor->tensor;
  if (const OnnxAttribute* texts = c.Attr(prefix + "_strings")) return Texts(texts->texts);
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
  if (dtype == DType::kString) return Texts({c.Text("default_string", "_Unused")});
  if (dtype == DType::kI64) return TensorData::FromVector<int64_t>(dtype, {1}, {c.Int("default_int64", -1)});
  return TensorData::FromVector<float>(DType::kF32, {1},
                                       {static_cast<float>(c.Float("default_float", -0.0))});
}

// For each element of x its position among the keys; the number of keys where it is none of them.
ValueId Lookup(OpBuilder& b, ValueId x, ValueId keys) {
  if (b.dtype(x) == DType::kString) {
    std::vector<ValueId> ids = StringIds(b, {x, keys});
    x = ids[0];
    keys = ids.back();
  }
  if (b.failed()) return x;
  int rank = b.rank(x);
  Dim count = b.dim(keys, 0);
  ValueId hits = b.Binary(ExprOp::kEqual, b.Unsqueeze(x, {rank}), keys);
  if (IsFloat(b.dtype(x)))
    hits = b.Binary(ExprOp::kOr, hits,
                    b.Binary(ExprOp::kAnd, b.Unary(ExprOp::kIsNan, b.Unsqueeze(x, {rank})),
                             b.Unary(ExprOp::kIsNan, keys)));
  ValueId minus_one = b.ScalarInt(DType::kI64, -1), none = b.DimScalar(count);
  // Of keys that are there twice the last one counts, as in a map that is filled in order.
  ValueId last = b.Where(hits, b.Iota(DType::kI64, {count}, 0), minus_one);
  last = b.Squeeze(b.Reduce(tensor::ReduceKind::kMax, last, {rank}), {rank});
  return b.Where(b.Binary(ExprOp::kEqual, last, minus_one), none, last);
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
  ValueId places = Lookup(b, c.in(0), b.Constant(flat(std::move(key_list))));
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
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < classes->texts.size(); ++i) numbers.push_back(static_cast<int64_t>(i));
  TensorData texts = Texts(classes->texts);
  TensorData places = TensorData::FromVector(DType::kI64, texts.dims, numbers);
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

constexpr OnnxOp kRows[] = {
    {"ai.onnx.ml", "LabelEncoder", 1, 1, 1, 1, "classes_strings default_int64 default_string", ClassesEncoder,
     StringUse::kNative},
    {"ai.onnx.ml", "LabelEncoder", 2, kLatest, 1, 1,
     "keys_strings keys_int64s keys_floats keys_tensor values_strings values_int64s values_floats "
     "values_tensor "
     "default_string default_int64 default_float default_tensor",
     LabelEncoder, StringUse::kNative},
};

}  // namespace

std::span<const OnnxOp> OnnxLabelRows() { return kRows; }

}  // namespace tvmvm::ir
