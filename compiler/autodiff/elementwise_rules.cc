// Gradients of arithmetic on elements: the chain rule, and sums over what was broadcast.

#include <numbers>

#include "compiler/autodiff/gradient_rule.h"
#include "compiler/expr/expr.h"

namespace tvmvm::autodiff {
namespace {

using tensor::ExprOp;

// Expressions over the operands of one node.
struct Operands {
  explicit Operands(RuleContext& context)
      : c(context),
        b(context.b),
        g(context.gradient()),
        x(context.in(0)),
        y(context.node.inputs.size() > 1 ? context.in(1) : ValueId()),
        out(context.out()) {}

  ValueId K(double value) const { return c.Constant(value); }
  ValueId Unary(ExprOp op, ValueId a) const { return b.Unary(op, a); }
  ValueId Negate(ValueId a) const { return b.Unary(ExprOp::kNegate, a); }
  ValueId Square(ValueId a) const { return b.Mul(a, a); }
  ValueId Less(ValueId left, ValueId right) const { return b.Binary(ExprOp::kLess, left, right); }
  ValueId Equal(ValueId left, ValueId right) const { return b.Binary(ExprOp::kEqual, left, right); }
  ValueId Reciprocal(ValueId a) const { return b.Div(K(1), a); }
  // 1 - a^2, exact where a is close to 1.
  ValueId OneMinusSquare(ValueId a) const { return b.Mul(b.Sub(K(1), a), b.Add(K(1), a)); }

