#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Metadata.h>

#include <algorithm>

#include "compiler/codegen/llvm/kernel_printer.h"
#include "compiler/expr/stride.h"
#include "compiler/loops/lanes.h"

namespace tvmvm::codegen {

using tensor::BufferInfo;
using tensor::Memory;

namespace {

// Indices that lie side by side in memory: read one by one, they need not be taken out of a vector.
bool IsListed(const tensor::Expr& index) {
  if (index.op() != tensor::ExprOp::kLoad || index->operands[0].op() != tensor::ExprOp::kRamp) return false;
  const bool is_whole = index->operands.size() == 1 || index->operands[1].op() == tensor::ExprOp::kBroadcast;
  return is_whole && tensor::IsIntConstant(index->operands[0]->operands[1], 1);
}

// The step of a ramp where wide loads and shuffles are cheaper than a load for each lane; else 0.
int ShortStep(const tensor::Expr& step, int lanes) {
  for (int short_step = 2; short_step <= std::min<int>(tensor::kMaxShortStep, lanes); ++short_step)
    if (tensor::IsIntConstant(step, short_step)) return short_step;
  return 0;
}

}  // namespace

void KernelPrinter::Allocate(uint32_t buffer) {
  const BufferInfo& info = kernel_.buffers[buffer];
  if (info.memory == Memory::kScratch) {
    emitted_.clear();
    buffers_[buffer] = builder_.CreateGEP(builder_.getInt8Ty(), scratch_, Emit(info.scratch_offset));
    return;
  }
  if (buffers_[buffer]) return;  // in an unrolled loop: one place serves all copies
  llvm::BasicBlock& entry = body_->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  bool is_packed = IsSubByte(info.dtype);
  llvm::Type* element = is_packed ? builder_.getInt8Ty() : MemoryType(info.dtype);
  auto count = static_cast<uint64_t>(is_packed ? DTypeBytes(info.dtype, info.size) : info.size);
  auto* place = at_entry.CreateAlloca(llvm::ArrayType::get(element, count), nullptr, info.name);
  place->setAlignment(llvm::Align(64));
  buffers_[buffer] = place;
}

llvm::Align KernelPrinter::AlignmentOf(uint32_t buffer) const {
  return llvm::Align(static_cast<uint64_t>(ElementAlignment(kernel_.buffers[buffer].dtype)));
}

llvm::Value* KernelPrinter::Address(uint32_t buffer, Value* index) {
  return builder_.CreateGEP(MemoryType(kernel_.buffers[buffer].dtype), buffers_[buffer], index);
}

llvm::Value* KernelPrinter::EmitLoad(const Expr& e) {
  const Expr& index = e->operands[0];
  Value* mask = e->operands.size() > 1 ? Emit(e->operands[1]) : nullptr;
  DType dtype = e.dtype();
  if (!buffers_[e->id]) return Defect(e, "loads from a buffer that was not allocated");
  if (IsSubByte(dtype)) return LoadPacked(e->id, Emit(index), e.lanes(), mask);
  if (e.lanes() == 1) return LoadScalar(e->id, Emit(index), mask);
  bool is_wide = index.op() == ExprOp::kRamp && tensor::IsIntConstant(index->operands[1], 1);
  if (is_wide) return LoadWide(e->id, Emit(index->operands[0]), e.lanes(), mask);
  bool is_reversed = index.op() == ExprOp::kRamp && tensor::IsIntConstant(index->operands[1], -1);
  if (is_reversed && !mask) {
    Value* first =
        builder_.CreateSub(Emit(index->operands[0]), builder_.getInt64(static_cast<uint64_t>(e.lanes() - 1)));
    return builder_.CreateVectorReverse(LoadWide(e->id, first, e.lanes(), nullptr));
  }
  if (Value* shuffled = mask ? nullptr : LoadShuffled(e)) return shuffled;
  int step = index.op() == ExprOp::kRamp ? ShortStep(index->operands[1], e.lanes()) : 0;
  if (step > 1) return LoadStrided(e->id, Emit(index->operands[0]), e.lanes(), step, mask);
  return LoadGather(e);
}

llvm::Value* KernelPrinter::Nowhere() {
  if (nowhere_) return nowhere_;
  llvm::BasicBlock& entry = body_->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  auto* place = at_entry.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), 16), nullptr, "nowhere");
  place->setAlignment(llvm::Align(16));
  return nowhere_ = place;
}

