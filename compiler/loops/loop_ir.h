// Loop IR: one kernel as loops, tiles, vectors and stores over flat buffers. Three printers (LLVM IR, OpenCL
// C, GLSL) turn it into code, so nothing here assumes a CPU. Text form by ToString; oracle: the evaluator in
// evaluate_loops.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/dim/dim.h"
#include "compiler/expr/approximate.h"
#include "compiler/expr/expr.h"
#include "tvm-vm/program.h"

namespace tvmvm::tensor {

enum class StmtKind : uint8_t {
  kBlock,  // statements in order
  kFor,    // variable from begin (inclusive) to end (exclusive) by step
  kIf,     // condition (scalar bool), then, otherwise (may be null)
  kStore,  // buffer[index] = value, optional mask; index and value have the same lanes, or index is a scalar
           // and the value is stored to `lanes` consecutive elements
  kLet,    // variable = value for the rest of the enclosing block
  kAllocate,  // declares local buffer `buffer` for the rest of the enclosing block
  kFail,      // leave the kernel with error code `code` (>= 1) for the whole launch; `value`, an i64, is what
              // was found, if it tells that
  kBarrier,   // every work-item of the group gets here before any goes on; what they wrote to shared memory
              // is seen by all of the group. Not under conditions or in loops that differ
              // between the work-items, and not in a kernel that can fail
  kGroupReduce,  // variable = `value` of every work-item of the group, combined by `combine`, for the rest of
                 // the enclosing block; every work-item gets here. Not in loops; else as kBarrier
  kTranspose,    // buffer[c * rows + r] = from[r * columns + c] for all of a tile: two local buffers in
               // registers of rows * columns elements
  kMatrix,  // a step on matrices that 32 neighbouring work-items hold together (`matrix`); all of them get
            // here
};

// Matrices of 16 x 16 (kMatrixSide). Their positions in a buffer count matrices and are constant once
// unrolled.
enum class MatrixStep : uint8_t {
  kZero,      // buffer[index] = 0
  kLoad,      // buffer[index] = shared buffer `from` at element `value`: element (r, c) is `stride` * r + c
              // behind it, or stride * c + r with `by_columns`
  kMultiply,  // buffer[index] += from[value] * right[mask]
  kStore,     // shared buffer from element `index` on = from[value], rows `stride` apart
};
inline constexpr int kMatrixSide = 16;
inline constexpr int kMatrixItems = 32;  // work-items that hold a matrix

enum class LoopKind : uint8_t {
  kSerial,
  kUnrolled,    // constant extent; the printer unrolls it
  kVectorized,  // constant extent = lanes; removed by Vectorize()
  kStreaming,   // serial; what it writes in wide stores leaves the caches before anyone reads it, so CPUs
                // write it past them. Everyone sees it once the loop has ended
};

enum class Memory : uint8_t {
  kRegisters,  // constant size, constant indices once unrolled: the printer keeps it in registers
  kLocal,      // constant size, private to the grid point: the stack of a CPU, private memory of a GPU
  kScratch,  // run-time size: at byte offset `scratch_offset` of the launch's scratch, private to the worker
  kShared,   // constant size, one for each work-group; between two barriers, no element that a work-item
             // writes is touched by another
  kMatrixLeft,   // matrices, `size` counts their elements: left factors (f16),
  kMatrixRight,  // right factors (f16),
  kMatrixSum,    // sums of products (f32)
};
constexpr bool IsMatrix(Memory memory) { return memory >= Memory::kMatrixLeft; }

struct Stmt;
using StmtPtr = std::shared_ptr<const Stmt>;

struct Stmt {
  StmtKind kind = StmtKind::kBlock;
  std::vector<StmtPtr> body;  // block: all; for: one; if: then [, otherwise]
  VariableId variable = 0;    // for, let, group reduce
  LoopKind loop = LoopKind::kSerial;
  Expr begin, end, step;                  // for (i64); step is a positive constant
  Expr value;                             // store, let, group reduce (scalar), fail; if: the condition
  Expr index, mask;                       // store
  uint32_t buffer = 0;                    // store, allocate
  int32_t code = 0;                       // fail
  ExprOp combine = ExprOp::kAdd;          // group reduce: kAdd, kMul, kMin, kMax, kAnd or kOr
  MatrixStep matrix = MatrixStep::kZero;  // matrix, as are those below
  uint32_t from = 0, right = 0;           // buffers; `from` of a transpose, too
  int stride = 0;                         // in elements
  bool by_columns = false;
  int rows = 0, columns = 0;  // transpose
};

struct BufferInfo {
  std::string name;
  DType dtype = DType::kInvalid;
  bool is_argument = true;             // else declared by kAllocate
  Access access = Access::kRead;       // arguments
  Memory memory = Memory::kRegisters;  // local buffers
  int64_t size = 0;                    // local buffers of constant size: elements; shared ones likewise
  Expr scratch_offset;                 // kScratch: i64 bytes, multiple of 64
};

// Up to this size of everything that is indexed, indices of kernels fit in 32 bits.
inline constexpr int64_t kSmallSize = int64_t{1} << 30;

// A kernel. No argument that is written overlaps another one. Local buffers that are not in scratch take at
// most 1 MiB, shared ones at most 64 KiB. Arguments are buffers[0 .. argument_count) in order and, for every
// kDim in the body, a scalar.
//
// On a GPU each grid point is a work-group of group_size[0] x [1] x [2] work-items, which run the body
// together and tell themselves apart by `thread`. A group of one work-item is a grid point as the CPU knows
// it: then `thread` is not bound.
struct LoopKernel {
  std::string name;                 // a short description, "softmax"; made unique later
  std::vector<BufferInfo> buffers;  // arguments first
  uint32_t argument_count = 0;
  std::vector<std::string> variable_names;  // by VariableId; for reading only
  VariableId grid[3] = {0, 0, 0};           // variables bound to the grid point's coordinates
  ir::Dim grid_size[3] = {1, 1, 1};
  // With it, the body stands for neighbouring points along x that a CPU was given together: those from
  // grid[0] up to this variable, exclusive, at least one. What they share is done once, and loops go on from
  // one to the next. However they are cut, the result is the same.
  std::optional<VariableId> range_end;
  int group_size[3] = {1, 1, 1};     // work-items
  VariableId thread[3] = {0, 0, 0};  // variables bound to the work-item's coordinates in its group
  bool small_sizes = false;          // launched only where all that it indexes is within kSmallSize
  ir::Dim scratch_bytes = 0;         // per worker
  ir::Dim flops = 0;                 // of the whole launch, an estimate
  ir::Dim bytes = 0;
  // For kFail codes 1, 2, ..., at most kMostFailures. "{}" stands for what was found, "{|n*2}" for the value
  // of a dim, by its text.
  std::vector<std::string> error_messages;
  StmtPtr body;

