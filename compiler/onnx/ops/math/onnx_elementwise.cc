// Arithmetic, comparisons and logic, element by element.
#include <fmt/core.h>

#include <limits>
#include <string_view>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

template <ExprOp op>
void Unary(OnnxContext& c) {
  c.Out(0, c.b.Unary(op, c.in(0)));
}

void Reciprocal(OnnxContext& c) { c.Out(0, c.b.Div(c.b.Scalar(c.b.dtype(c.in(0)), 1), c.in(0))); }

// NaN is its own sign; both zeros have the sign 0.
void Sign(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  DType dtype = b.dtype(x);
  ValueId zero = b.Scalar(dtype, 0);
  ValueId result = IsFloat(dtype) ? b.Where(b.Binary(ExprOp::kEqual, x, zero), zero, x) : x;
  if (!IsUnsignedInteger(dtype))
    result = b.Where(b.Binary(ExprOp::kLess, x, zero), b.Scalar(dtype, -1), result);
  c.Out(0, b.Where(b.Binary(ExprOp::kLess, zero, x), b.Scalar(dtype, 1), result));
}

// Of floats of 8 bits kernels know no comparisons; in f32 they are the same numbers.
ValueId ComparableFloat(OnnxContext& c) {
  ValueId x = c.in(0);
  return kFloat8.contains(c.b.dtype(x)) ? c.b.Cast(x, DType::kF32) : x;
}

void IsNan(OnnxContext& c) { c.Out(0, c.b.Unary(ExprOp::kIsNan, ComparableFloat(c))); }

// Integers through f64, cut to whole numbers.
void Erf(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(c.in(0));
  ValueId x = IsInteger(dtype) ? b.Cast(c.in(0), DType::kF64) : c.in(0);
  c.Out(0, b.Cast(b.Unary(ExprOp::kErf, x), dtype));
}

void IsInf(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = ComparableFloat(c);
  bool negative = c.Int("detect_negative", 1) != 0;
  bool positive = c.Int("detect_positive", 1) != 0;
  ValueId result = b.Unary(ExprOp::kIsInf, x);
  ValueId zero = b.Scalar(b.dtype(x), 0);
  if (!negative) result = b.Binary(ExprOp::kAnd, result, b.Binary(ExprOp::kLess, zero, x));
  if (!positive) result = b.Binary(ExprOp::kAnd, result, b.Binary(ExprOp::kLess, x, zero));
  c.Out(0, result);
}

// Until opset 6 the second operand matched a run of the first one's axes, and only where `broadcast` said so.
ValueId LegacyOperand(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId second = c.in(1);
  int rank = b.rank(c.in(0));
  if (c.Int("broadcast", 0) == 0 || !c.HasAttribute("axis")) return second;
  int axis = b.NormalizeAxis(c.Int("axis", 0), rank);
  Dims dims = b.dims(second);
  if (b.failed()) return second;
  if (axis + static_cast<int>(dims.size()) > rank)
    return b.Fail(Code::kInvalidArgument,
                  fmt::format("axis {} leaves no room for the {} axes of the second operand in the {} of "
                              "the first",
                              axis, dims.size(), rank));
  dims.resize(static_cast<size_t>(rank - axis), Dim(1));
  return b.Reshape(second, dims);
}

ValueId Second(OnnxContext& c) { return c.version < 7 ? LegacyOperand(c) : c.in(1); }

template <ExprOp op>
void Binary(OnnxContext& c) {
  c.Out(0, c.b.Binary(op, c.in(0), Second(c)));
}

template <ExprOp op>
void Swapped(OnnxContext& c) {
  c.Out(0, c.b.Binary(op, Second(c), c.in(0)));
}

// The type that holds a base and an exponent of other types.
DType PowerType(DType base, DType exponent) {
  if (IsInteger(base)) return IsInteger(exponent) ? DType::kI64 : DType::kF64;
  return exponent == DType::kF64 ? exponent : WideType(base);
}