// Masked off: reads bytes that are always there, without a branch.
llvm::Value* KernelPrinter::LoadScalar(uint32_t buffer, Value* index, Value* mask) {
  DType dtype = kernel_.buffers[buffer].dtype;
  Value* address = Address(buffer, index);
  if (mask) address = builder_.CreateSelect(mask, address, Nowhere());
  Value* value = builder_.CreateAlignedLoad(MemoryType(dtype), address, AlignmentOf(buffer));
  if (mask) value = builder_.CreateSelect(mask, value, llvm::Constant::getNullValue(value->getType()));
  return FromMemory(dtype, value);
}

llvm::Value* KernelPrinter::LoadWide(uint32_t buffer, Value* base, int lanes, Value* mask) {
  return FromMemory(kernel_.buffers[buffer].dtype, WideBits(buffer, base, lanes, mask));
}

// Elements as they lie in memory; 0 where masked off.
llvm::Value* KernelPrinter::WideBits(uint32_t buffer, Value* base, int lanes, Value* mask) {
  llvm::Type* type = WithLanes(MemoryType(kernel_.buffers[buffer].dtype), lanes);
  Value* address = Address(buffer, base);
  llvm::Align alignment = AlignmentOf(buffer);
  if (!mask) return builder_.CreateAlignedLoad(type, address, alignment);
  return builder_.CreateMaskedLoad(type, address, alignment, mask, llvm::Constant::getNullValue(type));
}

// Every step-th element, as a choice from `step` wide loads. The last one ends with the last element wanted,
// so that nothing behind it is touched.
llvm::Value* KernelPrinter::LoadStrided(uint32_t buffer, Value* base, int lanes, int step, Value* mask) {
  DType dtype = kernel_.buffers[buffer].dtype;
  Value* nothing = mask ? llvm::Constant::getNullValue(mask->getType()) : nullptr;
  const int last_begin = step * (lanes - 1) + 1 - lanes;
  Value* value = nullptr;
  for (int part = 0; part < step; ++part) {
    const int begin = std::min(part * lanes, last_begin);
    Value* at = builder_.CreateAdd(base, builder_.getInt64(static_cast<uint64_t>(begin)));
    Value* part_mask = nullptr;
    if (mask) {
      std::vector<int> wanted;
      for (int place = begin; place < begin + lanes; ++place)
        wanted.push_back(place % step == 0 ? place / step : lanes);
      part_mask = builder_.CreateShuffleVector(mask, nothing, wanted);
    }
    Value* wide = WideBits(buffer, at, lanes, part_mask);
    std::vector<int> choice;
    for (int lane = 0; lane < lanes; ++lane) {
      const int place = lane * step - begin;
      const bool is_here = place >= 0 && place < lanes;
      choice.push_back(value == nullptr ? (is_here ? place : -1) : is_here ? lanes + place : lane);
    }
    value = builder_.CreateShuffleVector(value == nullptr ? wide : value, wide, choice);
  }
  return FromMemory(dtype, value);
}

// Known places of a small local buffer: all of it, shuffled; null: it is no such load.
llvm::Value* KernelPrinter::LoadShuffled(const Expr& e) {
  constexpr int64_t kMost = 64;  // elements
  const BufferInfo& info = kernel_.buffers[e->id];
  if (info.memory != Memory::kRegisters || info.size > kMost) return nullptr;
  const auto places = tensor::ConstantLanes(e->operands[0]);
  if (!places || std::ranges::any_of(*places, [&](int64_t at) { return at < 0 || at >= info.size; }))
    return nullptr;
  Value* all = WideBits(e->id, builder_.getInt64(0), static_cast<int>(info.size), nullptr);
  const std::vector<int> choice(places->begin(), places->end());
  return FromMemory(e.dtype(), builder_.CreateShuffleVector(all, choice));
}

