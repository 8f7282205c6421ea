// Matrix products.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_quantized.h"

namespace tvmvm::ir {
namespace {

// numpy's matmul: a vector gets a row or column axis that the result does not have.
ValueId Product(OpBuilder& b, ValueId left, ValueId right) {
  bool row = b.rank(left) == 1;
  bool column = b.rank(right) == 1;
  if (b.rank(left) == 0 || b.rank(right) == 0) return b.Fail(Code::kInvalidArgument, "an operand of rank 0");
  ValueId a = row ? b.Unsqueeze(left, {0}) : left;
  ValueId c = column ? b.Unsqueeze(right, {1}) : right;
  ValueId result = b.MatMul(a, c);
  if (b.failed()) return result;
  if (column) result = b.Squeeze(result, {b.rank(result) - 1});
  if (row) result = b.Squeeze(result, {b.rank(result) - (column ? 1 : 2)});
  return result;
}

void MatMul(OnnxContext& c) { c.Out(0, Product(c.b, c.in(0), c.in(1))); }

void Gemm(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (b.rank(c.in(0)) != 2 || b.rank(c.in(1)) != 2) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("operands of ranks {} and {}, 2 is wanted", b.rank(c.in(0)), b.rank(c.in(1))));
    return;
  }
  int64_t left = c.Int("transA", 0) != 0 ? 0 : 1;
  int64_t right = c.Int("transB", 0) != 0 ? 1 : 0;
  double alpha = c.Float("alpha", 1);
  double beta = c.Float("beta", 1);
  ValueId result = b.Contract(c.in(0), c.in(1), {}, {}, {left}, {right});
  DType dtype = b.dtype(result);
  if (alpha != 1) result = b.Mul(result, b.Scalar(dtype, alpha));
  if (c.has(2) && beta != 0) {
    ValueId addend = beta == 1 ? c.in(2) : b.Mul(c.in(2), b.Scalar(dtype, beta));
    result = b.Add(result, addend);
  }
  c.Out(0, result);
}

// An operand of an integer product without its zero point: one number, one a row of the left or one a column
// of the right operand.
ValueId Centered(OpBuilder& b, ValueId x, ValueId zero, bool rows) {
  ValueId wide = b.Cast(x, DType::kI32);
  if (!zero.valid()) return wide;
  ValueId origin = b.Cast(zero, DType::kI32);
  if (b.rank(origin) == 1 && b.dim(origin, 0).IsConstant(1)) origin = b.Reshape(origin, {});
  if (b.rank(origin) == 1 && rows) origin = b.Unsqueeze(origin, {1});
  return b.Sub(wide, origin);
}

void MatMulInteger(OnnxContext& c) {
  c.Out(0, Product(c.b, Centered(c.b, c.in(0), c.in(2), true), Centered(c.b, c.in(1), c.in(3), false)));
}

ValueId AsRows(OpBuilder& b, ValueId scale) {
  if (b.rank(scale) != 1) return scale;
  return b.dim(scale, 0).IsConstant(1) ? b.Reshape(scale, {}) : b.Unsqueeze(scale, {1});
}

// a, its scale and zero point, b, its scale and zero point, the result's scale and zero point.
void QLinearMatMul(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId sum = Product(b, Centered(b, c.in(0), c.in(2), true), Centered(b, c.in(3), c.in(5), false));
  if (b.failed()) return;
  ValueId left = b.Cast(AsRows(b, c.in(1)), DType::kF32);
  ValueId right = b.Cast(c.in(4), DType::kF32);
  ValueId result_scale = b.Cast(AsRows(b, c.in(6)), DType::kF32);
  ValueId zero = AsRows(b, c.in(7));
  if (b.rank(right) == 1 && b.dim(right, 0).IsConstant(1)) right = b.Reshape(right, {});
  ValueId scale = b.Div(b.Mul(left, right), result_scale);
  c.Out(0, Requantize(b, b.Mul(b.Cast(sum, DType::kF32), scale), zero));
}

constexpr OnnxOp kRows[] = {
    With(Overlay::kProduct, {"", "MatMul", 1, kLatest, 2, 2, "", MatMul, kNumbers}),
    {"", "Gemm", 1, 6, 3, 3, "alpha beta broadcast transA transB", Gemm, kFloats},
    {"", "Gemm", 7, kLatest, 2, 3, "alpha beta transA transB", Gemm, kNumbers},
    {"", "MatMulInteger", 10, kLatest, 2, 4, "", MatMulInteger, kBytes},
    {"", "QLinearMatMul", 10, kLatest, 8, 8, "", QLinearMatMul, kBytes | kFloat8},
};

}  // namespace

std::span<const OnnxOp> OnnxMatMulRows() { return kRows; }

}  // namespace tvmvm::ir