// The result has the base's type; where the types differ, the power is computed in one that holds both.
void Pow(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId base = c.in(0);
  ValueId exponent = Second(c);
  DType dtype = b.dtype(base);
  if (auto known = b.ConstantScalar(exponent); known.has_value() && b.rank(exponent) <= b.rank(base)) {
    if (*known == 1) return c.Out(0, base);
    if (*known == 2) return c.Out(0, b.Mul(base, base));
    if (*known == 3) return c.Out(0, b.Mul(b.Mul(base, base), base));
    if (*known == 0.5 && IsFloat(dtype)) return c.Out(0, b.Unary(ExprOp::kSqrt, base));
  }
  if (dtype == b.dtype(exponent)) return c.Out(0, b.Binary(ExprOp::kPow, base, exponent));
  DType wide = PowerType(dtype, b.dtype(exponent));
  ValueId power = b.Binary(ExprOp::kPow, b.Cast(base, wide), b.Cast(exponent, wide));
  if (wide == DType::kF64 && IsInteger(dtype)) {
    // The cast cuts fractions off: a whole number must not have become a little less.
    ValueId whole = b.Unary(ExprOp::kRound, power);
    ValueId distance = b.Unary(ExprOp::kAbs, b.Sub(power, whole));
    ValueId rounding = b.Mul(b.Unary(ExprOp::kAbs, whole), b.Scalar(wide, 1e-12));
    power = b.Where(b.Binary(ExprOp::kLessEqual, distance, rounding), whole, power);
  }
  c.Out(0, b.Cast(power, dtype));
}

void Mod(OnnxContext& c) {
  bool truncated = c.Int("fmod", 0) != 0;
  c.Out(0, c.b.Binary(truncated ? ExprOp::kRemainder : ExprOp::kFloorMod, c.in(0), c.in(1)));
}

void BitShift(OnnxContext& c) {
  std::string direction = c.Text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("the attribute 'direction' is '{}', LEFT or RIGHT is wanted", direction));
    return;
  }
  c.Out(0, c.b.Binary(direction == "LEFT" ? ExprOp::kShiftLeft : ExprOp::kShiftRight, c.in(0), c.in(1)));
}

template <ExprOp op>
ValueId Fold(OnnxContext& c) {
  ValueId result = c.in(0);
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    if (!c.has(i)) return c.b.Fail(Code::kInvalidArgument, fmt::format("the input {} is missing", i));
    result = c.b.Binary(op, result, c.in(i));
  }
  return result;
}

template <ExprOp op>
void Variadic(OnnxContext& c) {
  c.Out(0, Fold<op>(c));
}

void Mean(OnnxContext& c) {
  ValueId sum = Fold<ExprOp::kAdd>(c);
  c.Out(0, c.b.Div(sum, c.b.Scalar(c.b.dtype(sum), static_cast<double>(c.inputs.size()))));
}

double LargestNumber(DType dtype) {
  if (dtype == DType::kF64) return std::numeric_limits<double>::max();
  if (dtype == DType::kF16) return 65504;
  if (dtype == DType::kBF16) return 0x1.FEp127;
  return std::numeric_limits<float>::max();
}

// Clip bounds are attributes until opset 10 and inputs of one element from opset 11. From opset 6 on, those
// that are absent are the type's largest numbers (until opset 10 those of f32): infinities become them.
void Clip(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId result = c.in(0);
  DType dtype = b.dtype(result);
  auto bound = [&](size_t input, std::string_view attribute) {
    if (c.version >= 11 && c.has(input)) return b.Reshape(c.in(input), {});
    bool is_given = c.version < 11 && c.HasAttribute(attribute);
    if (!is_given && (c.version < 6 || !IsFloat(dtype))) return ValueId();
    double most = LargestNumber(c.version < 11 ? DType::kF32 : dtype);
    return b.Scalar(dtype, c.Float(attribute, attribute == "min" ? -most : most));
  };
  if (ValueId low = bound(1, "min"); low.valid()) result = b.Max(result, low);
  if (ValueId high = bound(2, "max"); high.valid()) result = b.Min(result, high);
  c.Out(0, result);
}

