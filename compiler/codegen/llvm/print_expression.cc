#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>

#include "compiler/codegen/llvm/kernel_printer.h"
#include "compiler/expr/scalar_math.h"
#include "compiler/loops/lanes.h"

namespace tvmvm::codegen {
namespace {

using tensor::ExprOp;

}  // namespace

llvm::Value* KernelPrinter::Defect(const Expr& e, const char* why) {
  if (status_) {
    status_ = MakeError(Code::kUnsupported,
                        fmt::format("kernel '{}': {} x {} {}: {}", kernel_.name, DTypeName(e.dtype()),
                                    e.lanes(), why, ToString(e).substr(0, 200)));
  }
  return llvm::Constant::getNullValue(ValueType(e.dtype(), e.lanes()));
}

llvm::Value* KernelPrinter::Emit(const Expr& e) {
  if (auto found = emitted_.find(e.get()); found != emitted_.end()) return found->second;
  Value* value = EmitUncached(e);
  emitted_.emplace(e.get(), value);
  return value;
}

llvm::Value* KernelPrinter::EmitUncached(const Expr& e) {
  switch (e.op()) {
    case ExprOp::kConstant:
      return EmitConstant(e);
    case ExprOp::kDim:
      return ScalarOf(e->dim);
    case ExprOp::kVariable:
      return variables_[e->id];
    case ExprOp::kLoad:
      return EmitLoad(e);
    case ExprOp::kCast:
      return EmitCast(e);
    case ExprOp::kBitcast:
      return EmitBitcast(e);
    case ExprOp::kRamp:
      return EmitRamp(e);
    case ExprOp::kBroadcast:
      return Splat(Emit(e->operands[0]), e.lanes());
    case ExprOp::kSelect: {
      if (Value* smaller = EmitSmallerMagnitude(e)) return smaller;
      Value* condition = Emit(e->operands[0]);
      Value* then = Emit(e->operands[1]);
      return builder_.CreateSelect(condition, then, Emit(e->operands[2]));
    }
    case ExprOp::kFma: {
      Value *a = Emit(e->operands[0]), *b = Emit(e->operands[1]), *c = Emit(e->operands[2]);
      return RoundTo(e.dtype(), builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c}));
    }
    case ExprOp::kDotBytes:
      return EmitDotBytes(e);
    case ExprOp::kScale:
      return EmitScale(e);
    case ExprOp::kEqual:
    case ExprOp::kNotEqual:
    case ExprOp::kLess:
    case ExprOp::kLessEqual:
      return EmitComparison(e);
    default:
      break;
  }
  if (e.op() >= ExprOp::kReduceAdd && e.op() <= ExprOp::kReduceOr) return EmitLaneReduction(e);
  if (e->operands.size() == 2) return EmitBinary(e);
  if (e->operands.size() == 1) return EmitUnary(e);
  return Defect(e, "cannot be printed");
}

llvm::Value* KernelPrinter::EmitConstant(const Expr& e) {
  llvm::Type* type = ScalarType(e.dtype());
  if (type->isFloatingPointTy()) return llvm::ConstantFP::get(type, e->number);
  if (e.dtype() == DType::kBool) return builder_.getInt1(e->integer != 0);
  if (IsFloat(e.dtype()))
    return llvm::ConstantInt::get(type, tensor::EncodeScalar(e.dtype(), {.integer = 0, .number = e->number}));
  if (IsComplex(e.dtype())) return llvm::Constant::getNullValue(type);
  return Integer(type, e->integer);
}

llvm::Value* KernelPrinter::EmitRamp(const Expr& e) {
  Value *base = Emit(e->operands[0]), *step = Emit(e->operands[1]);
  int lanes = e.lanes();
  Value* offsets = builder_.CreateMul(Iota(base->getType(), lanes), Splat(step, lanes));
  return builder_.CreateAdd(Splat(base, lanes), offsets);
}

llvm::Value* KernelPrinter::EmitUnary(const Expr& e) {
  Value* a = Emit(e->operands[0]);
  DType dtype = e->operands[0].dtype();
  if (e.op() == ExprOp::kIsNan) return builder_.CreateFCmpUNO(a, a);
  if (e.op() == ExprOp::kIsInf)
    return builder_.CreateFCmpOEQ(Intrinsic(llvm::Intrinsic::fabs, a),
                                  llvm::ConstantFP::getInfinity(a->getType()));
  if (!IsFloat(dtype)) return EmitIntegerUnary(e, a);
  if (DTypeBits(dtype) < 16) return Defect(e, "has no arithmetic");
  Value* result = EmitFloatUnary(e.op(), a);
  return result ? RoundTo(dtype, result) : Defect(e, "was not expanded");
}

