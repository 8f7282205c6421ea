// Random tensors and samples.
#include "compiler/onnx/ops/nn/onnx_random.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

constexpr double kPi = 3.14159265358979323846;

// FNV-1a, which stays the same everywhere.
uint32_t HashOf(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619u;
  return hash;
}

// `dtype` is the attribute's value, `otherwise` where it is absent.
DType ResultType(OnnxContext& c, DType otherwise) {
  if (!c.HasAttribute("dtype")) return otherwise;
  auto dtype = DTypeFromOnnx(static_cast<int32_t>(c.Int("dtype", 0)));
  if (dtype.has_value() && *dtype != DType::kInvalid && *dtype != DType::kString) return *dtype;
  c.b.Fail(
      Code::kInvalidArgument,
      fmt::format("the attribute 'dtype' is {}, which is no element type of numbers", c.Int("dtype", 0)));
  return otherwise;
}

bool IsRandomType(OnnxContext& c, DType dtype) {
  if (IsFloat(dtype) && DTypeBits(dtype) >= 16) return true;
  c.b.Fail(Code::kInvalidArgument,
           fmt::format("random numbers of type {}, wanted f16, bf16, f32 or f64", DTypeName(dtype)));
  return false;
}

// Numbers of [low, high).
ValueId Uniform(OnnxContext& c, const Dims& dims) {
  OpBuilder& b = c.b;
  double low = c.Float("low", 0), high = c.Float("high", 1);
  ValueId scaled = b.Mul(UniformNumbers(b, dims, SeedOf(c)), b.Scalar(DType::kF64, high - low));
  return b.Add(scaled, b.Scalar(DType::kF64, low));
}

// Box and Muller's transform of two uniform numbers for each.
ValueId Normal(OnnxContext& c, const Dims& dims) {
  OpBuilder& b = c.b;
  auto k = [&](double value) { return b.Scalar(DType::kF64, value); };
  Dim count = Product(dims);
  ValueId pairs = UniformNumbers(b, {count, Dim(2)}, SeedOf(c));
  auto column = [&](int64_t at) { return b.Squeeze(b.SliceAxis(pairs, 1, at, 1), {1}); };
  // 1 - u is not 0.
  ValueId logarithm = b.Unary(ExprOp::kLog, b.Sub(k(1), column(0)));
  ValueId radius = b.Unary(ExprOp::kSqrt, b.Mul(k(-2), logarithm));
  ValueId cosine = b.Unary(ExprOp::kCos, b.Mul(k(2 * kPi), column(1)));
  ValueId scaled = b.Mul(b.Mul(radius, cosine), k(c.Float("scale", 1)));
  return b.Reshape(b.Add(scaled, k(c.Float("mean", 0))), dims);
}

using Distribution = ValueId (*)(OnnxContext&, const Dims&);

template <Distribution draw>
void OfShape(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = ResultType(c, DType::kF32);
  if (!c.HasAttribute("shape")) b.Fail(Code::kInvalidArgument, "the attribute 'shape' is missing");
  int64_t count = 1;
  for (int64_t size : c.Ints("shape"))
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      b.Fail(Code::kInvalidArgument,
             fmt::format("the attribute 'shape' is [{}]", fmt::join(c.Ints("shape"), ", ")));
  if (b.failed() || !IsRandomType(c, dtype)) return;
  c.Out(0, b.Cast(draw(c, DimsOf(c.Ints("shape"))), dtype));
}

template <Distribution draw>
void Like(OnnxContext& c) {
  DType dtype = ResultType(c, c.b.dtype(c.in(0)));
  if (c.b.failed() || !IsRandomType(c, dtype)) return;
  Dims dims = c.b.dims(c.in(0));
  c.Out(0, c.b.Cast(draw(c, dims), dtype));
}

// 1 with the probability that the input holds, else 0.
void Bernoulli(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = ResultType(c, b.dtype(c.in(0)));
  if (b.failed()) return;
  Dims dims = b.dims(c.in(0));
  ValueId drawn = UniformNumbers(b, dims, SeedOf(c));
  ValueId hit = b.Binary(ExprOp::kLess, drawn, b.Cast(c.in(0), DType::kF64));
  c.Out(0, b.Cast(hit, dtype));
}