void Where(OnnxContext& c) { c.Out(0, c.b.Where(c.in(0), c.in(1), c.in(2))); }

// Experimental operators of opset 1: alpha * x + beta, scale * x, and scale * x + bias[channel].
void Affine(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(c.in(0));
  c.Out(0, b.Add(b.Mul(c.in(0), b.Scalar(dtype, c.Float("alpha", 1))), b.Scalar(dtype, c.Float("beta", 0))));
}

void Scale(OnnxContext& c) {
  c.Out(0, c.b.Mul(c.in(0), c.b.Scalar(c.b.dtype(c.in(0)), c.Float("scale", 1))));
}

void ImageScaler(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(c.in(0));
  ValueId result = b.Mul(c.in(0), b.Scalar(dtype, c.Float("scale", 1)));
  std::vector<float> bias;
  for (double value : c.Floats("bias")) bias.push_back(static_cast<float>(value));
  if (!bias.empty()) {
    auto data = TensorData::FromVector(DType::kF32, {static_cast<int64_t>(bias.size()), 1, 1}, bias);
    result = b.Add(result, b.Cast(b.Constant(std::move(data)), dtype));
  }
  c.Out(0, result);
}

template <ExprOp op>
constexpr OnnxOp UnaryRow(std::string_view name, int since = 1, DTypeSet types = kFloats) {
  return {"", name, since, kLatest, 1, 1, "", Unary<op>, types};
}

// Of texts their numbers are compared.
void Equal(OnnxContext& c) {
  if (c.b.dtype(c.in(0)) != DType::kString) return Binary<ExprOp::kEqual>(c);
  if (c.b.dtype(c.in(1)) != DType::kString) {
    c.b.Fail(Code::kInvalidArgument, fmt::format("strings and {}", c.b.type(c.in(1)).ToString()));
    return;
  }
  std::vector<ValueId> ids = StringIds(c.b, {c.in(0), c.in(1)});
  c.Out(0, c.b.Binary(ExprOp::kEqual, ids[0], ids.back()));
}

template <ExprOp op>
constexpr OnnxOp BinaryRow(std::string_view name, DTypeSet types = kNumbers) {
  return With(Overlay::kElements, {"", name, 1, kLatest, 2, 2, "axis broadcast", Binary<op>, types});
}

