#include "compiler/loops/nest.h"

#include <algorithm>

#include "compiler/expr/rewrite.h"

namespace tvmvm::tensor {
namespace {

bool IsLeaf(const Expr& a) {
  return a.op() == ExprOp::kConstant || a.op() == ExprOp::kDim || a.op() == ExprOp::kVariable;
}

// Linear index arithmetic inside a vectorised loop stays in place, where the vectoriser recognises unit
// strides.
bool IsIndexArithmetic(const Expr& a) {
  return a.dtype() == DType::kI64 &&
         (a.op() == ExprOp::kAdd || a.op() == ExprOp::kSub || a.op() == ExprOp::kMul);
}

bool Divides(ExprOp op) {
  return op == ExprOp::kDiv || op == ExprOp::kFloorDiv || op == ExprOp::kFloorMod || op == ExprOp::kRemainder;
}

// A quotient moved out of a loop may be computed where the loop runs zero times, and its divisor be zero.
Expr SafeToMove(const Expr& a) {
  if (!Divides(a.op()) || IsFloat(a.dtype()) || a->operands[1].op() != ExprOp::kDim) return a;
  return Binary(a.op(), a->operands[0], DimValue(Max(a->operands[1]->dim, ir::Dim(1))));
}

}  // namespace

// One call of Place: what is known of each distinct sub-expression.
struct Nest::Placement {
  struct Info {
    int scope = 0;
    int uses = 0;
    int user_scope = 0;  // innermost scope of the users
    bool is_mutable = false;
  };

  Nest& nest;
  std::map<uint32_t, Info> infos;
  std::unordered_map<const ExprNode*, Expr> done;

  // Visits each distinct sub-expression once, users after operands.
  uint32_t Analyse(const Expr& a) {
    uint32_t number = nest.numbering_.Number(a);
    if (infos.contains(number)) return number;
    Info info;
    if (a.op() == ExprOp::kVariable) {
      auto bound = nest.scope_of_.find(a->id);
      info.scope = bound == nest.scope_of_.end() ? nest.depth() : bound->second;
    }
    info.is_mutable = nest.IsMutableLoad(a);
    std::vector<uint32_t> operands;
    for (const Expr& operand : a->operands) {
      operands.push_back(Analyse(operand));
      const Info& inner = infos[operands.back()];
      info.scope = std::max(info.scope, inner.scope);
      info.is_mutable |= inner.is_mutable;
    }
    if (info.is_mutable) info.scope = nest.depth();
    bool is_bare_load = a.op() == ExprOp::kLoad && a->operands.size() == 1;
    if (is_bare_load) info.scope = std::max(info.scope, nest.InnermostCondition());
    for (uint32_t operand : operands) Use(operand, info.scope);
    infos[number] = info;
    return number;
  }

  void Use(uint32_t number, int scope) {
    Info& info = infos[number];
    ++info.uses;
    info.user_scope = std::max(info.user_scope, scope);
  }

  bool WantsVariable(const Expr& a, const Info& info) const {
    if (IsLeaf(a)) return false;
    if (info.scope < info.user_scope) return true;
    if (info.uses < 2) return false;
    return !(IsIndexArithmetic(a) && nest.scopes_[info.scope].kind == LoopKind::kVectorized);
  }

  Expr Rebuild(const Expr& a) {
    if (auto found = done.find(a.get()); found != done.end()) return found->second;
    uint32_t number = nest.numbering_.Number(a);
    Expr result;
    if (auto placed = nest.placed_.find(number); placed != nest.placed_.end()) {
      result = placed->second;
    } else {
      result = Make(a, number);
    }
    done.emplace(a.get(), result);
    return result;
  }

  Expr Make(const Expr& a, uint32_t number) {
    const Info& info = infos[number];
    std::vector<Expr> operands;
    for (const Expr& operand : a->operands) operands.push_back(Rebuild(operand));
    Expr rebuilt = WithOperands(a, std::move(operands));
    if (!WantsVariable(a, info) || IsLeaf(rebuilt)) return rebuilt;
    if (info.scope < info.user_scope) rebuilt = SafeToMove(rebuilt);
    VariableId variable =
        nest.kernel_->NewVariable("t" + std::to_string(nest.kernel_->variable_names.size()));
    Scope& scope = nest.scopes_[info.scope];
    scope.statements.push_back(tensor::Let(variable, rebuilt));
    nest.Bind(variable, info.scope);
    Expr name = Variable(variable, rebuilt.dtype(), rebuilt.lanes());
    temporary.push_back(number);
    nest.placed_.emplace(number, name);
    if (!info.is_mutable) {
      scope.placed.push_back(number);
      temporary.pop_back();
    }
    return name;
  }

