// Losses over class scores.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

std::vector<int64_t> AllAxes(OpBuilder& b, ValueId value) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < b.rank(value); ++i) axes.push_back(i);
  return axes;
}

ValueId SumAll(OpBuilder& b, ValueId value) {
  return b.Reshape(b.Reduce(ReduceKind::kSum, value, AllAxes(b, value)), {});
}

// -weight[target] * log_probability[target] at each place, reduced as the node says. The classes are axis 1
// of the data.
ValueId NegativeLogLikelihood(OnnxContext& c, ValueId log_probability, ValueId target, ValueId weight) {
  OpBuilder& b = c.b;
  std::string reduction = c.Text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'reduction' is '{}'", reduction));
  if (b.rank(log_probability) != b.rank(target) + 1 || b.rank(target) < 1)
    return b.Fail(Code::kInvalidArgument, fmt::format("scores of rank {} and targets of rank {}",
                                                      b.rank(log_probability), b.rank(target)));
  DType dtype = b.dtype(log_probability);
  ValueId index = b.Cast(target, DType::kI64);
  ValueId ignored;
  if (c.HasAttribute("ignore_index")) {
    ignored = b.Binary(ExprOp::kEqual, index, b.ScalarInt(DType::kI64, c.Int("ignore_index", 0)));
    index = b.Where(ignored, b.ScalarInt(DType::kI64, 0), index);
  }
  ValueId picked =
      b.Emit("gather_elements", {log_probability, b.Unsqueeze(index, {1})}, {{"axis", int64_t{1}}});
  ValueId loss = b.Unary(ExprOp::kNegate, b.Squeeze(picked, {1}));
  ValueId weights = weight.valid() ? b.Gather(weight, index, 0) : ValueId();
  ValueId zero = b.Scalar(dtype, 0);
  if (ignored.valid()) weights = b.Where(ignored, zero, weights.valid() ? weights : b.Scalar(dtype, 1));
  if (weights.valid()) loss = b.Mul(loss, weights);
  // An ignored place counts 0 even where its score is infinite.
  if (ignored.valid()) loss = b.Where(ignored, zero, loss);
  if (reduction == "none") return loss;
  ValueId sum = SumAll(b, loss);
  if (reduction == "sum") return sum;
  if (weights.valid()) return b.Div(sum, SumAll(b, b.Expand(weights, b.dims(loss))));
  return b.Div(sum, b.Cast(b.DimScalar(Product(b.dims(loss))), dtype));
}

void NegativeLogLikelihoodLoss(OnnxContext& c) {
  c.Out(0, NegativeLogLikelihood(c, c.in(0), c.in(1), c.in(2)));
}

void SoftmaxCrossEntropyLoss(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  if (b.rank(x) < 2) {
    b.Fail(Code::kInvalidArgument, fmt::format("scores of rank {}, at least 2 is wanted", b.rank(x)));
    return;
  }
  ValueId shifted = b.Sub(x, b.Reduce(ReduceKind::kMax, x, {1}));
  ValueId sum = b.Reduce(ReduceKind::kSum, b.Unary(ExprOp::kExp, shifted), {1});
  ValueId log_probability = b.Sub(shifted, b.Unary(ExprOp::kLog, sum));
  c.Out(0, NegativeLogLikelihood(c, log_probability, c.in(1), c.in(2)));
  c.Out(1, log_probability);
}

constexpr OnnxOp kRows[] = {
    {"", "NegativeLogLikelihoodLoss", 12, kLatest, 2, 3, "ignore_index reduction", NegativeLogLikelihoodLoss,
     kFloats},
    {"", "SoftmaxCrossEntropyLoss", 12, kLatest, 2, 3, "ignore_index reduction", SoftmaxCrossEntropyLoss,
     kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxLossRows() { return kRows; }

}  // namespace tvmvm::ir