// Computed places: an instruction that gathers, where those are faster than moving each place out of its
// vector. Others: a load for each lane. Where one condition holds for all lanes, they read what is always
// there instead.
llvm::Value* KernelPrinter::LoadGather(const Expr& e) {
  const uint32_t buffer = e->id;
  const DType dtype = kernel_.buffers[buffer].dtype;
  llvm::Type* type = WithLanes(MemoryType(dtype), e.lanes());
  const Expr* mask = e->operands.size() > 1 ? &e->operands[1] : nullptr;
  if (mask != nullptr && mask->op() != ExprOp::kBroadcast) {
    Value* value =
        builder_.CreateMaskedGather(type, Address(buffer, Emit(e->operands[0])), AlignmentOf(buffer),
                                    Emit(*mask), llvm::Constant::getNullValue(type));
    return FromMemory(dtype, value);
  }
  // What is the same for all lanes goes into the address that they share.
  Expr index = e->operands[0];
  Value* base = buffers_[buffer];
  Value* holds = mask != nullptr ? Emit((*mask)->operands[0]) : nullptr;
  if (holds != nullptr) base = builder_.CreateSelect(holds, base, Nowhere());
  auto shift = [&](const Expr& by) {
    Value* amount = Emit(by->operands[0]);
    if (holds != nullptr) amount = builder_.CreateSelect(holds, amount, builder_.getInt64(0));
    base = builder_.CreateGEP(MemoryType(dtype), base, amount);
  };
  while (index.op() == ExprOp::kAdd) {
    const int uniform = index->operands[0].op() == ExprOp::kBroadcast ? 0 : 1;
    if (index->operands[uniform].op() != ExprOp::kBroadcast) break;
    shift(index->operands[uniform]);
    index = Expr(index->operands[1 - uniform]);
  }
  const bool is_ramp = holds == nullptr && index.op() == ExprOp::kRamp;
  if (is_ramp) shift(Broadcast(index->operands[0], e.lanes()));
  const bool is_listed = !is_ramp && IsListed(index);
  Value* is_there = holds;
  if (is_listed && index->operands.size() > 1) {
    Value* own = Emit(index->operands[1]->operands[0]);
    is_there = holds == nullptr || holds == own ? own : builder_.CreateAnd(holds, own);
  }
  Value* lanes = is_ramp     ? Emit(index->operands[1])
                 : is_listed ? Emit(index->operands[0]->operands[0])
                             : Emit(index);
  if (holds != nullptr && !is_listed)
    lanes = builder_.CreateAnd(lanes, Splat(builder_.CreateSExt(holds, builder_.getInt64Ty()), e.lanes()));
  auto number_of = [&](uint64_t lane) -> Value* {
    if (is_ramp) return builder_.CreateMul(lanes, builder_.getInt64(lane));
    if (!is_listed) return builder_.CreateExtractElement(lanes, lane);
    return LoadScalar(index->id, builder_.CreateAdd(lanes, builder_.getInt64(lane)), is_there);
  };
  const bool suits_gather = e.lanes() >= 4 && type->getScalarSizeInBits() >= 32;
  Value* value = llvm::PoisonValue::get(type);
  if (forms_.has_fast_gathers && suits_gather && !is_ramp && !is_listed) {
    Value* addresses = builder_.CreateGEP(MemoryType(dtype), base, lanes);
    value = builder_.CreateMaskedGather(type, addresses, AlignmentOf(buffer));
  } else {
    for (int i = 0; i < e.lanes(); ++i) {
      auto lane = static_cast<uint64_t>(i);
      Value* address = builder_.CreateGEP(MemoryType(dtype), base, number_of(lane));
      Value* element = builder_.CreateAlignedLoad(MemoryType(dtype), address, AlignmentOf(buffer));
      value = builder_.CreateInsertElement(value, element, lane);
    }
  }
  if (holds != nullptr) value = builder_.CreateSelect(holds, value, llvm::Constant::getNullValue(type));
  return FromMemory(dtype, value);
}