  std::vector<uint32_t> temporary;  // placed for this call only: they read what later statements change
};

void Nest::Bind(VariableId variable, int scope) {
  scope_of_[variable] = scope;
  scopes_[scope].bound.push_back(variable);
}

VariableId Nest::Open(std::string name, Expr begin, Expr end, LoopKind kind, int64_t step) {
  VariableId variable = kernel_->NewVariable(std::move(name));
  Open(variable, std::move(begin), std::move(end), kind, step);
  return variable;
}

void Nest::Open(VariableId variable, Expr begin, Expr end, LoopKind kind, int64_t step) {
  Scope scope;
  scope.is_loop = true;
  scope.variable = variable;
  scope.begin = std::move(begin);
  scope.end = std::move(end);
  scope.kind = kind;
  scope.step = step;
  scopes_.push_back(std::move(scope));
  Bind(variable, depth());
}

void Nest::OpenIf(Expr condition) {
  Scope scope;
  scope.condition = std::move(condition);
  scopes_.push_back(std::move(scope));
}

void Nest::Close() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (uint32_t number : scope.placed) placed_.erase(number);
  for (VariableId variable : scope.bound) scope_of_.erase(variable);
  if (scope.statements.empty()) return;
  StmtPtr body = Block(std::move(scope.statements));
  if (scope.is_loop) {
    Add(For(scope.variable, scope.begin, scope.end, std::move(body), scope.kind, scope.step));
  } else {
    Add(If(scope.condition, std::move(body)));
  }
}

Expr Nest::Let(std::string name, Expr value) {
  return IsLeaf(value) ? value : LetVariable(std::move(name), std::move(value));
}

Expr Nest::LetVariable(std::string name, Expr value) {
  VariableId variable = kernel_->NewVariable(std::move(name));
  Add(tensor::Let(variable, value));
  Bind(variable, depth());
  return Variable(variable, value.dtype(), value.lanes());
}

Expr Nest::GroupReduce(std::string name, ExprOp combine, Expr value) {
  VariableId variable = kernel_->NewVariable(std::move(name));
  Add(tensor::GroupReduce(variable, combine, value));
  Bind(variable, depth());
  return Variable(variable, value.dtype());
}

VariableId Nest::Grid(int axis, std::string name, const ir::Dim& size) {
  VariableId variable = kernel_->NewVariable(std::move(name));
  kernel_->grid[axis] = variable;
  kernel_->grid_size[axis] = size;
  Bind(variable, 0);
  return variable;
}

std::pair<VariableId, VariableId> Nest::GridRange(std::string name, const ir::Dim& size) {
  VariableId end = kernel_->NewVariable(name + "_end");
  VariableId first = Grid(0, std::move(name), size);
  kernel_->range_end = end;
  Bind(end, 0);
  return {first, end};
}

int Nest::InnermostCondition() const {
  int scope = depth();
  while (scope > 0 && scopes_[static_cast<size_t>(scope)].is_loop) --scope;
  return scope;
}

uint32_t Nest::Local(std::string name, DType dtype, Memory memory, int64_t size) {
  uint32_t buffer = kernel_->AddLocal(std::move(name), dtype, memory, size);
  Add(Allocate(buffer));
  return buffer;
}

uint32_t Nest::Scratch(std::string name, DType dtype, const ir::Dim& elements) {
  constexpr int64_t kLine = 64;
  ir::Dim& bytes = kernel_->scratch_bytes;
  uint32_t buffer = kernel_->AddLocal(std::move(name), dtype, Memory::kScratch, 0, DimValue(bytes));
  bytes = bytes + CeilDiv(elements * ir::Dim(DTypeBits(dtype) / 8), kLine) * ir::Dim(kLine);
  Add(Allocate(buffer));
  return buffer;
}

int Nest::ScopeOf(const Expr& a) const {
  int scope = 0;
  VisitOnce(a, [&](const Expr& e) {
    if (e.op() == ExprOp::kVariable) {
      if (auto bound = scope_of_.find(e->id); bound != scope_of_.end())
        scope = std::max(scope, bound->second);
    }
    if (IsMutableLoad(e)) scope = depth();
  });
  return scope;
}

void Nest::At(int scope, const std::function<void()>& build) {
  std::vector<Scope> inner(std::make_move_iterator(scopes_.begin() + scope + 1),
                           std::make_move_iterator(scopes_.end()));
  scopes_.resize(scope + 1);
  build();
  scopes_.insert(scopes_.end(), std::make_move_iterator(inner.begin()), std::make_move_iterator(inner.end()));
}

bool Nest::IsMutableLoad(const Expr& a) const {
  if (a.op() != ExprOp::kLoad) return false;
  const BufferInfo& buffer = kernel_->buffers[a->id];
  return !buffer.is_argument || IsWritten(buffer.access);
}

void Nest::Remember(const Expr& a, const Expr& value) {
  uint32_t number = numbering_.Number(a);
  if (placed_.emplace(number, value).second) scopes_.back().placed.push_back(number);
}

Expr Nest::Remembered(const Expr& a) {
  auto found = placed_.find(numbering_.Number(a));
  return found == placed_.end() ? Expr() : found->second;
}

std::vector<Expr> Nest::Place(std::span<const Expr> roots) {
  Placement placement{*this, {}, {}, {}};
  for (const Expr& root : roots) placement.Use(placement.Analyse(root), depth());
  std::vector<Expr> results;
  for (const Expr& root : roots) results.push_back(placement.Rebuild(root));
  for (uint32_t number : placement.temporary) placed_.erase(number);
  return results;
}

StmtPtr Nest::Finish() {
  while (depth() > 0) Close();
  return Block(std::move(scopes_[0].statements));
}

}  // namespace tvmvm::tensor
