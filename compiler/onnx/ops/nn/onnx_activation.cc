// Activation functions, softmax and its like.
#include <fmt/core.h>

#include <cmath>
#include <numeric>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

// Expressions over one input, with constants of its type. Floats of 16 bits are computed in f32 and rounded
// once.
struct Activation {
  explicit Activation(OnnxContext& context)
      : c(context), b(context.b), dtype(b.dtype(context.in(0))), x(b.Cast(context.in(0), WideType(dtype))) {}
  ValueId K(double value) const {
    DType own = IsFloat(dtype) ? dtype : b.dtype(x);
    return b.Cast(b.Scalar(own, value), b.dtype(x));
  }
  void Out(ValueId result) const { c.Out(0, b.Cast(result, dtype)); }
  ValueId Unary(ExprOp op, ValueId a) const { return b.Unary(op, a); }
  ValueId Less(ValueId left, ValueId right) const { return b.Binary(ExprOp::kLess, left, right); }

  OnnxContext& c;
  OpBuilder& b;
  DType dtype;
  ValueId x;
};

void Relu(OnnxContext& c) {
  Activation a(c);
  a.Out(a.b.Max(a.x, a.K(0)));
}

void LeakyRelu(OnnxContext& c) {
  Activation a(c);
  ValueId slope = a.b.Mul(a.x, a.K(c.Float("alpha", 0.01)));
  a.Out(a.b.Where(a.Less(a.x, a.K(0)), slope, a.x));
}

// Until opset 6 the slope of one element a channel went with axis 1.
void PRelu(OnnxContext& c) {
  Activation a(c);
  ValueId slope = a.b.Cast(c.in(1), a.b.dtype(a.x));
  if (c.version < 7 && a.b.rank(slope) == 1 && a.b.rank(a.x) > 2 && !a.b.dim(slope, 0).IsConstant(1)) {
    Dims dims(static_cast<size_t>(a.b.rank(a.x) - 1), Dim(1));
    dims[0] = a.b.dim(slope, 0);
    slope = a.b.Reshape(slope, dims);
  }
  a.Out(a.b.Where(a.Less(a.x, a.K(0)), a.b.Mul(a.x, slope), a.x));
}

void Elu(OnnxContext& c) {
  Activation a(c);
  ValueId negative = a.b.Mul(a.K(c.Float("alpha", 1)), a.Unary(ExprOp::kExpm1, a.x));
  a.Out(a.b.Where(a.Less(a.x, a.K(0)), negative, a.x));
}

void Selu(OnnxContext& c) {
  Activation a(c);
  // The defaults are float32 numbers of the specification; opset 1 had rounded ones.
  double alpha = c.Float("alpha", c.version < 6 ? 1.6732 : 1.67326319217681884765625);
  double gamma = c.Float("gamma", c.version < 6 ? 1.0507 : 1.05070102214813232421875);
  ValueId negative = a.b.Mul(a.K(alpha), a.Unary(ExprOp::kExpm1, a.x));
  a.Out(a.b.Mul(a.K(gamma), a.b.Where(a.Less(a.K(0), a.x), a.x, negative)));
}

void Celu(OnnxContext& c) {
  Activation a(c);
  const double alpha = c.Float("alpha", 1);
  ValueId part = a.b.Div(a.x, a.K(alpha));
  ValueId negative = a.b.Mul(a.K(alpha), a.Unary(ExprOp::kExpm1, part));
  // ONNX Runtime adds the smaller of 0 and `negative` on both sides: no number where the division is of no
  // use.
  const bool is_plain = alpha != 0 && std::isfinite(alpha);
  const ValueId positive = is_plain ? a.x : a.b.Add(a.x, a.b.Min(a.K(0), negative));
  a.Out(a.b.Where(a.Less(a.x, a.K(0)), negative, positive));
}

ValueId HardSigmoidOf(Activation& a, double alpha, double beta) {
  ValueId line = a.b.Add(a.b.Mul(a.x, a.K(alpha)), a.K(beta));
  return a.b.Min(a.b.Max(line, a.K(0)), a.K(1));
}

void HardSigmoid(OnnxContext& c) {
  Activation a(c);
  a.Out(HardSigmoidOf(a, c.Float("alpha", 0.2), c.Float("beta", 0.5)));
}

void HardSwish(OnnxContext& c) {
  Activation a(c);
  a.Out(a.b.Mul(a.x, HardSigmoidOf(a, 1.0 / 6.0, 0.5)));
}

// log(1 + e^x) without overflow.
ValueId SoftplusOf(Activation& a, ValueId x) {
  ValueId tail = a.Unary(ExprOp::kExp, a.Unary(ExprOp::kNegate, a.Unary(ExprOp::kAbs, x)));
  return a.b.Add(a.b.Max(x, a.K(0)), a.Unary(ExprOp::kLog1p, tail));
}