llvm::Value* KernelPrinter::EmitFloatUnary(ExprOp op, Value* a) {
  switch (op) {
    case ExprOp::kNegate:
      return builder_.CreateFNeg(a);
    case ExprOp::kAbs:
      return Intrinsic(llvm::Intrinsic::fabs, a);
    case ExprOp::kSqrt:
      return Intrinsic(llvm::Intrinsic::sqrt, a);
    case ExprOp::kReciprocalSqrt:
      return builder_.CreateFDiv(llvm::ConstantFP::get(a->getType(), 1.0),
                                 Intrinsic(llvm::Intrinsic::sqrt, a));
    case ExprOp::kFloor:
      return Intrinsic(llvm::Intrinsic::floor, a);
    case ExprOp::kCeil:
      return Intrinsic(llvm::Intrinsic::ceil, a);
    case ExprOp::kRound:
      return Intrinsic(llvm::Intrinsic::roundeven, a);
    case ExprOp::kTruncate:
      return Intrinsic(llvm::Intrinsic::trunc, a);
    default:
      return nullptr;
  }
}

llvm::Value* KernelPrinter::EmitIntegerUnary(const Expr& e, Value* a) {
  switch (e.op()) {
    case ExprOp::kNegate:
      return WrapTo(e.dtype(), builder_.CreateNeg(a));
    case ExprOp::kNot:
      return WrapTo(e.dtype(), builder_.CreateNot(a));
    case ExprOp::kAbs:
      if (!IsSignedInteger(e.dtype())) return a;
      return WrapTo(e.dtype(),
                    builder_.CreateIntrinsic(llvm::Intrinsic::abs, {a->getType()}, {a, builder_.getFalse()}));
    case ExprOp::kPopCount: {
      // A sub-byte number is extended: count its own bits only.
      Value* bits = IsSubByte(e.dtype())
                        ? builder_.CreateAnd(a, Integer(a->getType(), (1 << DTypeBits(e.dtype())) - 1))
                        : a;
      return WrapTo(e.dtype(), Intrinsic(llvm::Intrinsic::ctpop, bits));
    }
    default:
      return Defect(e, "has no integer form");
  }
}

llvm::Value* KernelPrinter::EmitBinary(const Expr& e) {
  Value *a = Emit(e->operands[0]), *b = Emit(e->operands[1]);
  Value* result = Combine(e.op(), e.dtype(), a, b);
  return result ? result : Defect(e, "was not expanded");
}

llvm::Value* KernelPrinter::Combine(ExprOp op, DType dtype, Value* a, Value* b) {
  if (!IsFloat(dtype)) {
    Value* result = EmitIntegerBinary(op, dtype, a, b);
    return result ? WrapTo(dtype, result) : nullptr;
  }
  if (DTypeBits(dtype) < 16) return nullptr;
  Value* result = EmitFloatBinary(op, dtype, a, b);
  return result ? RoundTo(dtype, result) : nullptr;
}

llvm::Value* KernelPrinter::EmitFloatBinary(ExprOp op, DType, Value* a, Value* b) {
  auto propagating =
      [&](llvm::Intrinsic::ID id) {  // NaN wins; the sign of zero is open, which saves instructions
        // The first operand is looked at for NaN: not what a loop collects, which would have to wait for it.
        llvm::CallInst* call = builder_.CreateIntrinsic(id, {a->getType()}, {b, a});
        call->setHasNoSignedZeros(true);
        return call;
      };
  switch (op) {
    case ExprOp::kAdd:
      return builder_.CreateFAdd(a, b);
    case ExprOp::kSub:
      return builder_.CreateFSub(a, b);
    case ExprOp::kMul:
      return builder_.CreateFMul(a, b);
    case ExprOp::kDiv:
      return builder_.CreateFDiv(a, b);
    case ExprOp::kFloorDiv:
      return Intrinsic(llvm::Intrinsic::floor, builder_.CreateFDiv(a, b));
    case ExprOp::kMin:
      return propagating(llvm::Intrinsic::minimum);
    case ExprOp::kMax:
      return propagating(llvm::Intrinsic::maximum);
    default:
      return nullptr;
  }
}

