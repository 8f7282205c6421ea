#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "compiler/codegen/c/c_printer.h"
#include "compiler/expr/rewrite.h"
#include "compiler/expr/scalar_math.h"

namespace tvmvm::codegen {
namespace {

using tensor::Expr;
using tensor::ExprOp;

constexpr size_t kLongText = 120;  // from here on an expression is held in a variable, for readers
constexpr int64_t kMostIndex = int64_t{1} << 40;  // beyond it a constant is a number of the model

// A name, a number or an element: nothing to compute twice.
bool IsAtom(const std::string& text) {
  return text.find_first_of(" (?") == std::string::npos ||
         (text.front() == '(' && text[1] == '-' && text.find_first_of(" (?", 1) == std::string::npos);
}

bool IsPowerOfTwo(const Expr& e) {
  return tensor::IsConstant(e) && e->integer > 0 && std::has_single_bit(static_cast<uint64_t>(e->integer));
}

// The constant that an operand is in every lane; null: none.
const Expr* UniformConstant(const Expr& e) {
  const Expr& scalar = e.op() == ExprOp::kBroadcast ? e->operands[0] : e;
  return tensor::IsConstant(scalar) ? &scalar : nullptr;
}

}  // namespace

CPrinter::Text CPrinter::Hold(const Text& type, const Text& text) {
  return IsAtom(text) ? text : Declare(type, text, "t");
}

CPrinter::Text CPrinter::Declare(const Text& type, const Text& text, const Text& base) {
  Text name = NewName(base);
  bool is_float = type[0] == 'f' && dialect_ == Dialect::kGlsl;
  Line(fmt::format("{}{} {} = {};", is_float ? "precise " : "", type, name, text));
  return name;
}

CPrinter::Text CPrinter::Call(const Text& function, const std::vector<Text>& arguments) {
  prelude_.Need(function);
  Text text = function + "(";
  for (size_t i = 0; i < arguments.size(); ++i) text += (i ? ", " : "") + arguments[i];
  return text + ")";
}

void CPrinter::HoldValue(const Expr& e, Value* value) {
  Text type =
      value->vector_lanes > 0 ? fmt::format("f32x{}", value->vector_lanes) : Text(RegisterType(e.dtype()));
  for (Text& lane : value->lanes) lane = Hold(type, lane);
}

CPrinter::Value CPrinter::Emit(const Expr& e) {
  if (auto found = emitted_.find(e.get()); found != emitted_.end()) return found->second;
  Value value = EmitUncached(e);
  // In GLSL a product must be a variable of its own, or it may be fused with an addition.
  bool may_fuse = dialect_ == Dialect::kGlsl && e.op() == ExprOp::kMul && IsFloat(e.dtype());
  bool is_leaf = e->operands.empty();
  bool is_long = !value.lanes.empty() && value.lanes[0].size() > kLongText;
  if (!is_leaf && (uses_[e.get()] > 1 || may_fuse || is_long)) HoldValue(e, &value);
  emitted_.emplace(e.get(), value);
  return value;
}

CPrinter::Value CPrinter::EmitUncached(const Expr& e) {
  switch (e.op()) {
    case ExprOp::kConstant:
      return {{Constant(e)}};
    case ExprOp::kDim:
      return {{ScalarOf(e->dim)}};
    case ExprOp::kVariable:
      return EmitVariable(e);
    case ExprOp::kLoad:
      return Load(e);
    default:
      break;
  }
  if (e.op() >= ExprOp::kReduceAdd && e.op() <= ExprOp::kReduceOr) return LaneReduction(e);
  return IsVectorType(e.dtype(), e.lanes()) ? EmitVector(e) : EmitLanes(e);
}

CPrinter::Value CPrinter::EmitVariable(const Expr& e) {
  auto found = variables_.find(e->id);
  return found == variables_.end() ? Defect(e, "is not bound") : found->second;
}

bool CPrinter::IsVectorType(DType dtype, int lanes) const {
  if (dtype != DType::kF32) return false;
  bool is_long = lanes == 8 || lanes == 16;
  return lanes == 2 || lanes == 4 || (is_long && dialect_ == Dialect::kOpenClC);
}

CPrinter::Value CPrinter::AsVector(const Value& value, int lanes) {
  if (value.vector_lanes > 0) return value;
  Text text = fmt::format("make_f32x{}(", lanes);
  for (size_t i = 0; i < value.lanes.size(); ++i) text += (i ? ", " : "") + value.lanes[i];
  return {{text + ")"}, lanes};
}

CPrinter::Value CPrinter::AsLanes(const Value& value) {
  if (value.vector_lanes == 0) return value;
  Text name = Hold(fmt::format("f32x{}", value.vector_lanes), value.lanes[0]);
  Value lanes;
  for (int i = 0; i < value.vector_lanes; ++i)
    lanes.lanes.push_back(dialect_ == Dialect::kOpenClC ? fmt::format("{}.s{:x}", name, i)
                                                        : fmt::format("{}.{}", name, "xyzw"[i]));
  return lanes;
}

// What the languages do on whole vectors; else lane by lane.
CPrinter::Value CPrinter::EmitVector(const Expr& e) {
  int lanes = e.lanes();
  auto operand = [&](size_t i) { return AsVector(Emit(e->operands[i]), lanes).lanes[0]; };
  auto result = [&](Text text) { return Value{{std::move(text)}, lanes}; };
  switch (e.op()) {
    case ExprOp::kBroadcast:
      return result(fmt::format("splat_f32x{}({})", lanes, Scalar(e->operands[0])));
    case ExprOp::kAdd:
    case ExprOp::kSub:
    case ExprOp::kMul: {
      Text a = operand(0), b = operand(1);
      return result(fmt::format("({} {} {})", a,
                                e.op() == ExprOp::kAdd   ? "+"
                                : e.op() == ExprOp::kSub ? "-"
                                                         : "*",
                                b));
    }
    case ExprOp::kNegate:
      return result(fmt::format("(-{})", operand(0)));
    case ExprOp::kFma: {
      Text a = operand(0), b = operand(1), c = operand(2);
      return result(fmt::format("fma({}, {}, {})", a, b, c));
    }
    default: {
      Value value = EmitLanes(e);
      return AsVector(value, lanes);
    }
  }
}

CPrinter::Value CPrinter::EmitLanes(const Expr& e) {
  Value result;
  int lanes = e.lanes();
  if (e.op() == ExprOp::kBroadcast) {
    result.lanes.assign(static_cast<size_t>(lanes), Hold(RegisterType(e.dtype()), Scalar(e->operands[0])));
    return result;
  }
  if (e.op() == ExprOp::kRamp) {
    Text base = Hold(RegisterType(e.dtype()), Scalar(e->operands[0])), step = Scalar(e->operands[1]);
    for (int i = 0; i < lanes; ++i) {
      Text offset = IntegerBinary(ExprOp::kMul, e.dtype(), step, Constant(tensor::IntConstant(i, e.dtype())),
                                  nullptr, true);
      if (tensor::IsConstant(e->operands[1]))
        offset = Constant(tensor::IntConstant(i * e->operands[1]->integer, e.dtype()));
      result.lanes.push_back(i == 0 ? base
                                    : IntegerBinary(ExprOp::kAdd, e.dtype(), base, offset, nullptr, true));
    }
    return result;
  }
  std::vector<Value> operands;
  for (const Expr& operand : e->operands) operands.push_back(AsLanes(Emit(operand)));
  for (int i = 0; i < lanes; ++i) {
    std::vector<Text> texts;
    for (const Value& value : operands) texts.push_back(value.lanes[static_cast<size_t>(i)]);
    result.lanes.push_back(Lane(e, texts));
  }
  return result;
}

// One lane of an operation.
CPrinter::Text CPrinter::Lane(const Expr& e, const std::vector<Text>& operands) {
  DType from = e->operands[0].dtype(), to = e.dtype();
  switch (e.op()) {
    case ExprOp::kCast:
      return Cast(from, to, operands[0]);
    case ExprOp::kBitcast:
      return Bitcast(from, to, operands[0]);
    case ExprOp::kSelect:
      return fmt::format("({} ? {} : {})", operands[0], operands[1], operands[2]);
    case ExprOp::kFma:
      if (!IsFloat(to)) {
        Text product = IntegerBinary(ExprOp::kMul, to, operands[0], operands[1], nullptr, false);
        return WrapTo(to, IntegerBinary(ExprOp::kAdd, to, product, operands[2], nullptr, false));
      }
      return RoundTo(to, fmt::format("fma({}, {}, {})", operands[0], operands[1], operands[2]));
    case ExprOp::kDotBytes: {
      Text sum = operands.back();
      for (size_t i = 0; i + 1 < operands.size(); i += 2)
        sum = Call("dot_bytes", {operands[i], operands[i + 1], sum});
      return sum;
    }
    case ExprOp::kEqual:
    case ExprOp::kNotEqual:
    case ExprOp::kLess:
    case ExprOp::kLessEqual:
      return Comparison(e, operands[0], operands[1]);
    default:
      break;
  }
  if (operands.size() == 2) {
    Text text = Binary(e.op(), to, operands[0], operands[1], UniformConstant(e->operands[1]), IsIndex(e));
    return text.empty() ? Defect(e, "was not expanded").scalar() : text;
  }
  if (operands.size() != 1) return Defect(e, "cannot be printed").scalar();
  Text text = IsFloat(from) ? FloatUnary(e, operands[0]) : IntegerUnary(e, operands[0]);
  return text.empty() ? Defect(e, "was not expanded").scalar() : text;
}

CPrinter::Text CPrinter::FloatText(DType dtype, double number) const {
  bool is_double = dtype == DType::kF64;
  if (std::isnan(number)) return is_double ? "as_f64(0x7ff8000000000000ul)" : "as_f32(0x7fc00000u)";
  bool is_odd = std::isinf(number) || (!is_double && number != 0 && std::abs(number) < 1.17549435e-38) ||
                (number == 0 && std::signbit(number));
  if (is_odd && is_double) return fmt::format("as_f64({:#x}ul)", std::bit_cast<uint64_t>(number));
  if (is_odd) return fmt::format("as_f32({:#x}u)", std::bit_cast<uint32_t>(static_cast<float>(number)));
  Text text = is_double ? fmt::format("{}", number) : fmt::format("{}", static_cast<float>(number));
  if (text.find_first_of(".e") == Text::npos) text += ".0";
  if (text.find('.') == Text::npos) text.insert(text.find('e'), ".0");
  text += is_double ? (dialect_ == Dialect::kGlsl ? "lf" : "") : "f";
  return text[0] == '-' ? "(" + text + ")" : text;
}

CPrinter::Text CPrinter::Constant(const Expr& e) const {
  DType dtype = e.dtype();
  if (dtype == DType::kBool) return e->integer != 0 ? "true" : "false";
  if (IsFloat(dtype) && DTypeBits(dtype) >= 16) return FloatText(dtype, e->number);
  if (IsFloat(dtype))
    return fmt::format("{}u", tensor::EncodeScalar(dtype, {.integer = 0, .number = e->number}));
  if (IsComplex(dtype)) return Zero(dtype);
  Text type = RegisterType(dtype);
  if (type == "u64") return fmt::format("{}ul", static_cast<uint64_t>(e->integer));
  if (type == "u32") return fmt::format("{}u", static_cast<uint32_t>(e->integer));
  const char* suffix = type == "i64" ? "l" : "";
  if (e->integer == INT64_MIN) return "(-9223372036854775807l - 1l)";
  if (type == "i32" && e->integer == INT32_MIN) return "(-2147483647 - 1)";
  Text number = fmt::format("{}{}", e->integer, suffix);
  return e->integer < 0 ? "(" + number + ")" : number;
}

CPrinter::Text CPrinter::FloatUnary(const Expr& e, const Text& a) {
  DType dtype = e->operands[0].dtype();
  if (DTypeBits(dtype) < 16) return "";
  const char* type = RegisterType(dtype);
  switch (e.op()) {
    case ExprOp::kIsNan:
      return Call(fmt::format("is_nan_{}", type), {a});
    case ExprOp::kIsInf:
      return Call(fmt::format("is_inf_{}", type), {a});
    case ExprOp::kNegate:
      return fmt::format("(-{})", a);
    case ExprOp::kAbs:
      return fmt::format("fabs({})", a);
    case ExprOp::kSqrt:
      return RoundTo(dtype, dtype == DType::kF64 ? fmt::format("sqrt({})", a) : Call("sqrt_f32", {a}));
    case ExprOp::kReciprocalSqrt: {
      if (dtype == DType::kF64) return fmt::format("({} / sqrt({}))", FloatText(dtype, 1), a);
      Text root = Call("sqrt_f32", {a});
      return RoundTo(dtype, Call("divide_f32", {"1.0f", root}));
    }
    case ExprOp::kFloor:
      return fmt::format("floor({})", a);
    case ExprOp::kCeil:
      return fmt::format("ceil({})", a);
    case ExprOp::kRound:
      return fmt::format("rint({})", a);
    case ExprOp::kTruncate:
      return fmt::format("trunc({})", a);
    default:
      return "";
  }
}

CPrinter::Text CPrinter::IntegerUnary(const Expr& e, const Text& a) {
  DType dtype = e.dtype();
  Text type = RegisterType(dtype);
  switch (e.op()) {
    case ExprOp::kNegate:
      return WrapTo(dtype, IntegerBinary(ExprOp::kSub, dtype, Zero(dtype), a, nullptr, IsIndex(e)));
    case ExprOp::kNot:
      return dtype == DType::kBool ? fmt::format("(!{})", a) : WrapTo(dtype, fmt::format("(~{})", a));
    case ExprOp::kAbs: {
      if (!IsSignedInteger(dtype)) return a;
      Text held = Hold(type, a),
           negated = IntegerBinary(ExprOp::kSub, dtype, Zero(dtype), held, nullptr, false);
      return WrapTo(dtype, fmt::format("({} < {} ? {} : {})", held, Zero(dtype), negated, held));
    }
    case ExprOp::kPopCount: {
      bool is_long = DTypeBits(dtype) == 64;
      Text bits = ToBits(dtype, a);
      return fmt::format("to_{}({})", type, Call(is_long ? "popcount_u64" : "popcount_u32", {bits}));
    }
    default:
      return "";
  }
}

CPrinter::Text CPrinter::Binary(ExprOp op, DType dtype, const Text& a, const Text& b, const Expr* right,
                                bool is_index) {
  if (IsFloat(dtype)) return DTypeBits(dtype) < 16 ? "" : FloatBinary(op, dtype, a, b);
  Text text = IntegerBinary(op, dtype, a, b, right, is_index);
  bool may_leave = op != ExprOp::kMin && op != ExprOp::kMax && op != ExprOp::kAnd && op != ExprOp::kOr;
  return may_leave && !text.empty() ? WrapTo(dtype, text) : text;
}

CPrinter::Text CPrinter::FloatBinary(ExprOp op, DType dtype, const Text& a, const Text& b) {
  const char* type = RegisterType(dtype);
  auto divided = [&] {
    return dtype == DType::kF64 ? fmt::format("({} / {})", a, b) : Call("divide_f32", {a, b});
  };
  switch (op) {
    case ExprOp::kAdd:
      return RoundTo(dtype, fmt::format("({} + {})", a, b));
    case ExprOp::kSub:
      return RoundTo(dtype, fmt::format("({} - {})", a, b));
    case ExprOp::kMul:
      return RoundTo(dtype, fmt::format("({} * {})", a, b));
    case ExprOp::kDiv:
      return RoundTo(dtype, divided());
    case ExprOp::kFloorDiv:
      return RoundTo(dtype, fmt::format("floor({})", divided()));
    case ExprOp::kMin:
      return Call(fmt::format("min_{}", type), {a, b});
    case ExprOp::kMax:
      return Call(fmt::format("max_{}", type), {a, b});
    default:
      return "";
  }
}

// Overflow of signed numbers is undefined in C: what is not an index is computed unsigned.
CPrinter::Text CPrinter::IntegerBinary(ExprOp op, DType dtype, const Text& a, const Text& b,
                                       const Expr* right, bool is_index) {
  Text type = RegisterType(dtype);
  bool is_bool = dtype == DType::kBool;
  auto wrapping = [&](const char* sign) {
    bool is_plain = is_index || type[0] == 'u' || dialect_ == Dialect::kGlsl || DTypeBits(dtype) <= 16;
    if (is_plain) return fmt::format("({} {} {})", a, sign, b);
    Text other = "u" + type.substr(1);
    return fmt::format("to_{0}(to_{1}({2}) {3} to_{1}({4}))", type, other, a, sign, b);
  };
  switch (op) {
    case ExprOp::kAdd:
      return is_bool ? fmt::format("({} || {})", a, b) : wrapping("+");
    case ExprOp::kSub:
      return is_bool ? fmt::format("({} != {})", a, b) : wrapping("-");
    case ExprOp::kMul:
      return is_bool ? fmt::format("({} && {})", a, b) : wrapping("*");
    case ExprOp::kDiv:
    case ExprOp::kRemainder:
    case ExprOp::kFloorDiv:
    case ExprOp::kFloorMod:
      return Division(op, dtype, a, b, right);
    case ExprOp::kMin:
      return is_bool ? fmt::format("({} && {})", a, b) : fmt::format("min({}, {})", a, b);
    case ExprOp::kMax:
      return is_bool ? fmt::format("({} || {})", a, b) : fmt::format("max({}, {})", a, b);
    case ExprOp::kAnd:
      return fmt::format("({} {} {})", a, is_bool ? "&&" : "&", b);
    case ExprOp::kOr:
      return fmt::format("({} {} {})", a, is_bool ? "||" : "|", b);
    case ExprOp::kXor:
      return fmt::format("({} {} {})", a, is_bool ? "!=" : "^", b);
    case ExprOp::kShiftLeft:
    case ExprOp::kShiftRight:
      return Shift(op, dtype, a, b, right);
    default:
      return "";
  }
}

CPrinter::Text CPrinter::Division(ExprOp op, DType dtype, const Text& a, const Text& b, const Expr* right) {
  Text type = RegisterType(dtype);
  bool gives_quotient = op == ExprOp::kDiv || op == ExprOp::kFloorDiv;
  bool floors = op == ExprOp::kFloorDiv || op == ExprOp::kFloorMod;
  if (dtype == DType::kBool) return gives_quotient ? a : "false";
  if (right && IsPowerOfTwo(*right) && (floors || type[0] == 'u')) {
    auto shift = std::countr_zero(static_cast<uint64_t>((*right)->integer));
    if (gives_quotient) return fmt::format("({} >> {})", a, shift);
    return fmt::format("({} & {})", a, Constant(tensor::IntConstant((*right)->integer - 1, dtype)));
  }
  const char* name = gives_quotient ? "div" : "rem";
  if (floors && type[0] == 'i') name = gives_quotient ? "floor_div" : "floor_mod";
  return Call(fmt::format("{}_{}", name, type), {a, b});
}

// Shifting by the width or more gives what the last bit shifted out leaves: 0, or the sign.
CPrinter::Text CPrinter::Shift(ExprOp op, DType dtype, Text a, Text b, const Expr* right) {
  Text type = RegisterType(dtype), other = "u" + type.substr(1);
  int width = DTypeBits(dtype);
  bool is_left = op == ExprOp::kShiftLeft;
  auto shifted = [&](const Text& amount) {
    if (is_left && type[0] == 'i') return fmt::format("to_{}(to_{}({}) << {})", type, other, a, amount);
    return fmt::format("({} {} {})", a, is_left ? "<<" : ">>", amount);
  };
  bool is_known = right && (*right)->integer >= 0 && (*right)->integer < width;
  if (is_known) return shifted(fmt::format("{}", (*right)->integer));
  b = Hold(type, b);
  Text in_range = fmt::format("to_{0}({1}) < to_{0}({2})", other, b, width);
  if (!is_left && type[0] == 'i')
    return fmt::format("({} >> to_i32({} ? {} : to_{}({})))", a, in_range, b, type, width - 1);
  return fmt::format("({} ? {} : {})", in_range, shifted(fmt::format("to_i32({})", b)), Zero(dtype));
}

CPrinter::Text CPrinter::Comparison(const Expr& e, const Text& a, const Text& b) {
  DType dtype = e->operands[0].dtype();
  if (IsFloat(dtype) && DTypeBits(dtype) < 16) return Defect(e, "compares in a storage-only type").scalar();
  if (dtype == DType::kBool && e.op() == ExprOp::kLess) return fmt::format("(!{} && {})", a, b);
  if (dtype == DType::kBool && e.op() == ExprOp::kLessEqual) return fmt::format("(!{} || {})", a, b);
  const char* sign = e.op() == ExprOp::kEqual      ? "=="
                     : e.op() == ExprOp::kNotEqual ? "!="
                     : e.op() == ExprOp::kLess     ? "<"
                                                   : "<=";
  return fmt::format("({} {} {})", a, sign, b);
}

// Halves the lanes until one is left, in the order of the evaluator.
CPrinter::Value CPrinter::LaneReduction(const Expr& e) {
  static constexpr ExprOp kCombine[] = {ExprOp::kAdd, ExprOp::kMul, ExprOp::kMin,
                                        ExprOp::kMax, ExprOp::kAnd, ExprOp::kOr};
  ExprOp op = kCombine[static_cast<int>(e.op()) - static_cast<int>(ExprOp::kReduceAdd)];
  std::vector<Text> rest = AsLanes(Emit(e->operands[0])).lanes;
  while (rest.size() > 1) {
    size_t low = (rest.size() + 1) / 2;
    for (size_t i = 0; i + low < rest.size(); ++i) {
      Text text = Binary(op, e.dtype(), rest[i], rest[i + low], nullptr, false);
      if (text.empty()) return Defect(e, "cannot be reduced");
      rest[i] = Hold(RegisterType(e.dtype()), text);
    }
    rest.resize(low);
  }
  return {rest};
}

// Made of loop variables, dims and constants: it does not overflow.
bool CPrinter::IsIndex(const Expr& root) {
  const bool is_narrow = root.dtype() == DType::kI32 && kernel_.small_sizes;
  if (root.dtype() != DType::kI64 && !is_narrow) return false;
  bool is_index = true;
  tensor::VisitOnce(root, [&](const Expr& e) {
    if (e.op() == ExprOp::kVariable) {
      auto found = is_index_.find(e->id);
      is_index &= found != is_index_.end() && found->second;
    }
    is_index &= e.op() != ExprOp::kLoad && e.op() != ExprOp::kBitcast;
    is_index &= e.op() != ExprOp::kCast || (is_narrow && IsInteger(e->operands[0].dtype()));
    is_index &= e.op() != ExprOp::kConstant || (e->integer > -kMostIndex && e->integer < kMostIndex);
  });
  return is_index;
}

}  // namespace tvmvm::codegen
