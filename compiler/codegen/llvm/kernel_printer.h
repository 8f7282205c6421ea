// Prints one loop IR kernel as LLVM IR. Private to this folder.
//
// Two functions come out. `symbol` is the entry of the kernel ABI: it loads buffer addresses and scalars once
// and calls `symbol.body`, whose pointers are noalias parameters and which loops over the grid points.
//
// Values: f16 and bf16 are held as f32 that is always rounded to the type; bool as i1; 8- and 4-bit floats
// and 4- and 2-bit integers as i8 (bits, or the extended number). Memory: bool is a byte, sub-byte types are
// packed.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/llvm/poll_points.h"
#include "compiler/loops/loop_ir.h"
#include "tvm-vm/status.h"

namespace tvmvm::codegen {

// What dot products of bytes become.
struct ByteDots {
  enum class Form : uint8_t {
    kPortable,  // widened to 32 bits
    kPairs,     // x86: widened to 16 bits, two products an instruction
    kVnni,      // x86: one instruction
  };
  Form form = Form::kPortable;
  int vector_bits = 0;  // widest vector that has the form; others are portable
};

// What operations become that CPU targets have instructions of their own for.
struct CpuForms {
  ByteDots byte_dots;
  tensor::MathTarget math;
  bool has_fast_gathers = false;  // of numbers of 32 and 64 bits
  bool has_fast_masked_stores = true;
  bool asks_keep_registers = false;  // as bytecode/kernel_abi.h says of KernelPoll; a call may always be made
};

class KernelPrinter {
 public:
  // `kernel` has no kVectorized loops and no functions that ExpandMath replaces.
  // `scalars`: what a launch passes, in order. `shared`: by argument, whether a launch may be given its
  // memory for another one, too.
  KernelPrinter(llvm::Module& module, const tensor::LoopKernel& kernel, std::string symbol,
                std::vector<ir::Dim> scalars, std::vector<bool> shared, CpuForms forms);
  // Errors: kUnsupported or kInternal naming the kernel.
  Status Print();

 private:
  using Expr = tensor::Expr;
  using ExprOp = tensor::ExprOp;
  using Value = llvm::Value;

  // kernel_printer.cc: functions, grid, statements.
  llvm::Function* DeclareBody();
  void PrintEntry(llvm::Function* body);
  void PrintGridLoop(llvm::Function* body);
  Value* ScalarOf(const ir::Dim& dim);
  void Statement(const tensor::Stmt& s);
  void Loop(const tensor::Stmt& s);
  // From `begin`, which is below `end`; the builder stands where the loop is to be entered.
  void Iterations(const tensor::Stmt& s, Value* begin, Value* end);
  void UnrolledLoop(const tensor::Stmt& s);
  void Condition(const tensor::Stmt& s);
  void Fail(llvm::Value* code);
  llvm::BasicBlock* NewBlock(const char* name);
  // Emits `body` under a scalar condition.
  void Guarded(Value* condition, const std::function<void()>& body);

  // print_polled_loop.cc
  void LoopInBlocks(const tensor::Stmt& s, const PollPoint& point, Value* begin, Value* end);
  void Poll(Value* work);
  Value* Ask();

  // print_expression.cc
  Value* Emit(const Expr& e);
  Value* EmitUncached(const Expr& e);
  Value* EmitConstant(const Expr& e);
  Value* EmitUnary(const Expr& e);
  Value* EmitFloatUnary(ExprOp op, Value* a);
  Value* EmitIntegerUnary(const Expr& e, Value* a);
  Value* EmitBinary(const Expr& e);
  Value* EmitFloatBinary(ExprOp op, DType dtype, Value* a, Value* b);
  Value* EmitIntegerBinary(ExprOp op, DType dtype, Value* a, Value* b);
  Value* EmitComparison(const Expr& e);
  struct Edge {
    Value* lane;  // i32
    bool is_end;  // lanes below it are there, else those from it on
  };
  std::optional<Edge> EmitEdge(const Expr& e);
  Value* EmitEdgeMask(const Expr& e);
  Value* EmitIsWhole(const Expr& e, Value* mask);
  Value* EmitShift(ExprOp op, DType dtype, Value* a, Value* b);
  Value* EmitLaneReduction(const Expr& e);
  Value* EmitDotBytes(const Expr& e);
  Value* EmitSmallDots(const Expr& e, Value* sum);
  Value* EmitPortableSmallDots(const Expr& e, Value* sum);
  Value* EmitDot(Value* a, Value* b, Value* sum, int lanes);
  Value* EmitRamp(const Expr& e);
  // One operation on values of a dtype, result rounded or wrapped to it.
  Value* Combine(ExprOp op, DType dtype, Value* a, Value* b);
  Value* Defect(const Expr& e, const char* why);

