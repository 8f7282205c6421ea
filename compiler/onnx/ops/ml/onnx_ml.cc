#include "compiler/onnx/ops/ml/onnx_ml.h"

#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

ValueId Softmax(OpBuilder& b, ValueId scores) {
  ValueId powers = b.Unary(ExprOp::kExp, b.Sub(scores, b.Reduce(ReduceKind::kMax, scores, {1})));
  return b.Div(powers, b.Reduce(ReduceKind::kSum, powers, {1}));
}

// Scores next to 0 stay there instead of becoming e^0; a row of nothing else becomes halves.
ValueId SoftmaxZero(OpBuilder& b, ValueId scores) {
  DType dtype = b.dtype(scores);
  ValueId most = b.Reduce(ReduceKind::kMax, scores, {1});
  ValueId far = b.Binary(ExprOp::kLess, b.Scalar(dtype, 1e-7), b.Unary(ExprOp::kAbs, scores));
  ValueId powers = b.Where(far, b.Unary(ExprOp::kExp, b.Sub(scores, most)),
                           b.Mul(scores, b.Unary(ExprOp::kExp, b.Unary(ExprOp::kNegate, most))));
  ValueId sum = b.Reduce(ReduceKind::kSum, powers, {1});
  ValueId is_zero = b.Binary(ExprOp::kEqual, sum, b.Scalar(dtype, 0));
  return b.Where(is_zero, b.Scalar(dtype, 0.5), b.Div(powers, sum));
}

// The quantile of the normal distribution by the usual approximation of the error function's inverse, good to
// 4 digits, which the specification's other implementations give as well.
ValueId Probit(OpBuilder& b, ValueId p) {
  constexpr double kPi = 3.14159265358979323846, kA = 0.147;
  DType dtype = b.dtype(p);
  auto number = [&](double value) { return b.Scalar(dtype, value); };
  ValueId x = b.Sub(b.Mul(p, number(2)), number(1));
  ValueId log = b.Unary(ExprOp::kLog, b.Mul(b.Sub(number(1), x), b.Add(number(1), x)));
  ValueId v = b.Add(number(2 / (kPi * kA)), b.Mul(number(0.5), log));
  ValueId w = b.Mul(number(1 / kA), log);
  ValueId root = b.Unary(ExprOp::kSqrt, b.Sub(b.Unary(ExprOp::kSqrt, b.Sub(b.Mul(v, v), w)), v));
  ValueId inverse = b.Where(b.Binary(ExprOp::kLess, x, number(0)), b.Unary(ExprOp::kNegate, root), root);
  return b.Mul(number(1.41421356), inverse);
}

}  // namespace

ValueId FeatureRows(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  if (b.rank(x) == 1) return b.Unsqueeze(x, {0});
  if (b.rank(x) == 2) return x;
  return b.Fail(Code::kInvalidArgument,
                fmt::format("the input is {}, wanted [features] or [rows, features]", b.type(x).ToString()));
}

ValueId ModelRows(OnnxContext& c) {
  ValueId x = FeatureRows(c);
  return c.b.Cast(x, c.b.dtype(x) == DType::kF64 ? DType::kF64 : DType::kF32);
}

ValueId NumberConstant(OpBuilder& b, const std::vector<double>& numbers, DType dtype,
                       std::vector<int64_t> dims) {
  if (dims.empty()) dims = {static_cast<int64_t>(numbers.size())};
  if (dtype == DType::kF64) return b.Constant(TensorData::FromVector(dtype, std::move(dims), numbers));
  return b.Constant(TensorData::FromVector(DType::kF32, std::move(dims),
                                           std::vector<float>(numbers.begin(), numbers.end())));
}

TensorData StringList(std::vector<std::string> texts) {
  TensorData data;
  data.dtype = DType::kString;
  data.dims = {static_cast<int64_t>(texts.size())};
  data.strings = std::move(texts);
  return data;
}

TensorData IntegerList(const std::vector<int64_t>& numbers) {
  return TensorData::FromVector(DType::kI64, {static_cast<int64_t>(numbers.size())}, numbers);
}

ValueId LookUp(OpBuilder& b, ValueId x, ValueId keys) {
  if (b.dtype(x) == DType::kString) {
    std::vector<ValueId> ids = StringIds(b, {x, keys});
    x = ids[0];
    keys = ids.back();
  }
  if (b.failed()) return x;
  int rank = b.rank(x);
  Dim count = b.dim(keys, 0);
  ValueId hits = b.Binary(ExprOp::kEqual, b.Unsqueeze(x, {rank}), keys);
  if (IsFloat(b.dtype(x)))
    hits = b.Binary(ExprOp::kOr, hits,
                    b.Binary(ExprOp::kAnd, b.Unary(ExprOp::kIsNan, b.Unsqueeze(x, {rank})),
                             b.Unary(ExprOp::kIsNan, keys)));
  ValueId minus_one = b.ScalarInt(DType::kI64, -1), none = b.DimScalar(count);
  ValueId last = b.Where(hits, b.Iota(DType::kI64, {count}, 0), minus_one);
  last = b.Squeeze(b.Reduce(ReduceKind::kMax, last, {rank}), {rank});
  return b.Where(b.Binary(ExprOp::kEqual, last, minus_one), none, last);
}

std::optional<TensorData> ClassLabels(OnnxContext& c, std::string_view integers, std::string_view strings) {
  const OnnxAttribute* texts = c.Attr(strings);
  bool has_texts = texts != nullptr && !texts->texts.empty();
  std::vector<int64_t> numbers = c.Ints(integers);
  if (has_texts == !numbers.empty()) {
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("one of the attributes '{}' and '{}' is wanted", integers, strings));
    return std::nullopt;
  }
  return has_texts ? StringList(texts->texts) : IntegerList(numbers);
}

ValueId BestLabels(OpBuilder& b, ValueId scores, const TensorData& labels) {
  ValueId best = b.Squeeze(b.Reduce(ReduceKind::kArgMax, scores, {1}), {1});
  ValueId list = b.Constant(labels);
  return labels.dtype == DType::kString ? TakeStrings(b, best, {list}) : b.Gather(list, best, 0);
}

std::optional<PostTransform> PostTransformOf(OnnxContext& c) {
  constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const OnnxAttribute* attribute = c.Attr("post_transform");
  if (attribute != nullptr && attribute->kind == OnnxAttribute::Kind::kInt) {
    int64_t number = attribute->integer;
    if (number >= 0 && number < static_cast<int64_t>(std::size(kNames)))
      return static_cast<PostTransform>(number);
    c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'post_transform' is {}", number));
    return std::nullopt;
  }
  std::string name = c.Text("post_transform", "NONE");
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<PostTransform>(i);
  c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'post_transform' is '{}'", name));
  return std::nullopt;
}

ValueId Transform(OpBuilder& b, PostTransform transform, ValueId scores) {
  switch (transform) {
    case PostTransform::kNone:
      return scores;
    case PostTransform::kSoftmax:
      return Softmax(b, scores);
    case PostTransform::kLogistic:
      return b.Unary(ExprOp::kSigmoid, scores);
    case PostTransform::kSoftmaxZero:
      return SoftmaxZero(b, scores);
    case PostTransform::kProbit:
      return Probit(b, scores);
  }
  return scores;
}

ValueId BothClasses(OpBuilder& b, ValueId score, bool is_probability) {
  ValueId other =
      is_probability ? b.Sub(b.Scalar(b.dtype(score), 1), score) : b.Unary(ExprOp::kNegate, score);
  return b.Concat({other, score}, 1);
}

}  // namespace tvmvm::ir
