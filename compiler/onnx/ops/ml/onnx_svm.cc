// ai.onnx.ml.SVMClassifier and SVMRegressor.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/onnx/ops/ml/onnx_ml.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

constexpr int64_t kMostClasses = 4096;  // their pairs have to fit in memory
constexpr int64_t kMostWeights = int64_t{1} << 26;

// Whole powers by multiplication, which is exact about signs.
ValueId Power(OpBuilder& b, ValueId base, double degree) {
  if (degree != std::floor(degree) || degree < 0 || degree > 16)
    return b.Binary(ExprOp::kPow, base, b.Scalar(b.dtype(base), degree));
  ValueId power = b.Add(b.Mul(base, b.Scalar(b.dtype(base), 0)), b.Scalar(b.dtype(base), 1));
  if (degree > 0) power = base;
  for (int i = 1; i < static_cast<int>(degree); ++i) power = b.Mul(power, base);
  return power;
}

// How alike each row of x[rows, features] and each vector[vectors, features] are.
ValueId Kernel(OnnxContext& c, ValueId x, ValueId vectors) {
  OpBuilder& b = c.b;
  std::string type = c.Text("kernel_type", "LINEAR");
  std::vector<double> parameters = c.Floats("kernel_params");
  if (!parameters.empty() && parameters.size() != 3)
    return b.Fail(Code::kInvalidArgument, fmt::format("{} kernel parameters, wanted 3", parameters.size()));
  parameters.resize(3);
  ValueId gamma = b.Scalar(b.dtype(x), parameters[0]), offset = b.Scalar(b.dtype(x), parameters[1]);
  if (type == "RBF") {
    ValueId difference = b.Sub(b.Unsqueeze(x, {1}), b.Unsqueeze(vectors, {0}));
    ValueId distance = b.Squeeze(b.Reduce(ReduceKind::kSum, b.Mul(difference, difference), {2}), {2});
    return b.Unary(ExprOp::kExp, b.Unary(ExprOp::kNegate, b.Mul(gamma, distance)));
  }
  ValueId product = b.MatMul(x, b.Transpose(vectors, {1, 0}));
  if (type == "LINEAR") return product;
  ValueId line = b.Add(b.Mul(gamma, product), offset);
  if (type == "POLY") return Power(b, line, parameters[2]);
  if (type == "SIGMOID") return b.Unary(ExprOp::kTanh, line);
  return b.Fail(
      Code::kInvalidArgument,
      fmt::format("the attribute 'kernel_type' is '{}', LINEAR, POLY, RBF or SIGMOID is wanted", type));
}

// The attribute as a matrix of `rows` rows, as wide as x.
ValueId Rows(OnnxContext& c, const char* name, int64_t rows, ValueId x) {
  OpBuilder& b = c.b;
  std::vector<double> numbers = c.Floats(name);
  auto count = static_cast<int64_t>(numbers.size());
  if (b.failed()) return x;
  if (rows < 1 || count == 0 || count % rows != 0)
    return b.Fail(Code::kInvalidArgument,
                  fmt::format("the attribute '{}' has {} numbers for {} rows", name, count, rows));
  int64_t features = count / rows;
  if (b.dim(x, 1).constant().value_or(features) != features)
    return b.Fail(Code::kInvalidArgument,
                  fmt::format("the attribute '{}' has {} numbers a row for an input {}", name, features,
                              b.type(x).ToString()));
  return NumberConstant(b, numbers, b.dtype(x), {rows, features});
}

// `count` numbers of the attribute. Where it has fewer, records an error and gives one number.
std::vector<double> FirstOf(OnnxContext& c, const char* name, size_t count) {
  std::vector<double> numbers = c.Floats(name);
  bool is_short = numbers.size() < count;
  if (is_short)
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("the attribute '{}' has {} numbers, wanted {}", name, numbers.size(), count));
  numbers.resize(is_short ? 1 : count);
  return numbers;
}