constexpr OnnxOp kRows[] = {
    UnaryRow<ExprOp::kAbs>("Abs", 1, kNumbers),
    UnaryRow<ExprOp::kNegate>("Neg", 1, kNumbers),
    UnaryRow<ExprOp::kCeil>("Ceil"),
    UnaryRow<ExprOp::kFloor>("Floor"),
    UnaryRow<ExprOp::kRound>("Round", 11),
    UnaryRow<ExprOp::kExp>("Exp"),
    UnaryRow<ExprOp::kLog>("Log"),
    UnaryRow<ExprOp::kSqrt>("Sqrt"),
    {"", "Erf", 9, kLatest, 1, 1, "", Erf, kNumbers},
    UnaryRow<ExprOp::kSin>("Sin", 7),
    UnaryRow<ExprOp::kCos>("Cos", 7),
    UnaryRow<ExprOp::kTan>("Tan", 7),
    UnaryRow<ExprOp::kAsin>("Asin", 7),
    UnaryRow<ExprOp::kAcos>("Acos", 7),
    UnaryRow<ExprOp::kAtan>("Atan", 7),
    UnaryRow<ExprOp::kSinh>("Sinh", 9),
    UnaryRow<ExprOp::kCosh>("Cosh", 9),
    UnaryRow<ExprOp::kTanh>("Tanh"),
    UnaryRow<ExprOp::kAsinh>("Asinh", 9),
    UnaryRow<ExprOp::kAcosh>("Acosh", 9),
    UnaryRow<ExprOp::kAtanh>("Atanh", 9),
    UnaryRow<ExprOp::kSigmoid>("Sigmoid"),
    UnaryRow<ExprOp::kNot>("Not", 1, kBools),
    UnaryRow<ExprOp::kNot>("BitwiseNot", 18, kIntegers),
    {"", "IsNaN", 9, kLatest, 1, 1, "", IsNan, kFloats | kFloat8},
    {"", "IsInf", 10, kLatest, 1, 1, "detect_negative detect_positive", IsInf, kFloats | kFloat8},
    {"", "Sign", 9, kLatest, 1, 1, "", Sign, kNumbers},
    {"", "Reciprocal", 1, kLatest, 1, 1, "", Reciprocal, kFloats},
    BinaryRow<ExprOp::kAdd>("Add"),
    BinaryRow<ExprOp::kSub>("Sub"),
    BinaryRow<ExprOp::kMul>("Mul"),
    BinaryRow<ExprOp::kDiv>("Div"),
    BinaryRow<ExprOp::kAnd>("And", kBools),
    BinaryRow<ExprOp::kOr>("Or", kBools),
    BinaryRow<ExprOp::kXor>("Xor", kBools),
    With(Overlay::kElements,
         {"", "Equal", 1, kLatest, 2, 2, "axis broadcast", Equal, kNumbers | kBools | kStrings}),
    BinaryRow<ExprOp::kLess>("Less"),
    With(Overlay::kElements,
         {"", "Greater", 1, kLatest, 2, 2, "axis broadcast", Swapped<ExprOp::kLess>, kNumbers}),
    With(Overlay::kElements,
         {"", "LessOrEqual", 12, kLatest, 2, 2, "", Binary<ExprOp::kLessEqual>, kNumbers}),
    With(Overlay::kElements,
         {"", "GreaterOrEqual", 12, kLatest, 2, 2, "", Swapped<ExprOp::kLessEqual>, kNumbers}),
    With(Overlay::kElements, {"", "BitwiseAnd", 18, kLatest, 2, 2, "", Binary<ExprOp::kAnd>, kIntegers}),
    With(Overlay::kElements, {"", "BitwiseOr", 18, kLatest, 2, 2, "", Binary<ExprOp::kOr>, kIntegers}),
    With(Overlay::kElements, {"", "BitwiseXor", 18, kLatest, 2, 2, "", Binary<ExprOp::kXor>, kIntegers}),
    With(Overlay::kElements, {"", "BitShift", 11, kLatest, 2, 2, "direction", BitShift, kIntegers}),
    With(Overlay::kElements, {"", "Pow", 1, kLatest, 2, 2, "axis broadcast", Pow, kNumbers}),
    With(Overlay::kElements, {"", "Mod", 10, kLatest, 2, 2, "fmod", Mod, kNumbers}),
    With(Overlay::kElements, {"", "Sum", 1, kLatest, 1, -1, "", Variadic<ExprOp::kAdd>, kNumbers}),
    With(Overlay::kElements, {"", "Max", 1, kLatest, 1, -1, "", Variadic<ExprOp::kMax>, kNumbers}),
    With(Overlay::kElements, {"", "Min", 1, kLatest, 1, -1, "", Variadic<ExprOp::kMin>, kNumbers}),
    With(Overlay::kElements, {"", "Mean", 1, kLatest, 1, -1, "", Mean, kNumbers}),
    {"", "Clip", 1, 10, 1, 1, "min max", Clip, kNumbers},
    {"", "Clip", 11, kLatest, 1, 3, "", Clip, kNumbers},
    With(Overlay::kElements,
         {"", "Where", 9, kLatest, 3, 3, "", Where, OfInput(1, kAllTypes), StringUse::kMoved}),
    {"", "Affine", 1, 9, 1, 1, "alpha beta", Affine, kFloats},
    {"", "Scale", 1, 9, 1, 1, "scale", Scale, kFloats},
    {"", "ImageScaler", 1, 9, 1, 1, "scale bias", ImageScaler, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxElementwiseRows() { return kRows; }

}  // namespace tvmvm::ir
