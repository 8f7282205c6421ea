#include "compiler/expr/approximate.h"

#include "compiler/expr/approximate_build.h"
#include "compiler/expr/rewrite.h"
#include "compiler/expr/scalar_math.h"

namespace tvmvm::tensor {
namespace {

bool IsShortFloat(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// Functions with an f32 form of their own; the others compute in f64.
bool HasF32Form(ExprOp op) {
  switch (op) {
    case ExprOp::kExp:
    case ExprOp::kExp2:
    case ExprOp::kExpm1:
    case ExprOp::kLog:
    case ExprOp::kLog1p:
    case ExprOp::kTanh:
    case ExprOp::kSigmoid:
    case ExprOp::kErf:
    case ExprOp::kSin:
    case ExprOp::kCos:
      return true;
    default:
      return false;
  }
}

Expr ApproximateUnary(const Expr& e, MathTarget target) {
  using namespace approximate;  // NOLINT: its functions carry the operations' names
  const Expr& x = e->operands[0];
  switch (e.op()) {
    case ExprOp::kExp:
      return e->is_falling ? FallingExp(x, target) : Exp(x, target);
    case ExprOp::kExp2:
      return Exp2(x, target);
    case ExprOp::kExpm1:
      return Expm1(x);
    case ExprOp::kLog:
      return Log(x);
    case ExprOp::kLog1p:
      return Log1p(x);
    case ExprOp::kTanh:
      return Tanh(x);
    case ExprOp::kSigmoid:
      return Sigmoid(x);
    case ExprOp::kErf:
      return Erf(x, target);
    case ExprOp::kSin:
      return Sin(x);
    case ExprOp::kCos:
      return Cos(x);
    case ExprOp::kTan:
      return Tan(x);
    case ExprOp::kAsin:
      return Asin(x);
    case ExprOp::kAcos:
      return Acos(x);
    case ExprOp::kAtan:
      return Atan(x);
    case ExprOp::kSinh:
      return Sinh(x, target);
    case ExprOp::kCosh:
      return Cosh(x, target);
    case ExprOp::kAsinh:
      return Asinh(x);
    case ExprOp::kAcosh:
      return Acosh(x);
    case ExprOp::kAtanh:
      return Atanh(x);
    default:
      return x;
  }
}

// The function in a wider type, rounded once.
Expr InType(DType wider, const Expr& e, MathTarget target) {
  std::vector<Expr> operands;
  for (const Expr& operand : e->operands) operands.push_back(Cast(wider, operand));
  Expr wide = operands.size() == 2 ? Binary(e.op(), operands[0], operands[1])
              : e->is_falling      ? FallingExp(operands[0])
                                   : Unary(e.op(), operands[0]);
  return Cast(e.dtype(), ExpandNode(wide, target));
}

Expr ExpandBinary(const Expr& e, MathTarget target) {
  const Expr &x = e->operands[0], &y = e->operands[1];
  switch (e.op()) {
    case ExprOp::kPow:
      return e.dtype() == DType::kF64 ? approximate::Pow(x, y, target) : InType(DType::kF64, e, target);
    case ExprOp::kAtan2:
      return e.dtype() == DType::kF64 ? approximate::Atan2(x, y) : InType(DType::kF64, e, target);
    case ExprOp::kRemainder:
      return approximate::FloatRemainder(x, y);
    default:
      return approximate::FloatFloorMod(x, y);
  }
}

}  // namespace

Expr ExpandNode(const Expr& e, MathTarget target) {
  // What is the same in all lanes is computed before it is spread: the node that was rebuilt is below.
  if (e.op() == ExprOp::kBroadcast) {
    const Expr scalar = ExpandNode(e->operands[0], target);
    return scalar.get() == e->operands[0].get() ? e : Broadcast(scalar, e.lanes());
  }
  if (e.op() == ExprOp::kCast) return approximate::ExpandCast(e);
  DType dtype = e.dtype();
  if (e.op() == ExprOp::kPow && IsInteger(dtype))
    return approximate::PowInteger(e->operands[0], e->operands[1]);
  bool is_remainder = e.op() == ExprOp::kRemainder || e.op() == ExprOp::kFloorMod;
  if (!IsFloat(dtype) || !(IsApproximated(e.op()) || is_remainder)) return e;
  if (IsShortFloat(dtype)) return InType(DType::kF32, e, target);
  if (e->operands.size() == 2) return ExpandBinary(e, target);
  if (dtype == DType::kF32 && !HasF32Form(e.op())) return InType(DType::kF64, e, target);
  return ApproximateUnary(e, target);
}

bool IsChain(const Expr& e) { return IsFloat(e.dtype()) && e.dtype() != DType::kF64 && HasF32Form(e.op()); }

Expr ExpandMath(const Expr& e, MathTarget target) {
  Rewriter expand([&](const Expr& node) { return ExpandNode(node, target); });
  return expand(e);
}

}  // namespace tvmvm::tensor
