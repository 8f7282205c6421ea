// ai.onnx.ml: features before they go into a model.
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "compiler/onnx/ops/ml/onnx_ml.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

// Elements at positions along the last axis; a vector is one row.
void ArrayFeatureExtractor(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  if (b.rank(x) == 0) {
    b.Fail(Code::kInvalidArgument, fmt::format("the input is {}, an axis is wanted", b.type(x).ToString()));
    return;
  }
  if (b.rank(x) == 1) x = b.Unsqueeze(x, {0});
  int axis = b.rank(x) - 1;
  CheckIndices(b, c.in(1), {b.dim(x, axis)});
  c.Out(0, b.Gather(x, b.Reshape(c.in(1), {Product(b.dims(c.in(1)))}), axis));
}

// The largest integer of `dtype` that is not above the number.
int64_t FloorIn(DType dtype, double number) {
  double low = dtype == DType::kI32 ? std::numeric_limits<int32_t>::min() : -0x1p63;
  double high = dtype == DType::kI32 ? std::numeric_limits<int32_t>::max() : 0x1p63;
  number = std::floor(number);
  if (number >= high) return dtype == DType::kI32 ? std::numeric_limits<int32_t>::max() : INT64_MAX;
  return static_cast<int64_t>(std::max(number, low));
}

// Integers are compared as integers: x > t is x > floor(t). Nothing is above NaN.
void Binarizer(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  DType dtype = b.dtype(x);
  double threshold = c.Float("threshold", 0);
  if (IsFloat(dtype) || std::isnan(threshold)) {
    ValueId is_above = b.Binary(ExprOp::kLess, b.Scalar(IsFloat(dtype) ? dtype : DType::kF64, threshold),
                                IsFloat(dtype) ? x : b.Cast(x, DType::kF64));
    c.Out(0, b.Cast(is_above, dtype));
    return;
  }
  ValueId is_above = b.Binary(ExprOp::kLess, b.ScalarInt(dtype, FloorIn(dtype, threshold)), x);
  // Every number is above a threshold that is below them all.
  bool is_below_all = threshold < (dtype == DType::kI32 ? -0x1p31 : -0x1p63);
  if (is_below_all) is_above = b.Binary(ExprOp::kEqual, x, x);
  c.Out(0, b.Cast(is_above, dtype));
}

ValueId AsRow(OpBuilder& b, ValueId x) {
  if (b.rank(x) == 1) return b.Unsqueeze(x, {0});
  if (b.rank(x) == 2) return x;
  return b.Fail(Code::kInvalidArgument,
                fmt::format("an input is {}, wanted [columns] or [rows, columns]", b.type(x).ToString()));
}

// Columns side by side; `inputdimensions` cuts an input or fills it up with zeros.
void FeatureVectorizer(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::vector<int64_t> widths = c.Ints("inputdimensions");
  if (!widths.empty() && widths.size() != c.inputs.size()) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} input dimensions for {} inputs", widths.size(), c.inputs.size()));
    return;
  }
  std::vector<ValueId> parts;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    ValueId part = b.Cast(AsRow(b, c.in(i)), DType::kF32);
    if (b.failed()) return;
    if (!widths.empty()) {
      if (widths[i] < 0) {
        b.Fail(Code::kInvalidArgument, fmt::format("the input dimension {} is {}", i, widths[i]));
        return;
      }
      Dim width = b.dim(part, 1), kept = Min(width, widths[i]);
      if (!(kept == width)) part = b.SliceAxis(part, 1, 0, kept);
      if (!kept.IsConstant(widths[i]))
        part = b.Pad(part, b.Scalar(DType::kF32, 0), {0, 0}, {0, Dim(widths[i]) - kept});
    }
    parts.push_back(part);
  }
  c.Out(0, b.Concat(parts, 1));
}

// A list of one element for all features, or of one for each.
bool FitsFeatures(OnnxContext& c, std::string_view name, size_t count) {
  Dims dims = c.b.dims(c.in(0));
  auto features = dims.empty() ? std::optional<int64_t>(1) : dims.back().constant();
  if (count == 1 || !features || *features == static_cast<int64_t>(count)) return true;
  c.b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute '{}' has {} numbers for {} features", name, count, *features));
  return false;
}

