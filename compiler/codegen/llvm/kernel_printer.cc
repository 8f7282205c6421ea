#include "compiler/codegen/llvm/kernel_printer.h"

#include <fmt/format.h>
#include <llvm/IR/Attributes.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <utility>

#include "bytecode/kernel_abi.h"

namespace tvmvm::codegen {

using tensor::LoopKind;
using tensor::Memory;
using tensor::Stmt;
using tensor::StmtKind;
using tensor::StmtPtr;

KernelPrinter::KernelPrinter(llvm::Module& module, const tensor::LoopKernel& kernel, std::string symbol,
                             std::vector<ir::Dim> scalars, std::vector<bool> shared, CpuForms forms)
    : module_(module),
      context_(module.getContext()),
      builder_(module.getContext()),
      kernel_(kernel),
      symbol_(std::move(symbol)),
      forms_(forms),
      dims_(std::move(scalars)),
      shared_(std::move(shared)),
      poll_points_(FindPollPoints(kernel)) {}

Status KernelPrinter::Print() {
  body_ = DeclareBody();
  PrintEntry(body_);
  PrintGridLoop(body_);
  return status_;
}

// i32 symbol.body(buffers..., scalars..., scratch, [poll], begin, end)
llvm::Function* KernelPrinter::DeclareBody() {
  llvm::Type* pointer = builder_.getPtrTy();
  std::vector<llvm::Type*> types(kernel_.argument_count, pointer);
  types.insert(types.end(), dims_.size(), builder_.getInt64Ty());
  types.push_back(pointer);
  if (!poll_points_.empty()) types.push_back(pointer);
  types.insert(types.end(), {builder_.getInt64Ty(), builder_.getInt64Ty()});
  auto* type = llvm::FunctionType::get(builder_.getInt32Ty(), types, false);
  auto* body = llvm::Function::Create(type, llvm::Function::InternalLinkage, symbol_ + ".body", module_);
  body->addFnAttr(llvm::Attribute::NoInline);
  body->addFnAttr(llvm::Attribute::NoUnwind);
  for (uint32_t i = 0; i < kernel_.argument_count; ++i) {
    const tensor::BufferInfo& info = kernel_.buffers[i];
    if (!shared_[i]) body->addParamAttr(i, llvm::Attribute::NoAlias);
    body->addParamAttr(i, llvm::Attribute::NoCapture);
    if (!IsWritten(info.access)) body->addParamAttr(i, llvm::Attribute::ReadOnly);
    body->getArg(i)->setName(info.name);
    buffers_.push_back(body->getArg(i));
  }
  buffers_.resize(kernel_.buffers.size(), nullptr);
  unsigned next = kernel_.argument_count;
  for (size_t i = 0; i < dims_.size(); ++i) {
    body->getArg(next)->setName(dims_[i].ToString());
    scalars_.push_back(body->getArg(next++));
  }
  body->addParamAttr(next, llvm::Attribute::NoAlias);
  body->getArg(next)->setName("scratch");
  scratch_ = body->getArg(next);
  if (!poll_points_.empty()) {
    body->addParamAttr(++next, llvm::Attribute::NoAlias);
    body->getArg(next)->setName("poll");
    poll_ = body->getArg(next);
    body->addFnAttr(llvm::Attribute::NoRedZone);
  }
  return body;
}

void KernelPrinter::PrintEntry(llvm::Function* body) {
  llvm::Type *pointer = builder_.getPtrTy(), *i64 = builder_.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder_.getInt32Ty(), {pointer, i64, i64}, false);
  auto* entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol_, module_);
  entry->addFnAttr(llvm::Attribute::NoUnwind);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", entry));
  auto field = [&](unsigned index) {  // of KernelArgs
    return builder_.CreateLoad(pointer, builder_.CreateConstGEP1_64(pointer, entry->getArg(0), index));
  };
  Value *buffers = field(0), *scalars = field(1), *scratch = field(2);
  std::vector<Value*> arguments;
  for (uint32_t i = 0; i < kernel_.argument_count; ++i)
    arguments.push_back(builder_.CreateLoad(pointer, builder_.CreateConstGEP1_64(pointer, buffers, i)));
  for (size_t i = 0; i < dims_.size(); ++i)
    arguments.push_back(builder_.CreateLoad(i64, builder_.CreateConstGEP1_64(i64, scalars, i)));
  arguments.push_back(scratch);
  if (!poll_points_.empty()) arguments.push_back(field(3));
  arguments.insert(arguments.end(), {entry->getArg(1), entry->getArg(2)});
  builder_.CreateRet(builder_.CreateCall(body, arguments));
}

