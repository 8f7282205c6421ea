// Dropout and what a trained model keeps of it.
#include <fmt/core.h>

#include "compiler/onnx/ops/nn/onnx_random.h"
#include "compiler/onnx/ops/onnx_checks.h"
#include "compiler/onnx/ops/onnx_control.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

struct Dropped {
  ValueId data;
  ValueId mask;
};

Dropped Everything(OpBuilder& b, ValueId x) {
  Dims dims = b.dims(x);
  return {x, b.Expand(b.Cast(b.ScalarInt(DType::kI64, 1), DType::kBool), dims)};
}

// Elements are kept with the probability 1 - ratio, and grow so that their mean stays. `ratio` has rank 0.
// Floats of 8 bits are multiplied in f32.
Dropped AtRandom(OnnxContext& c, ValueId x, ValueId ratio) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(x);
  DType dtype = b.dtype(x);
  DType wide = kFloat8.contains(dtype) ? DType::kF32 : dtype;
  ValueId share = b.Cast(ratio, DType::kF64);
  ValueId mask = b.Binary(ExprOp::kLessEqual, share, UniformNumbers(b, dims, SeedOf(c)));
  ValueId one = b.Scalar(DType::kF64, 1);
  ValueId scale = b.Cast(b.Div(one, b.Sub(one, share)), wide);
  return {b.Cast(b.Mul(b.Mul(b.Cast(mask, wide), b.Cast(x, wide)), scale), dtype), mask};
}

void Output(OnnxContext& c, const Dropped& result) {
  c.Out(0, result.data);
  // Until opset 9 the mask had the data's type.
  if (c.wants(1)) c.Out(1, c.version < 10 ? c.b.Cast(result.mask, c.b.dtype(c.in(0))) : result.mask);
}

bool CheckRatio(OnnxContext& c, std::optional<double> ratio) {
  if (!ratio.has_value() || (*ratio >= 0 && *ratio < 1)) return true;
  c.b.Fail(Code::kInvalidArgument, fmt::format("a ratio of {}, wanted 0 or more and less than 1", *ratio));
  return false;
}

// Until opset 6 an attribute tells a test, in which nothing is dropped.
void DropoutOfAttributes(OnnxContext& c) {
  double ratio = c.Float("ratio", 0.5);
  bool drops = c.version < 7 && c.Int("is_test", 0) == 0;
  if (!CheckRatio(c, ratio)) return;
  Output(c, drops ? AtRandom(c, c.in(0), c.b.Scalar(DType::kF64, ratio)) : Everything(c.b, c.in(0)));
}

// From opset 12 on ratio and mode are inputs; a ratio of 0 drops nothing.
void Dropout(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  ValueId ratio = c.has(1) ? b.Reshape(c.in(1), {}) : b.Scalar(DType::kF64, 0.5);
  if (b.failed()) return;
  auto known = b.ConstantScalar(ratio);
  if (!CheckRatio(c, known)) return;
  if (!known.has_value())
    RequireAll(b, IsWithin(b, b.Cast(ratio, DType::kF64), 0, 1),
               "a ratio that is not 0 or more and less than 1");
  Dim trains = known == 0.0 ? Dim(0) : ReadScalar(c, 2, 0);
  if (b.failed()) return;
  if (trains.is_constant()) return Output(c, trains.value() != 0 ? AtRandom(c, x, ratio) : Everything(b, x));
  auto branch = [&](auto make) {
    return [&c, make]() -> Expected<std::vector<ValueId>> {
      Dropped result = make();
      return c.wants(1) ? std::vector<ValueId>{result.data, result.mask} : std::vector<ValueId>{result.data};
    };
  };
  std::vector<ValueId> results =
      BuildIf(b, NotEqual(trains, 0), branch([&] { return AtRandom(c, x, ratio); }),
              branch([&] { return Everything(b, x); }));
  if (!b.failed()) Output(c, {results.front(), results.back()});
}

constexpr OnnxOp kRows[] = {
    {"", "Dropout", 1, 6, 1, 1, "is_test ratio", DropoutOfAttributes, kFloats},
    {"", "Dropout", 7, 11, 1, 1, "ratio", DropoutOfAttributes, kFloats},
    {"", "Dropout", 12, kLatest, 1, 3, "seed", Dropout, kFloats | kFloat8},
};

}  // namespace

std::span<const OnnxOp> OnnxDropoutRows() { return kRows; }

}  // namespace tvmvm::ir
