#include "compiler/expr/expr.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

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

Expr FromScalar(DType dtype, Scalar value) {
  ExprNode node;
  node.dtype = dtype;
  node.integer = value.integer;
  node.number = value.number;
  return Make(std::move(node));
}

Scalar ScalarOf(const Expr& constant) { return {constant->integer, constant->number}; }

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

bool IsFloatConstant(const Expr& a, double value) {
  return IsConstant(a) && IsFloat(a.dtype()) &&
         std::bit_cast<uint64_t>(a->number) == std::bit_cast<uint64_t>(value);
}

// The dim that an i64 or bool expression is, when it is one: dims, integers, and logic over comparisons of
// them.
std::optional<ir::Dim> AsDim(const Expr& a, int depth = 0) {
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
  switch (a.op()) {
    case ExprOp::kEqual:
      return Equal(*x, *y);
    case ExprOp::kNotEqual:
      return NotEqual(*x, *y);
    case ExprOp::kLess:
      return Less(*x, *y);
    case ExprOp::kLessEqual:
      return LessEqual(*x, *y);
    case ExprOp::kAnd:
      return And(*x, *y);
    case ExprOp::kOr:
      return Or(*x, *y);
    default:
      return std::nullopt;
  }
}

// Division that truncates, where the operands' signs are known (symbols are >= 0).
std::optional<ir::Dim> TruncatingDivision(ExprOp op, const ir::Dim& x, const ir::Dim& y) {
  if (RangeOf(x).low < 0 || RangeOf(y).low < 1) return std::nullopt;
  return op == ExprOp::kDiv ? FloorDiv(x, y) : FloorMod(x, y);
}

// i64 arithmetic on dims. Comparisons fold only when they are decided: see AsDim for the rest.
std::optional<Expr> FoldDims(ExprOp op, const Expr& a, const Expr& b) {
  if (a.op() != ExprOp::kDim && b.op() != ExprOp::kDim) return std::nullopt;
  std::optional<ir::Dim> x = AsDim(a), y = AsDim(b);
  if (!x || !y) return std::nullopt;
  auto decided = [](const ir::Dim& dim) -> std::optional<Expr> {
    if (auto value = dim.constant()) return BoolConstant(*value != 0);
    return std::nullopt;
  };
  bool divides = op == ExprOp::kFloorDiv || op == ExprOp::kFloorMod;
  if (divides && y->IsConstant(0)) return std::nullopt;
  switch (op) {
    case ExprOp::kAdd:
      return DimValue(*x + *y);
    case ExprOp::kSub:
      return DimValue(*x - *y);
    case ExprOp::kMul:
      return DimValue(*x * *y);
    case ExprOp::kMin:
      return DimValue(Min(*x, *y));
    case ExprOp::kMax:
      return DimValue(Max(*x, *y));
    case ExprOp::kFloorDiv:
      return DimValue(FloorDiv(*x, *y));
    case ExprOp::kFloorMod:
      return DimValue(FloorMod(*x, *y));
    case ExprOp::kDiv:
    case ExprOp::kRemainder:
      if (auto dim = TruncatingDivision(op, *x, *y)) return DimValue(*dim);
      return std::nullopt;
    case ExprOp::kEqual:
      return decided(Equal(*x, *y));
    case ExprOp::kNotEqual:
      return decided(NotEqual(*x, *y));
    case ExprOp::kLess:
      return decided(Less(*x, *y));
    case ExprOp::kLessEqual:
      return decided(LessEqual(*x, *y));
    default:
      return std::nullopt;
  }
}

// Identities with a constant on the right: exact for every value of `a`, NaN and -0 included.
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

// Not of a comparison; floats keep the Not where NaN would tell the difference.
std::optional<Expr> InvertComparison(const Expr& a) {
  if (a.op() == ExprOp::kEqual) return Binary(ExprOp::kNotEqual, a->operands[0], a->operands[1]);
  if (a.op() == ExprOp::kNotEqual) return Binary(ExprOp::kEqual, a->operands[0], a->operands[1]);
  bool is_order = a.op() == ExprOp::kLess || a.op() == ExprOp::kLessEqual;
  if (!is_order || IsFloat(a->operands[0].dtype())) return std::nullopt;
  return Binary(a.op() == ExprOp::kLess ? ExprOp::kLessEqual : ExprOp::kLess, a->operands[1], a->operands[0]);
}

// Ramps stay ramps under what keeps them affine, so that a load's stride remains visible.
std::optional<Expr> FoldRamps(ExprOp op, const Expr& a, const Expr& b) {
  if (a.op() != ExprOp::kRamp && b.op() != ExprOp::kRamp) return std::nullopt;
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

// Memory of earlier answers for pairs of shared nodes; a tree may be a graph with many paths.
struct PairHash {
  size_t operator()(const std::pair<const ExprNode*, const ExprNode*>& p) const {
    return std::hash<const void*>()(p.first) * 31 + std::hash<const void*>()(p.second);
  }
};
using SeenPairs = std::unordered_map<std::pair<const ExprNode*, const ExprNode*>, bool, PairHash>;

bool SameNodes(const Expr& a, const Expr& b, SeenPairs& seen);

bool SameReductions(const Reduction* a, const Reduction* b, SeenPairs& seen) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->accumulator != b->accumulator ||
      a->select_last != b->select_last || a->axes != b->axes || a->extents.size() != b->extents.size())
    return false;
  for (size_t i = 0; i < a->extents.size(); ++i)
    if (!SameNodes(a->extents[i], b->extents[i], seen)) return false;
  return true;
}

bool SameNodes(const Expr& a, const Expr& b, SeenPairs& seen) {
  if (a.get() == b.get()) return true;
  if (!a.valid() || !b.valid()) return false;
  if (a->op != b->op || a->dtype != b->dtype || a->lanes != b->lanes || a->id != b->id ||
      a->integer != b->integer || std::bit_cast<uint64_t>(a->number) != std::bit_cast<uint64_t>(b->number) ||
      a->saturate != b->saturate || a->operands.size() != b->operands.size())
    return false;
  if (a->op == ExprOp::kDim && !(a->dim == b->dim)) return false;
  if (a->operands.empty()) return true;
  auto [found, is_new] = seen.try_emplace({a.get(), b.get()}, true);
  if (!is_new) return found->second;
  bool same = SameReductions(a->reduction.get(), b->reduction.get(), seen);
  for (size_t i = 0; same && i < a->operands.size(); ++i)
    same = SameNodes(a->operands[i], b->operands[i], seen);
  seen[{a.get(), b.get()}] = same;
  return same;
}

}  // namespace

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
    if (auto inverse = InvertComparison(a)) return *inverse;
  }
  if (op == ExprOp::kNegate && a.op() == ExprOp::kDim) return DimValue(ir::Dim(0) - a->dim);
  int lanes = a.lanes();
  return Make(op, result, lanes, {std::move(a)});
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

bool Same(const Expr& a, const Expr& b) {
  SeenPairs seen;
  return SameNodes(a, b, seen);
}

}  // namespace tvmvm::tensor