void Softplus(OnnxContext& c) {
  Activation a(c);
  a.Out(SoftplusOf(a, a.x));
}

// x tanh(softplus x), which is x w / (w + 2), w = u (u + 2), u = e^x; from x = 20 on the quotient is 1.
void Mish(OnnxContext& c) {
  Activation a(c);
  ValueId u = a.Unary(ExprOp::kExp, a.b.Min(a.x, a.K(20)));
  ValueId w = a.b.Mul(u, a.b.Add(u, a.K(2)));
  a.Out(a.b.Mul(a.x, a.b.Div(w, a.b.Add(w, a.K(2)))));
}

void Softsign(OnnxContext& c) {
  Activation a(c);
  a.Out(a.b.Div(a.x, a.b.Add(a.K(1), a.Unary(ExprOp::kAbs, a.x))));
}

void Gelu(OnnxContext& c) {
  Activation a(c);
  std::string form = c.Text("approximate", "none");
  ValueId gate;
  if (form == "tanh") {
    ValueId cube = a.b.Mul(a.b.Mul(a.x, a.x), a.x);
    ValueId inner = a.b.Add(a.x, a.b.Mul(a.K(0.044715), cube));
    gate = a.Unary(ExprOp::kTanh, a.b.Mul(a.K(0.7978845608028654), inner));
  } else if (form == "none") {
    gate = a.Unary(ExprOp::kErf, a.b.Mul(a.x, a.K(0.7071067811865476)));
  } else {
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("the attribute 'approximate' is '{}', none or tanh is wanted", form));
    return;
  }
  a.Out(a.b.Mul(a.b.Mul(a.K(0.5), a.x), a.b.Add(a.K(1), gate)));
}

void Swish(OnnxContext& c) {
  Activation a(c);
  ValueId scaled = a.b.Mul(a.x, a.K(c.Float("alpha", 1)));
  a.Out(a.b.Mul(a.x, a.Unary(ExprOp::kSigmoid, scaled)));
}

// A gate on the second operand.
void SwiGlu(OnnxContext& c) {
  Activation a(c);
  ValueId gate = a.Unary(ExprOp::kSigmoid, a.b.Mul(a.x, a.K(c.Float("alpha", 1))));
  a.Out(a.b.Mul(a.b.Mul(a.x, gate), a.b.Cast(c.in(1), a.b.dtype(a.x))));
}

// Integers are shrunk as real numbers: the attributes may be fractions. What leaves the type comes back as
// from a cast.
void Shrink(OnnxContext& c) {
  Activation a(c);
  if (IsInteger(a.dtype)) a.x = a.b.Cast(a.x, DTypeBits(a.dtype) <= 16 ? DType::kF32 : DType::kF64);
  double lambda = c.Float("lambd", 0.5);
  ValueId bias = a.K(c.Float("bias", 0));
  // The bounds are not rounded to the type of a 16-bit input.
  const DType wide = DTypeBits(a.b.dtype(a.x)) < 32 ? DType::kF32 : a.b.dtype(a.x);
  ValueId x = a.b.Cast(a.x, wide);
  ValueId above = a.b.Where(a.Less(a.b.Scalar(wide, lambda), x), a.b.Sub(a.x, bias), a.K(0));
  const ValueId shrunk = a.b.Where(a.Less(x, a.b.Scalar(wide, -lambda)), a.b.Add(a.x, bias), above);
  if (IsInteger(a.dtype)) return c.Out(0, a.b.CastWrapping(shrunk, a.dtype));
  a.Out(shrunk);
}

void ThresholdedRelu(OnnxContext& c) {
  Activation a(c);
  a.Out(a.b.Where(a.Less(a.K(c.Float("alpha", 1)), a.x), a.x, a.K(0)));
}

// Experimental operators of opset 1, which went with opset 10.
void ParametricSoftplus(OnnxContext& c) {
  Activation a(c);
  a.Out(a.b.Mul(a.K(c.Float("alpha", 1)), SoftplusOf(a, a.b.Mul(a.K(c.Float("beta", 1)), a.x))));
}

void ScaledTanh(OnnxContext& c) {
  Activation a(c);
  a.Out(a.b.Mul(a.K(c.Float("alpha", 1)), a.Unary(ExprOp::kTanh, a.b.Mul(a.K(c.Float("beta", 1)), a.x))));
}

// Until opset 12 the axes from `axis` on counted as one, and the default was 1.
std::vector<int64_t> SoftmaxAxes(OnnxContext& c) {
  int rank = c.b.rank(c.in(0));
  bool flattens = c.version < 13;
  int axis = c.b.NormalizeAxis(c.Int("axis", flattens ? 1 : -1), rank);
  std::vector<int64_t> axes(static_cast<size_t>(flattens ? rank - axis : 1));
  std::iota(axes.begin(), axes.end(), axis);
  return axes;
}

