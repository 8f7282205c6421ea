#include "compiler/loops/inline_kernel.h"

#include "compiler/expr/rewrite.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::DimOp;

bool UsesAny(const Dim& dim, const SymbolValues& symbols) {
  return AnySymbol(dim, [&](const ir::SymbolId& symbol) { return symbols.contains(symbol); });
}

Expr IsNotZero(const Expr& a) { return Binary(ExprOp::kNotEqual, a, IntConstant(0)); }

Expr Combine(DimOp op, const Expr& a, const Expr& b) {
  if (op == DimOp::kCeilDiv) return IntConstant(0) - FloorDiv(IntConstant(0) - a, b);
  const bool is_logic = op == DimOp::kAnd || op == DimOp::kOr;
  return Cast(DType::kI64, Binary(*ExprOpOf(op), is_logic ? IsNotZero(a) : a, is_logic ? IsNotZero(b) : b));
}

class Inliner {
 public:
  Inliner(const LoopKernel& kernel, std::span<const BufferAt> arguments, const SymbolValues& symbols,
          const Dim& scratch_offset, LoopKernel* outer)
      : kernel_(kernel),
        symbols_(symbols),
        outer_(outer),
        first_variable_(static_cast<VariableId>(outer->variable_names.size())),
        first_code_(static_cast<int32_t>(outer->error_messages.size())),
        rewrite_([this](const Expr& e) { return Renamed(e); }) {
    for (const std::string& name : kernel.variable_names) outer->NewVariable(name);
    if (kernel.variable_names.empty()) outer->NewVariable("g");  // the grid's, which nothing uses
    for (const std::string& message : kernel.error_messages) outer->error_messages.push_back(message);
    buffers_.assign(arguments.begin(), arguments.end());
    for (size_t i = kernel.argument_count; i < kernel.buffers.size(); ++i) AddLocal(kernel.buffers[i]);
    for (size_t i = kernel.argument_count; i < kernel.buffers.size(); ++i) {
      if (kernel.buffers[i].memory != Memory::kScratch) continue;
      outer->buffers[buffers_[i].buffer].scratch_offset =
          rewrite_(kernel.buffers[i].scratch_offset) + ValueOfDim(scratch_offset, symbols);
    }
  }

  StmtPtr Run() {
    StmtPtr body = Statement(*kernel_.body);
    for (int axis = 0; axis < 3; ++axis) {  // x runs fastest
      Expr size = ValueOfDim(kernel_.grid_size[axis], symbols_);
      VariableId point = first_variable_ + kernel_.grid[axis];
      if (axis == 0 && kernel_.range_end)
        body = If(Binary(ExprOp::kLess, IntConstant(0), size),
                  Block({Let(point, IntConstant(0)), Let(first_variable_ + *kernel_.range_end, size), body}));
      else
        body = For(point, IntConstant(0), size, body);
    }
    return body;
  }

 private:
  void AddLocal(const BufferInfo& info) {
    buffers_.push_back({outer_->AddLocal(info.name, info.dtype, info.memory, info.size), IntConstant(0)});
  }

  Expr Renamed(const Expr& e) {
    switch (e.op()) {
      case ExprOp::kVariable:
        return Variable(first_variable_ + e->id, e.dtype(), e.lanes());
      case ExprOp::kDim:
        return ValueOfDim(e->dim, symbols_);
      case ExprOp::kLoad: {
        const BufferAt& at = buffers_[e->id];
        return Load(at.buffer, e.dtype(), at.offset + e->operands[0],
                    e->operands.size() > 1 ? e->operands[1] : Expr());
      }
      default:
        return e;
    }
  }

  StmtPtr Statement(const Stmt& s) {
    Stmt copy = s;
    for (Expr* e : {&copy.begin, &copy.end, &copy.step, &copy.value, &copy.index, &copy.mask})
      *e = rewrite_(*e);
    if (s.kind == StmtKind::kFor || s.kind == StmtKind::kLet) copy.variable = first_variable_ + s.variable;
    if (s.kind == StmtKind::kStore) copy.index = buffers_[s.buffer].offset + copy.index;
    if (s.kind == StmtKind::kStore || s.kind == StmtKind::kAllocate || s.kind == StmtKind::kTranspose)
      copy.buffer = buffers_[s.buffer].buffer;
    if (s.kind == StmtKind::kTranspose) copy.from = buffers_[s.from].buffer;
    if (s.kind == StmtKind::kFail) copy.code = first_code_ + s.code;
    for (StmtPtr& child : copy.body) child = Statement(*child);
    return std::make_shared<const Stmt>(std::move(copy));
  }

  const LoopKernel& kernel_;
  const SymbolValues& symbols_;
  LoopKernel* outer_;
  VariableId first_variable_;
  int32_t first_code_;
  std::vector<BufferAt> buffers_;  // by buffer of the kernel
  Rewriter rewrite_;
};

}  // namespace

Expr ValueOfDim(const Dim& dim, const SymbolValues& symbols) {
  if (!UsesAny(dim, symbols)) return DimValue(dim);
  const std::vector<Dim>& operands = dim.operands();
  if (dim.is_symbol()) return symbols.at(dim.symbol());
  if (dim.op() == DimOp::kNot)
    return Cast(DType::kI64, Equal(ValueOfDim(operands[0], symbols), IntConstant(0)));
  if (dim.op() == DimOp::kSelect)
    return Select(ConditionOfDim(operands[0], symbols), ValueOfDim(operands[1], symbols),
                  ValueOfDim(operands[2], symbols));
  Expr result = ValueOfDim(operands[0], symbols);
  for (size_t i = 1; i < operands.size(); ++i)
    result = Combine(dim.op(), result, ValueOfDim(operands[i], symbols));
  return result;
}

Expr ConditionOfDim(const Dim& dim, const SymbolValues& symbols) {
  Expr value = ValueOfDim(dim, symbols);
  if (value.op() == ExprOp::kCast && value->operands[0].dtype() == DType::kBool) return value->operands[0];
  return IsNotZero(value);
}

StmtPtr InlineKernel(const LoopKernel& kernel, std::span<const BufferAt> arguments,
                     const SymbolValues& symbols, const Dim& scratch_offset, LoopKernel* outer) {
  return Inliner(kernel, arguments, symbols, scratch_offset, outer).Run();
}

}  // namespace tvmvm::tensor