llvm::Value* KernelPrinter::ScalarOf(const ir::Dim& dim) {
  if (auto constant = dim.constant()) return builder_.getInt64(static_cast<uint64_t>(*constant));
  auto found = std::find(dims_.begin(), dims_.end(), dim);
  if (found == dims_.end()) {
    status_ = MakeError(Code::kInternal, fmt::format("kernel '{}' needs {}, which no launch passes",
                                                     kernel_.name, dim.ToString()));
    return builder_.getInt64(0);
  }
  return scalars_[static_cast<size_t>(found - dims_.begin())];
}

// The first point's coordinates come from divisions; later ones by counting, x fastest, one by one or as many
// as a row has left.
void KernelPrinter::PrintGridLoop(llvm::Function* body) {
  Value *begin = body->getArg(body->arg_size() - 2), *end = body->getArg(body->arg_size() - 1);
  bool has_z = !kernel_.grid_size[2].IsConstant(1), has_y = has_z || !kernel_.grid_size[1].IsConstant(1);
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(context_, "entry", body);
  llvm::BasicBlock *loop = NewBlock("point"), *exit = NewBlock("exit");
  builder_.SetInsertPoint(entry);
  Value* zero = builder_.getInt64(0);
  Value* one = builder_.getInt64(1);
  Value *size_x = has_y ? ScalarOf(kernel_.grid_size[0]) : nullptr,
        *size_y = has_z ? ScalarOf(kernel_.grid_size[1]) : nullptr;
  llvm::BasicBlock* start = NewBlock("start");
  builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), start, exit);
  builder_.SetInsertPoint(start);
  Value* first[3] = {begin, zero, zero};
  if (has_y) {
    first[0] = builder_.CreateURem(begin, size_x);
    first[1] = builder_.CreateUDiv(begin, size_x);
  }
  if (has_z) {
    Value* rows = first[1];
    first[1] = builder_.CreateURem(rows, size_y);
    first[2] = builder_.CreateUDiv(rows, size_y);
  }
  builder_.CreateBr(loop);

  builder_.SetInsertPoint(loop);
  auto phi = [&](const char* name, Value* initial) {
    llvm::PHINode* node = builder_.CreatePHI(builder_.getInt64Ty(), 2, name);
    node->addIncoming(initial, start);
    return node;
  };
  llvm::PHINode* point = phi("g", begin);
  llvm::PHINode* coordinate[3] = {nullptr, nullptr, nullptr};
  if (has_y)
    for (int axis = 0; axis < (has_z ? 3 : 2); ++axis) coordinate[axis] = phi("xyz", first[axis]);
  for (int axis = 0; axis < 3; ++axis)
    variables_[kernel_.grid[axis]] = coordinate[axis] ? static_cast<Value*>(coordinate[axis])
                                     : axis == 0      ? point
                                                      : zero;

  // Points that are taken together: the rest of the row, as far as the call goes.
  Value* taken = one;
  if (kernel_.range_end) {
    Value *x = variables_[kernel_.grid[0]], *left = builder_.CreateNSWSub(end, point);
    if (has_y)
      left = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, builder_.CreateNSWSub(size_x, x));
    taken = left;
    variables_[*kernel_.range_end] = builder_.CreateNSWAdd(x, taken);
  }

  Statement(*kernel_.body);

  llvm::BasicBlock* latch = builder_.GetInsertBlock();
  Value* next = builder_.CreateNSWAdd(point, taken);
  point->addIncoming(next, latch);
  if (has_y) {
    Value* x = builder_.CreateNSWAdd(coordinate[0], taken);
    Value* carry = builder_.CreateICmpEQ(x, size_x);
    coordinate[0]->addIncoming(builder_.CreateSelect(carry, zero, x), latch);
    Value* y = builder_.CreateSelect(carry, builder_.CreateNSWAdd(coordinate[1], one), coordinate[1]);
    if (has_z) {
      Value* carry_y = builder_.CreateICmpEQ(y, size_y);
      Value* z = coordinate[2];
      coordinate[2]->addIncoming(builder_.CreateSelect(carry_y, builder_.CreateNSWAdd(z, one), z), latch);
      y = builder_.CreateSelect(carry_y, zero, y);
    }
    coordinate[1]->addIncoming(y, latch);
  }
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), loop, exit);
  builder_.SetInsertPoint(exit);
  builder_.CreateRet(builder_.getInt32(0));
}

