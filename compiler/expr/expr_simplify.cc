#include "compiler/expr/expr_simplify.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "compiler/dim/dim_overflow.h"

namespace tvmvm::tensor {
namespace {

using ir::DimOp;

constexpr std::pair<DimOp, ExprOp> kSameOps[] = {
    {DimOp::kAdd, ExprOp::kAdd},
    {DimOp::kSub, ExprOp::kSub},
    {DimOp::kMul, ExprOp::kMul},
    {DimOp::kFloorDiv, ExprOp::kFloorDiv},
    {DimOp::kFloorMod, ExprOp::kFloorMod},
    {DimOp::kMin, ExprOp::kMin},
    {DimOp::kMax, ExprOp::kMax},
    {DimOp::kEqual, ExprOp::kEqual},
    {DimOp::kNotEqual, ExprOp::kNotEqual},
    {DimOp::kLess, ExprOp::kLess},
    {DimOp::kLessEqual, ExprOp::kLessEqual},
    {DimOp::kAnd, ExprOp::kAnd},
    {DimOp::kOr, ExprOp::kOr},
};

bool IsFloatConstant(const Expr& a, double value) {
  return IsConstant(a) && IsFloat(a.dtype()) &&
         std::bit_cast<uint64_t>(a->number) == std::bit_cast<uint64_t>(value);
}

// Division that truncates, where the operands' signs are known.
std::optional<ir::Dim> TruncatingDivision(ExprOp op, const ir::Dim& x, const ir::Dim& y) {
  if (RangeOf(x).low < 0 || RangeOf(y).low < 1) return std::nullopt;
  return op == ExprOp::kDiv ? FloorDiv(x, y) : FloorMod(x, y);
}

}  // namespace

std::optional<ExprOp> ExprOpOf(DimOp op) {
  for (const auto& [dim_op, expr_op] : kSameOps)
    if (dim_op == op) return expr_op;
  return std::nullopt;
}

std::optional<DimOp> DimOpOf(ExprOp op) {
  for (const auto& [dim_op, expr_op] : kSameOps)
    if (expr_op == op) return dim_op;
  return std::nullopt;
}

std::optional<ir::Dim> AsDim(const Expr& a, int depth) {
  if (a.lanes() != 1 || depth > 64) return std::nullopt;
  bool is_bool = a.dtype() == DType::kBool;
  if (!is_bool && a.dtype() != DType::kI64) return std::nullopt;
  if (a.op() == ExprOp::kConstant) return ir::Dim(a->integer);
  if (a.op() == ExprOp::kDim) return a->dim;
  if (!is_bool || a->operands.empty()) return std::nullopt;
  std::optional<ir::Dim> x = AsDim(a->operands[0], depth + 1);
  if (!x) return std::nullopt;
  if (a.op() == ExprOp::kNot) return Not(*x);
  if (a->operands.size() != 2) return std::nullopt;
  std::optional<ir::Dim> y = AsDim(a->operands[1], depth + 1);
  if (!y) return std::nullopt;
  std::optional<DimOp> op = DimOpOf(a.op());
  if (!op || *op < DimOp::kEqual) return std::nullopt;
  return ir::Apply(*op, {*x, *y});
}

// Of comparisons only those that are decided: see AsDim for the rest.
std::optional<Expr> FoldDims(ExprOp op, const Expr& a, const Expr& b) {
  if (a.op() != ExprOp::kDim && b.op() != ExprOp::kDim) return std::nullopt;
  std::optional<ir::Dim> x = AsDim(a), y = AsDim(b);
  if (!x || !y) return std::nullopt;
  if (op == ExprOp::kDiv || op == ExprOp::kRemainder) {
    if (auto dim = TruncatingDivision(op, *x, *y)) return DimValue(*dim);
    return std::nullopt;
  }
  std::optional<DimOp> dim_op = DimOpOf(op);
  if (!dim_op || *dim_op >= DimOp::kAnd) return std::nullopt;
  if ((op == ExprOp::kFloorDiv || op == ExprOp::kFloorMod) && y->IsConstant(0)) return std::nullopt;
  ir::Dim dim = ir::Apply(*dim_op, {*x, *y});
  if (*dim_op < DimOp::kEqual) {
    if ((x->is_constant() || y->is_constant()) && MayOverflow(dim)) return std::nullopt;
    return DimValue(dim);
  }
  if (auto value = dim.constant()) return BoolConstant(*value != 0);
  return std::nullopt;
}

std::optional<Expr> SimplifyRightConstant(ExprOp op, const Expr& a, const Expr& b) {
  DType dtype = a.dtype();
  if (IsFloat(dtype)) {
    bool is_one = IsFloatConstant(b, 1.0);
    if ((op == ExprOp::kMul || op == ExprOp::kDiv) && is_one) return a;
    if (op == ExprOp::kPow && is_one) return a;
    if (op == ExprOp::kSub && IsFloatConstant(b, 0.0)) return a;
    if (op == ExprOp::kAdd && IsFloatConstant(b, -0.0)) return a;
    return std::nullopt;
  }
  int64_t c = b->integer;
  int64_t ones = dtype == DType::kBool ? 1 : WrapInteger(dtype, -1);
  switch (op) {
    case ExprOp::kAdd:
    case ExprOp::kSub:
    case ExprOp::kXor:
    case ExprOp::kShiftLeft:
    case ExprOp::kShiftRight:
      if (c == 0) return a;
      break;
    case ExprOp::kOr:
      if (c == 0) return a;
      if (c == ones) return b;
      break;
    case ExprOp::kAnd:
      if (c == ones) return a;
      if (c == 0) return b;
      break;
    case ExprOp::kMul:
      if (c == 1) return a;
      if (c == 0) return b;
      break;
    case ExprOp::kDiv:
    case ExprOp::kFloorDiv:
      if (c == 1) return a;
      break;
    case ExprOp::kFloorMod:
    case ExprOp::kRemainder:
      if (c == 1) return FromScalar(dtype, {});
      break;
    case ExprOp::kPow:
      if (c == 1) return a;
      break;
    case ExprOp::kEqual:
    case ExprOp::kNotEqual:
      if (dtype == DType::kBool) return (c != 0) == (op == ExprOp::kEqual) ? a : Unary(ExprOp::kNot, a);
      break;
    default:
      break;
  }
  // (x + c1) + c2 and (x * c1) * c2.
  if ((op == ExprOp::kAdd || op == ExprOp::kMul) && a.op() == op && IsConstant(a->operands[1])) {
    Scalar folded = EvaluateBinary(op, dtype, ScalarOf(a->operands[1]), ScalarOf(b));
    return Binary(op, a->operands[0], FromScalar(dtype, folded));
  }
  return std::nullopt;
}

std::optional<Expr> SimplifySameOperands(ExprOp op, const Expr& a) {
  if (IsFloat(a.dtype())) return std::nullopt;
  switch (op) {
    case ExprOp::kSub:
    case ExprOp::kXor:
      return FromScalar(a.dtype(), {});
    case ExprOp::kMin:
    case ExprOp::kMax:
    case ExprOp::kAnd:
    case ExprOp::kOr:
      return a;
    case ExprOp::kEqual:
    case ExprOp::kLessEqual:
      return BoolConstant(true);
    case ExprOp::kNotEqual:
    case ExprOp::kLess:
      return BoolConstant(false);
    default:
      return std::nullopt;
  }
}

std::optional<Expr> InvertComparison(const Expr& a) {
  if (a.op() == ExprOp::kEqual) return Binary(ExprOp::kNotEqual, a->operands[0], a->operands[1]);
  if (a.op() == ExprOp::kNotEqual) return Binary(ExprOp::kEqual, a->operands[0], a->operands[1]);
  bool is_order = a.op() == ExprOp::kLess || a.op() == ExprOp::kLessEqual;
  if (!is_order || IsFloat(a->operands[0].dtype())) return std::nullopt;
  return Binary(a.op() == ExprOp::kLess ? ExprOp::kLessEqual : ExprOp::kLess, a->operands[1], a->operands[0]);
}

namespace {

// Order of known numbers that holds for all lanes, or for none: it does so for the first and the last one.
std::optional<Expr> FoldOrder(ExprOp op, const Expr& a, const Expr& b, int lanes) {
  if (a.dtype() != DType::kI64) return std::nullopt;
  auto ends = [&](const Expr& e) -> std::optional<std::pair<int64_t, int64_t>> {
    if (e.op() != ExprOp::kRamp) {
      const Expr& scalar = e.op() == ExprOp::kBroadcast ? e->operands[0] : e;
      return IsConstant(scalar) ? std::optional(std::pair(scalar->integer, scalar->integer)) : std::nullopt;
    }
    if (!IsConstant(e->operands[0]) || !IsConstant(e->operands[1])) return std::nullopt;
    int64_t last = 0;
    const bool overflows = __builtin_mul_overflow(e->operands[1]->integer, int64_t{lanes} - 1, &last) ||
                           __builtin_add_overflow(e->operands[0]->integer, last, &last);
    return overflows ? std::nullopt : std::optional(std::pair(e->operands[0]->integer, last));
  };
  const auto x = ends(a), y = ends(b);
  if (!x || !y) return std::nullopt;
  auto holds = [op](int64_t p, int64_t q) { return op == ExprOp::kLess ? p < q : p <= q; };
  const bool first = holds(x->first, y->first);
  if (first != holds(x->second, y->second)) return std::nullopt;
  return Broadcast(BoolConstant(first), lanes);
}

}  // namespace

std::optional<Expr> FoldRamps(ExprOp op, const Expr& a, const Expr& b) {
  if (a.op() != ExprOp::kRamp && b.op() != ExprOp::kRamp) return std::nullopt;
  if (op == ExprOp::kLess || op == ExprOp::kLessEqual)
    return FoldOrder(op, a, b, std::max(a.lanes(), b.lanes()));
  if (!IsInteger(a.dtype()) || (op != ExprOp::kAdd && op != ExprOp::kSub && op != ExprOp::kMul))
    return std::nullopt;
  int lanes = std::max(a.lanes(), b.lanes());
  Expr zero = FromScalar(a.dtype(), {});
  auto parts = [&](const Expr& e) -> std::optional<std::pair<Expr, Expr>> {  // base, step
    if (e.op() == ExprOp::kRamp) return std::pair{e->operands[0], e->operands[1]};
    if (e.op() == ExprOp::kBroadcast) return std::pair{e->operands[0], zero};
    if (e.lanes() == 1) return std::pair{e, zero};
    return std::nullopt;
  };
  auto x = parts(a), y = parts(b);
  if (!x || !y) return std::nullopt;
  if (op != ExprOp::kMul)
    return Ramp(Binary(op, x->first, y->first), Binary(op, x->second, y->second), lanes);
  if (a.op() == ExprOp::kRamp && b.op() == ExprOp::kRamp) return std::nullopt;
  const Expr& factor = a.op() == ExprOp::kRamp ? y->first : x->first;
  const auto& ramp = a.op() == ExprOp::kRamp ? *x : *y;
  return Ramp(ramp.first * factor, ramp.second * factor, lanes);
}

}  // namespace tvmvm::tensor
