// Division of integers. Machines divide vectors of floats only: what floats hold exactly goes there.
#include "compiler/codegen/llvm/kernel_printer.h"

namespace tvmvm::codegen {
namespace {

using Value = llvm::Value;

bool IsPowerOfTwo(const llvm::Value* value) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (!constant) return false;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
  return integer && integer->getValue().isStrictlyPositive() && integer->getValue().isPowerOf2();
}

// A nonzero constant other than -1: division by it can neither trap nor overflow.
bool IsSafeDivisor(const llvm::Value* value) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (!constant) return false;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
  return integer && !integer->isZero() && !integer->isMinusOne();
}

// Numbers of less than 2^51 beside 1.5 * 2^52 fill the last bits of an f64.
constexpr double kBeside = 0x1.8p52;
constexpr int64_t kBesideBits = 0x4338000000000000;
constexpr int64_t kExact = int64_t{1} << 51;

}  // namespace

llvm::Value* KernelPrinter::EmitDivisionByPowerOfTwo(ExprOp op, DType dtype, Value* a, Value* b) {
  Value* low_bits = builder_.CreateSub(b, Integer(b->getType(), 1));
  if (op == ExprOp::kFloorMod || op == ExprOp::kRemainder) return builder_.CreateAnd(a, low_bits);
  Value* shift = Intrinsic(llvm::Intrinsic::ctpop, low_bits);
  return IsSignedInteger(dtype) ? builder_.CreateAShr(a, shift) : builder_.CreateLShr(a, shift);
}

// Both arms of a select are computed, so no division may trap: a divisor of 0 or -1 is replaced beforehand.
// The result for 0 is unspecified, for -1 it is the wrapped negation.
llvm::Value* KernelPrinter::EmitDivision(ExprOp op, DType dtype, Value* a, Value* b) {
  bool is_signed = IsSignedInteger(dtype), floors = op == ExprOp::kFloorDiv || op == ExprOp::kFloorMod;
  if ((floors || !is_signed) && IsPowerOfTwo(b)) return EmitDivisionByPowerOfTwo(op, dtype, a, b);
  // Vectors of short numbers are divided by constants as fast as by anything.
  const bool is_fast = llvm::isa<llvm::Constant>(b) && DTypeBits(dtype) <= 32;
  if (LanesOf(a) > 1 && !IsSubByte(dtype) && !is_fast) return EmitVectorDivision(op, dtype, a, b);
  return EmitWholeDivision(op, dtype, a, b);
}

llvm::Value* KernelPrinter::EmitWholeDivision(ExprOp op, DType dtype, Value* a, Value* b) {
  bool is_signed = IsSignedInteger(dtype), floors = op == ExprOp::kFloorDiv || op == ExprOp::kFloorMod;
  bool gives_quotient = op == ExprOp::kDiv || op == ExprOp::kFloorDiv;
  llvm::Type* type = a->getType();
  Value *zero = Integer(type, 0), *one = Integer(type, 1);
  if (!is_signed) {
    Value* divisor = IsSafeDivisor(b) ? b : builder_.CreateSelect(builder_.CreateICmpEQ(b, zero), one, b);
    return gives_quotient ? builder_.CreateUDiv(a, divisor) : builder_.CreateURem(a, divisor);
  }
  Value *divisor = b, *is_minus_one = nullptr;
  if (!IsSafeDivisor(b)) {
    is_minus_one = builder_.CreateICmpEQ(b, Integer(type, -1));
    divisor = builder_.CreateSelect(builder_.CreateOr(is_minus_one, builder_.CreateICmpEQ(b, zero)), one, b);
  }
  Value* quotient = builder_.CreateSDiv(a, divisor);
  Value* remainder = builder_.CreateSub(a, builder_.CreateMul(quotient, divisor));
  if (is_minus_one) quotient = builder_.CreateSelect(is_minus_one, builder_.CreateNeg(a), quotient);
  if (!floors) return gives_quotient ? quotient : remainder;
  Value* signs_differ = builder_.CreateICmpSLT(builder_.CreateXor(remainder, divisor), zero);
  Value* adjust = builder_.CreateAnd(signs_differ, builder_.CreateICmpNE(remainder, zero));
  if (gives_quotient) return builder_.CreateAdd(quotient, builder_.CreateSExt(adjust, type));
  return builder_.CreateSelect(adjust, builder_.CreateAdd(remainder, divisor), remainder);
}

