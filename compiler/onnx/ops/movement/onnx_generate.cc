// What makes values out of little: constants, ranges, one-hot rows, masks, windows.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "compiler/onnx/ops/onnx_checks.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using Kind = OnnxAttribute::Kind;

void Constant(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (c.attributes.size() != 1) {
    b.Fail(Code::kInvalidArgument, fmt::format("{} attributes, one value is wanted", c.attributes.size()));
    return;
  }
  const OnnxAttribute& value = c.attributes.begin()->second;
  TensorData data;
  switch (value.kind) {
    case Kind::kTensor:
      data = *value.tensor;
      break;
    case Kind::kFloat:
      data = TensorData::FromVector<float>(DType::kF32, {}, {static_cast<float>(value.number)});
      break;
    case Kind::kInt:
      data = TensorData::FromVector<int64_t>(DType::kI64, {}, {value.integer});
      break;
    case Kind::kFloats: {
      std::vector<float> numbers(value.numbers.begin(), value.numbers.end());
      data = TensorData::FromVector(DType::kF32, {static_cast<int64_t>(numbers.size())}, numbers);
      break;
    }
    case Kind::kInts:
      data =
          TensorData::FromVector(DType::kI64, {static_cast<int64_t>(value.integers.size())}, value.integers);
      break;
    case Kind::kString:
      data.dtype = DType::kString;
      data.strings = {value.text};
      break;
    case Kind::kStrings:
      data.dtype = DType::kString;
      data.dims = {static_cast<int64_t>(value.texts.size())};
      data.strings = value.texts;
      break;
    default:
      b.Fail(Code::kInvalidArgument,
             fmt::format("the attribute '{}' is no value", c.attributes.begin()->first));
      return;
  }
  c.Out(0, b.Constant(std::move(data)));
}

void ConstantOfShape(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims dims = b.ReadDims(c.in(0));
  const OnnxAttribute* value = c.Attr("value");
  if (b.failed()) return;
  if (value != nullptr && (value->tensor == nullptr || value->tensor->element_count() != 1)) {
    b.Fail(Code::kInvalidArgument, "the attribute 'value' is no tensor of one element");
    return;
  }
  for (size_t i = 0; i < dims.size(); ++i)
    b.Require(LessEqual(0, dims[i]), fmt::format("element {} of the shape is {{0}}", i), {dims[i]});
  ValueId element = value == nullptr ? b.Scalar(DType::kF32, 0) : b.Reshape(b.Constant(*value->tensor), {});
  c.Out(0, b.Expand(element, dims));
}

// Where all are known: without overflow.
Dim CountOfKnown(int64_t start, int64_t limit, int64_t delta) {
  __int128 span = static_cast<__int128>(limit) - start, step = delta;
  if (step < 0) {
    span = -span;
    step = -step;
  }
  __int128 count = span <= 0 ? 0 : (span + step - 1) / step;
  return static_cast<int64_t>(std::min<__int128>(count, INT64_MAX));
}

// Number of elements of [start, limit) by steps of delta.
Dim CountOf(const Dim& start, const Dim& limit, const Dim& delta) {
  auto up = [&](const Dim& step) { return Max(CeilDiv(limit - start, step), 0); };
  auto down = [&](const Dim& step) { return Max(CeilDiv(start - limit, step), 0); };
  if (start.is_constant() && limit.is_constant() && delta.is_constant() && delta.value() != 0)
    return CountOfKnown(start.value(), limit.value(), delta.value());
  if (auto known = delta.constant())
    return *known > 0 ? up(delta) : down(*known == INT64_MIN ? Dim(INT64_MAX) : Dim(0) - delta);
  return Select(Less(delta, 0), down(Max(Dim(0) - delta, 1)), up(Max(delta, 1)));
}

Dim KnownCount(OpBuilder& b, double count) {
  constexpr double kLimit = 1e15;
  if (count > -kLimit && count < kLimit) return Dim(static_cast<int64_t>(std::max(count, 0.0)));
  b.Fail(Code::kInvalidArgument, fmt::format("{} elements", count));
  return Dim(0);
}

