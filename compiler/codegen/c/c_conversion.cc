#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "compiler/codegen/c/c_printer.h"

namespace tvmvm::codegen {
namespace {

bool IsSigned(DType dtype) { return IsSignedInteger(dtype); }

// Whether every number of one integer type is one of the other.
bool Fits(DType from, DType to) {
  if (from == DType::kBool) return true;
  int spare = DTypeBits(to) - DTypeBits(from);
  if (IsSigned(from) == IsSigned(to)) return spare >= 0;
  return !IsSigned(from) && spare > 0;
}

}  // namespace

const char* CPrinter::RegisterType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kBool:
      return "bool";
    case DType::kI64:
      return "i64";
    case DType::kU64:
    case DType::kC64:
      return "u64";
    case DType::kC128:
      return "c128";
    default:
      return IsSigned(dtype) ? "i32" : "u32";
  }
}

const char* CPrinter::MemoryType(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kU16:
      return "u16";
    case DType::kI16:
      return "i16";
    case DType::kI8:
      return "i8";
    default:
      return DTypeBits(dtype) <= 8 ? "u8" : RegisterType(dtype);
  }
}

CPrinter::Text CPrinter::Zero(DType dtype) {
  std::string_view type = RegisterType(dtype);
  if (type == "bool") return "false";
  if (type == "c128") return "make_c128(0ul, 0ul)";
  if (type == "f32") return "0.0f";
  return type == "i64"   ? "0l"
         : type == "u64" ? "0ul"
         : type == "u32" ? "0u"
         : type == "i32" ? "0"
                         : "to_f64(0)";
}

CPrinter::Text CPrinter::RoundTo(DType dtype, const Text& f32) {
  if (dtype == DType::kF16) return Call("round_f16", {f32});
  return dtype == DType::kBF16 ? Call("round_bf16", {f32}) : f32;
}

// From a 32-bit register to what the type holds.
CPrinter::Text CPrinter::WrapTo(DType dtype, const Text& number) {
  if (!IsInteger(dtype) || DTypeBits(dtype) >= 32) return number;
  if (IsSigned(dtype)) return Call(fmt::format("wrap_{}", DTypeName(dtype)), {number});
  return fmt::format("({} & {:#x}u)", number, (1u << DTypeBits(dtype)) - 1);
}

CPrinter::Text CPrinter::Cast(DType from, DType to, const Text& a) {
  Text from_type = RegisterType(from), to_type = RegisterType(to);
  auto fail = [&](const char* why) {
    if (status_)
      status_ = MakeError(Code::kUnsupported, fmt::format("kernel '{}': a cast of {} to {} {}", kernel_.name,
                                                          DTypeName(from), DTypeName(to), why));
    return Zero(to);
  };
  if (IsComplex(from) || IsComplex(to)) return from == to ? a : fail("converts complex numbers");
  bool is_tiny = (IsFloat(from) && DTypeBits(from) < 16) || (IsFloat(to) && DTypeBits(to) < 16);
  if (is_tiny) return from == to ? a : fail("was not expanded");
  if (to == DType::kBool) return from == to ? a : fmt::format("({} != {})", a, Zero(from));
  if (IsFloat(to)) {
    Text number = from_type == to_type ? a : fmt::format("to_{}({})", to_type, a);
    bool is_exact = from == to || (IsFloat(from) && DTypeBits(to) >= 32) || to == DType::kF32;
    return is_exact ? number : RoundTo(to, number);
  }
  if (IsFloat(from)) {
    int bits = DTypeBits(to);
    if (bits >= 32) return Call(fmt::format("{}_to_{}", from_type, to_type), {a});
    double limit = std::ldexp(1.0, IsSigned(to) ? bits - 1 : bits);
    DType number = from == DType::kF64 ? from : DType::kF32;
    Text whole = Call(fmt::format("saturate_{}", from_type),
                      {a, FloatText(number, IsSigned(to) ? -limit : 0), FloatText(number, limit - 1)});
    return IsSigned(to) ? whole : fmt::format("to_u32({})", whole);
  }
  if (to == DType::kI64 && from != to && IsSigned(from)) return Call("widen_i32", {a});
  Text number = from_type == to_type ? a : fmt::format("to_{}({})", to_type, a);
  return Fits(from, to) ? number : WrapTo(to, number);
}

// The bits of a value as an unsigned number of at least 32 bits.
CPrinter::Text CPrinter::ToBits(DType dtype, const Text& value) {
  switch (dtype) {
    case DType::kF32:
      return fmt::format("as_u32({})", value);
    case DType::kF64:
      return fmt::format("as_u64({})", value);
    case DType::kF16:
      return Call("encode_f16", {value});
    case DType::kBF16:
      return fmt::format("(as_u32({}) >> 16)", value);
    case DType::kBool:
      return fmt::format("to_u32({})", value);
    case DType::kI64:
      return fmt::format("to_u64({})", value);
    default:
      break;
  }
  if (!IsSigned(dtype)) return value;
  if (dtype == DType::kI32) return fmt::format("to_u32({})", value);
  return fmt::format("(to_u32({}) & {:#x}u)", value, (1u << DTypeBits(dtype)) - 1);
}

CPrinter::Text CPrinter::FromBits(DType dtype, const Text& bits) {
  switch (dtype) {
    case DType::kF32:
      return fmt::format("as_f32({})", bits);
    case DType::kF64:
      return fmt::format("as_f64({})", bits);
    case DType::kF16:
      return Call("decode_f16", {bits});
    case DType::kBF16:
      return fmt::format("as_f32({} << 16)", bits);
    case DType::kBool:
      return fmt::format("({} != 0u)", bits);
    case DType::kI64:
      return fmt::format("to_i64({})", bits);
    default:
      break;
  }
  return IsSigned(dtype) ? WrapTo(dtype, fmt::format("to_i32({})", bits)) : bits;
}

CPrinter::Text CPrinter::Bitcast(DType from, DType to, const Text& a) {
  return from == to ? a : FromBits(to, ToBits(from, a));
}

CPrinter::Text CPrinter::ToMemory(DType dtype, const Text& value) {
  Text type = MemoryType(dtype);
  if (type == RegisterType(dtype)) return value;
  if (IsFloat(dtype) && DTypeBits(dtype) == 16) return fmt::format("to_u16({})", ToBits(dtype, value));
  return fmt::format("to_{}({})", type, dtype == DType::kBool ? fmt::format("to_u32({})", value) : value);
}

CPrinter::Text CPrinter::FromMemory(DType dtype, const Text& value) {
  Text type = RegisterType(dtype);
  if (type == MemoryType(dtype)) return value;
  if (IsFloat(dtype) && DTypeBits(dtype) == 16) return FromBits(dtype, fmt::format("to_u32({})", value));
  if (dtype == DType::kBool) return fmt::format("(to_u32({}) != 0u)", value);
  return fmt::format("to_{}({})", type, value);
}

}  // namespace tvmvm::codegen
