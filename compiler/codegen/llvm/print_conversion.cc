#include <llvm/IR/IntrinsicInst.h>

#include <cmath>

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

// Truncates and saturates; NaN gives 0. Spelled out, as vectors of llvm.fptosi.sat are converted lane by
// lane.
llvm::Value* KernelPrinter::ToInteger(DType to, Value* a) {
  int bits = DTypeBits(to);
  bool is_signed = IsSignedInteger(to);
  auto number = [&](double value) { return llvm::ConstantFP::get(a->getType(), value); };
  Value *low = number(is_signed ? -std::ldexp(1.0, bits - 1) : 0), *zero = number(0);
  Value* value = builder_.CreateSelect(builder_.CreateFCmpUNO(a, a), zero, a);
  value = builder_.CreateSelect(builder_.CreateFCmpOLT(value, low), low, value);
  double limit = std::ldexp(1.0, is_signed ? bits - 1 : bits);  // the first number that does not fit
  if (bits <= 16) {
    Value* high = number(limit - 1);
    value = builder_.CreateSelect(builder_.CreateFCmpOGT(value, high), high, value);
    return builder_.CreateTrunc(builder_.CreateFPToSI(value, WithLanes(builder_.getInt32Ty(), LanesOf(a))),
                                ValueType(to, LanesOf(a)));
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
    return ToInteger(to, a);
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