// Of numbers below 2^53 the truncated quotient of floats is that of the integers: what lies below a whole
// number does so by more than rounding moves it. 64-bit numbers are looked at first.
llvm::Value* KernelPrinter::EmitVectorDivision(ExprOp op, DType dtype, Value* a, Value* b) {
  llvm::Type* type = a->getType();
  if (!IsSafeDivisor(b))
    b = builder_.CreateSelect(builder_.CreateICmpEQ(b, Integer(type, 0)), Integer(type, 1), b);
  if (DTypeBits(dtype) < 64) return EmitFloatDivision(op, dtype, a, b);
  Value *together = nullptr, *limit = Integer(type, kExact);
  if (IsSignedInteger(dtype)) {
    together = builder_.CreateOr(builder_.CreateAdd(a, limit), builder_.CreateAdd(b, limit));
    limit = Integer(type, 2 * kExact);
  } else {
    together = builder_.CreateOr(a, b);
  }
  Value* fits = builder_.CreateAndReduce(builder_.CreateICmpULT(together, limit));
  llvm::BasicBlock *exact = NewBlock("exact"), *whole = NewBlock("whole"), *divided = NewBlock("divided");
  builder_.CreateCondBr(fits, exact, whole);
  builder_.SetInsertPoint(exact);
  Value* by_floats = EmitFloatDivision(op, dtype, a, b);
  exact = builder_.GetInsertBlock();
  builder_.CreateBr(divided);
  builder_.SetInsertPoint(whole);
  Value* by_integers = EmitWholeDivision(op, dtype, a, b);
  whole = builder_.GetInsertBlock();
  builder_.CreateBr(divided);
  builder_.SetInsertPoint(divided);
  llvm::PHINode* result = builder_.CreatePHI(type, 2);
  result->addIncoming(by_floats, exact);
  result->addIncoming(by_integers, whole);
  return result;
}

llvm::Value* KernelPrinter::EmitFloatDivision(ExprOp op, DType dtype, Value* a, Value* b) {
  const int lanes = LanesOf(a), bits = DTypeBits(dtype);
  const bool is_signed = IsSignedInteger(dtype), is_short = bits <= 16;
  llvm::Type* i64 = WithLanes(builder_.getInt64Ty(), lanes);
  llvm::Type* type = WithLanes(is_short ? builder_.getFloatTy() : builder_.getDoubleTy(), lanes);
  Value* beside = llvm::ConstantFP::get(type, kBeside);
  auto number = [&](Value* integer) {
    if (is_short || (bits == 32 && is_signed))
      return is_signed ? builder_.CreateSIToFP(integer, type) : builder_.CreateUIToFP(integer, type);
    Value* sum =
        builder_.CreateAdd(builder_.CreateIntCast(integer, i64, is_signed), Integer(i64, kBesideBits));
    return builder_.CreateFSub(builder_.CreateBitCast(sum, type), beside);
  };
  auto integer = [&](Value* number) {
    if (is_short)
      return builder_.CreateTrunc(builder_.CreateFPToSI(number, WithLanes(builder_.getInt32Ty(), lanes)),
                                  a->getType());
    Value* sum = builder_.CreateBitCast(builder_.CreateFAdd(number, beside), i64);
    return builder_.CreateTrunc(builder_.CreateSub(sum, Integer(i64, kBesideBits)), a->getType());
  };
  Value *dividend = number(a), *divisor = number(b);
  Value* quotient = Intrinsic(llvm::Intrinsic::trunc, builder_.CreateFDiv(dividend, divisor));
  if (op == ExprOp::kDiv) return integer(quotient);
  Value* rest = builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type},
                                         {builder_.CreateFNeg(quotient), divisor, dividend});
  if (op == ExprOp::kRemainder) return integer(rest);
  // Rounding down differs where something is left that has another sign than the divisor.
  Value* zero = llvm::ConstantFP::get(type, 0);
  Value* differs = builder_.CreateFCmpOLT(builder_.CreateFMul(rest, divisor), zero);
  if (op == ExprOp::kFloorMod)
    return integer(builder_.CreateFAdd(rest, builder_.CreateSelect(differs, divisor, zero)));
  Value* one = llvm::ConstantFP::get(type, 1);
  return integer(builder_.CreateFSub(quotient, builder_.CreateSelect(differs, one, zero)));
}

}  // namespace tvmvm::codegen