  RuleContext& c;
  OpBuilder& b;
  ValueId g, x, y, out;
};

// The result does not change with its operands, but for jumps.
void Constant(RuleContext&) {}

// ---- one operand: the result's slope ----

template <ValueId (*slope)(const Operands&)>
void Unary(RuleContext& c) {
  Operands o(c);
  c.Add(0, o.b.Mul(o.g, slope(o)));
}

ValueId NegateSlope(const Operands& o) { return o.K(-1); }
ValueId AbsSlope(const Operands& o) {
  ValueId rises = o.b.Where(o.Less(o.K(0), o.x), o.K(1), o.K(0));
  return o.b.Where(o.Less(o.x, o.K(0)), o.K(-1), rises);
}
ValueId ExpSlope(const Operands& o) { return o.out; }
ValueId Exp2Slope(const Operands& o) { return o.b.Mul(o.out, o.K(std::numbers::ln2)); }
ValueId LogSlope(const Operands& o) { return o.Reciprocal(o.x); }
ValueId Log1pSlope(const Operands& o) { return o.Reciprocal(o.b.Add(o.K(1), o.x)); }
ValueId Expm1Slope(const Operands& o) { return o.Unary(ExprOp::kExp, o.x); }
ValueId SqrtSlope(const Operands& o) { return o.b.Div(o.K(0.5), o.out); }
ValueId ReciprocalSqrtSlope(const Operands& o) { return o.b.Mul(o.K(-0.5), o.b.Mul(o.out, o.Square(o.out))); }
ValueId SinSlope(const Operands& o) { return o.Unary(ExprOp::kCos, o.x); }
ValueId CosSlope(const Operands& o) { return o.Negate(o.Unary(ExprOp::kSin, o.x)); }
ValueId TanSlope(const Operands& o) { return o.b.Add(o.K(1), o.Square(o.out)); }
ValueId AsinSlope(const Operands& o) { return o.Unary(ExprOp::kReciprocalSqrt, o.OneMinusSquare(o.x)); }
ValueId AcosSlope(const Operands& o) { return o.Negate(AsinSlope(o)); }
ValueId AtanSlope(const Operands& o) { return o.Reciprocal(o.b.Add(o.K(1), o.Square(o.x))); }
ValueId SinhSlope(const Operands& o) { return o.Unary(ExprOp::kCosh, o.x); }
ValueId CoshSlope(const Operands& o) { return o.Unary(ExprOp::kSinh, o.x); }
ValueId TanhSlope(const Operands& o) { return o.OneMinusSquare(o.out); }
ValueId AsinhSlope(const Operands& o) {
  return o.Unary(ExprOp::kReciprocalSqrt, o.b.Add(o.K(1), o.Square(o.x)));
}
ValueId AcoshSlope(const Operands& o) {
  return o.Unary(ExprOp::kReciprocalSqrt, o.b.Mul(o.b.Sub(o.x, o.K(1)), o.b.Add(o.x, o.K(1))));
}
ValueId AtanhSlope(const Operands& o) { return o.Reciprocal(o.OneMinusSquare(o.x)); }
ValueId ErfSlope(const Operands& o) {
  return o.b.Mul(o.K(2 * std::numbers::inv_sqrtpi), o.Unary(ExprOp::kExp, o.Negate(o.Square(o.x))));
}
ValueId SigmoidSlope(const Operands& o) { return o.b.Mul(o.out, o.b.Sub(o.K(1), o.out)); }

// ---- two operands ----

void Sum(RuleContext& c) {
  c.AddBroadcast(0, c.gradient());
  c.AddBroadcast(1, c.gradient());
}

void Difference(RuleContext& c) {
  c.AddBroadcast(0, c.gradient());
  if (c.wants(1)) c.AddBroadcast(1, c.b.Unary(ExprOp::kNegate, c.gradient()));
}

void Product(RuleContext& c) {
  Operands o(c);
  if (c.wants(0)) c.AddBroadcast(0, o.b.Mul(o.g, o.y));
  if (c.wants(1)) c.AddBroadcast(1, o.b.Mul(o.g, o.x));
}

void Quotient(RuleContext& c) {
  Operands o(c);
  ValueId part = o.b.Div(o.g, o.y);
  c.AddBroadcast(0, part);
  if (c.wants(1)) c.AddBroadcast(1, o.Negate(o.b.Mul(part, o.out)));
}

// x - y * round(x / y): what is rounded is constant between jumps.
template <ExprOp round>
void Remainder(RuleContext& c) {
  Operands o(c);
  c.AddBroadcast(0, o.g);
  if (c.wants(1)) c.AddBroadcast(1, o.Negate(o.b.Mul(o.g, o.Unary(round, o.b.Div(o.x, o.y)))));
}

// Equal operands share the gradient.
template <ExprOp op>
void Extremum(RuleContext& c) {
  Operands o(c);
  ValueId zero = o.K(0), half = o.b.Mul(o.g, o.K(0.5));
  auto share = [&](ValueId winner, ValueId loser) {
    ValueId wins = op == ExprOp::kMax ? o.Less(loser, winner) : o.Less(winner, loser);
    return o.b.Where(wins, o.g, o.b.Where(o.Equal(winner, loser), half, zero));
  };
  if (c.wants(0)) c.AddBroadcast(0, share(o.x, o.y));
  if (c.wants(1)) c.AddBroadcast(1, share(o.y, o.x));
}

// x^0 is constant, also at 0; 0^y is, too, for y > 0.
void Power(RuleContext& c) {
  Operands o(c);
  ValueId zero = o.K(0);
  if (c.wants(0)) {
    ValueId slope = o.b.Mul(o.y, o.b.Binary(ExprOp::kPow, o.x, o.b.Sub(o.y, o.K(1))));
    c.AddBroadcast(0, o.b.Mul(o.g, o.b.Where(o.Equal(o.y, zero), zero, slope)));
  }
  if (c.wants(1)) {
    ValueId is_flat = o.b.Binary(ExprOp::kAnd, o.Equal(o.x, zero), o.Less(zero, o.y));
    ValueId slope = o.b.Mul(o.out, o.Unary(ExprOp::kLog, o.b.Where(is_flat, o.K(1), o.x)));
    c.AddBroadcast(1, o.b.Mul(o.g, slope));
  }
}

void ArcTangent(RuleContext& c) {
  Operands o(c);
  ValueId part = o.b.Div(o.g, o.b.Add(o.Square(o.x), o.Square(o.y)));
  if (c.wants(0)) c.AddBroadcast(0, o.b.Mul(part, o.y));
  if (c.wants(1)) c.AddBroadcast(1, o.Negate(o.b.Mul(part, o.x)));
}

// ---- others ----

void MultiplyAdd(RuleContext& c) {
  Product(c);
  c.AddBroadcast(2, c.gradient());
}

void Where(RuleContext& c) {
  ValueId zero = c.Constant(0);
  if (c.wants(1)) c.AddBroadcast(1, c.b.Where(c.in(0), c.gradient(), zero));
  if (c.wants(2)) c.AddBroadcast(2, c.b.Where(c.in(0), zero, c.gradient()));
}

void Cast(RuleContext& c) { c.Add(0, c.b.Cast(c.gradient(), c.b.dtype(c.in(0)))); }

constexpr GradientRule kRules[] = {
    {"add", Sum},
    {"sub", Difference},
    {"mul", Product},
    {"div", Quotient},
    {"floor_div", Constant},
    {"floor_mod", Remainder<ExprOp::kFloor>},
    {"remainder", Remainder<ExprOp::kTruncate>},
    {"min", Extremum<ExprOp::kMin>},
    {"max", Extremum<ExprOp::kMax>},
    {"pow", Power},
    {"atan2", ArcTangent},
    {"neg", Unary<NegateSlope>},
    {"abs", Unary<AbsSlope>},
    {"exp", Unary<ExpSlope>},
    {"exp2", Unary<Exp2Slope>},
    {"log", Unary<LogSlope>},
    {"log1p", Unary<Log1pSlope>},
    {"expm1", Unary<Expm1Slope>},
    {"sqrt", Unary<SqrtSlope>},
    {"rsqrt", Unary<ReciprocalSqrtSlope>},
    {"sin", Unary<SinSlope>},
    {"cos", Unary<CosSlope>},
    {"tan", Unary<TanSlope>},
    {"asin", Unary<AsinSlope>},
    {"acos", Unary<AcosSlope>},
    {"atan", Unary<AtanSlope>},
    {"sinh", Unary<SinhSlope>},
    {"cosh", Unary<CoshSlope>},
    {"tanh", Unary<TanhSlope>},
    {"asinh", Unary<AsinhSlope>},
    {"acosh", Unary<AcoshSlope>},
    {"atanh", Unary<AtanhSlope>},
    {"erf", Unary<ErfSlope>},
    {"sigmoid", Unary<SigmoidSlope>},
    {"floor", Constant},
    {"ceil", Constant},
    {"round", Constant},
    {"trunc", Constant},
    {"fma", MultiplyAdd},
    {"where", Where},
    {"cast", Cast},
};

}  // namespace

std::span<const GradientRule> ElementwiseRules() { return kRules; }

}  // namespace tvmvm::autodiff
