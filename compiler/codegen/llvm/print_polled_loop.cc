// Loops that look whether the run is to end: poll_points.h says which, bytecode/kernel_abi.h how.
#include <llvm/IR/Attributes.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Support/ModRef.h>

#include <bit>

#include "bytecode/kernel_abi.h"
#include "compiler/codegen/llvm/kernel_printer.h"

namespace tvmvm::codegen {

// Few iterations are entered at once, and whoever contains them has counted them; before others, which go on
// in blocks, the work of a block is taken off the counter. `begin` is below `end`.
void KernelPrinter::LoopInBlocks(const tensor::Stmt& s, const PollPoint& point, Value* begin, Value* end) {
  const int64_t step = s.step->integer;
  llvm::Type* i64 = builder_.getInt64Ty();
  auto number = [&](int64_t value) { return builder_.getInt64(static_cast<uint64_t>(value)); };
  llvm::BasicBlock *before = builder_.GetInsertBlock(), *rest = NewBlock("rest"), *block = NewBlock("block"),
                   *loop = NewBlock("loop"), *ended = NewBlock("ended"), *after = NewBlock("done");
  builder_.CreateBr(rest);
  builder_.SetInsertPoint(rest);
  llvm::PHINode* first = builder_.CreatePHI(i64, 2);
  first->addIncoming(begin, before);
  Value* left = builder_.CreateNSWSub(end, first);
  builder_.CreateCondBr(builder_.CreateICmpSGT(left, number(point.short_iterations * step)), block, loop);

  builder_.SetInsertPoint(block);
  Value* taken = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, number(point.iterations * step));
  Value* block_stop = builder_.CreateNSWAdd(first, taken);
  // The work of an iteration as a power of two.
  const int shift =
      std::bit_width(static_cast<uint64_t>(point.work)) - std::bit_width(static_cast<uint64_t>(step));
  Poll(shift >= 0 ? builder_.CreateShl(taken, static_cast<uint64_t>(shift))
                  : builder_.CreateLShr(taken, static_cast<uint64_t>(-shift)));
  llvm::BasicBlock* block_end = builder_.GetInsertBlock();
  builder_.CreateBr(loop);

  builder_.SetInsertPoint(loop);
  llvm::PHINode* variable = builder_.CreatePHI(i64, 3);
  llvm::PHINode* stop = builder_.CreatePHI(i64, 3);
  variable->addIncoming(first, rest);
  stop->addIncoming(end, rest);
  variable->addIncoming(first, block_end);
  stop->addIncoming(block_stop, block_end);
  variables_[s.variable] = variable;
  Statement(*s.body[0]);
  Value* next = builder_.CreateNSWAdd(variable, number(step));
  variable->addIncoming(next, builder_.GetInsertBlock());
  stop->addIncoming(stop, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, stop), loop, ended);

  builder_.SetInsertPoint(ended);
  first->addIncoming(next, ended);
  llvm::MDBuilder metadata(context_);
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), rest, after,
                        metadata.createBranchWeights(1, 1000));
  builder_.SetInsertPoint(after);
}

// poll->ask(poll), and what it left to do. Where it keeps the registers the compiler is not told that it is a
// call, and no register is kept free for the argument or the answer.
llvm::Value* KernelPrinter::Ask() {
  llvm::Type *pointer = builder_.getPtrTy(), *i64 = builder_.getInt64Ty();
  llvm::CallInst* call = nullptr;
  if (forms_.asks_keep_registers) {
    call = builder_.CreateCall(
        llvm::InlineAsm::get(llvm::FunctionType::get(builder_.getVoidTy(), {pointer}, false),
                             "pushq %rax\n\tpushq %rdi\n\tmovq $0, %rdi\n\tcallq *8(%rdi)\n\t"
                             "popq %rdi\n\tpopq %rax",
                             "r,~{memory},~{dirflag},~{fpsr},~{flags}", true),
        {poll_});
  } else {
    Value* function = builder_.CreateLoad(pointer, builder_.CreateConstGEP1_64(pointer, poll_, 1));
    call = builder_.CreateCall(llvm::FunctionType::get(builder_.getInt32Ty(), {pointer}, false), function,
                               {poll_});
  }
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  call->addFnAttr(llvm::Attribute::Cold);
  call->addParamAttr(0, llvm::Attribute::NoCapture);
  call->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
  return builder_.CreateLoad(i64, poll_);
}

// Takes `work` off the counter, and asks where nothing is left.
void KernelPrinter::Poll(Value* work) {
  llvm::Type* i64 = builder_.getInt64Ty();
  llvm::BasicBlock *ask = NewBlock("ask"), *stopped = NewBlock("stopped"), *after = NewBlock("polled");
  llvm::MDBuilder metadata(context_);
  Value* left = builder_.CreateNSWSub(builder_.CreateLoad(i64, poll_), work);
  builder_.CreateStore(left, poll_);
  builder_.CreateCondBr(builder_.CreateICmpSLT(left, builder_.getInt64(0)), ask, after,
                        metadata.createBranchWeights(1, 1 << 20));
  builder_.SetInsertPoint(ask);
  builder_.CreateCondBr(builder_.CreateICmpSLT(Ask(), builder_.getInt64(0)), stopped, after,
                        metadata.createBranchWeights(1, 1 << 20));
  builder_.SetInsertPoint(stopped);
  if (is_streaming_) builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  builder_.CreateRet(builder_.getInt32(static_cast<uint32_t>(kStopped)));
  builder_.SetInsertPoint(after);
}

}  // namespace tvmvm::codegen