llvm::Value* KernelPrinter::EmitIntegerBinary(ExprOp op, DType dtype, Value* a, Value* b) {
  bool is_signed = IsSignedInteger(dtype);
  auto call = [&](llvm::Intrinsic::ID id) { return builder_.CreateIntrinsic(id, {a->getType()}, {a, b}); };
  switch (op) {
    case ExprOp::kAdd:
      return builder_.CreateAdd(a, b);
    case ExprOp::kSub:
      return builder_.CreateSub(a, b);
    case ExprOp::kMul:
      return builder_.CreateMul(a, b);
    case ExprOp::kDiv:
    case ExprOp::kRemainder:
    case ExprOp::kFloorDiv:
    case ExprOp::kFloorMod:
      return EmitDivision(op, dtype, a, b);
    case ExprOp::kMin:
      return call(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
    case ExprOp::kMax:
      return call(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax);
    case ExprOp::kAnd:
      return builder_.CreateAnd(a, b);
    case ExprOp::kOr:
      return builder_.CreateOr(a, b);
    case ExprOp::kXor:
      return builder_.CreateXor(a, b);
    case ExprOp::kShiftLeft:
    case ExprOp::kShiftRight:
      return EmitShift(op, dtype, a, b);
    default:
      return nullptr;
  }
}

// Shifting by the width or more gives what the last bit shifted out leaves: 0, or the sign.
llvm::Value* KernelPrinter::EmitShift(ExprOp op, DType dtype, Value* a, Value* b) {
  llvm::Type* type = a->getType();
  Value* width = Integer(type, DTypeBits(dtype));
  Value* in_range = builder_.CreateICmpULT(b, width);
  if (op == ExprOp::kShiftRight && IsSignedInteger(dtype))
    return builder_.CreateAShr(a, builder_.CreateSelect(in_range, b, Integer(type, DTypeBits(dtype) - 1)));
  Value* zero = Integer(type, 0);
  Value* amount = builder_.CreateSelect(in_range, b, zero);
  Value* shifted = op == ExprOp::kShiftLeft ? builder_.CreateShl(a, amount) : builder_.CreateLShr(a, amount);
  return builder_.CreateSelect(in_range, shifted, zero);
}

// base + {0, step, 2 * step, ...} compared with one limit, as at the edges of tensors.
std::optional<KernelPrinter::Edge> KernelPrinter::EmitEdge(const Expr& e) {
  const bool is_less = e.op() == ExprOp::kLess;
  if (!is_less && e.op() != ExprOp::kLessEqual) return std::nullopt;
  const bool is_first = e->operands[0].op() == ExprOp::kRamp;
  const Expr &ramp = e->operands[is_first ? 0 : 1], &limit = e->operands[is_first ? 1 : 0];
  if (ramp.op() != ExprOp::kRamp || limit.op() != ExprOp::kBroadcast || ramp.dtype() != DType::kI64 ||
      !tensor::IsConstant(ramp->operands[1]) || ramp->operands[1]->integer <= 0 ||
      ramp->operands[1]->integer > tensor::kMaxShortStep)
    return std::nullopt;
  const auto step = static_cast<uint64_t>(ramp->operands[1]->integer);
  Value* room = builder_.CreateSub(Emit(limit->operands[0]), Emit(ramp->operands[0]));
  if (is_less != is_first) room = builder_.CreateAdd(room, builder_.getInt64(1));
  Value* most = builder_.getInt64(step * static_cast<uint64_t>(e.lanes()));
  room = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, room, most);
  room = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, room, builder_.getInt64(0));
  Value* count = builder_.CreateTrunc(room, builder_.getInt32Ty());
  if (step > 1)
    count = builder_.CreateUDiv(builder_.CreateAdd(count, builder_.getInt32(static_cast<uint32_t>(step - 1))),
                                builder_.getInt32(static_cast<uint32_t>(step)));
  return Edge{count, is_first};
}

// Counts the lanes once, compares in 32 bits.
llvm::Value* KernelPrinter::EmitEdgeMask(const Expr& e) {
  const std::optional<Edge> edge = EmitEdge(e);
  if (!edge) return nullptr;
  Value *lane = Iota(builder_.getInt32Ty(), e.lanes()), *wide = Splat(edge->lane, e.lanes());
  return edge->is_end ? builder_.CreateICmpULT(lane, wide) : builder_.CreateICmpUGE(lane, wide);
}

// Whether a mask, whose value is given, lets all lanes through.
llvm::Value* KernelPrinter::EmitIsWhole(const Expr& e, Value* mask) {
  if (const std::optional<Edge> edge = EmitEdge(e))
    return builder_.CreateICmpEQ(edge->lane,
                                 builder_.getInt32(edge->is_end ? static_cast<uint32_t>(e.lanes()) : 0));
  const auto lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  llvm::Type* bits = builder_.getIntNTy(lanes);
  return builder_.CreateICmpEQ(builder_.CreateBitCast(mask, bits), llvm::Constant::getAllOnesValue(bits));
}