void SVMRegressor(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto transform = PostTransformOf(c);
  ValueId x = ModelRows(c);
  if (!transform || b.failed()) return;
  int64_t vectors = c.Int("n_supports", 0);
  ValueId score;
  if (vectors > 0) {
    ValueId kernel = Kernel(c, x, Rows(c, "support_vectors", vectors, x));
    std::vector<double> coefficients = FirstOf(c, "coefficients", static_cast<size_t>(vectors));
    if (b.failed()) return;
    score = b.MatMul(kernel, NumberConstant(b, coefficients, b.dtype(x), {vectors, 1}));
  } else {
    score = b.MatMul(x, b.Transpose(Rows(c, "coefficients", 1, x), {1, 0}));
  }
  score = b.Add(score, b.Scalar(b.dtype(x), FirstOf(c, "rho", 1)[0]));
  score = Transform(b, *transform, score);
  if (c.Int("one_class", 0) != 0) {
    ValueId is_in = b.Binary(ExprOp::kLess, b.Scalar(b.dtype(x), 0), score);
    score = b.Where(is_in, b.Scalar(b.dtype(x), 1), b.Scalar(b.dtype(x), -1));
  }
  c.Out(0, b.Cast(score, DType::kF32));
}

// Pairs of classes (i, j), i < j, in their order.
std::vector<std::pair<int64_t, int64_t>> PairsOf(int64_t classes) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j) pairs.emplace_back(i, j);
  return pairs;
}

// Which of each two classes a row is like, above 0 for the first: [rows, pairs]. `counts`: support vectors of
// each class.
ValueId PairScores(OnnxContext& c, ValueId x, const std::vector<int64_t>& counts) {
  OpBuilder& b = c.b;
  auto classes = static_cast<int64_t>(counts.size());
  std::vector<int64_t> starts(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), starts.begin() + 1);
  int64_t vectors = starts.back();
  auto pairs = PairsOf(classes);
  auto width = static_cast<int64_t>(pairs.size());
  std::vector<double> coefficients = FirstOf(c, "coefficients", static_cast<size_t>(vectors * (classes - 1)));
  if (b.failed()) return x;
  if (vectors > kMostWeights / width)
    return b.Fail(Code::kUnsupported, fmt::format("{} support vectors of {} classes", vectors, classes));
  std::vector<double> weights(static_cast<size_t>(vectors * width));
  auto set = [&](int64_t of_class, int64_t row, int64_t pair) {
    for (int64_t v = starts[static_cast<size_t>(of_class)]; v < starts[static_cast<size_t>(of_class) + 1];
         ++v)
      weights[static_cast<size_t>(v * width + pair)] = coefficients[static_cast<size_t>(row * vectors + v)];
  };
  for (int64_t pair = 0; pair < width; ++pair) {
    auto [i, j] = pairs[static_cast<size_t>(pair)];
    set(i, j - 1, pair);
    set(j, i, pair);
  }
  ValueId kernel = Kernel(c, x, Rows(c, "support_vectors", vectors, x));
  std::vector<double> rho = FirstOf(c, "rho", pairs.size());
  if (b.failed()) return x;
  return b.Add(b.MatMul(kernel, NumberConstant(b, weights, b.dtype(x), {vectors, width})),
               NumberConstant(b, rho, b.dtype(x)));
}

// How many pairs each class wins: [rows, classes].
ValueId Votes(OpBuilder& b, ValueId scores, int64_t classes) {
  auto pairs = PairsOf(classes);
  std::vector<double> change(pairs.size() * static_cast<size_t>(classes)), lost(static_cast<size_t>(classes));
  for (size_t pair = 0; pair < pairs.size(); ++pair) {
    auto first = static_cast<size_t>(pairs[pair].first), second = static_cast<size_t>(pairs[pair].second);
    change[pair * static_cast<size_t>(classes) + first] = 1;
    change[pair * static_cast<size_t>(classes) + second] = -1;
    lost[second] += 1;
  }
  DType dtype = b.dtype(scores);
  ValueId wins = b.Cast(b.Binary(ExprOp::kLess, b.Scalar(dtype, 0), scores), dtype);
  ValueId table = NumberConstant(b, change, dtype, {static_cast<int64_t>(pairs.size()), classes});
  return b.Add(b.MatMul(wins, table), NumberConstant(b, lost, dtype));
}

