#include "compiler/loops/loop_ir.h"

#include <algorithm>
#include <unordered_set>

#include "bytecode/kernel_abi.h"
#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::tensor {
namespace {

StmtPtr Make(Stmt statement) { return std::make_shared<const Stmt>(std::move(statement)); }

}  // namespace

uint32_t LoopKernel::AddArgument(std::string argument_name, DType dtype, Access access) {
  BufferInfo info;
  info.name = std::move(argument_name);
  info.dtype = dtype;
  info.access = access;
  buffers.push_back(std::move(info));
  return argument_count++;
}

uint32_t LoopKernel::AddLocal(std::string local_name, DType dtype, Memory memory, int64_t size,
                              Expr scratch_offset) {
  BufferInfo info;
  info.name = std::move(local_name);
  info.dtype = dtype;
  info.is_argument = false;
  info.access = Access::kReadWrite;
  info.memory = memory;
  info.size = size;
  info.scratch_offset = std::move(scratch_offset);
  buffers.push_back(std::move(info));
  return static_cast<uint32_t>(buffers.size() - 1);
}

// Nested blocks are kept: a block is the scope of its lets.
StmtPtr Block(std::vector<StmtPtr> statements) {
  if (statements.size() == 1) return statements[0];
  Stmt s;
  s.kind = StmtKind::kBlock;
  s.body = std::move(statements);
  return Make(std::move(s));
}

StmtPtr For(VariableId variable, Expr begin, Expr end, StmtPtr body, LoopKind kind, int64_t step) {
  Stmt s;
  s.kind = StmtKind::kFor;
  s.variable = variable;
  s.begin = std::move(begin);
  s.end = std::move(end);
  s.step = IntConstant(step);
  s.loop = kind;
  s.body.push_back(std::move(body));
  return Make(std::move(s));
}

StmtPtr If(Expr condition, StmtPtr then, StmtPtr otherwise) {
  Stmt s;
  s.kind = StmtKind::kIf;
  s.value = std::move(condition);
  s.body.push_back(std::move(then));
  if (otherwise) s.body.push_back(std::move(otherwise));
  return Make(std::move(s));
}

StmtPtr Store(uint32_t buffer, Expr index, Expr value, Expr mask) {
  Stmt s;
  s.kind = StmtKind::kStore;
  s.buffer = buffer;
  s.index = std::move(index);
  s.value = std::move(value);
  s.mask = std::move(mask);
  return Make(std::move(s));
}

StmtPtr Let(VariableId variable, Expr value) {
  Stmt s;
  s.kind = StmtKind::kLet;
  s.variable = variable;
  s.value = std::move(value);
  return Make(std::move(s));
}

StmtPtr Allocate(uint32_t buffer) {
  Stmt s;
  s.kind = StmtKind::kAllocate;
  s.buffer = buffer;
  return Make(std::move(s));
}

StmtPtr Fail(int32_t code, Expr found) {
  Stmt s;
  s.kind = StmtKind::kFail;
  s.code = code;
  s.value = std::move(found);
  return Make(std::move(s));
}

Expr FailureValue(const Stmt& fail) {
  if (!fail.value.valid()) return IntConstant(fail.code, DType::kI32);
  Expr found = Max(Min(fail.value, IntConstant(kMostFound)), IntConstant(-kMostFound));
  Expr above = (found + IntConstant(kMostFound + 1)) * IntConstant(int64_t{1} << kFailureBits);
  return Cast(DType::kI32, above + IntConstant(fail.code));
}

StmtPtr Barrier() {
  Stmt s;
  s.kind = StmtKind::kBarrier;
  return Make(std::move(s));
}

StmtPtr GroupReduce(VariableId variable, ExprOp combine, Expr value) {
  Stmt s;
  s.kind = StmtKind::kGroupReduce;
  s.variable = variable;
  s.combine = combine;
  s.value = std::move(value);
  return Make(std::move(s));
}

StmtPtr Transpose(uint32_t buffer, uint32_t from, int rows, int columns) {
  Stmt s;
  s.kind = StmtKind::kTranspose;
  s.buffer = buffer;
  s.from = from;
  s.rows = rows;
  s.columns = columns;
  return Make(std::move(s));
}

namespace {

Stmt MatrixStatement(MatrixStep step, uint32_t buffer, Expr index) {
  Stmt s;
  s.kind = StmtKind::kMatrix;
  s.matrix = step;
  s.buffer = buffer;
  s.index = std::move(index);
  return s;
}

}  // namespace

StmtPtr MatrixZero(uint32_t sum, Expr at) {
  return Make(MatrixStatement(MatrixStep::kZero, sum, std::move(at)));
}