llvm::Value* KernelPrinter::EmitComparison(const Expr& e) {
  if (Value* mask = EmitEdgeMask(e)) return mask;
  DType dtype = e->operands[0].dtype();
  Value *a = Emit(e->operands[0]), *b = Emit(e->operands[1]);
  bool is_signed = IsSignedInteger(dtype), is_float = IsFloat(dtype);
  if (is_float && DTypeBits(dtype) < 16) return Defect(e, "compares in a storage-only type");
  using P = llvm::CmpInst;
  switch (e.op()) {
    case ExprOp::kEqual:
      return is_float ? builder_.CreateFCmpOEQ(a, b) : builder_.CreateICmpEQ(a, b);
    case ExprOp::kNotEqual:
      return is_float ? builder_.CreateFCmpUNE(a, b) : builder_.CreateICmpNE(a, b);
    case ExprOp::kLess:
      return is_float ? builder_.CreateFCmpOLT(a, b)
                      : builder_.CreateICmp(is_signed ? P::ICMP_SLT : P::ICMP_ULT, a, b);
    default:
      return is_float ? builder_.CreateFCmpOLE(a, b)
                      : builder_.CreateICmp(is_signed ? P::ICMP_SLE : P::ICMP_ULE, a, b);
  }
}

// Halves the lanes until one is left: lane i of the lower half meets lane i of the upper half, whose length
// is the smaller one for odd counts. The evaluator adds in the same order.
llvm::Value* KernelPrinter::EmitLaneReduction(const Expr& e) {
  static constexpr ExprOp kCombine[] = {ExprOp::kAdd, ExprOp::kMul, ExprOp::kMin,
                                        ExprOp::kMax, ExprOp::kAnd, ExprOp::kOr};
  ExprOp op = kCombine[static_cast<int>(e.op()) - static_cast<int>(ExprOp::kReduceAdd)];
  Value* rest = Emit(e->operands[0]);
  auto range = [](int from, int to) {
    std::vector<int> lanes;
    for (int i = from; i < to; ++i) lanes.push_back(i);
    return lanes;
  };
  while (LanesOf(rest) > 1) {
    int count = LanesOf(rest), low = (count + 1) / 2, high = count - low;
    Value* lower = builder_.CreateShuffleVector(rest, range(0, high));
    Value* upper = builder_.CreateShuffleVector(rest, range(low, count));
    Value* middle = low == high ? nullptr : builder_.CreateExtractElement(rest, static_cast<uint64_t>(high));
    if (high == 1) {
      lower = builder_.CreateExtractElement(rest, uint64_t{0});
      upper = builder_.CreateExtractElement(rest, static_cast<uint64_t>(low));
    }
    Value* sum = Combine(op, e.dtype(), lower, upper);
    if (!sum) return Defect(e, "cannot be reduced");
    if (middle) {
      llvm::Type* wide = WithLanes(ScalarType(e.dtype()), low);
      Value* joined = llvm::PoisonValue::get(wide);
      for (int i = 0; i < high; ++i) {
        Value* lane = high == 1 ? sum : builder_.CreateExtractElement(sum, static_cast<uint64_t>(i));
        joined = builder_.CreateInsertElement(joined, lane, static_cast<uint64_t>(i));
      }
      sum = builder_.CreateInsertElement(joined, middle, static_cast<uint64_t>(high));
    }
    rest = sum;
  }
  return rest;
}

// Every form gives the exact sum. Parts that neighbouring dot products share are found by later passes.
llvm::Value* KernelPrinter::EmitDotBytes(const Expr& e) {
  Value* sum = Emit(e->operands.back());
  const int bits = 32 * e.lanes();
  const bool fits = (bits == 128 || bits == 256 || bits == 512) && bits <= forms_.byte_dots.vector_bits;
  if (e->operands.size() > 3 && fits && forms_.byte_dots.form == ByteDots::Form::kPairs)
    return EmitSmallDots(e, sum);
  if (e->operands.size() > 3 && !(fits && forms_.byte_dots.form == ByteDots::Form::kVnni))
    return EmitPortableSmallDots(e, sum);
  for (size_t i = 0; i + 1 < e->operands.size(); i += 2)
    sum = EmitDot(Emit(e->operands[i]), Emit(e->operands[i + 1]), sum, e.lanes());
  return sum;
}

