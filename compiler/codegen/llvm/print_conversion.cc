#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/codegen/llvm/kernel_printer.h"

namespace tvmvm::codegen {

llvm::Type* KernelPrinter::ScalarType(DType dtype) const {
  llvm::LLVMContext& c = context_;
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return llvm::Type::getFloatTy(c);
    case DType::kF64:
      return llvm::Type::getDoubleTy(c);
    case DType::kBool:
      return llvm::Type::getInt1Ty(c);
    default:
      return llvm::Type::getIntNTy(c, static_cast<unsigned>(std::max(8, DTypeBits(dtype))));
  }
}

llvm::Type* KernelPrinter::MemoryType(DType dtype) const {
  switch (dtype) {
    case DType::kF16:
      return llvm::Type::getHalfTy(context_);
    case DType::kBF16:
      return llvm::Type::getInt16Ty(context_);
    case DType::kBool:
      return llvm::Type::getInt8Ty(context_);
    default:
      return ScalarType(dtype);
  }
}

llvm::Type* KernelPrinter::WithLanes(llvm::Type* scalar, int lanes) const {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

llvm::Type* KernelPrinter::ValueType(DType dtype, int lanes) const {
  return WithLanes(ScalarType(dtype), lanes);
}

int KernelPrinter::LanesOf(const Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

llvm::Value* KernelPrinter::Splat(Value* scalar, int lanes) {
  return lanes == 1 ? scalar : builder_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

llvm::Value* KernelPrinter::Integer(llvm::Type* type, int64_t value) const {
  return llvm::ConstantInt::getSigned(type, value);
}

llvm::Value* KernelPrinter::Iota(llvm::Type* element, int lanes) const {
  std::vector<llvm::Constant*> elements;
  for (int i = 0; i < lanes; ++i)
    elements.push_back(llvm::ConstantInt::get(element, static_cast<uint64_t>(i)));
  return llvm::ConstantVector::get(elements);
}

llvm::Value* KernelPrinter::Intrinsic(llvm::Intrinsic::ID id, Value* a) {
  return builder_.CreateUnaryIntrinsic(id, a);
}

namespace {

// Behind the fence, comparisons stay those of f32: of f16 they would be made lane by lane.
llvm::Value* Widened(llvm::IRBuilderBase& builder, llvm::Value* half, llvm::Type* wide) {
  return builder.CreateArithmeticFence(builder.CreateFPExt(half, wide), wide);
}

// The f16 numbers that `value` was made of by widening alone; null: it was not.
llvm::Value* NarrowOf(llvm::Value* value) {
  auto* fence = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  if (fence == nullptr || fence->getIntrinsicID() != llvm::Intrinsic::arithmetic_fence) return nullptr;
  auto* widened = llvm::dyn_cast<llvm::FPExtInst>(fence->getArgOperand(0));
  return widened != nullptr && widened->getSrcTy()->getScalarType()->isHalfTy() ? widened->getOperand(0)
                                                                                : nullptr;
}

}  // namespace

llvm::Value* KernelPrinter::ToMemory(DType dtype, Value* value) {
  int lanes = LanesOf(value);
  switch (dtype) {
    case DType::kF16:
      if (Value* half = NarrowOf(value)) return half;
      return builder_.CreateFPTrunc(value, WithLanes(builder_.getHalfTy(), lanes));
    case DType::kBF16: {
      Value* bits = builder_.CreateBitCast(value, WithLanes(builder_.getInt32Ty(), lanes));
      return builder_.CreateTrunc(builder_.CreateLShr(bits, 16), WithLanes(builder_.getInt16Ty(), lanes));
    }
    case DType::kBool:
      return builder_.CreateZExt(value, WithLanes(builder_.getInt8Ty(), lanes));
    default:
      return value;
  }
}

llvm::Value* KernelPrinter::FromMemory(DType dtype, Value* value) {
  int lanes = LanesOf(value);
  switch (dtype) {
    case DType::kF16:
      return Widened(builder_, value, WithLanes(builder_.getFloatTy(), lanes));
    case DType::kBF16: {
      Value* bits = builder_.CreateZExt(value, WithLanes(builder_.getInt32Ty(), lanes));
      return builder_.CreateBitCast(builder_.CreateShl(bits, 16), WithLanes(builder_.getFloatTy(), lanes));
    }
    case DType::kBool:
      return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
    default:
      return value;
  }
}

llvm::Value* KernelPrinter::RoundTo(DType dtype, Value* f32) {
  if (dtype == DType::kF16) return FromMemory(dtype, ToMemory(dtype, f32));
  if (dtype != DType::kBF16) return f32;
  llvm::Type* i32 = WithLanes(builder_.getInt32Ty(), LanesOf(f32));
  Value* bits = builder_.CreateBitCast(f32, i32);
  Value* is_odd = builder_.CreateAnd(builder_.CreateLShr(bits, 16), Integer(i32, 1));
  Value* rounded = builder_.CreateAdd(builder_.CreateAdd(bits, Integer(i32, 0x7fff)), is_odd);
  Value* quiet = builder_.CreateOr(bits, Integer(i32, 0x400000));
  Value* is_nan = builder_.CreateFCmpUNO(f32, f32);
  Value* chosen = builder_.CreateSelect(is_nan, quiet, rounded);
  return builder_.CreateBitCast(builder_.CreateAnd(chosen, Integer(i32, static_cast<int32_t>(0xffff0000))),
                                f32->getType());
}

llvm::Value* KernelPrinter::WrapTo(DType dtype, Value* i8) {
  if (!IsSubByte(dtype)) return i8;
  llvm::Type* type = i8->getType();
  Value* spare = Integer(type, 8 - DTypeBits(dtype));
  Value* high = builder_.CreateShl(i8, spare);
  return IsSignedInteger(dtype) ? builder_.CreateAShr(high, spare) : builder_.CreateLShr(high, spare);
}

namespace {

using tensor::Expr;
using tensor::ExprOp;

std::optional<double> ConstantOf(const Expr& e) {
  const Expr one = e.op() == ExprOp::kBroadcast ? e->operands[0] : e;
  return tensor::IsConstant(one) && IsFloat(one.dtype()) ? std::optional(one->number) : std::nullopt;
}

// A number that minima and maxima with constants keep within [low, high]: all that it is but for NaN.
struct Clamped {
  Expr number;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

Clamped ClampOf(const Expr& e) {
  const bool is_min = e.op() == ExprOp::kMin;
  if (!is_min && e.op() != ExprOp::kMax) return {.number = e};
  for (int side = 0; side < 2; ++side) {
    const std::optional<double> bound = ConstantOf(e->operands[side]);
    if (!bound) continue;
    Clamped clamped = ClampOf(e->operands[1 - side]);
    for (double* end : {&clamped.low, &clamped.high})
      *end = is_min ? std::min(*end, *bound) : std::max(*end, *bound);
    return clamped;
  }
  return {.number = e};
}

}  // namespace

// An f32 that is rounded, perhaps counted from a zero point, and clamped to what the type holds, as quantized
// numbers are: beside 1.5 * 2^23 the low bits of an f32 count ones. Null where `e` is something else.
llvm::Value* KernelPrinter::EmitQuantized(DType to, const Expr& e) {
  const int bits = DTypeBits(to);
  const bool is_signed = IsSignedInteger(to);
  Clamped clamped = ClampOf(e);
  const double least = is_signed ? -std::ldexp(1.0, bits - 1) : 0;
  if (e.dtype() != DType::kF32 || (bits != 8 && bits != 16) || clamped.low < least ||
      clamped.high > least + std::ldexp(1.0, bits) - 1 || clamped.low > clamped.high)
    return nullptr;
  double zero = 0;
  for (int side = 0; side < 2 && clamped.number.op() == ExprOp::kAdd; ++side) {
    const std::optional<double> added = ConstantOf(clamped.number->operands[side]);
    if (!added || std::trunc(*added) != *added || std::abs(*added) > 65535) continue;
    zero = *added;
    clamped.number = clamped.number->operands[1 - side];
    break;
  }
  if (clamped.number.op() != ExprOp::kRound) return nullptr;
  Value* x = Emit(clamped.number->operands[0]);
  auto number = [&](double value) { return llvm::ConstantFP::get(x->getType(), value); };
  Value *low = number(clamped.low - zero), *high = number(clamped.high - zero);
  Value* within = builder_.CreateSelect(builder_.CreateFCmpOGT(x, low), x, low);  // NaN: low
  if (e.lanes() > 1 && clamped.low == 0 && clamped.high == std::ldexp(1.0, bits) - 1) {
    // Narrowing saturates: the upper bound costs no instruction. What is too large for an i32 becomes 2^31.
    llvm::Type* wide = WithLanes(builder_.getInt32Ty(), e.lanes());
    Value* whole = builder_.CreateIntrinsic(llvm::Intrinsic::lrint, {wide, x->getType()}, {within});
    if (zero != 0) whole = builder_.CreateAdd(whole, Integer(wide, static_cast<int64_t>(zero)));
    Value* most = Integer(wide, static_cast<int64_t>(clamped.high));
    return builder_.CreateTrunc(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, whole, most),
                                ValueType(to, e.lanes()));
  }
  within = builder_.CreateSelect(builder_.CreateFCmpOLT(within, high), within, high);
  constexpr double kBeside = 12582912;
  Value* beside = builder_.CreateBitCast(builder_.CreateFAdd(within, number(kBeside)),
                                         WithLanes(builder_.getInt32Ty(), e.lanes()));
  Value* whole = builder_.CreateTrunc(beside, ValueType(to, e.lanes()));
  if (zero != 0) whole = builder_.CreateAdd(whole, Integer(whole->getType(), static_cast<int64_t>(zero)));
  if (clamped.low == 0) return whole;
  return builder_.CreateSelect(builder_.CreateFCmpUNO(x, x), llvm::Constant::getNullValue(whole->getType()),
                               whole);
}

// Truncates and saturates; NaN gives 0. Spelled out, as vectors of llvm.fptosi.sat are converted lane by
// lane.
llvm::Value* KernelPrinter::ToInteger(DType to, const tensor::Expr& e, Value* a) {
  int bits = DTypeBits(to);
  bool is_signed = IsSignedInteger(to);
  auto number = [&](double value) { return llvm::ConstantFP::get(a->getType(), value); };
  const double least = is_signed ? -std::ldexp(1.0, bits - 1) : 0;
  const double limit = std::ldexp(1.0, is_signed ? bits - 1 : bits);  // the first number that does not fit
  Value *low = number(least), *zero = number(0);
  Value* is_nan = builder_.CreateFCmpUNO(a, a);
  auto narrow = [&](Value* fitting) {
    return builder_.CreateTrunc(builder_.CreateFPToSI(fitting, WithLanes(builder_.getInt32Ty(), LanesOf(a))),
                                ValueType(to, LanesOf(a)));
  };
  if (const Clamped clamped = ClampOf(e); bits <= 16 && least <= clamped.low && clamped.high <= limit - 1) {
    Value* whole = narrow(a);
    return builder_.CreateSelect(is_nan, llvm::Constant::getNullValue(whole->getType()), whole);
  }
  Value* value = builder_.CreateSelect(is_nan, zero, a);
  value = builder_.CreateSelect(builder_.CreateFCmpOLT(value, low), low, value);
  if (bits <= 16) {
    Value* high = number(limit - 1);
    return narrow(builder_.CreateSelect(builder_.CreateFCmpOGT(value, high), high, value));
  }
  // The largest number of the type is no float: it is chosen afterwards.
  llvm::Type* type = ValueType(to, LanesOf(a));
  Value* is_over = builder_.CreateFCmpOGE(value, number(limit));
  value = builder_.CreateSelect(is_over, zero, value);
  Value* whole = is_signed ? builder_.CreateFPToSI(value, type) : builder_.CreateFPToUI(value, type);
  llvm::APInt most = is_signed ? llvm::APInt::getSignedMaxValue(static_cast<unsigned>(bits))
                               : llvm::APInt::getMaxValue(static_cast<unsigned>(bits));
  return builder_.CreateSelect(is_over, llvm::ConstantInt::get(type, most), whole);
}

llvm::Value* KernelPrinter::EmitCast(const Expr& e) {
  DType from = e->operands[0].dtype(), to = e.dtype();
  if (IsInteger(to))
    if (Value* quantized = EmitQuantized(to, e->operands[0])) return quantized;
  Value* a = Emit(e->operands[0]);
  llvm::Type* type = ValueType(to, e.lanes());
  if (IsFloat(from) && IsFloat(to)) {
    bool supported =
        DTypeBits(from) >= 16 && DTypeBits(to) >= 16 && !(from == DType::kF64 && DTypeBits(to) == 16);
    if (!supported) return Defect(e, "was not expanded");
    return RoundTo(to, builder_.CreateFPCast(a, type));
  }
  if (IsComplex(from) || IsComplex(to)) return Defect(e, "converts complex numbers");
  if (IsFloat(from)) {
    if (DTypeBits(from) < 16) return Defect(e, "was not expanded");
    if (to == DType::kBool) return builder_.CreateFCmpUNE(a, llvm::Constant::getNullValue(a->getType()));
    return ToInteger(to, e->operands[0], a);
  }
  bool from_signed = IsSignedInteger(from);
  if (IsFloat(to)) {
    if (DTypeBits(to) < 16) return Defect(e, "was not expanded");
    return RoundTo(to, from_signed ? builder_.CreateSIToFP(a, type) : builder_.CreateUIToFP(a, type));
  }
  if (to == DType::kBool) return builder_.CreateICmpNE(a, llvm::Constant::getNullValue(a->getType()));
  return WrapTo(to, builder_.CreateIntCast(a, type, from_signed));
}

llvm::Value* KernelPrinter::EmitBitcast(const Expr& e) {
  DType from = e->operands[0].dtype(), to = e.dtype();
  Value* bits = ToMemory(from, Emit(e->operands[0]));
  if (IsSubByte(to)) {  // f4, i4 and u4 differ in how the byte that holds them is extended
    return WrapTo(to == DType::kF4E2M1 ? DType::kU4 : to, bits);
  }
  return FromMemory(to, builder_.CreateBitCast(bits, WithLanes(MemoryType(to), e.lanes())));
}

}  // namespace tvmvm::codegen