// How far each element is below the largest one; floats of 16 bits as f32.
ValueId BelowLargest(OnnxContext& c, const std::vector<int64_t>& axes) {
  ValueId x = c.b.Cast(c.in(0), WideType(c.b.dtype(c.in(0))));
  return c.b.Sub(x, c.b.Reduce(ReduceKind::kMax, x, axes));
}

void Softmax(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::vector<int64_t> axes = SoftmaxAxes(c);
  if (b.failed()) return;
  ValueId exponentials = b.Unary(ExprOp::kExp, BelowLargest(c, axes));
  // The largest element adds 1 to the sum, so that its reciprocal is a number: one division a row.
  ValueId sum = b.Reduce(ReduceKind::kSum, exponentials, axes);
  ValueId share = b.Mul(exponentials, b.Div(b.Scalar(b.dtype(sum), 1), sum));
  c.Out(0, b.Cast(share, b.dtype(c.in(0))));
}

void LogSoftmax(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::vector<int64_t> axes = SoftmaxAxes(c);
  if (b.failed()) return;
  ValueId shifted = BelowLargest(c, axes);
  ValueId sum = b.Reduce(ReduceKind::kSum, b.Unary(ExprOp::kExp, shifted), axes);
  c.Out(0, b.Cast(b.Sub(shifted, b.Unary(ExprOp::kLog, sum)), b.dtype(c.in(0))));
}

// 1 at the first largest element.
void Hardmax(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::vector<int64_t> axes = SoftmaxAxes(c);
  if (b.failed()) return;
  ValueId x = c.in(0);
  Dims dims = b.dims(x);
  if (axes.size() > 1) {
    Dims flat(dims.begin(), dims.begin() + axes[0]);
    flat.push_back(Product(Dims(dims.begin() + axes[0], dims.end())));
    x = b.Reshape(x, flat);
  }
  int axis = static_cast<int>(axes.empty() ? 0 : axes[0]);
  ValueId best = b.Reduce(ReduceKind::kArgMax, x, {axis});
  if (b.failed()) return;
  ValueId position = b.Iota(DType::kI64, b.dims(x), axis);
  ValueId hit = b.Cast(b.Binary(ExprOp::kEqual, position, best), b.dtype(x));
  c.Out(0, b.Reshape(hit, dims));
}

constexpr OnnxOp kRows[] = {
    {"", "Relu", 1, kLatest, 1, 1, "", Relu, kNumbers},
    {"", "LeakyRelu", 1, kLatest, 1, 1, "alpha", LeakyRelu, kFloats},
    {"", "PRelu", 1, kLatest, 2, 2, "", PRelu, kNumbers},
    {"", "Elu", 1, kLatest, 1, 1, "alpha", Elu, kFloats},
    {"", "Selu", 1, kLatest, 1, 1, "alpha gamma", Selu, kFloats},
    {"", "Celu", 12, kLatest, 1, 1, "alpha", Celu, kFloats},
    {"", "HardSigmoid", 1, kLatest, 1, 1, "alpha beta", HardSigmoid, kFloats},
    {"", "HardSwish", 14, kLatest, 1, 1, "", HardSwish, kFloats},
    {"", "Softplus", 1, kLatest, 1, 1, "", Softplus, kFloats},
    {"", "Mish", 18, kLatest, 1, 1, "", Mish, kFloats},
    {"", "Softsign", 1, kLatest, 1, 1, "", Softsign, kFloats},
    {"", "Gelu", 20, kLatest, 1, 1, "approximate", Gelu, kFloats},
    {"", "Swish", 24, kLatest, 1, 1, "alpha", Swish, kFloats},
    {"", "SwiGLU", 28, kLatest, 2, 2, "alpha", SwiGlu, kFloats},
    {"", "Shrink", 9, kLatest, 1, 1, "bias lambd", Shrink, kNumbers},
    {"", "ThresholdedRelu", 1, kLatest, 1, 1, "alpha", ThresholdedRelu, kFloats},
    {"", "ParametricSoftplus", 1, 9, 1, 1, "alpha beta", ParametricSoftplus, kFloats},
    {"", "ScaledTanh", 1, 9, 1, 1, "alpha beta", ScaledTanh, kFloats},
    {"", "Softmax", 1, kLatest, 1, 1, "axis", Softmax, kFloats},
    {"", "LogSoftmax", 1, kLatest, 1, 1, "axis", LogSoftmax, kFloats},
    {"", "Hardmax", 1, kLatest, 1, 1, "axis", Hardmax, kFloats},
    {"com.microsoft", "Gelu", 1, kLatest, 1, 1, "", Gelu, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxActivationRows() { return kRows; }

}  // namespace tvmvm::ir