// Elements below a byte: read the byte, shift the element down, extend it.
llvm::Value* KernelPrinter::LoadPacked(uint32_t buffer, Value* index, int lanes, Value* mask) {
  DType dtype = kernel_.buffers[buffer].dtype;
  int bits = DTypeBits(dtype), per_byte_log2 = bits == 4 ? 1 : 2;
  llvm::Type *i8 = builder_.getInt8Ty(), *type = WithLanes(i8, lanes);
  auto load_one = [&](Value* at, Value* lane_mask) -> Value* {
    Value* address = builder_.CreateGEP(i8, buffers_[buffer],
                                        builder_.CreateLShr(at, static_cast<uint64_t>(per_byte_log2)));
    if (lane_mask) address = builder_.CreateSelect(lane_mask, address, Nowhere());
    Value* byte = builder_.CreateAlignedLoad(i8, address, llvm::Align(1));
    return lane_mask ? builder_.CreateSelect(lane_mask, byte, builder_.getInt8(0)) : byte;
  };
  Value* bytes = nullptr;
  if (lanes == 1) {
    bytes = load_one(index, mask);
  } else {
    bytes = llvm::PoisonValue::get(type);
    for (int i = 0; i < lanes; ++i) {
      auto lane = static_cast<uint64_t>(i);
      Value* lane_mask = mask ? builder_.CreateExtractElement(mask, lane) : nullptr;
      Value* byte = load_one(builder_.CreateExtractElement(index, lane), lane_mask);
      bytes = builder_.CreateInsertElement(bytes, byte, lane);
    }
  }
  Value* place = builder_.CreateTrunc(
      builder_.CreateAnd(index, Integer(index->getType(), (1 << per_byte_log2) - 1)), type);
  Value* shifted = builder_.CreateLShr(bytes, builder_.CreateMul(place, Integer(type, bits)));
  return WrapTo(dtype == DType::kF4E2M1 ? DType::kU4 : dtype, shifted);
}

void KernelPrinter::EmitStore(const tensor::Stmt& s) {
  const BufferInfo& info = kernel_.buffers[s.buffer];
  if (!buffers_[s.buffer]) {
    Defect(s.value, "is stored to a buffer that was not allocated");
    return;
  }
  int lanes = s.value.lanes();
  if (lanes == 1 && s.mask.valid()) {  // nothing of a masked-off scalar store runs
    Guarded(Emit(s.mask), [&] {
      tensor::Stmt bare = s;
      bare.mask = {};
      EmitStore(bare);
    });
    return;
  }
  const bool is_ramp = s.index.op() == ExprOp::kRamp;
  const bool is_unit = is_ramp && tensor::IsIntConstant(s.index->operands[1], 1);
  const bool is_strided = is_ramp && !is_unit && !s.mask.valid() && !IsSubByte(info.dtype);
  Value* index = Emit(is_unit || is_strided ? s.index->operands[0] : s.index);
  Value* step = is_strided ? Emit(s.index->operands[1]) : nullptr;
  bool is_wide = is_unit || (lanes > 1 && s.index.lanes() == 1);
  Value* value = Emit(s.value);
  Value* mask = nullptr;
  if (s.mask.valid()) mask = s.mask.lanes() == lanes ? Emit(s.mask) : Splat(Emit(s.mask), lanes);
  if (IsSubByte(info.dtype)) {
    if (is_wide) index = builder_.CreateAdd(Splat(index, lanes), Iota(builder_.getInt64Ty(), lanes));
    StorePacked(s, index, value, mask);
    return;
  }
  Value* bits = ToMemory(info.dtype, value);
  Value* address = Address(s.buffer, index);
  llvm::Align alignment = AlignmentOf(s.buffer);
  if (lanes == 1) {
    builder_.CreateAlignedStore(bits, address, alignment);
  } else if (is_wide) {
    if (mask) {
      StoreMasked(s.mask, mask, bits, address, alignment);
    } else if (is_streaming_ && info.is_argument) {
      StoreStreaming(bits, address, alignment);
    } else {
      builder_.CreateAlignedStore(bits, address, alignment);
    }
  } else if (mask) {
    builder_.CreateMaskedScatter(bits, address, alignment, mask);
  } else {  // later lanes win, as they do in instructions that scatter
    for (int i = 0; i < lanes; ++i) {
      auto lane = static_cast<uint64_t>(i);
      Value* place = is_strided ? builder_.CreateAdd(index, builder_.CreateMul(step, builder_.getInt64(lane)))
                                : builder_.CreateExtractElement(index, lane);
      builder_.CreateAlignedStore(builder_.CreateExtractElement(bits, lane), Address(s.buffer, place),
                                  alignment);
    }
  }
}

