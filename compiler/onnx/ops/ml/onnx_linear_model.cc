// ai.onnx.ml.LinearClassifier and LinearRegressor.
#include <fmt/core.h>

#include "compiler/onnx/ops/ml/onnx_ml.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

// x times the coefficients of each output, plus its intercept: [rows, outputs].
ValueId LinearScores(OnnxContext& c, int64_t outputs) {
  OpBuilder& b = c.b;
  ValueId x = ModelRows(c);
  if (b.failed()) return x;
  std::vector<double> coefficients = c.Floats("coefficients"), intercepts = c.Floats("intercepts");
  auto count = static_cast<int64_t>(coefficients.size());
  if (outputs < 1 || count == 0 || count % outputs != 0)
    return b.Fail(Code::kInvalidArgument, fmt::format("{} coefficients for {} outputs", count, outputs));
  int64_t features = count / outputs;
  if (b.dim(x, 1).constant().value_or(features) != features)
    return b.Fail(Code::kInvalidArgument,
                  fmt::format("{} coefficients an output for an input {}", features, b.type(x).ToString()));
  if (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != outputs)
    return b.Fail(Code::kInvalidArgument,
                  fmt::format("{} intercepts for {} outputs", intercepts.size(), outputs));
  ValueId weights = NumberConstant(b, coefficients, b.dtype(x), {outputs, features});
  ValueId scores = b.MatMul(x, b.Transpose(weights, {1, 0}));
  return intercepts.empty() ? scores : b.Add(scores, NumberConstant(b, intercepts, b.dtype(x)));
}

void LinearRegressor(OnnxContext& c) {
  auto transform = PostTransformOf(c);
  if (!transform) return;
  ValueId scores = LinearScores(c, c.Int("targets", 1));
  c.Out(0, c.b.Cast(Transform(c.b, *transform, scores), DType::kF32));
}

// Coefficients for each class, or, of two classes, for the second alone.
int64_t RowsOfCoefficients(OnnxContext& c, int64_t classes) {
  auto intercepts = static_cast<int64_t>(c.Floats("intercepts").size());
  if (intercepts > 0) return intercepts;
  auto features = c.b.dim(FeatureRows(c), 1).constant();
  auto coefficients = static_cast<int64_t>(c.Floats("coefficients").size());
  return classes == 2 && features && coefficients == *features ? 1 : classes;
}

void LinearClassifier(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto transform = PostTransformOf(c);
  auto labels = ClassLabels(c, "classlabels_ints", "classlabels_strings");
  if (!transform || !labels) return;
  int64_t classes = labels->dims[0], outputs = RowsOfCoefficients(c, classes);
  bool is_pair = outputs == 1 && classes == 2;
  if (outputs != classes && !is_pair) {
    b.Fail(Code::kInvalidArgument, fmt::format("{} intercepts for {} classes", outputs, classes));
    return;
  }
  ValueId scores = LinearScores(c, outputs);
  if (b.failed()) return;
  if (is_pair) scores = BothClasses(b, scores, false);
  c.Out(0, BestLabels(b, scores, *labels));
  c.Out(1, b.Cast(Transform(b, *transform, scores), DType::kF32));
}

constexpr OnnxOp kRows[] = {
    {"ai.onnx.ml", "LinearClassifier", 1, kLatest, 1, 1,
     "classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform",
     LinearClassifier, kNumbers},
    {"ai.onnx.ml", "LinearRegressor", 1, kLatest, 1, 1, "coefficients intercepts post_transform targets",
     LinearRegressor, kNumbers},
};

}  // namespace

std::span<const OnnxOp> OnnxLinearModelRows() { return kRows; }

}  // namespace tvmvm::ir
