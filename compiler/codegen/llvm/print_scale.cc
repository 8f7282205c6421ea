// Operations on floats that x86 has from AVX-512 on, as intrinsics: of whole registers and of one number.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>

#include "compiler/codegen/llvm/kernel_printer.h"

namespace tvmvm::codegen {
namespace {

using Value = llvm::Value;
using tensor::Expr;
using tensor::ExprOp;

constexpr int kRegisterBits = 512, kLeastBits = 128;
constexpr uint32_t kRounding = 4;  // as set for the thread

// The intrinsic of one type by the bits of its vector.
struct Forms {
  llvm::Intrinsic::ID of_512, of_256, of_128;
  llvm::Intrinsic::ID Of(int bits) const { return bits == 512 ? of_512 : bits == 256 ? of_256 : of_128; }
};

constexpr Forms kScaleF32 = {llvm::Intrinsic::x86_avx512_mask_scalef_ps_512,
                             llvm::Intrinsic::x86_avx512_mask_scalef_ps_256,
                             llvm::Intrinsic::x86_avx512_mask_scalef_ps_128};
constexpr Forms kScaleF64 = {llvm::Intrinsic::x86_avx512_mask_scalef_pd_512,
                             llvm::Intrinsic::x86_avx512_mask_scalef_pd_256,
                             llvm::Intrinsic::x86_avx512_mask_scalef_pd_128};
constexpr Forms kRangeF32 = {llvm::Intrinsic::x86_avx512_mask_range_ps_512,
                             llvm::Intrinsic::x86_avx512_mask_range_ps_256,
                             llvm::Intrinsic::x86_avx512_mask_range_ps_128};
constexpr Forms kRangeF64 = {llvm::Intrinsic::x86_avx512_mask_range_pd_512,
                             llvm::Intrinsic::x86_avx512_mask_range_pd_256,
                             llvm::Intrinsic::x86_avx512_mask_range_pd_128};

int BitsOf(const Value* vector) { return static_cast<int>(vector->getType()->getPrimitiveSizeInBits()); }

// All lanes.
Value* Mask(llvm::IRBuilder<>& builder, const Value* vector) {
  const int lanes = BitsOf(vector) / static_cast<int>(vector->getType()->getScalarSizeInBits());
  return lanes > 8 ? static_cast<Value*>(builder.getInt16(0xffff)) : builder.getInt8(0xff);
}

bool IsNonNegative(const Expr& e) {
  const Expr& scalar = e.op() == ExprOp::kBroadcast ? e->operands[0] : e;
  return tensor::IsConstant(scalar) && scalar->number >= 0;
}

}  // namespace

// `of_vector` of vectors of 128, 256 or 512 bits; one number is the first lane of the smallest.
llvm::Value* KernelPrinter::ByVectors(Value* a, Value* b,
                                      const std::function<Value*(Value*, Value*)>& of_vector) {
  const int lanes = LanesOf(a), bits = static_cast<int>(a->getType()->getScalarSizeInBits());
  auto part = [&](Value* whole, int first, int count, int width) {
    std::vector<int> indices(static_cast<size_t>(width), -1);
    for (int i = 0; i < count; ++i) indices[static_cast<size_t>(i)] = first + i;
    return builder_.CreateShuffleVector(whole, indices);
  };
  if (const int most = kRegisterBits / bits; lanes > most) {
    auto of_part = [&](int first, int count) {
      return ByVectors(part(a, first, count, count), part(b, first, count, count), of_vector);
    };
    Value* low = of_part(0, most);
    return Joined(low, of_part(most, lanes - most));
  }
  const int width =
      std::max(kLeastBits / bits, static_cast<int>(std::bit_ceil(static_cast<unsigned>(lanes))));
  if (width == lanes) return of_vector(a, b);
  if (lanes > 1) return part(of_vector(part(a, 0, lanes, width), part(b, 0, lanes, width)), 0, lanes, lanes);
  Value* zero = llvm::Constant::getNullValue(WithLanes(a->getType(), width));
  auto widened = [&](Value* number) { return builder_.CreateInsertElement(zero, number, uint64_t{0}); };
  return builder_.CreateExtractElement(of_vector(widened(a), widened(b)), uint64_t{0});
}

llvm::Value* KernelPrinter::EmitScale(const Expr& e) {
  if (!forms_.math.has_scale) return Defect(e, "has no instruction");
  const Forms& forms = e.dtype() == DType::kF64 ? kScaleF64 : kScaleF32;
  Value *a = Emit(e->operands[0]), *b = Emit(e->operands[1]);
  return ByVectors(a, b, [&](Value* x, Value* y) -> Value* {
    std::vector<Value*> operands = {x, y, x, Mask(builder_, x)};
    if (BitsOf(x) == kRegisterBits) operands.push_back(builder_.getInt32(kRounding));
    return builder_.CreateIntrinsic(forms.Of(BitsOf(x)), {}, operands);
  });
}

// |a| <= b ? a : b, b >= 0: where a is NaN, too, the instruction gives b.
llvm::Value* KernelPrinter::EmitSmallerMagnitude(const Expr& e) {
  const Expr &test = e->operands[0], &a = e->operands[1], &b = e->operands[2];
  const bool fits = forms_.math.has_scale && (e.dtype() == DType::kF32 || e.dtype() == DType::kF64) &&
                    test.op() == ExprOp::kLessEqual && IsNonNegative(b) &&
                    test->operands[0].op() == ExprOp::kAbs && Same(test->operands[0]->operands[0], a) &&
                    Same(test->operands[1], b);
  if (!fits) return nullptr;
  constexpr uint32_t kSmallerMagnitude = 2, kSignOfResult = 1 << 2;
  const Forms& forms = e.dtype() == DType::kF64 ? kRangeF64 : kRangeF32;
  Value *x = Emit(a), *limit = Emit(b);
  return ByVectors(x, limit, [&](Value* number, Value* most) -> Value* {
    std::vector<Value*> operands = {number, most, builder_.getInt32(kSmallerMagnitude | kSignOfResult),
                                    number, Mask(builder_, number)};
    if (BitsOf(number) == kRegisterBits) operands.push_back(builder_.getInt32(kRounding));
    return builder_.CreateIntrinsic(forms.Of(BitsOf(number)), {}, operands);
  });
}

}  // namespace tvmvm::codegen