// Of each pair the first one's probability, by a fitted sigmoid, then all classes' from those.
ValueId Probabilities(OnnxContext& c, ValueId scores, int64_t classes) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(scores);
  size_t pairs = PairsOf(classes).size();
  std::vector<double> slopes = FirstOf(c, "prob_a", pairs), offsets = FirstOf(c, "prob_b", pairs);
  if (b.failed()) return scores;
  ValueId line = b.Add(b.Mul(scores, NumberConstant(b, slopes, dtype)), NumberConstant(b, offsets, dtype));
  ValueId first = b.Unary(ExprOp::kSigmoid, b.Unary(ExprOp::kNegate, line));
  first = b.Min(b.Max(first, b.Scalar(dtype, 1e-7)), b.Scalar(dtype, 1 - 1e-7));
  return b.Emit("couple_pairs", {first}, {{"classes", classes}});
}

// One against each other, with support vectors of each class.
void ClassifyByVectors(OnnxContext& c, ValueId x, const TensorData& labels, PostTransform transform) {
  OpBuilder& b = c.b;
  std::vector<int64_t> counts = c.Ints("vectors_per_class");
  int64_t classes = labels.dims[0];
  bool fits = static_cast<int64_t>(counts.size()) == classes && classes >= 2 && classes <= kMostClasses;
  for (int64_t count : counts) fits = fits && count >= 0 && count <= INT32_MAX;
  if (!fits) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("vectors of {} classes for {} labels", counts.size(), classes));
    return;
  }
  ValueId scores = PairScores(c, x, counts);
  c.Out(0, BestLabels(b, Votes(b, scores, classes), labels));
  if (!c.Floats("prob_a").empty())
    scores = Probabilities(c, scores, classes);
  else if (classes == 2)
    scores = BothClasses(b, scores, false);
  c.Out(1, b.Cast(Transform(b, transform, scores), DType::kF32));
}

// One score for each class.
void ClassifyByLines(OnnxContext& c, ValueId x, const TensorData& labels, PostTransform transform) {
  OpBuilder& b = c.b;
  ValueId scores = b.MatMul(x, b.Transpose(Rows(c, "coefficients", labels.dims[0], x), {1, 0}));
  scores = b.Add(scores, b.Scalar(b.dtype(x), FirstOf(c, "rho", 1)[0]));
  c.Out(0, BestLabels(b, scores, labels));
  c.Out(1, b.Cast(Transform(b, transform, scores), DType::kF32));
}

void SVMClassifier(OnnxContext& c) {
  auto transform = PostTransformOf(c);
  auto labels = ClassLabels(c, "classlabels_ints", "classlabels_strings");
  ValueId x = ModelRows(c);
  if (!transform || !labels || c.b.failed()) return;
  std::vector<int64_t> counts = c.Ints("vectors_per_class");
  bool has_vectors = std::any_of(counts.begin(), counts.end(), [](int64_t count) { return count > 0; });
  has_vectors ? ClassifyByVectors(c, x, *labels, *transform) : ClassifyByLines(c, x, *labels, *transform);
}

constexpr OnnxOp kRows[] = {
    {"ai.onnx.ml", "SVMClassifier", 1, kLatest, 1, 1,
     "classlabels_ints classlabels_strings coefficients kernel_params kernel_type post_transform prob_a "
     "prob_b "
     "rho support_vectors vectors_per_class",
     SVMClassifier, kNumbers},
    {"ai.onnx.ml", "SVMRegressor", 1, kLatest, 1, 1,
     "coefficients kernel_params kernel_type n_supports one_class post_transform rho support_vectors",
     SVMRegressor, kNumbers},
};

}  // namespace

std::span<const OnnxOp> OnnxSupportVectorRows() { return kRows; }

}  // namespace tvmvm::ir
