// Quantization: from numbers to small integers or floats and back.
#include <fmt/core.h>

#include <cmath>

#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_quantized.h"

namespace tvmvm::ir {

using tensor::ExprOp;
using tensor::ReduceKind;

namespace {

struct IntegerRange {
  double low;
  double high;
};

IntegerRange RangeOfType(DType dtype) {
  int bits = DTypeBits(dtype);
  if (IsUnsignedInteger(dtype)) return {0, std::ldexp(1.0, bits) - 1};
  return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
}

ValueId Saturate(OpBuilder& b, ValueId rounded, DType dtype) {
  IntegerRange range = RangeOfType(dtype);
  DType wide = b.dtype(rounded);
  return b.Cast(b.Min(b.Max(rounded, b.Scalar(wide, range.low)), b.Scalar(wide, range.high)), dtype);
}

// `rounded`, counted from a zero point.
ValueId FromZero(OpBuilder& b, ValueId rounded, ValueId zero) {
  return b.ConstantScalar(zero) == 0.0 ? rounded : b.Add(rounded, b.Cast(zero, b.dtype(rounded)));
}

// A scale or zero point for the elements of x: one for all, one a slice along `axis`, or one a block of it.
ValueId ForElements(OnnxContext& c, ValueId parameter, ValueId x) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(x);
  auto rank = static_cast<int>(dims.size());
  if (b.rank(parameter) == 0 || (b.rank(parameter) == 1 && b.dim(parameter, 0).IsConstant(1)))
    return b.Reshape(parameter, {});
  int axis = b.NormalizeAxis(c.Int("axis", 1), rank);
  if (b.failed()) return parameter;
  auto at = static_cast<size_t>(axis);
  int64_t block = c.Int("block_size", 0);
  if (b.rank(parameter) == 1 && (block == 0 || rank != 1)) {
    Dims spread(dims.size(), Dim(1));
    spread[at] = b.dim(parameter, 0);
    return b.Reshape(parameter, spread);
  }
  if (block <= 0 || b.rank(parameter) != rank)
    return b.Fail(Code::kInvalidArgument,
                  fmt::format("a parameter of rank {} with block size {} for data of rank {}",
                              b.rank(parameter), block, rank));
  // Each entry is repeated for its block; the last block may be cut.
  Dims blocks = b.dims(parameter);
  Dims apart = blocks;
  apart.insert(apart.begin() + axis + 1, Dim(1));
  Dims repeated = apart;
  repeated[at + 1] = block;
  Dims joined = blocks;
  joined[at] = blocks[at] * Dim(block);
  b.Require(LessEqual(dims[at], joined[at]), fmt::format("{{0}} blocks of {} for {{1}} elements", block),
            {blocks[at], dims[at]});
  ValueId spread = b.Reshape(b.Expand(b.Reshape(parameter, apart), repeated), joined);
  return b.SliceAxis(spread, axis, 0, dims[at]);
}

DType TypeAttribute(OnnxContext& c, std::string_view name) {
  int64_t code = c.Int(name, 0);
  auto dtype = DTypeFromOnnx(static_cast<int32_t>(code));
  if (code == 0) return DType::kInvalid;
  if (!dtype.has_value())
    c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute '{}' is {}", name, code));
  return dtype.value_or(DType::kInvalid);
}

// y = saturate(round(x / scale) + zero_point)
void QuantizeLinear(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  DType to = c.has(2) ? b.dtype(c.in(2)) : TypeAttribute(c, "output_dtype");
  if (to == DType::kInvalid) to = DType::kU8;
  DType wide = TypeAttribute(c, "precision");
  DType scale_type = b.dtype(c.in(1));
  // Computed in the scale's precision, as the reference does; integers are divided as f32.
  if (wide == DType::kInvalid)
    wide = IsFloat(b.dtype(x)) ? (DTypeBits(scale_type) < 16 ? b.dtype(x) : scale_type) : DType::kF32;
  ValueId scale = ForElements(c, c.in(1), x);
  if (b.failed()) return;
  ValueId scaled = b.Div(b.Cast(x, wide), b.Cast(scale, wide));
  ValueId zero = c.has(2) ? ForElements(c, c.in(2), x) : ValueId();
  if (b.failed()) return;
  if (IsFloat(to)) {
    if (zero.valid()) scaled = b.Add(scaled, b.Cast(zero, wide));
    return c.Out(0, b.Cast(scaled, to, c.Int("saturate", 1) != 0));
  }
  // f16 cannot hold the sum of a rounded quotient and a zero point exactly.
  ValueId rounded = b.Cast(b.Unary(ExprOp::kRound, scaled), DType::kF32);
  c.Out(0, Saturate(b, zero.valid() ? FromZero(b, rounded, zero) : rounded, to));
}

// Constants with a scale for each block as one operator, which products decode as they read them. Invalid:
// they are not such.
ValueId DequantizedBlocks(OnnxContext& c) {
  OpBuilder& b = c.b;
  const TensorData *codes = b.ConstantData(c.in(0)), *scale = b.ConstantData(c.in(1));
  const int64_t block = c.Int("block_size", 0);
  if (codes == nullptr || scale == nullptr || block <= 0 || scale->dims.size() != codes->dims.size() ||
      !IsInteger(codes->dtype) || DTypeBits(codes->dtype) > 8)
    return {};
  const TensorData* zero = c.has(2) ? b.ConstantData(c.in(2)) : nullptr;
  if (c.has(2) && (zero == nullptr || zero->dims != scale->dims)) return {};
  std::vector<int64_t> blocks(codes->dims.size(), 1);
  const int axis = b.NormalizeAxis(c.Int("axis", 1), b.rank(c.in(0)));
  if (b.failed()) return {};
  blocks[static_cast<size_t>(axis)] = block;
  for (size_t i = 0; i < blocks.size(); ++i)
    if (scale->dims[i] != (codes->dims[i] + blocks[i] - 1) / blocks[i]) return {};
  std::vector<ValueId> inputs{c.in(0), c.in(1)};
  if (zero != nullptr) inputs.push_back(c.in(2));
  return b.Emit("dequantize", std::move(inputs), {{"blocks", std::move(blocks)}});
}

// y = (x - zero_point) * scale
void DequantizeLinear(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  DType dtype = TypeAttribute(c, "output_dtype");
  if (dtype == DType::kInvalid) dtype = b.dtype(c.in(1));
  if (ValueId blocks = DequantizedBlocks(c); blocks.valid()) return c.Out(0, b.Cast(blocks, dtype));
  ValueId scale = b.Cast(ForElements(c, c.in(1), x), DType::kF32);
  if (b.failed()) return;
  ValueId number;
  if (!c.has(2)) {
    number = b.Cast(x, DType::kF32);
  } else {
    ValueId zero = ForElements(c, c.in(2), x);
    if (b.failed()) return;
    DType wide = IsFloat(b.dtype(x)) ? DType::kF32 : DType::kI32;
    number = b.Cast(b.Sub(b.Cast(x, wide), b.Cast(zero, wide)), DType::kF32);
  }
  c.Out(0, b.Cast(b.Mul(number, scale), dtype));
}

// Scale and zero point from the range of the data, 0 included.
void DynamicQuantizeLinear(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = b.Reshape(c.in(0), {Product(b.dims(c.in(0)))});
  ValueId zero = b.Scalar(DType::kF32, 0);
  ValueId high = b.Max(b.Squeeze(b.Reduce(ReduceKind::kMax, x, {0}), {0}), zero);
  ValueId low = b.Min(b.Squeeze(b.Reduce(ReduceKind::kMin, x, {0}), {0}), zero);
  ValueId scale = b.Div(b.Sub(high, low), b.Scalar(DType::kF32, 255));
  // All elements 0: any scale does.
  ValueId divisor = b.Where(b.Binary(ExprOp::kEqual, scale, zero), b.Scalar(DType::kF32, 1), scale);
  ValueId origin = b.Div(b.Sub(zero, low), divisor);
  ValueId zero_point = Saturate(b, b.Unary(ExprOp::kRound, origin), DType::kU8);
  c.Out(0, Requantize(b, b.Div(c.in(0), divisor), zero_point));
  c.Out(1, scale);
  c.Out(2, zero_point);
}

// com.microsoft: a, its scale and zero point, b, its scale and zero point, the result's scale and zero point.
template <ExprOp op>
void QLinearBinary(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId left = Dequantized(b, c.in(0), c.in(1), c.in(2));
  ValueId right = Dequantized(b, c.in(3), c.in(4), c.in(5));
  ValueId scaled = b.Div(b.Binary(op, left, right), OneOrMany(b, c.in(6)));
  c.Out(0, c.has(7) ? Requantize(b, scaled, OneOrMany(b, c.in(7))) : RoundTo(b, scaled, b.dtype(c.in(0))));
}

constexpr OnnxOp kRows[] = {
    {"", "QuantizeLinear", 10, kLatest, 2, 3, "axis block_size output_dtype precision saturate",
     QuantizeLinear, kNumbers},
    {"", "DequantizeLinear", 10, kLatest, 2, 3, "axis block_size output_dtype", DequantizeLinear,
     kIntegers | kFloat8 | kPacked | kFloat6},
    {"", "DynamicQuantizeLinear", 11, kLatest, 1, 1, "", DynamicQuantizeLinear, DTypeSet{DType::kF32}},
    {"com.microsoft", "QLinearAdd", 1, kLatest, 7, 8, "", QLinearBinary<ExprOp::kAdd>, kBytes},
    {"com.microsoft", "QLinearMul", 1, kLatest, 7, 8, "", QLinearBinary<ExprOp::kMul>, kBytes},
    {"com.microsoft", "QuantizeLinear", 1, kLatest, 2, 3, "axis block_size", QuantizeLinear, kNumbers},
    {"com.microsoft", "DequantizeLinear", 1, kLatest, 2, 3, "axis block_size", DequantizeLinear,
     kIntegers | kPacked},
};

}  // namespace

ValueId Requantize(OpBuilder& b, ValueId scaled, ValueId zero_point) {
  return Saturate(b, FromZero(b, b.Unary(ExprOp::kRound, scaled), zero_point), b.dtype(zero_point));
}

ValueId RoundTo(OpBuilder& b, ValueId scaled, DType dtype) {
  return Saturate(b, b.Unary(ExprOp::kRound, scaled), dtype);
}

ValueId Dequantized(OpBuilder& b, ValueId x, ValueId scale, ValueId zero) {
  ValueId number = b.Cast(x, DType::kI32);
  if (zero.valid()) number = b.Sub(number, b.Cast(OneOrMany(b, zero), DType::kI32));
  return b.Mul(b.Cast(number, DType::kF32), b.Cast(OneOrMany(b, scale), DType::kF32));
}

ValueId OneOrMany(OpBuilder& b, ValueId x) {
  return b.rank(x) == 1 && b.dim(x, 0).IsConstant(1) ? b.Reshape(x, {}) : x;
}

std::span<const OnnxOp> OnnxQuantizeRows() { return kRows; }

}  // namespace tvmvm::ir