// Sums of few products of small bytes fit in 16 bits: they are widened once.
llvm::Value* KernelPrinter::EmitSmallDots(const Expr& e, Value* sum) {
  const int bits = 32 * e.lanes();
  const llvm::Intrinsic::ID multiply = bits == 512   ? llvm::Intrinsic::x86_avx512_pmaddubs_w_512
                                       : bits == 256 ? llvm::Intrinsic::x86_avx2_pmadd_ub_sw
                                                     : llvm::Intrinsic::x86_ssse3_pmadd_ub_sw_128;
  const llvm::Intrinsic::ID widen = bits == 512   ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                    : bits == 256 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                                  : llvm::Intrinsic::x86_sse2_pmadd_wd;
  llvm::Type* bytes = WithLanes(builder_.getInt8Ty(), 4 * e.lanes());
  Value* pairs = nullptr;
  for (size_t i = 0; i + 1 < e->operands.size(); i += 2) {
    Value* a = builder_.CreateBitCast(Emit(e->operands[i]), bytes);
    Value* product =
        builder_.CreateIntrinsic(multiply, {}, {a, builder_.CreateBitCast(Emit(e->operands[i + 1]), bytes)});
    pairs = pairs == nullptr ? product : builder_.CreateAdd(pairs, product);
  }
  return builder_.CreateAdd(builder_.CreateIntrinsic(widen, {}, {pairs, Integer(pairs->getType(), 1)}), sum);
}

// The same in two sums of 16 bits each, of even bytes and of odd ones together.
llvm::Value* KernelPrinter::EmitPortableSmallDots(const Expr& e, Value* sum) {
  llvm::Type* halves = WithLanes(builder_.getInt16Ty(), 2 * e.lanes());
  Value *byte = Integer(halves, 8), *half = Integer(sum->getType(), 16);
  Value* total = llvm::Constant::getNullValue(halves);
  for (size_t i = 0; i + 1 < e->operands.size(); i += 2) {
    Value* a = builder_.CreateBitCast(Emit(e->operands[i]), halves);
    Value* b = builder_.CreateBitCast(Emit(e->operands[i + 1]), halves);
    Value* even = builder_.CreateMul(builder_.CreateAnd(a, Integer(halves, 255)),
                                     builder_.CreateAShr(builder_.CreateShl(b, byte), byte));
    Value* odd = builder_.CreateMul(builder_.CreateLShr(a, byte), builder_.CreateAShr(b, byte));
    total = builder_.CreateAdd(builder_.CreateAdd(total, even), odd);
  }
  total = builder_.CreateBitCast(total, sum->getType());
  Value* low = builder_.CreateAShr(builder_.CreateShl(total, half), half);
  return builder_.CreateAdd(builder_.CreateAdd(sum, low), builder_.CreateAShr(total, half));
}

llvm::Value* KernelPrinter::EmitDot(Value* a, Value* b, Value* sum, int lanes) {
  int bits = 32 * lanes;
  bool fits = (bits == 128 || bits == 256 || bits == 512) && bits <= forms_.byte_dots.vector_bits;
  if (fits && forms_.byte_dots.form == ByteDots::Form::kVnni) {
    llvm::Intrinsic::ID id = bits == 512   ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                             : bits == 256 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                           : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
    return builder_.CreateIntrinsic(id, {}, {sum, a, b});
  }
  if (fits && forms_.byte_dots.form == ByteDots::Form::kPairs) {
    llvm::Intrinsic::ID id = bits == 512   ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                             : bits == 256 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                           : llvm::Intrinsic::x86_sse2_pmadd_wd;
    llvm::Type* pairs = WithLanes(builder_.getInt16Ty(), 2 * lanes);
    Value *x = builder_.CreateBitCast(a, pairs), *y = builder_.CreateBitCast(b, pairs);
    Value* byte = Integer(pairs, 8);
    Value* even = builder_.CreateIntrinsic(
        id, {},
        {builder_.CreateAnd(x, Integer(pairs, 255)), builder_.CreateAShr(builder_.CreateShl(y, byte), byte)});
    Value* odd =
        builder_.CreateIntrinsic(id, {}, {builder_.CreateLShr(x, byte), builder_.CreateAShr(y, byte)});
    return builder_.CreateAdd(builder_.CreateAdd(sum, even), odd);
  }
  for (int byte = 0; byte < 4; ++byte) {
    Value* x = builder_.CreateAnd(builder_.CreateLShr(a, Integer(a->getType(), 8 * byte)),
                                  Integer(a->getType(), 255));
    Value* y = builder_.CreateAShr(builder_.CreateShl(b, Integer(b->getType(), 24 - 8 * byte)),
                                   Integer(b->getType(), 24));
    sum = builder_.CreateAdd(sum, builder_.CreateMul(x, y));
  }
  return sum;
}

}  // namespace tvmvm::codegen
