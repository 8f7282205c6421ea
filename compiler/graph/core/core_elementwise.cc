// Elementwise operators: one row for each scalar operation, where, cast and bitcast. Operands broadcast
// (numpy) and agree in element type.
#include <fmt/format.h>

#include <limits>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/element_types.h"
#include "compiler/graph/requirements.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::IntConstant;

bool IsComparison(ExprOp op) {
  return op == ExprOp::kEqual || op == ExprOp::kNotEqual || op == ExprOp::kLess || op == ExprOp::kLessEqual;
}
bool IsTest(ExprOp op) { return op == ExprOp::kIsNan || op == ExprOp::kIsInf; }
bool IsLogic(ExprOp op) {
  return op == ExprOp::kAnd || op == ExprOp::kOr || op == ExprOp::kXor || op == ExprOp::kNot;
}
// Defined for bool operands.
bool TakesBool(ExprOp op) {
  return IsLogic(op) || IsComparison(op) || op == ExprOp::kMin || op == ExprOp::kMax;
}
bool TakesIntegersOnly(ExprOp op) {
  return op == ExprOp::kShiftLeft || op == ExprOp::kShiftRight || op == ExprOp::kPopCount;
}
bool TakesFloatsOnly(ExprOp op) {
  return (op >= ExprOp::kExp && op <= ExprOp::kSigmoid) || op == ExprOp::kAtan2;
}

Status CheckDType(ExprOp op, DType dtype) {
  bool fits = IsFloat(dtype) || IsInteger(dtype) || dtype == DType::kBool;
  if (TakesIntegersOnly(op) || (IsLogic(op) && dtype != DType::kBool)) fits = IsInteger(dtype);
  if (TakesFloatsOnly(op)) fits = IsFloat(dtype);
  if (dtype == DType::kBool) fits = TakesBool(op);
  if (fits) return {};
  return MakeError(Code::kUnsupported, fmt::format("not defined for element type {}", DTypeName(dtype)));
}

Expected<Dims> BroadcastInputs(const InferContext& context) {
  Dims dims;
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    TVMVM_TRY(Type type, RankedTensor(context, i));
    TVMVM_TRY(dims, i == 0 ? Expected<Dims>(type.dims) : BroadcastDims(dims, type.dims));
  }
  return dims;
}

template <ExprOp op>
Expected<std::vector<Type>> InferArithmetic(const InferContext& context) {
  TVMVM_TRY(Dims dims, BroadcastInputs(context));
  DType dtype = context.inputs[0].dtype;
  TVMVM_CHECK_OK(CheckDType(op, dtype));
  for (const Type& input : context.inputs) {
    if (input.dtype != dtype)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("operands have element types {} and {}, wanted one type", DTypeName(dtype),
                                   DTypeName(input.dtype)));
  }
  return One(IsComparison(op) || IsTest(op) ? DType::kBool : dtype, std::move(dims));
}

Expr Operand(ElementContext& context, int input, std::span<const Expr> index) {
  return context.Input(input, BroadcastIndex(context.input_type(input), context.output_type(), index));
}

template <ExprOp op>
Expr UnaryElement(ElementContext& context, std::span<const Expr> index) {
  return Unary(op, Operand(context, 0, index));
}

// Integer division never traps: by 0 gives 0, by -1 negates (the smallest integer wraps).
Expr SafeDivision(ExprOp op, const Expr& a, const Expr& b) {
  DType dtype = b.dtype();
  Expr zero = IntConstant(0, dtype), one = IntConstant(1, dtype), minus_one = IntConstant(-1, dtype);
  Expr is_zero = Equal(b, zero);
  if (!IsSignedInteger(dtype)) return Select(is_zero, zero, Binary(op, a, Select(is_zero, one, b)));
  Expr is_minus_one = Equal(b, minus_one);
  Expr quotient = Binary(op, a, Select(Or(is_zero, is_minus_one), one, b));
  bool divides = op == ExprOp::kDiv || op == ExprOp::kFloorDiv;
  Expr by_minus_one = divides ? Unary(ExprOp::kNegate, a) : zero;
  return Select(is_zero, zero, Select(is_minus_one, by_minus_one, quotient));
}