void Imputer(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  DType dtype = b.dtype(x);
  std::string_view name = IsFloat(dtype) ? "imputed_value_floats" : "imputed_value_int64s";
  std::vector<double> floats = c.Floats("imputed_value_floats");
  std::vector<int64_t> integers = c.Ints("imputed_value_int64s");
  size_t count = IsFloat(dtype) ? floats.size() : integers.size();
  if (count == 0) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute '{}' is missing for an input of {}", name, DTypeName(dtype)));
    return;
  }
  if (!FitsFeatures(c, name, count)) return;
  ValueId values, is_missing;
  if (IsFloat(dtype)) {
    double replaced = c.Float("replaced_value_float", 0);
    values = NumberConstant(b, floats, dtype);
    is_missing = std::isnan(replaced) ? b.Unary(ExprOp::kIsNan, x)
                                      : b.Binary(ExprOp::kEqual, x, b.Scalar(dtype, replaced));
  } else {
    values = b.Cast(b.Constant(IntegerList(integers)), dtype);
    is_missing = b.Binary(ExprOp::kEqual, b.Cast(x, DType::kI64),
                          b.ScalarInt(DType::kI64, c.Int("replaced_value_int64", 0)));
  }
  if (count == 1) values = b.Reshape(values, {});
  c.Out(0, b.Where(is_missing, values, x));
}

// Each row by its maximum, the sum of its absolute values, or its length; rows for which that is 0 stay.
void Normalizer(OnnxContext& c) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  ValueId x = ModelRows(c);
  std::string norm = c.Text("norm", "MAX");
  if (b.failed()) return;
  ValueId size;
  if (norm == "MAX") {
    size = b.Reduce(ReduceKind::kMax, x, {1});
  } else if (norm == "L1") {
    size = b.Reduce(ReduceKind::kSum, b.Unary(ExprOp::kAbs, x), {1});
  } else if (norm == "L2") {
    size = b.Unary(ExprOp::kSqrt, b.Reduce(ReduceKind::kSum, b.Mul(x, x), {1}));
  } else {
    b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute 'norm' is '{}', MAX, L1 or L2 is wanted", norm));
    return;
  }
  ValueId is_zero = b.Binary(ExprOp::kEqual, size, b.Scalar(b.dtype(x), 0));
  ValueId y = b.Cast(b.Where(is_zero, x, b.Div(x, size)), DType::kF32);
  c.Out(0, rank == 1 ? b.Squeeze(y, {0}) : y);
}

void OneHotEncoder(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto categories = ClassLabels(c, "cats_int64s", "cats_strings");
  if (!categories) return;
  ValueId x = c.in(0);
  bool is_text = b.dtype(x) == DType::kString;
  if (is_text != (categories->dtype == DType::kString)) {
    b.Fail(Code::kInvalidArgument, fmt::format("an input of {} and categories of {}", DTypeName(b.dtype(x)),
                                               DTypeName(categories->dtype)));
    return;
  }
  int rank = b.rank(x);
  Dim count = categories->dims[0];
  if (!is_text) x = b.Cast(x, DType::kI64);
  ValueId places = LookUp(b, x, b.Constant(std::move(*categories)));
  if (c.Int("zeros", 1) == 0) CheckIndices(b, places, {count});
  ValueId is_it = b.Binary(ExprOp::kEqual, b.Unsqueeze(places, {rank}), b.Iota(DType::kI64, {count}, 0));
  c.Out(0, b.Cast(is_it, DType::kF32));
}

// (x - offset) * scale, either for all features or for each.
void Scaler(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(c.in(0)) == DType::kF64 ? DType::kF64 : DType::kF32;
  ValueId y = b.Cast(c.in(0), dtype);
  for (std::string_view name : {"offset", "scale"}) {
    std::vector<double> numbers = c.Floats(name);
    if (numbers.empty()) continue;
    if (!FitsFeatures(c, name, numbers.size())) return;
    ValueId values = NumberConstant(b, numbers, dtype);
    if (numbers.size() == 1) values = b.Reshape(values, {});
    y = name == "offset" ? b.Sub(y, values) : b.Mul(y, values);
  }
  c.Out(0, b.Cast(y, DType::kF32));
}

constexpr DTypeSet kColumns{DType::kF32, DType::kF64, DType::kI32, DType::kI64};

constexpr OnnxOp kRows[] = {
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, kLatest, 2, 2, "", ArrayFeatureExtractor, kAllTypes,
     StringUse::kMoved},
    {"ai.onnx.ml", "Binarizer", 1, kLatest, 1, 1, "threshold", Binarizer, kNumbers},
    {"ai.onnx.ml", "FeatureVectorizer", 1, kLatest, 1, -1, "inputdimensions", FeatureVectorizer, kNumbers},
    {"ai.onnx.ml", "Imputer", 1, kLatest, 1, 1,
     "imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64", Imputer,
     kColumns},
    {"ai.onnx.ml", "Normalizer", 1, kLatest, 1, 1, "norm", Normalizer, kNumbers},
    {"ai.onnx.ml", "OneHotEncoder", 1, kLatest, 1, 1, "cats_int64s cats_strings zeros", OneHotEncoder,
     kNumbers | kStrings},
    {"ai.onnx.ml", "Scaler", 1, kLatest, 1, 1, "offset scale", Scaler, kNumbers},
};

}  // namespace

std::span<const OnnxOp> OnnxFeatureRows() { return kRows; }

}  // namespace tvmvm::ir
