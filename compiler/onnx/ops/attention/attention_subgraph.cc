#include "compiler/onnx/ops/attention/attention_subgraph.h"

#include <cmath>
#include <limits>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

using tensor::ExprOp;
using tensor::ReduceKind;

namespace {

// [batch, query heads, ...] as [batch, heads, query heads a head, ...].
ValueId Grouped(OpBuilder& b, ValueId x, const Dim& heads) {
  Dims d = b.dims(x, 4, "the left operand of a product by heads");
  Dim groups = d[1] == heads ? Dim(1) : FloorDiv(d[1], heads);
  return b.Reshape(x, {d[0], heads, groups, d[2], d[3]});
}

// A product of each query head with the head of keys or values that it shares.
ValueId ProductByHeads(OpBuilder& b, ValueId left, ValueId right, int64_t summed_axis) {
  if (b.failed()) return left;
  ValueId grouped = Grouped(b, left, b.dim(right, 1));
  ValueId product = b.Contract(grouped, right, {0, 1}, {0, 1}, {4}, {summed_axis});
  return b.Reshape(product,
                   {b.dim(left, 0), b.dim(left, 1), b.dim(left, 2), b.dim(right, summed_axis == 3 ? 2 : 3)});
}

}  // namespace

ValueId HeadsApart(OpBuilder& b, ValueId x, const Dim& heads, std::string_view what) {
  Dims d = b.dims(x, 3, what);
  return b.Transpose(b.Reshape(x, {d[0], d[1], heads, FloorDiv(d[2], heads)}), {0, 2, 1, 3});
}

ValueId HeadsJoined(OpBuilder& b, ValueId x) {
  Dims d = b.dims(x, 4, "the result of the attention");
  return b.Reshape(b.Transpose(x, {0, 2, 1, 3}), {d[0], d[2], d[1] * d[3]});
}

ValueId AttentionFactor(OpBuilder& b, DType dtype, std::optional<double> scale, const Dim& size) {
  if (scale.has_value()) return b.Scalar(dtype, *scale);
  if (auto known = size.constant()) return b.Scalar(dtype, 1 / std::sqrt(static_cast<double>(*known)));
  DType wide = WideType(dtype);
  ValueId root = b.Unary(ExprOp::kSqrt, b.Cast(b.DimScalar(size), wide));
  return b.Cast(b.Div(b.Scalar(wide, 1), root), dtype);
}

ValueId AttentionScores(OpBuilder& b, ValueId query, ValueId key) { return ProductByHeads(b, query, key, 3); }

ValueId Softcapped(OpBuilder& b, ValueId scores, double limit) {
  if (limit <= 0) return scores;
  ValueId cap = b.Scalar(b.dtype(scores), limit);
  return b.Mul(b.Unary(ExprOp::kTanh, b.Div(scores, cap)), cap);
}

ValueId AttentionWeights(OpBuilder& b, ValueId scores, const RowRules& rules) {
  DType dtype = b.dtype(scores);
  int64_t last = b.rank(scores) - 1;
  ValueId zero = b.Scalar(dtype, 0);
  ValueId largest = b.Reduce(ReduceKind::kMax, scores, {last});
  if (rules.sink.valid()) largest = b.Max(largest, rules.sink);
  ValueId empty = rules.empty;
  if (!empty.valid() && rules.may_be_empty) {
    ValueId never = b.Scalar(dtype, -std::numeric_limits<double>::infinity());
    empty = b.Binary(ExprOp::kEqual, largest, never);
  }
  if (empty.valid()) largest = b.Where(empty, zero, largest);
  ValueId exponentials = b.Unary(ExprOp::kExp, b.Sub(scores, largest));
  ValueId sum = b.Reduce(ReduceKind::kSum, exponentials, {last});
  if (rules.sink.valid()) sum = b.Add(sum, b.Unary(ExprOp::kExp, b.Sub(rules.sink, largest)));
  ValueId weights = b.Div(exponentials, sum);
  return empty.valid() ? b.Where(empty, zero, weights) : weights;
}

ValueId AttentionResult(OpBuilder& b, ValueId weights, ValueId value) {
  return ProductByHeads(b, weights, value, 2);
}

}  // namespace tvmvm::ir