StmtPtr MatrixLoad(uint32_t factor, Expr at, uint32_t shared, Expr element, int stride, bool by_columns) {
  Stmt s = MatrixStatement(MatrixStep::kLoad, factor, std::move(at));
  s.from = shared;
  s.value = std::move(element);
  s.stride = stride;
  s.by_columns = by_columns;
  return Make(std::move(s));
}

StmtPtr MatrixMultiply(uint32_t sum, Expr at, uint32_t left, Expr left_at, uint32_t right, Expr right_at) {
  Stmt s = MatrixStatement(MatrixStep::kMultiply, sum, std::move(at));
  s.from = left;
  s.value = std::move(left_at);
  s.right = right;
  s.mask = std::move(right_at);
  return Make(std::move(s));
}

StmtPtr MatrixStore(uint32_t shared, Expr element, int stride, uint32_t sum, Expr at) {
  Stmt s = MatrixStatement(MatrixStep::kStore, shared, std::move(element));
  s.from = sum;
  s.value = std::move(at);
  s.stride = stride;
  return Make(std::move(s));
}

bool HasMatrices(const LoopKernel& kernel) {
  return std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                     [](const BufferInfo& b) { return !b.is_argument && IsMatrix(b.memory); });
}

bool HasBarrier(const Stmt& root) {
  if (root.kind == StmtKind::kBarrier || root.kind == StmtKind::kGroupReduce) return true;
  return std::any_of(root.body.begin(), root.body.end(),
                     [](const StmtPtr& child) { return child && HasBarrier(*child); });
}

bool HasGroupReduce(const LoopKernel& kernel) {
  bool has = false;
  VisitStatements(kernel.body, [&](const Stmt& s) { has |= s.kind == StmtKind::kGroupReduce; });
  return has;
}

std::vector<ir::Dim> ScalarArguments(const LoopKernel& kernel) {
  std::vector<ir::Dim> dims;
  std::unordered_set<ir::Dim> seen;
  auto collect = [&](const Expr& root) {
    VisitOnce(root, [&](const Expr& e) {
      if (e.op() == ExprOp::kDim && seen.insert(e->dim).second) dims.push_back(e->dim);
    });
  };
  VisitStatements(kernel.body, [&](const Stmt& s) {
    for (const Expr* e : {&s.begin, &s.end, &s.step, &s.value, &s.index, &s.mask}) collect(*e);
    if (s.kind == StmtKind::kAllocate && s.buffer < kernel.buffers.size())
      collect(kernel.buffers[s.buffer].scratch_offset);
  });
  return dims;
}

std::vector<ir::Dim> LaunchScalars(const LoopKernel& kernel) {
  std::vector<ir::Dim> dims = ScalarArguments(kernel);
  auto add = [&](const ir::Dim& size) {
    if (!size.is_constant() && std::find(dims.begin(), dims.end(), size) == dims.end()) dims.push_back(size);
  };
  bool has_z = !kernel.grid_size[2].IsConstant(1);
  bool has_y = !kernel.grid_size[1].IsConstant(1);
  if (has_y || has_z) add(kernel.grid_size[0]);
  if (has_z) add(kernel.grid_size[1]);
  return dims;
}

std::optional<int64_t> ConstantExtent(const Stmt& loop) {
  int64_t span = 0;
  if (IsConstant(loop.begin) && IsConstant(loop.end)) {
    if (__builtin_sub_overflow(loop.end->integer, loop.begin->integer, &span)) return std::nullopt;
  } else if (loop.end.op() == ExprOp::kAdd && IsConstant(loop.end->operands[1]) &&
             Same(loop.end->operands[0], loop.begin)) {
    span = loop.end->operands[1]->integer;
  } else {
    Expr difference = loop.end - loop.begin;
    if (!IsConstant(difference)) return std::nullopt;
    span = difference->integer;
  }
  if (!IsConstant(loop.step) || loop.step->integer <= 0) return std::nullopt;
  return span <= 0 ? 0 : (span - 1) / loop.step->integer + 1;
}

void VisitStatements(const StmtPtr& root, const std::function<void(const Stmt&)>& visit) {
  if (!root) return;
  visit(*root);
  for (const StmtPtr& child : root->body) VisitStatements(child, visit);
}

StmtPtr MapExpressions(const StmtPtr& root, const std::function<Expr(const Expr&)>& map) {
  if (!root) return root;
  Stmt s = *root;
  for (Expr* e : {&s.begin, &s.end, &s.step, &s.value, &s.index, &s.mask})
    if (e->valid()) *e = map(*e);
  for (StmtPtr& child : s.body) child = MapExpressions(child, map);
  return Make(std::move(s));
}

}  // namespace tvmvm::tensor
