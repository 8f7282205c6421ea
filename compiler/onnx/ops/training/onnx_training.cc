// ai.onnx.preview.training: gradients, and steps of optimizers.
#include <fmt/core.h>

#include "compiler/autodiff/differentiate.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// ---- Gradient: the derivatives of the value named y with respect to those named in xs ----

// The values that the names of an attribute stand for, where the node is.
std::vector<ValueId> NamedValues(OnnxContext& c, const std::vector<std::string>& names) {
  std::vector<ValueId> values;
  for (const std::string& name : names) {
    const std::optional<ValueId>* found = c.find_value(name);
    if (found != nullptr && found->has_value())
      values.push_back(**found);
    else if (found != nullptr)
      values.push_back(c.b.Fail(Code::kUnsupported, fmt::format("a node that makes '{}'", name)));
    else
      values.push_back(
          c.b.Fail(Code::kInvalidArgument, fmt::format("there is no value '{}' before the node", name)));
  }
  return values;
}

void Gradient(OnnxContext& c) {
  OpBuilder& b = c.b;
  const std::vector<std::string> xs = c.Texts("xs");
  std::vector<std::string> names = xs;
  for (const std::string& name : c.Texts("zs")) names.push_back(name);
  if (xs.empty() || xs.size() < c.output_names.size() || names.size() != c.inputs.size()) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} inputs and {} outputs for {} names in 'xs' and {} in 'xs' and 'zs'",
                       c.inputs.size(), c.output_names.size(), xs.size(), names.size()));
    return;
  }
  std::vector<ValueId> originals = NamedValues(c, names), y = NamedValues(c, {c.Text("y", "")});
  std::vector<ValueId> values;
  for (size_t i = 0; i < names.size() && !b.failed(); ++i) {
    if (!c.has(i)) {
      b.Fail(Code::kInvalidArgument, fmt::format("the input {} is missing", i));
      return;
    }
    bool is_other = c.in(i) != originals[i];
    values.push_back(is_other && !b.failed() ? autodiff::Independent(b, c.in(i)) : c.in(i));
  }
  if (b.failed()) return;
  ValueId result = autodiff::Recompute(b, y[0], originals, values);
  auto first_constant = values.begin() + static_cast<std::ptrdiff_t>(xs.size());
  std::vector<ValueId> gradients =
      autodiff::Gradients(b, result, {values.begin(), first_constant}, {first_constant, values.end()});
  for (size_t i = 0; i < gradients.size(); ++i) c.Out(i, gradients[i]);
}

// ---- optimizers: the inputs are rate, step, then all tensors, all gradients, all states ----

// One tensor's share of a step. `in(k)` is its k-th input (0: the tensor, 1: its gradient, then its states).
struct Step {
  OnnxContext& c;
  OpBuilder& b;
  size_t number;
  size_t count;

  ValueId in(size_t k) const { return c.in(2 + number + k * count); }
  ValueId K(double value) const { return b.Scalar(b.dtype(in(0)), value); }
  ValueId rate() const { return b.Cast(b.Reshape(c.in(0), {}), b.dtype(in(0))); }
  ValueId step() const { return b.Cast(b.Reshape(c.in(1), {}), b.dtype(in(0))); }
  ValueId Regularized() const { return b.Add(b.Mul(K(c.Float("norm_coefficient", 0)), in(0)), in(1)); }
  void Out(size_t k, ValueId value) const { c.Out(number + k * count, value); }
};

// `per_tensor`: inputs that each tensor has.
void ForTensors(OnnxContext& c, size_t per_tensor, void (*one)(const Step&)) {
  size_t given = c.inputs.size() - 2;
  if (given == 0 || given % per_tensor != 0) {
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("{} inputs, {} for each tensor are wanted", given, per_tensor));
    return;
  }
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.has(i)) continue;
    c.b.Fail(Code::kInvalidArgument, fmt::format("the input {} is missing", i));
    return;
  }
  size_t count = given / per_tensor;
  for (size_t i = 0; i < count && !c.b.failed(); ++i) one({c, c.b, i, count});
}