  // print_division.cc
  Value* EmitDivision(ExprOp op, DType dtype, Value* a, Value* b);
  Value* EmitDivisionByPowerOfTwo(ExprOp op, DType dtype, Value* a, Value* b);
  Value* EmitWholeDivision(ExprOp op, DType dtype, Value* a, Value* b);  // lane by lane
  Value* EmitVectorDivision(ExprOp op, DType dtype, Value* a, Value* b);
  Value* EmitFloatDivision(ExprOp op, DType dtype, Value* a, Value* b);

  // print_scale.cc
  Value* EmitScale(const Expr& e);
  Value* EmitSmallerMagnitude(const Expr& e);  // null where `e` is something else
  Value* ByVectors(Value* a, Value* b, const std::function<Value*(Value*, Value*)>& of_vector);

  // print_conversion.cc
  Value* EmitCast(const Expr& e);
  Value* EmitBitcast(const Expr& e);
  Value* EmitQuantized(DType to, const Expr& e);  // null where `e` is something else
  Value* ToInteger(DType to, const Expr& e, Value* a);
  Value* RoundTo(DType dtype, Value* f32);     // f16 and bf16; others unchanged
  Value* WrapTo(DType dtype, Value* i8);       // sub-byte integers; others unchanged
  Value* ToMemory(DType dtype, Value* value);  // representation in registers <-> in memory
  Value* FromMemory(DType dtype, Value* value);

  // print_memory.cc
  Value* EmitLoad(const Expr& e);
  Value* LoadScalar(uint32_t buffer, Value* index, Value* mask);
  Value* LoadWide(uint32_t buffer, Value* base, int lanes, Value* mask);
  Value* LoadShuffled(const Expr& e);
  Value* LoadGather(const Expr& e);
  Value* WideBits(uint32_t buffer, Value* base, int lanes, Value* mask);
  Value* LoadStrided(uint32_t buffer, Value* base, int lanes, int step, Value* mask);
  Value* LoadPacked(uint32_t buffer, Value* index, int lanes, Value* mask);
  void EmitStore(const tensor::Stmt& s);
  void StoreMasked(const Expr& mask, Value* lanes, Value* bits, Value* address, llvm::Align alignment);
  void StoreStreaming(Value* bits, Value* address, llvm::Align alignment);
  void StorePacked(const tensor::Stmt& s, Value* index, Value* value, Value* mask);
  Value* Address(uint32_t buffer, Value* index);
  Value* Nowhere();
  void Allocate(uint32_t buffer);
  llvm::Align AlignmentOf(uint32_t buffer) const;

  // print_transpose.cc
  void EmitTranspose(const tensor::Stmt& s);
  std::vector<Value*> TransposeBlocks(std::vector<Value*> rows, int columns, int chunk);
  std::vector<Value*> TransposeChunks(const std::vector<Value*>& parts, int chunks, int chunk);
  std::vector<Value*> Interleave(std::vector<Value*> rows, int columns);
  Value* Joined(Value* a, Value* b);

  // Types.
  llvm::Type* ScalarType(DType dtype) const;  // in registers
  llvm::Type* ValueType(DType dtype, int lanes) const;
  llvm::Type* MemoryType(DType dtype) const;
  llvm::Type* WithLanes(llvm::Type* scalar, int lanes) const;
  Value* Splat(Value* scalar, int lanes);
  Value* Integer(llvm::Type* type, int64_t value) const;
  static int LanesOf(const Value* value);
  Value* Iota(llvm::Type* element, int lanes) const;
  Value* Intrinsic(llvm::Intrinsic::ID id, Value* a);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<>
      builder_;  // folds constants only: loop variables are phis without their second value while printing
  const tensor::LoopKernel& kernel_;
  std::string symbol_;
  CpuForms forms_;
  Status status_;

  std::vector<ir::Dim> dims_;  // LaunchScalars()
  std::vector<bool> shared_;
  std::vector<Value*> scalars_;
  std::vector<Value*> buffers_;  // addresses; local ones once allocated
  Value* scratch_ = nullptr;
  const PollPoints poll_points_;
  Value* poll_ = nullptr;     // the KernelPoll, where there are any
  Value* nowhere_ = nullptr;  // readable bytes for masked-off scalar loads
  llvm::Function* body_ = nullptr;
  bool is_streaming_ = false;  // inside of such a loop
  std::unordered_map<tensor::VariableId, Value*> variables_;
  std::unordered_map<const tensor::ExprNode*, Value*> emitted_;  // of the current statement
};

}  // namespace tvmvm::codegen