Dim FloatCount(OpBuilder& b, ValueId start, ValueId limit, ValueId delta) {
  auto from = b.ConstantScalar(start);
  auto to = b.ConstantScalar(limit);
  auto by = b.ConstantScalar(delta);
  if (from.has_value() && to.has_value() && by.has_value())
    return KnownCount(b, std::ceil((*to - *from) / *by));
  ValueId steps = b.Unary(ExprOp::kCeil, b.Div(b.Sub(limit, start), delta));
  steps = b.Cast(steps, DType::kF64);
  RequireAll(b, IsWithin(b, steps, -0x1p62, 0x1p62), "the number of elements is not finite");
  Dims count = b.ReadDims(b.Cast(steps, DType::kI64));
  return b.failed() || count.empty() ? Dim(0) : Max(count[0], 0);
}

void Range(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId start = b.Reshape(c.in(0), {});
  ValueId limit = b.Reshape(c.in(1), {});
  ValueId delta = b.Reshape(c.in(2), {});
  if (b.failed()) return;
  DType dtype = b.dtype(start);
  if (b.ConstantScalar(delta) == 0.0) {
    b.Fail(Code::kInvalidArgument, "delta is 0");
    return;
  }
  Dim count;
  if (IsInteger(dtype)) {
    Dims from = b.ReadDims(start), to = b.ReadDims(limit), by = b.ReadDims(delta);
    if (b.failed()) return;
    b.Require(NotEqual(by[0], 0), "delta is 0", {});
    count = CountOf(from[0], to[0], by[0]);
  } else {
    count = FloatCount(b, start, limit, delta);
  }
  if (b.failed()) return;
  ValueId steps = b.Cast(b.Iota(DType::kI64, {count}, 0), dtype);
  if (b.ConstantScalar(delta) != 1.0) steps = b.Mul(steps, delta);
  c.Out(0, b.ConstantScalar(start) == 0.0 ? steps : b.Add(steps, start));
}

DType AttributeDType(OnnxContext& c, std::string_view name, DType otherwise) {
  if (!c.HasAttribute(name)) return otherwise;
  auto dtype = DTypeFromOnnx(static_cast<int32_t>(c.Int(name, 0)));
  if (dtype.has_value() && *dtype != DType::kInvalid) return *dtype;
  c.b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute '{}' is {}, which is no element type", name, c.Int(name, 0)));
  return otherwise;
}

// No matrix reaches this diagonal, and row numbers can be added to it.
constexpr int64_t kFarDiagonal = int64_t{1} << 48;

void EyeLike(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(c.in(0));
  if (dims.size() != 2) {
    b.Fail(Code::kInvalidArgument, fmt::format("rank {}, 2 is wanted", dims.size()));
    return;
  }
  DType dtype = AttributeDType(c, "dtype", b.dtype(c.in(0)));
  ValueId row = b.Iota(DType::kI64, dims, 0);
  ValueId column = b.Iota(DType::kI64, dims, 1);
  ValueId diagonal =
      b.Add(row, b.ScalarInt(DType::kI64, std::clamp(c.Int("k", 0), -kFarDiagonal, kFarDiagonal)));
  c.Out(0, b.Cast(b.Binary(ExprOp::kEqual, diagonal, column), dtype));
}

// Keeps the elements on one side of the k-th diagonal.
void Trilu(OnnxContext& c) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  if (rank < 2) {
    b.Fail(Code::kInvalidArgument, fmt::format("rank {}, at least 2 is wanted", rank));
    return;
  }
  Dims plane{b.dim(c.in(0), -2), b.dim(c.in(0), -1)};
  ValueId k = c.has(1) ? b.Reshape(c.in(1), {}) : b.ScalarInt(DType::kI64, 0);
  k = b.Max(b.Min(k, b.ScalarInt(DType::kI64, kFarDiagonal)), b.ScalarInt(DType::kI64, -kFarDiagonal));
  ValueId diagonal = b.Add(b.Iota(DType::kI64, plane, 0), k);
  ValueId column = b.Iota(DType::kI64, plane, 1);
  bool upper = c.Int("upper", 1) != 0;
  ValueId keeps =
      upper ? b.Binary(ExprOp::kLessEqual, diagonal, column) : b.Binary(ExprOp::kLessEqual, column, diagonal);
  DType dtype = b.dtype(c.in(0));
  ValueId zero = dtype == DType::kBool ? b.ScalarInt(dtype, 0) : b.Scalar(dtype, 0);
  c.Out(0, b.Where(keeps, c.in(0), zero));
}