llvm::BasicBlock* KernelPrinter::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(context_, name, body_);
}

void KernelPrinter::Statement(const Stmt& s) {
  emitted_.clear();
  switch (s.kind) {
    case StmtKind::kBlock:
      for (const StmtPtr& child : s.body) Statement(*child);
      break;
    case StmtKind::kFor:
      s.loop == LoopKind::kUnrolled ? UnrolledLoop(s) : Loop(s);
      break;
    case StmtKind::kIf:
      Condition(s);
      break;
    case StmtKind::kStore:
      EmitStore(s);
      break;
    case StmtKind::kLet:
    case StmtKind::kGroupReduce:  // of a group of one
      variables_[s.variable] = Emit(s.value);
      break;
    case StmtKind::kAllocate:
      Allocate(s.buffer);
      break;
    case StmtKind::kFail:
      Fail(Emit(tensor::FailureValue(s)));
      break;
    case StmtKind::kTranspose:
      EmitTranspose(s);
      break;
    case StmtKind::kBarrier:  // of a group of one
    case StmtKind::kMatrix:   // of groups of 32 and more
      break;
  }
}

void KernelPrinter::Loop(const Stmt& s) {
  Value *begin = Emit(s.begin), *end = Emit(s.end);
  llvm::BasicBlock *enter = NewBlock("enter"), *after = NewBlock("after");
  builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), enter, after);
  builder_.SetInsertPoint(enter);
  const bool is_outer = s.loop == tensor::LoopKind::kStreaming && !std::exchange(is_streaming_, true);
  const auto point = poll_points_.find(&s);
  if (point != poll_points_.end() && point->second.iterations > 1) {
    LoopInBlocks(s, point->second, begin, end);
  } else {
    Iterations(s, begin, end);
  }
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  if (is_outer) {
    builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
    is_streaming_ = false;
  }
}

// Tested at the bottom, behind a test whether to enter at all: the form that hoisting out of loops needs.
void KernelPrinter::Iterations(const Stmt& s, Value* begin, Value* end) {
  llvm::BasicBlock *before = builder_.GetInsertBlock(), *loop = NewBlock("loop"), *after = NewBlock("ended");
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* variable = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  variable->addIncoming(begin, before);
  variables_[s.variable] = variable;
  Statement(*s.body[0]);
  if (const auto point = poll_points_.find(&s); point != poll_points_.end() && point->second.iterations == 1)
    Poll(builder_.getInt64(static_cast<uint64_t>(point->second.work)));
  Value* next = builder_.CreateNSWAdd(variable, builder_.getInt64(static_cast<uint64_t>(s.step->integer)));
  variable->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), loop, after);
  builder_.SetInsertPoint(after);
}

void KernelPrinter::UnrolledLoop(const Stmt& s) {
  std::optional<int64_t> extent = tensor::ConstantExtent(s);
  Value* begin = Emit(s.begin);
  for (int64_t i = 0; extent && i < *extent; ++i) {
    Value* offset = builder_.getInt64(static_cast<uint64_t>(i * s.step->integer));
    variables_[s.variable] = builder_.CreateAdd(begin, offset);
    Statement(*s.body[0]);
  }
}

void KernelPrinter::Condition(const Stmt& s) {
  Value* condition = Emit(s.value);
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (known->isOne()) {
      Statement(*s.body[0]);
    } else if (s.body.size() > 1) {
      Statement(*s.body[1]);
    }
    return;
  }
  llvm::BasicBlock *then = NewBlock("then"), *after = NewBlock("endif");
  llvm::BasicBlock* otherwise = s.body.size() > 1 ? NewBlock("else") : after;
  builder_.CreateCondBr(condition, then, otherwise);
  builder_.SetInsertPoint(then);
  Statement(*s.body[0]);
  builder_.CreateBr(after);
  if (s.body.size() > 1) {
    builder_.SetInsertPoint(otherwise);
    Statement(*s.body[1]);
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
}

void KernelPrinter::Fail(Value* code) {
  builder_.CreateRet(code);
  builder_.SetInsertPoint(NewBlock("unreached"));
}

void KernelPrinter::Guarded(Value* condition, const std::function<void()>& body) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (known->isOne()) body();
    return;
  }
  llvm::BasicBlock *then = NewBlock("masked"), *after = NewBlock("endmask");
  builder_.CreateCondBr(condition, then, after);
  builder_.SetInsertPoint(then);
  body();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

}  // namespace tvmvm::codegen