// Of a mask and its value. Where such stores are slow, those that store all lanes are plain ones.
void KernelPrinter::StoreMasked(const Expr& mask, Value* lanes, Value* bits, Value* address,
                                llvm::Align alignment) {
  if (forms_.has_fast_masked_stores) {
    builder_.CreateMaskedStore(bits, address, alignment, lanes);
    return;
  }
  llvm::BasicBlock *whole = NewBlock("whole"), *part = NewBlock("part"), *after = NewBlock("after");
  builder_.CreateCondBr(EmitIsWhole(mask, lanes), whole, part);
  builder_.SetInsertPoint(whole);
  builder_.CreateAlignedStore(bits, address, alignment);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(part);
  builder_.CreateMaskedStore(bits, address, alignment, lanes);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

// Past the caches, which takes whole aligned vectors.
void KernelPrinter::StoreStreaming(Value* bits, Value* address, llvm::Align alignment) {
  const uint64_t bytes = bits->getType()->getPrimitiveSizeInBits() / 8;
  if (bytes % 16 != 0) {
    builder_.CreateAlignedStore(bits, address, alignment);
    return;
  }
  const uint64_t whole = std::min<uint64_t>(bytes, 64);
  Value* offset = builder_.CreateAnd(builder_.CreatePtrToInt(address, builder_.getInt64Ty()),
                                     builder_.getInt64(whole - 1));
  llvm::BasicBlock *aligned = NewBlock("aligned"), *other = NewBlock("other"), *after = NewBlock("after");
  builder_.CreateCondBr(builder_.CreateICmpEQ(offset, builder_.getInt64(0)), aligned, other);
  builder_.SetInsertPoint(aligned);
  llvm::StoreInst* store = builder_.CreateAlignedStore(bits, address, llvm::Align(whole));
  store->setMetadata(
      llvm::LLVMContext::MD_nontemporal,
      llvm::MDNode::get(builder_.getContext(), llvm::ConstantAsMetadata::get(builder_.getInt32(1))));
  builder_.CreateBr(after);
  builder_.SetInsertPoint(other);
  builder_.CreateAlignedStore(bits, address, alignment);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

// Reads, changes and writes a byte for each element, one after the other: neighbours within a byte belong to
// one worker.
void KernelPrinter::StorePacked(const tensor::Stmt& s, Value* index, Value* value, Value* mask) {
  DType dtype = kernel_.buffers[s.buffer].dtype;
  int bits = DTypeBits(dtype), per_byte_log2 = bits == 4 ? 1 : 2;
  llvm::Type* i8 = builder_.getInt8Ty();
  Value* low_bits = Integer(i8, (1 << bits) - 1);
  auto store_one = [&](Value* at, Value* element) {
    Value* address = builder_.CreateGEP(i8, buffers_[s.buffer],
                                        builder_.CreateLShr(at, static_cast<uint64_t>(per_byte_log2)));
    Value* place =
        builder_.CreateTrunc(builder_.CreateAnd(at, builder_.getInt64((1u << per_byte_log2) - 1)), i8);
    Value* shift = builder_.CreateMul(place, Integer(i8, bits));
    Value* old = builder_.CreateAlignedLoad(i8, address, llvm::Align(1));
    Value* kept = builder_.CreateAnd(old, builder_.CreateNot(builder_.CreateShl(low_bits, shift)));
    Value* placed = builder_.CreateShl(builder_.CreateAnd(element, low_bits), shift);
    builder_.CreateAlignedStore(builder_.CreateOr(kept, placed), address, llvm::Align(1));
  };
  int lanes = s.value.lanes();
  for (int i = 0; i < lanes; ++i) {
    auto lane_of = [&](Value* v) {
      return lanes == 1 ? v : builder_.CreateExtractElement(v, static_cast<uint64_t>(i));
    };
    auto store = [&] { store_one(lane_of(index), lane_of(value)); };
    mask ? Guarded(lane_of(mask), store) : store();
  }
}

}  // namespace tvmvm::codegen