void AdagradStep(const Step& s) {
  OpBuilder& b = s.b;
  ValueId rate = b.Div(s.rate(), b.Add(s.K(1), b.Mul(s.step(), s.K(s.c.Float("decay_factor", 0)))));
  ValueId gradient = s.Regularized();
  ValueId squares = b.Add(s.in(2), b.Mul(gradient, gradient));
  ValueId scale = b.Add(b.Unary(ExprOp::kSqrt, squares), s.K(s.c.Float("epsilon", 0)));
  s.Out(0, b.Sub(s.in(0), b.Div(b.Mul(rate, gradient), scale)));
  s.Out(1, squares);
}

void AdamStep(const Step& s) {
  OpBuilder& b = s.b;
  double alpha = s.c.Float("alpha", 0.9);
  double beta = s.c.Float("beta", 0.999);
  ValueId gradient = s.Regularized();
  ValueId mean = b.Add(b.Mul(s.K(alpha), s.in(2)), b.Mul(s.K(1 - alpha), gradient));
  ValueId squares = b.Add(b.Mul(s.K(beta), s.in(3)), b.Mul(s.K(1 - beta), b.Mul(gradient, gradient)));
  ValueId root = b.Add(b.Unary(ExprOp::kSqrt, squares), s.K(s.c.Float("epsilon", 0)));
  // The first moments start at 0, which is corrected from the first step on.
  auto remaining = [&](double factor) {
    return b.Sub(s.K(1), b.Binary(ExprOp::kPow, s.K(factor), s.step()));
  };
  ValueId corrected = b.Div(b.Mul(s.rate(), b.Unary(ExprOp::kSqrt, remaining(beta))), remaining(alpha));
  ValueId rate = b.Where(b.Binary(ExprOp::kLess, s.K(0), s.step()), corrected, s.rate());
  ValueId moved = b.Sub(s.in(0), b.Mul(rate, b.Div(mean, root)));
  s.Out(0, b.Mul(s.K(1 - s.c.Float("norm_coefficient_post", 0)), moved));
  s.Out(1, mean);
  s.Out(2, squares);
}

void MomentumStep(const Step& s) {
  OpBuilder& b = s.b;
  double alpha = s.c.Float("alpha", 0);
  ValueId gradient = s.Regularized();
  // The first step takes the whole gradient.
  ValueId later = b.Binary(ExprOp::kLess, s.K(0), s.step());
  ValueId beta = b.Where(later, s.K(s.c.Float("beta", 0)), s.K(1));
  ValueId velocity = b.Add(b.Mul(s.K(alpha), s.in(2)), b.Mul(beta, gradient));
  ValueId direction = velocity;
  if (s.c.Text("mode", "standard") == "nesterov") direction = b.Add(gradient, b.Mul(s.K(alpha), velocity));
  s.Out(0, b.Sub(s.in(0), b.Mul(s.rate(), direction)));
  s.Out(1, velocity);
}

void Adagrad(OnnxContext& c) { ForTensors(c, 3, AdagradStep); }
void Adam(OnnxContext& c) { ForTensors(c, 4, AdamStep); }
void Momentum(OnnxContext& c) { ForTensors(c, 3, MomentumStep); }

constexpr std::string_view kDomain = "ai.onnx.preview.training";

constexpr OnnxOp kRows[] = {
    {kDomain, "Gradient", 1, kLatest, 1, -1, "xs y zs", Gradient, kFloats},
    {kDomain, "Adagrad", 1, kLatest, 3, -1, "decay_factor epsilon norm_coefficient", Adagrad,
     OfInput(2, kFloats)},
    {kDomain, "Adam", 1, kLatest, 3, -1, "alpha beta epsilon norm_coefficient norm_coefficient_post", Adam,
     OfInput(2, kFloats)},
    {kDomain, "Momentum", 1, kLatest, 3, -1, "alpha beta mode norm_coefficient", Momentum,
     OfInput(2, kFloats)},
};

}  // namespace

std::span<const OnnxOp> OnnxTrainingRows() { return kRows; }

}  // namespace tvmvm::ir