// Shifts by the width or more give what shifting bit by bit would.
Expr SafeShift(ExprOp op, const Expr& a, const Expr& b) {
  DType dtype = a.dtype();
  int bits = DTypeBits(dtype);
  Expr in_range = Less(b, IntConstant(bits, dtype));
  if (IsSignedInteger(dtype)) in_range = And(in_range, LessEqual(IntConstant(0, dtype), b));
  bool keeps_sign = op == ExprOp::kShiftRight && IsSignedInteger(dtype);
  Expr otherwise = keeps_sign ? Binary(op, a, IntConstant(bits - 1, dtype)) : IntConstant(0, dtype);
  return Select(in_range, Binary(op, a, Select(in_range, b, IntConstant(0, dtype))), otherwise);
}

template <ExprOp op>
Expr BinaryElement(ElementContext& context, std::span<const Expr> index) {
  Expr a = Operand(context, 0, index), b = Operand(context, 1, index);
  bool divides =
      op == ExprOp::kDiv || op == ExprOp::kFloorDiv || op == ExprOp::kFloorMod || op == ExprOp::kRemainder;
  if (divides && IsInteger(a.dtype())) return SafeDivision(op, a, b);
  if (op == ExprOp::kShiftLeft || op == ExprOp::kShiftRight) return SafeShift(op, a, b);
  return Binary(op, a, b);
}

Expr FmaElement(ElementContext& context, std::span<const Expr> index) {
  return Fma(Operand(context, 0, index), Operand(context, 1, index), Operand(context, 2, index));
}

Expected<std::vector<Type>> InferWhere(const InferContext& context) {
  TVMVM_TRY(Dims dims, BroadcastInputs(context));
  if (context.inputs[0].dtype != DType::kBool)
    return MakeError(Code::kInvalidArgument, fmt::format("condition has element type {}, wanted bool",
                                                         DTypeName(context.inputs[0].dtype)));
  if (context.inputs[1].dtype != context.inputs[2].dtype)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("operands have element types {} and {}, wanted one type",
                                 DTypeName(context.inputs[1].dtype), DTypeName(context.inputs[2].dtype)));
  return One(context.inputs[1].dtype, std::move(dims));
}

Expr WhereElement(ElementContext& context, std::span<const Expr> index) {
  return Select(Operand(context, 0, index), Operand(context, 1, index), Operand(context, 2, index));
}

bool IsNumeric(DType dtype) { return IsFloat(dtype) || IsInteger(dtype) || dtype == DType::kBool; }

Expected<std::vector<Type>> InferCast(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  TVMVM_TRY(DType to, DTypeAttribute(context.node, "to"));
  if (!IsNumeric(type.dtype) || !IsNumeric(to))
    return MakeError(Code::kUnsupported,
                     fmt::format("no conversion from {} to {}", DTypeName(type.dtype), DTypeName(to)));
  return One(to, type.dims);
}

// Finite numbers within [-limit, limit]; infinities and NaN as they are.
Expr Bounded(const Expr& a, double limit) {
  Expr high = tensor::Constant(a.dtype(), limit), low = tensor::Constant(a.dtype(), -limit);
  return Select(Unary(ExprOp::kIsInf, a), a, Min(Max(a, low), high));
}

// A float as an integer of the type, as ONNX Runtime and ONNX's reference have it: truncated in i64, or in
// i32 where the type has fewer bits or is i32; what does not fit there, NaN too, is the least number there;
// and the low bits are the result. Numbers in [2^63, 2^64) fit in u64, and more is 0 there.
Expr WrappedInteger(DType to, Expr a) {
  if (a.dtype() != DType::kF64) a = Cast(DType::kF32, a);
  auto power = [&](int exponent) { return tensor::Constant(a.dtype(), __builtin_ldexp(1.0, exponent)); };
  bool is_narrow = DTypeBits(to) < 32 || to == DType::kI32;
  DType wide = is_narrow ? DType::kI32 : DType::kI64;
  Expr fits = Less(a, power(is_narrow ? 31 : 63));
  int64_t least = is_narrow ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  Expr whole = Cast(to, Select(fits, Cast(wide, a), IntConstant(least, wide)));
  if (to != DType::kU64) return whole;
  Expr upper = Select(Less(a, power(64)), Cast(to, a), IntConstant(0, to));
  return Select(LessEqual(power(63), a), upper, whole);
}