// Classes drawn by their unnormalized log-probabilities [batch, classes].
void Multinomial(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = ResultType(c, DType::kI32);
  int64_t count = c.Int("sample_size", 1);
  if (b.failed()) return;
  if (b.rank(c.in(0)) != 2 || count < 1 || (dtype != DType::kI32 && dtype != DType::kI64)) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} samples of type {} from {}, wanted i32 or i64 from [batch, classes]", count,
                       DTypeName(dtype), b.type(c.in(0)).ToString()));
    return;
  }
  ValueId x = b.Cast(c.in(0), DType::kF64);
  if (b.failed()) return;
  Dims dims = b.dims(x);
  ValueId weights = b.Unary(ExprOp::kExp, b.Sub(x, b.Reduce(ReduceKind::kMax, x, {1})));
  ValueId sums = b.Emit("scan", {weights},
                        {{"axis", int64_t{1}},
                         {"kind", std::string("sum")},
                         {"exclusive", int64_t{0}},
                         {"reverse", int64_t{0}}});
  ValueId total = b.SliceAxis(sums, 1, dims[1] - Dim(1), 1);
  ValueId drawn = b.Mul(UniformNumbers(b, {dims[0], Dim(count)}, SeedOf(c)), total);
  // The class is the number of sums that the drawn number has reached.
  ValueId reached = b.Binary(ExprOp::kLessEqual, b.Unsqueeze(sums, {1}), b.Unsqueeze(drawn, {2}));
  ValueId classes = b.Squeeze(b.Reduce(ReduceKind::kSum, b.Cast(reached, DType::kI64), {2}), {2});
  c.Out(0, b.Cast(b.Min(classes, b.DimScalar(dims[1] - Dim(1))), dtype));
}

constexpr OnnxOp kRows[] = {
    {"", "RandomUniform", 1, kLatest, 0, 0, "dtype high low seed shape", OfShape<Uniform>, OfOutput(kFloats)},
    {"", "RandomUniformLike", 1, kLatest, 1, 1, "dtype high low seed", Like<Uniform>, OfOutput(kFloats)},
    {"", "RandomNormal", 1, kLatest, 0, 0, "dtype mean scale seed shape", OfShape<Normal>, OfOutput(kFloats)},
    {"", "RandomNormalLike", 1, kLatest, 1, 1, "dtype mean scale seed", Like<Normal>, OfOutput(kFloats)},
    {"", "Bernoulli", 15, kLatest, 1, 1, "dtype seed", Bernoulli, kFloats},
    {"", "Multinomial", 7, kLatest, 1, 1, "dtype sample_size seed", Multinomial, kFloats},
};

}  // namespace

int64_t SeedOf(OnnxContext& c) {
  const OnnxAttribute* seed = c.Attr("seed");
  if (seed == nullptr) return HashOf(c.b.source());
  if (seed->kind == OnnxAttribute::Kind::kInt) return seed->integer & UINT32_MAX;
  // The specification has numbers; those that are no whole ones of 32 bits count by their bits.
  double number = c.Float("seed", 0);
  bool is_whole = number >= 0 && number <= UINT32_MAX && number == std::floor(number);
  return is_whole ? static_cast<int64_t>(number)
                  : static_cast<int64_t>(std::bit_cast<uint32_t>(static_cast<float>(number)));
}

ValueId UniformNumbers(OpBuilder& b, const Dims& dims, int64_t seed) {
  Dim count = Product(dims);
  ValueId words = b.Emit("random_words", {}, {{"count", count * Dim(2)}, {"seed", seed}});
  ValueId pairs = b.Reshape(words, {count, Dim(2)});
  auto bits = [&](int64_t at, int64_t unused) {
    ValueId column = b.Squeeze(b.SliceAxis(pairs, 1, at, 1), {1});
    ValueId upper = b.Binary(ExprOp::kShiftRight, column, b.ScalarInt(DType::kU32, unused));
    return b.Cast(upper, DType::kF64);
  };
  ValueId whole = b.Add(b.Mul(bits(0, 5), b.Scalar(DType::kF64, 0x1p26)), bits(1, 6));
  return b.Reshape(b.Mul(whole, b.Scalar(DType::kF64, 0x1p-53)), dims);
}

std::span<const OnnxOp> OnnxRandomRows() { return kRows; }

}  // namespace tvmvm::ir
