#include "compiler/expr/expr.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <optional>
#include <utility>

#include "compiler/expr/dot_bytes.h"
#include "compiler/expr/expr_simplify.h"
#include "compiler/expr/scalar_math.h"

namespace tvmvm::tensor {
namespace {

Expr Make(ExprNode node) { return Expr(std::make_shared<const ExprNode>(std::move(node))); }

Expr Make(ExprOp op, DType dtype, int lanes, std::vector<Expr> operands) {
  ExprNode node;
  node.op = op;
  node.dtype = dtype;
  node.lanes = lanes;
  node.operands = std::move(operands);
  return Make(std::move(node));
}

bool IsComparison(ExprOp op) {
  return op == ExprOp::kEqual || op == ExprOp::kNotEqual || op == ExprOp::kLess || op == ExprOp::kLessEqual;
}

bool IsCommutative(ExprOp op) {
  switch (op) {
    case ExprOp::kAdd:
    case ExprOp::kMul:
    case ExprOp::kMin:
    case ExprOp::kMax:
    case ExprOp::kAnd:
    case ExprOp::kOr:
    case ExprOp::kXor:
    case ExprOp::kEqual:
    case ExprOp::kNotEqual:
      return true;
    default:
      return false;
  }
}

bool IsLaneReduction(ExprOp op) { return op >= ExprOp::kReduceAdd && op <= ExprOp::kReduceOr; }

// Integer x - c is written x + (-c), so that sums of constants meet.
bool NormalisesSubtraction(ExprOp op, const Expr& a, const Expr& b) {
  return op == ExprOp::kSub && IsInteger(a.dtype()) && IsConstant(b);
}

Expr ScalarBinary(ExprOp op, Expr a, Expr b) {
  DType dtype = a.dtype();
  DType result = IsComparison(op) ? DType::kBool : dtype;
  if (IsConstant(a) && IsConstant(b) && !(IsApproximated(op) && IsFloat(dtype))) {
    bool divides_by_zero = !IsFloat(dtype) && b->integer == 0 &&
                           (op == ExprOp::kDiv || op == ExprOp::kRemainder || op == ExprOp::kFloorDiv ||
                            op == ExprOp::kFloorMod);
    bool is_float_remainder =
        IsFloat(dtype) && (op == ExprOp::kRemainder || op == ExprOp::kFloorMod || op == ExprOp::kFloorDiv);
    if (!divides_by_zero && !is_float_remainder)
      return FromScalar(result, EvaluateBinary(op, dtype, ScalarOf(a), ScalarOf(b)));
  }
  if (dtype == DType::kI64) {
    if (auto folded = FoldDims(op, a, b)) return *folded;
  }
  if (IsCommutative(op) && IsConstant(a)) std::swap(a, b);
  if (NormalisesSubtraction(op, a, b))
    return ScalarBinary(ExprOp::kAdd, a,
                        FromScalar(dtype, EvaluateUnary(ExprOp::kNegate, dtype, ScalarOf(b))));
  if (IsConstant(b)) {
    if (auto simpler = SimplifyRightConstant(op, a, b)) return *simpler;
  }
  if (a.get() == b.get() || (dtype == DType::kI64 && Same(a, b))) {
    if (auto simpler = SimplifySameOperands(op, a)) return *simpler;
  }
  return Make(op, result, 1, {std::move(a), std::move(b)});
}

// Both operands equal in all lanes: compute once, then broadcast.
bool IsUniform(const Expr& a) { return a.op() == ExprOp::kBroadcast; }

Expr WidenTo(const Expr& a, int lanes) {
  assert(a.lanes() == lanes || a.lanes() == 1);
  return a.lanes() == lanes ? a : Broadcast(a, lanes);
}

}  // namespace

Expr FromScalar(DType dtype, Scalar value) {
  ExprNode node;
  node.dtype = dtype;
  node.integer = value.integer;
  node.number = value.number;
  return Make(std::move(node));
}

Expr IntConstant(int64_t value, DType dtype) {
  return FromScalar(dtype, {.integer = WrapInteger(dtype, value)});
}

Expr FloatConstant(double value, DType dtype) {
  return FromScalar(dtype, {.number = RoundFloat(dtype, value)});
}

Expr Constant(DType dtype, double value) {
  return FromScalar(dtype, ConvertScalar(DType::kF64, dtype, {.number = value}));
}

Expr BoolConstant(bool value) { return FromScalar(DType::kBool, {.integer = value}); }

Expr DimValue(const ir::Dim& dim) {
  if (auto value = dim.constant()) return IntConstant(*value);
  ExprNode node;
  node.op = ExprOp::kDim;
  node.dtype = DType::kI64;
  node.dim = dim;
  return Make(std::move(node));
}

Expr Variable(VariableId id, DType dtype, int lanes) {
  ExprNode node;
  node.op = ExprOp::kVariable;
  node.dtype = dtype;
  node.lanes = lanes;
  node.id = id;
  return Make(std::move(node));
}

Expr Element(uint32_t input, DType dtype, std::vector<Expr> index) {
  ExprNode node;
  node.op = ExprOp::kElement;
  node.dtype = dtype;
  node.id = input;
  node.operands = std::move(index);
  return Make(std::move(node));
}

Expr Load(uint32_t buffer, DType dtype, Expr index, Expr mask) {
  if (mask.valid() && IsUniform(mask)) mask = mask->operands[0];
  if (IsIntConstant(mask, 1)) mask = {};
  if (mask.valid() && mask.lanes() > 1 && (index.lanes() == 1 || IsUniform(index))) {
    // One element for all lanes that want it.
    int lanes = mask.lanes();
    Expr scalar = IsUniform(index) ? index->operands[0] : index;
    Expr loaded = Load(buffer, dtype, scalar, Unary(ExprOp::kReduceOr, mask));
    return Select(mask, Broadcast(loaded, lanes), Broadcast(FromScalar(dtype, {}), lanes));
  }
  if (IsUniform(index) && (!mask.valid() || mask.lanes() == 1))
    return Broadcast(Load(buffer, dtype, index->operands[0], mask), index.lanes());
  ExprNode node;
  node.op = ExprOp::kLoad;
  node.dtype = dtype;
  node.lanes = index.lanes();
  node.id = buffer;
  node.operands.push_back(std::move(index));
  if (mask.valid()) node.operands.push_back(WidenTo(mask, node.lanes));
  return Make(std::move(node));
}

Expr Unary(ExprOp op, Expr a) {
  DType dtype = a.dtype();
  if (IsLaneReduction(op)) return a.lanes() == 1 ? a : Make(op, dtype, 1, {std::move(a)});
  if (IsUniform(a)) return Broadcast(Unary(op, a->operands[0]), a.lanes());
  bool is_test = op == ExprOp::kIsNan || op == ExprOp::kIsInf;
  DType result = is_test ? DType::kBool : dtype;
  // 1/sqrt rounds twice in generated code as here, so it is left to the printers as well.
  if (IsConstant(a) && !IsApproximated(op) && op != ExprOp::kReciprocalSqrt)
    return FromScalar(result, EvaluateUnary(op, dtype, ScalarOf(a)));
  if (!IsFloat(dtype)) {
    bool keeps = op == ExprOp::kFloor || op == ExprOp::kCeil || op == ExprOp::kRound ||
                 op == ExprOp::kTruncate || (op == ExprOp::kAbs && !IsSignedInteger(dtype));
    if (keeps) return a;
    if (is_test) return WidenTo(BoolConstant(false), a.lanes());
  }
  if ((op == ExprOp::kNegate || op == ExprOp::kNot) && a.op() == op) return a->operands[0];
  if (op == ExprOp::kNot) {
    if (a.op() == ExprOp::kConstant) return BoolConstant(a->integer == 0);
    if (auto inverse = InvertComparison(a)) return *inverse;
  }
  if (op == ExprOp::kNegate && a.op() == ExprOp::kDim) return DimValue(ir::Dim(0) - a->dim);
  int lanes = a.lanes();
  return Make(op, result, lanes, {std::move(a)});
}

Expr FallingExp(Expr a) {
  if (IsUniform(a)) return Broadcast(FallingExp(a->operands[0]), a.lanes());
  ExprNode node;
  node.op = ExprOp::kExp;
  node.dtype = a.dtype();
  node.lanes = a.lanes();
  node.is_falling = true;
  node.operands.push_back(std::move(a));
  return Make(std::move(node));
}

Expr Binary(ExprOp op, Expr a, Expr b) {
  assert(a.dtype() == b.dtype());
  int lanes = a.lanes() == 1 ? b.lanes() : a.lanes();
  if (lanes == 1) return ScalarBinary(op, std::move(a), std::move(b));
  // Operands that are the same in all lanes are computed once.
  bool uniform_a = a.lanes() == 1 || IsUniform(a), uniform_b = b.lanes() == 1 || IsUniform(b);
  Expr scalar_a = IsUniform(a) ? a->operands[0] : a, scalar_b = IsUniform(b) ? b->operands[0] : b;
  if (uniform_a && uniform_b) return Broadcast(ScalarBinary(op, scalar_a, scalar_b), lanes);
  if (auto ramp = FoldRamps(op, a, b)) return *ramp;
  if (IsCommutative(op) && uniform_a && IsConstant(scalar_a)) {
    std::swap(a, b);
    std::swap(scalar_a, scalar_b);
    uniform_b = true;
  }
  if (uniform_b && IsConstant(scalar_b)) {
    if (auto simpler = SimplifyRightConstant(op, a, scalar_b)) return WidenTo(*simpler, lanes);
  }
  DType result = IsComparison(op) ? DType::kBool : a.dtype();
  return Make(op, result, lanes, {WidenTo(a, lanes), WidenTo(b, lanes)});
}

Expr Select(Expr condition, Expr then, Expr otherwise) {
  assert(then.dtype() == otherwise.dtype());
  int lanes = std::max({condition.lanes(), then.lanes(), otherwise.lanes()});
  Expr decided = IsUniform(condition) ? condition->operands[0] : condition;
  if (IsConstant(decided)) return WidenTo(decided->integer ? then : otherwise, lanes);
  if (Same(then, otherwise)) return WidenTo(then, lanes);
  if (then.dtype() == DType::kBool && IsIntConstant(then, 1) && IsIntConstant(otherwise, 0))
    return WidenTo(condition, lanes);
  if (lanes == 1 && then.dtype() == DType::kI64) {
    auto c = AsDim(condition), x = AsDim(then), y = AsDim(otherwise);
    if (c && x && y) return DimValue(Select(*c, *x, *y));
  }
  DType dtype = then.dtype();
  return Make(ExprOp::kSelect, dtype, lanes,
              {WidenTo(condition, lanes), WidenTo(then, lanes), WidenTo(otherwise, lanes)});
}

Expr Fma(Expr a, Expr b, Expr c) {
  assert(a.dtype() == b.dtype() && b.dtype() == c.dtype());
  int lanes = std::max({a.lanes(), b.lanes(), c.lanes()});
  DType dtype = a.dtype();
  if (!IsFloat(dtype)) return a * b + c;
  if (IsConstant(a) && IsConstant(b) && IsConstant(c))
    return FromScalar(dtype, EvaluateFma(dtype, ScalarOf(a), ScalarOf(b), ScalarOf(c)));
  return Make(ExprOp::kFma, dtype, lanes, {WidenTo(a, lanes), WidenTo(b, lanes), WidenTo(c, lanes)});
}

Expr DotBytes(Expr a, Expr b, Expr c) {
  assert(a.dtype() == DType::kU32 && b.dtype() == DType::kU32 && c.dtype() == DType::kI32);
  int lanes = std::max({a.lanes(), b.lanes(), c.lanes()});
  return Make(ExprOp::kDotBytes, DType::kI32, lanes,
              {WidenTo(a, lanes), WidenTo(b, lanes), WidenTo(c, lanes)});
}

Expr DotSmallBytes(std::span<const Expr> operands) {
  assert(operands.size() % 2 == 1 && operands.size() <= 2 * kMostSmallDots + 1);
  int lanes = 1;
  for (const Expr& operand : operands) lanes = std::max(lanes, operand.lanes());
  std::vector<Expr> wide;
  for (const Expr& operand : operands) wide.push_back(WidenTo(operand, lanes));
  return Make(ExprOp::kDotBytes, DType::kI32, lanes, std::move(wide));
}

Expr Scale(Expr a, Expr b) {
  assert(a.dtype() == b.dtype() && IsFloat(a.dtype()));
  int lanes = std::max(a.lanes(), b.lanes());
  DType dtype = a.dtype();
  if (IsConstant(a) && IsConstant(b))
    return FromScalar(dtype, EvaluateScale(dtype, ScalarOf(a), ScalarOf(b)));
  return Make(ExprOp::kScale, dtype, lanes, {WidenTo(a, lanes), WidenTo(b, lanes)});
}

Expr Cast(DType to, Expr a, bool saturate) {
  DType from = a.dtype();
  if (from == to) return a;
  if (IsUniform(a)) return Broadcast(Cast(to, a->operands[0], saturate), a.lanes());
  if (IsConstant(a)) return FromScalar(to, ConvertScalar(from, to, ScalarOf(a), saturate));
  if (to == DType::kI64 && from == DType::kBool) {
    if (auto dim = AsDim(a)) return DimValue(*dim);
  }
  ExprNode node;
  node.op = ExprOp::kCast;
  node.dtype = to;
  node.lanes = a.lanes();
  node.saturate = saturate;
  node.operands.push_back(std::move(a));
  return Make(std::move(node));
}

Expr Bitcast(DType to, Expr a) {
  assert(DTypeBits(to) == DTypeBits(a.dtype()));
  if (to == a.dtype()) return a;
  if (IsUniform(a)) return Broadcast(Bitcast(to, a->operands[0]), a.lanes());
  if (IsConstant(a)) return FromScalar(to, DecodeScalar(to, EncodeScalar(a.dtype(), ScalarOf(a))));
  if (a.op() == ExprOp::kBitcast) return Bitcast(to, a->operands[0]);
  int lanes = a.lanes();
  return Make(ExprOp::kBitcast, to, lanes, {std::move(a)});
}

Expr Ramp(Expr base, Expr step, int lanes) {
  assert(base.lanes() == 1 && step.lanes() == 1 && base.dtype() == step.dtype());
  if (lanes == 1) return base;
  if (IsIntConstant(step, 0)) return Broadcast(base, lanes);
  DType dtype = base.dtype();
  return Make(ExprOp::kRamp, dtype, lanes, {std::move(base), std::move(step)});
}

Expr Broadcast(Expr a, int lanes) {
  assert(a.lanes() == 1 || a.lanes() == lanes);
  if (a.lanes() == lanes) return a;
  DType dtype = a.dtype();
  return Make(ExprOp::kBroadcast, dtype, lanes, {std::move(a)});
}

Expr Reduce(Reduction reduction, Expr body, DType dtype) {
  ExprNode node;
  node.op = ExprOp::kReduce;
  node.dtype = dtype;
  node.operands.push_back(std::move(body));
  node.reduction = std::make_shared<const Reduction>(std::move(reduction));
  return Make(std::move(node));
}

bool IsConstant(const Expr& a) { return a.valid() && a.op() == ExprOp::kConstant; }

bool IsIntConstant(const Expr& a, int64_t value) {
  return IsConstant(a) && !IsFloat(a.dtype()) && a->integer == value;
}

}  // namespace tvmvm::tensor
