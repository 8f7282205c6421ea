// Conversions between element types.
#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

// Numbers rounded to powers of two, 2^-127 and 0 below: f8e8m0 holds them as they are. What is half way
// between two is rounded up.
ValueId PowerOfTwo(OnnxContext& c, ValueId x, const std::string& rounding) {
  OpBuilder& b = c.b;
  if (rounding != "down" && rounding != "nearest")
    return b.Fail(Code::kInvalidArgument,
                  fmt::format("round_mode '{}'; up, down and nearest are known", rounding));
  x = b.Cast(x, DType::kF32);
  auto word = [&](int64_t bits) { return b.ScalarInt(DType::kU32, bits); };
  ValueId bits = b.Emit("bitcast", {x}, {{"to", DType::kU32}});
  ValueId is_least = b.Binary(tensor::ExprOp::kLess, bits, word(0x800000));  // below 2^-126
  if (rounding == "nearest") bits = b.Add(bits, b.Where(is_least, word(0x200000), word(0x400000)));
  bits = b.Binary(tensor::ExprOp::kAnd, bits, b.Where(is_least, word(0xffc00000), word(0xff800000)));
  ValueId number = b.Emit("bitcast", {bits}, {{"to", DType::kF32}});
  return b.Where(b.Unary(tensor::ExprOp::kIsNan, x), x, number);
}

void CastTo(OnnxContext& c, DType to) {
  OpBuilder& b = c.b;
  DType from = b.dtype(c.in(0));
  if (from != to && (from == DType::kString || to == DType::kString)) {
    Type type = Type::Tensor(to, b.dims(c.in(0)));
    bool to_text = to == DType::kString;
    Dims scalars = to_text ? Dims() : Dims{static_cast<int64_t>(to)};
    return c.Out(0, b.Host(to_text ? HostFunctionId::kStringFromNumbers : HostFunctionId::kStringToNumbers,
                           {c.in(0)}, {type}, scalars)[0]);
  }
  ValueId x = c.in(0);
  std::string rounding = c.Text("round_mode", "up");
  if (to == DType::kF8E8M0 && rounding != "up" && IsFloat(from)) x = PowerOfTwo(c, x, rounding);
  // Where there is no NaN the reference gives -0. Kernels ask for NaN in f32 where the type is a small one.
  if (kFloatsWithoutNan.contains(to) && from != to && IsFloat(from)) {
    if (DTypeBits(from) <= 8) x = b.Cast(x, DType::kF32);
    x = b.Where(b.Unary(tensor::ExprOp::kIsNan, x), b.Scalar(b.dtype(x), -0.0), x);
  }
  if (IsInteger(to) && IsFloat(from)) return c.Out(0, b.CastWrapping(x, to));
  c.Out(0, b.Cast(x, to, c.Int("saturate", 1) != 0));
}

// The names that opset 1 to 5 used.
std::optional<DType> DTypeFromText(std::string_view name) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"FLOAT", DType::kF32},   {"UINT8", DType::kU8},      {"INT8", DType::kI8},
      {"UINT16", DType::kU16},  {"INT16", DType::kI16},     {"INT32", DType::kI32},
      {"INT64", DType::kI64},   {"STRING", DType::kString}, {"BOOL", DType::kBool},
      {"FLOAT16", DType::kF16}, {"DOUBLE", DType::kF64},    {"UINT32", DType::kU32},
      {"UINT64", DType::kU64},  {"COMPLEX64", DType::kC64}, {"COMPLEX128", DType::kC128},
  };
  for (const auto& [text, dtype] : kNames) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

std::optional<DType> TargetType(OnnxContext& c) {
  const OnnxAttribute* to = c.Attr("to");
  if (to == nullptr) {
    c.b.Fail(Code::kInvalidArgument, "the attribute 'to' is missing");
    return std::nullopt;
  }
  auto dtype = to->kind == OnnxAttribute::Kind::kString ? DTypeFromText(to->text)
                                                        : DTypeFromOnnx(static_cast<int32_t>(to->integer));
  if (!dtype.has_value() || *dtype == DType::kInvalid) {
    c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'to' is {}, which is no element type",
                                                 to->text.empty() ? std::to_string(to->integer) : to->text));
    return std::nullopt;
  }
  return dtype;
}

void Cast(OnnxContext& c) {
  if (auto to = TargetType(c)) CastTo(c, *to);
}

void CastLike(OnnxContext& c) { CastTo(c, c.b.dtype(c.in(1))); }

void BitCast(OnnxContext& c) {
  auto to = TargetType(c);
  if (!to.has_value()) return;
  DType from = c.b.dtype(c.in(0));
  if (DTypeBits(from) != DTypeBits(*to) || DTypeBits(from) == 0) {
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("{} and {} differ in size", DTypeName(from), DTypeName(*to)));
    return;
  }
  c.Out(0, from == *to ? c.in(0) : c.b.Emit("bitcast", {c.in(0)}, {{"to", *to}}));
}

constexpr OnnxOp kRows[] = {
    {"", "Cast", 1, kLatest, 1, 1, "to saturate round_mode", Cast, (kAllTypes - kComplex) | kFloat6},
    {"", "CastLike", 15, kLatest, 2, 2, "saturate round_mode", CastLike, (kAllTypes - kComplex) | kFloat6},
    {"", "BitCast", 26, kLatest, 1, 1, "to", BitCast, kAllTypes - kStrings},
};

}  // namespace

std::span<const OnnxOp> OnnxCastRows() { return kRows; }

}  // namespace tvmvm::ir