Expr CastElement(ElementContext& context, std::span<const Expr> index) {
  Expr a = context.Input(0, index);
  DType to = context.output_type().dtype;
  // As a comparison, so that it stays a dim where the operand is one.
  if (to == DType::kBool && IsInteger(a.dtype()))
    return Binary(ExprOp::kNotEqual, a, IntConstant(0, a.dtype()));
  // As ONNX has it: integers below 8 bits wrap, and small floats have no NaN.
  if (IsInteger(to) && IsSubByte(to) && IsFloat(a.dtype())) return Cast(to, Cast(DType::kI32, a));
  if (kFloatsWithoutNan.contains(to) && IsFloat(a.dtype()))
    a = Select(Unary(ExprOp::kIsNan, a), tensor::Constant(a.dtype(), -0.0), a);
  if (context.node().Int("wraps") != 0 && IsInteger(to) && IsFloat(a.dtype())) return WrappedInteger(to, a);
  constexpr double kLargestHalf = 65504;
  if (context.node().Int("finite") != 0 && to == DType::kF16) a = Bounded(a, kLargestHalf);
  return Cast(to, a, context.node().Int("saturate", 1) != 0);
}

Expected<std::vector<Type>> InferBitcast(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  TVMVM_TRY(DType to, DTypeAttribute(context.node, "to"));
  if (DTypeBits(type.dtype) != DTypeBits(to) || DTypeBits(to) == 0)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} and {} differ in size", DTypeName(type.dtype), DTypeName(to)));
  return One(to, type.dims);
}

Expr BitcastElement(ElementContext& context, std::span<const Expr> index) {
  return Bitcast(context.output_type().dtype, context.Input(0, index));
}

// The row of an operator whose element is made of the operands' elements at the same place: what is left out
// of `row` is what holds of all of these.
constexpr CoreOp Elementwise(CoreOp row) {
  row.kind = OpKind::kElementwise;
  row.traits.axes = AxisMap::kBroadcast;
  row.traits.reorder = Reorder::kFreely;
  row.requirements = RequireBroadcast;
  return row;
}

template <ExprOp op>
constexpr CoreOp UnaryRow(std::string_view name, std::string_view meaning, Traits traits = {}) {
  return Elementwise({.name = name,
                      .min_inputs = 1,
                      .max_inputs = 1,
                      .infer = InferArithmetic<op>,
                      .element = UnaryElement<op>,
                      .scalar = op,
                      .meaning = meaning,
                      .traits = traits});
}

template <ExprOp op>
constexpr CoreOp BinaryRow(std::string_view name, std::string_view meaning, Traits traits = {}) {
  return Elementwise({.name = name,
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .infer = InferArithmetic<op>,
                      .element = BinaryElement<op>,
                      .scalar = op,
                      .meaning = meaning,
                      .traits = traits});
}

constexpr Traits kCheap{.cheap = true};
constexpr Traits kDelicate{.delicate = true};