void OneHot(OnnxContext& c) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  int axis = b.NormalizeAxis(c.Int("axis", -1), rank + 1);
  ValueId depth_value = b.Reshape(b.Cast(c.in(1), DType::kI64), {});
  Dims depth = b.ReadDims(depth_value);
  if (b.failed()) return;
  b.Require(LessEqual(1, depth[0]), "a depth of {0}", {depth[0]});
  ValueId index = b.Cast(c.in(0), DType::kI64);
  ValueId from_end = b.Add(index, b.DimScalar(depth[0]));
  index = b.Where(b.Binary(ExprOp::kLess, index, b.ScalarInt(DType::kI64, 0)), from_end, index);
  index = b.Unsqueeze(index, {axis});
  Dims dims(static_cast<size_t>(rank) + 1, Dim(1));
  dims[static_cast<size_t>(axis)] = Max(depth[0], 0);
  ValueId hit = b.Binary(ExprOp::kEqual, index, b.Iota(DType::kI64, dims, axis));
  ValueId off = b.Reshape(b.SliceAxis(c.in(2), 0, 0, 1), {});
  ValueId on = b.Reshape(b.SliceAxis(c.in(2), 0, 1, 1), {});
  c.Out(0, b.Where(hit, on, off));
}

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), where n counts one less for a symmetric window.
void CosineWindow(OnnxContext& c, double a0, double a1, double a2) {
  OpBuilder& b = c.b;
  DType dtype = AttributeDType(c, "output_datatype", DType::kF32);
  Dims size = b.ReadDims(b.Reshape(c.in(0), {}));
  if (b.failed()) return;
  b.Require(LessEqual(0, size[0]), "a window of {0} elements", {size[0]});
  if (b.failed()) return;
  bool periodic = c.Int("periodic", 1) != 0;
  DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  ValueId i = b.Cast(b.Iota(DType::kI64, {Max(size[0], 0)}, 0), wide);
  ValueId span = b.Cast(b.DimScalar(periodic ? size[0] : size[0] - Dim(1)), wide);
  ValueId angle = b.Div(b.Mul(i, b.Scalar(wide, 2 * 3.14159265358979323846)), span);
  ValueId window = b.Sub(b.Scalar(wide, a0), b.Mul(b.Scalar(wide, a1), b.Unary(ExprOp::kCos, angle)));
  if (a2 != 0) {
    ValueId twice = b.Unary(ExprOp::kCos, b.Mul(angle, b.Scalar(wide, 2)));
    window = b.Add(window, b.Mul(b.Scalar(wide, a2), twice));
  }
  c.Out(0, b.Cast(window, dtype));
}

void HannWindow(OnnxContext& c) { CosineWindow(c, 0.5, 0.5, 0); }
void HammingWindow(OnnxContext& c) { CosineWindow(c, 25.0 / 46.0, 1 - 25.0 / 46.0, 0); }
void BlackmanWindow(OnnxContext& c) { CosineWindow(c, 0.42, 0.5, 0.08); }

constexpr OnnxOp kRows[] = {
    {"", "Constant", 1, kLatest, 0, 0,
     "value sparse_value value_float value_floats value_int value_ints value_string value_strings", Constant,
     OfOutput(kAllTypes)},
    {"", "ConstantOfShape", 9, kLatest, 1, 1, "value", ConstantOfShape,
     OfOutput(kAllTypes - kStrings - kComplex)},
    {"", "Range", 11, kLatest, 3, 3, "", Range, kNumbers},
    {"", "EyeLike", 9, kLatest, 1, 1, "dtype k", EyeLike, kNumbers | kBools},
    {"", "Trilu", 14, kLatest, 1, 2, "upper", Trilu, kAllTypes - kStrings - kComplex},
    {"", "OneHot", 9, kLatest, 3, 3, "axis", OneHot, OfInput(2, kAllTypes), StringUse::kMoved},
    {"", "HannWindow", 17, kLatest, 1, 1, "output_datatype periodic", HannWindow, OfOutput(kNumbers)},
    {"", "HammingWindow", 17, kLatest, 1, 1, "output_datatype periodic", HammingWindow, OfOutput(kNumbers)},
    {"", "BlackmanWindow", 17, kLatest, 1, 1, "output_datatype periodic", BlackmanWindow, OfOutput(kNumbers)},
};

}  // namespace

std::span<const OnnxOp> OnnxGenerateRows() { return kRows; }

}  // namespace tvmvm::ir