  int GroupItems() const { return group_size[0] * group_size[1] * group_size[2]; }
  VariableId NewVariable(std::string name) {
    variable_names.push_back(std::move(name));
    return static_cast<VariableId>(variable_names.size() - 1);
  }
  uint32_t AddArgument(std::string name, DType dtype, Access access);  // before any local buffer
  uint32_t AddLocal(std::string name, DType dtype, Memory memory, int64_t size, Expr scratch_offset = {});
};

// Building.
StmtPtr Block(std::vector<StmtPtr> statements);
StmtPtr For(VariableId variable, Expr begin, Expr end, StmtPtr body, LoopKind kind = LoopKind::kSerial,
            int64_t step = 1);
StmtPtr If(Expr condition, StmtPtr then, StmtPtr otherwise = nullptr);
StmtPtr Store(uint32_t buffer, Expr index, Expr value, Expr mask = {});
StmtPtr Let(VariableId variable, Expr value);
StmtPtr Allocate(uint32_t buffer);
StmtPtr Fail(int32_t code, Expr found = {});
// What a kFail returns, an i32: FailureCode of bytecode/kernel_abi.h.
Expr FailureValue(const Stmt& fail);
StmtPtr Barrier();
StmtPtr GroupReduce(VariableId variable, ExprOp combine, Expr value);
StmtPtr Transpose(uint32_t buffer, uint32_t from, int rows, int columns);
StmtPtr MatrixZero(uint32_t sum, Expr at);
StmtPtr MatrixLoad(uint32_t factor, Expr at, uint32_t shared, Expr element, int stride, bool by_columns);
StmtPtr MatrixMultiply(uint32_t sum, Expr at, uint32_t left, Expr left_at, uint32_t right, Expr right_at);
StmtPtr MatrixStore(uint32_t shared, Expr element, int stride, uint32_t sum, Expr at);

// The distinct kDim expressions of the body in order of first appearance: the kernel's scalar arguments.
std::vector<ir::Dim> ScalarArguments(const LoopKernel& kernel);
// What a launch passes as scalars: ScalarArguments(), then those grid sizes that turning a flat grid index
// into coordinates needs and that are neither constant nor among them already: x when y or z is not 1, y when
// z is not 1.
std::vector<ir::Dim> LaunchScalars(const LoopKernel& kernel);
// Readable text, with the names of buffers and variables.
std::string ToString(const LoopKernel& kernel);
// The same without names, with variables numbered by first binding and `scalars` by their position: equal
// texts mean kernels that differ at most in the names of dims and in what a launch tells of them.
std::string CanonicalText(const LoopKernel& kernel, std::span<const ir::Dim> scalars = {});
// Iterations of a loop whose `end` is `begin` plus a constant; nullopt otherwise.
std::optional<int64_t> ConstantExtent(const Stmt& loop);
// Every rule that the printers rely on: types and lanes agree, variables are bound, buffers are declared,
// barriers are reached by all, ... Errors: kInternal naming the statement.
Status VerifyLoops(const LoopKernel& kernel);
// The part of it that is about work-groups (verify_work_group.cc).
Status VerifyWorkGroup(const LoopKernel& kernel);
bool HasBarrier(const Stmt& root);  // or a group reduction
bool HasGroupReduce(const LoopKernel& kernel);
bool HasMatrices(const LoopKernel& kernel);

// Makes loads that stand under a Select safe to execute always: the condition becomes a mask of the load.
// Conditions that read memory are taken to choose between values, not to guard an index, unless the index
// reads memory too. For targets whose select evaluates both sides; run before Vectorize.
LoopKernel GuardLoads(const LoopKernel& kernel);
// Replaces kVectorized loops by vector expressions: loads and stores at unit stride become wide, invariant
// ones are broadcast, others gather lane by lane. A condition that differs between lanes becomes masks. A
// buffer allocated in the loop gets one copy for each lane. Iterations must be independent; a loop that
// cannot become vectors (a reduction over its variable into one element, an inner loop whose bounds differ
// between lanes) becomes serial. Reductions over lanes are written with kReduceAdd and the like over a vector
// accumulator.
LoopKernel Vectorize(const LoopKernel& kernel);
// Group reductions as trees in shared memory. With `by_subgroups`, those stay that subgroups can do: of
// 32-bit numbers, and of the least and the largest of narrow floats, whose bits wider registers keep.
LoopKernel LowerGroupReduce(const LoopKernel& kernel, bool by_subgroups = false);
// The same work by groups of one work-item, with loops over the items of before: for devices that run a group
// one item after the other anyway. Private buffers that live across barriers, and shared ones, become local.
// The kernel is verified and has no matrices; run before Vectorize.
LoopKernel SerializeWorkGroup(const LoopKernel& kernel);
// Rewrites math functions that the target has no instruction for into arithmetic
// (compiler/expr/approximate.h).
LoopKernel ExpandMath(const LoopKernel& kernel, MathTarget target);

}  // namespace tvmvm::tensor