constexpr CoreOp kRows[] = {
    BinaryRow<ExprOp::kAdd>("add", "a + b", kCheap),
    BinaryRow<ExprOp::kSub>("sub", "a - b", kCheap),
    BinaryRow<ExprOp::kMul>("mul", "a * b", kCheap),
    BinaryRow<ExprOp::kDiv>("div", "a / b; integers truncate, by zero gives 0"),
    BinaryRow<ExprOp::kFloorDiv>("floor_div", "a / b rounded down; integers by zero give 0"),
    BinaryRow<ExprOp::kFloorMod>("floor_mod", "a - b * floor(a / b); integers by zero give 0"),
    BinaryRow<ExprOp::kRemainder>("remainder",
                                  "remainder of division with the sign of a; integers by zero give 0"),
    BinaryRow<ExprOp::kMin>("min", "the lesser; NaN if either is", kCheap),
    BinaryRow<ExprOp::kMax>("max", "the greater; NaN if either is", kCheap),
    BinaryRow<ExprOp::kPow>("pow", "a to the power of b", kDelicate),
    BinaryRow<ExprOp::kAtan2>("atan2", "angle of the point (b, a)"),
    BinaryRow<ExprOp::kAnd>("and", "a and b, bit by bit", kCheap),
    BinaryRow<ExprOp::kOr>("or", "a or b, bit by bit", kCheap),
    BinaryRow<ExprOp::kXor>("xor", "a xor b, bit by bit"),
    BinaryRow<ExprOp::kShiftLeft>("shift_left", "a * 2^b; 0 for b of the width or more"),
    BinaryRow<ExprOp::kShiftRight>("shift_right", "floor(a / 2^b)"),
    BinaryRow<ExprOp::kEqual>("equal", "a == b", kCheap),
    BinaryRow<ExprOp::kNotEqual>("not_equal", "a != b"),
    BinaryRow<ExprOp::kLess>("less", "a < b", kCheap),
    BinaryRow<ExprOp::kLessEqual>("less_equal", "a <= b"),
    UnaryRow<ExprOp::kNegate>("neg", "-a", kCheap),
    UnaryRow<ExprOp::kAbs>("abs", "magnitude of a", kCheap),
    UnaryRow<ExprOp::kNot>("not", "logical not of bools, bit by bit of integers", kCheap),
    UnaryRow<ExprOp::kExp>("exp", "e^a", kDelicate),
    UnaryRow<ExprOp::kExp2>("exp2", "2^a", kDelicate),
    UnaryRow<ExprOp::kLog>("log", "natural logarithm", kDelicate),
    UnaryRow<ExprOp::kLog1p>("log1p", "log(1 + a)", kDelicate),
    UnaryRow<ExprOp::kExpm1>("expm1", "e^a - 1", kDelicate),
    UnaryRow<ExprOp::kSqrt>("sqrt", "square root"),
    UnaryRow<ExprOp::kReciprocalSqrt>("rsqrt", "1 / sqrt(a)"),
    UnaryRow<ExprOp::kSin>("sin", "sine", kDelicate),
    UnaryRow<ExprOp::kCos>("cos", "cosine", kDelicate),
    UnaryRow<ExprOp::kTan>("tan", "tangent", kDelicate),
    UnaryRow<ExprOp::kAsin>("asin", "inverse sine"),
    UnaryRow<ExprOp::kAcos>("acos", "inverse cosine"),
    UnaryRow<ExprOp::kAtan>("atan", "inverse tangent"),
    UnaryRow<ExprOp::kSinh>("sinh", "hyperbolic sine"),
    UnaryRow<ExprOp::kCosh>("cosh", "hyperbolic cosine"),
    UnaryRow<ExprOp::kTanh>("tanh", "hyperbolic tangent"),
    UnaryRow<ExprOp::kAsinh>("asinh", "inverse hyperbolic sine"),
    UnaryRow<ExprOp::kAcosh>("acosh", "inverse hyperbolic cosine"),
    UnaryRow<ExprOp::kAtanh>("atanh", "inverse hyperbolic tangent"),
    UnaryRow<ExprOp::kErf>("erf", "error function"),
    UnaryRow<ExprOp::kSigmoid>("sigmoid", "1 / (1 + exp(-a))"),
    UnaryRow<ExprOp::kFloor>("floor", "rounded down"),
    UnaryRow<ExprOp::kCeil>("ceil", "rounded up"),
    UnaryRow<ExprOp::kRound>("round", "to the nearest integer, halves to even"),
    UnaryRow<ExprOp::kTruncate>("trunc", "rounded towards zero"),
    UnaryRow<ExprOp::kIsNan>("is_nan", "whether a is NaN"),
    UnaryRow<ExprOp::kIsInf>("is_inf", "whether a is infinite"),
    UnaryRow<ExprOp::kPopCount>("pop_count", "number of bits set"),
    Elementwise({.name = "fma",
                 .min_inputs = 3,
                 .max_inputs = 3,
                 .infer = InferArithmetic<ExprOp::kFma>,
                 .element = FmaElement,
                 .scalar = ExprOp::kFma,
                 .meaning = "a * b + c, rounded once",
                 .traits = kCheap}),
    Elementwise({.name = "where",
                 .min_inputs = 3,
                 .max_inputs = 3,
                 .infer = InferWhere,
                 .element = WhereElement,
                 .scalar = ExprOp::kSelect,
                 .meaning = "a where the condition holds, else b",
                 .traits = kCheap}),
    Elementwise({.name = "cast",
                 .min_inputs = 1,
                 .max_inputs = 1,
                 .infer = InferCast,
                 .element = CastElement,
                 .scalar = ExprOp::kCast,
                 .meaning =
                     "converted to the element type `to`; with `finite`, finite numbers beyond f16's range "
                     "become its largest",
                 .attributes = "to saturate finite wraps",
                 .traits = kCheap}),
    Elementwise({.name = "bitcast",
                 .min_inputs = 1,
                 .max_inputs = 1,
                 .infer = InferBitcast,
                 .element = BitcastElement,
                 .scalar = ExprOp::kBitcast,
                 .meaning = "the same bits as the element type `to`",
                 .attributes = "to",
                 .traits = {.reads_bits = true}}),
};

}  // namespace

std::span<const CoreOp> ElementwiseFamily() { return kRows; }

const CoreOp* ElementwiseOp(ExprOp op) {
  if (op == ExprOp::kConstant) return nullptr;
  for (const CoreOp& row : kRows)
    if (row.scalar == op) return &row;
  return nullptr;
}

}  // namespace tvmvm::ir
