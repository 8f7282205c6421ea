// Nest: builds the loops of one kernel from the outside in, and puts each part of an expression where it
// belongs.
//
// Scopes are open loops (scope 0 is the kernel's body). Place() shares repeated sub-expressions and lets
// those that do not change in inner loops be computed outside of them, so that the printers need no
// loop-invariant code motion.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/expr/expr_numbering.h"
#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {

class Nest {
 public:
  explicit Nest(LoopKernel* kernel) : kernel_(kernel), scopes_(1) {}

  LoopKernel* kernel() { return kernel_; }
  int depth() const { return static_cast<int>(scopes_.size()) - 1; }

  // Opens a loop; its variable is bound until Close.
  VariableId Open(std::string name, Expr begin, Expr end, LoopKind kind = LoopKind::kSerial,
                  int64_t step = 1);
  // The same for a variable that exists already; sibling loops may share one.
  void Open(VariableId variable, Expr begin, Expr end, LoopKind kind = LoopKind::kSerial, int64_t step = 1);
  // Opens the `then` side of a condition.
  void OpenIf(Expr condition);
  // Closes the innermost scope; one without statements leaves nothing.
  void Close();
  void Add(StmtPtr statement) { scopes_.back().statements.push_back(std::move(statement)); }
  // A variable bound to `value` in the innermost scope; constants, dims and variables stand for themselves.
  Expr Let(std::string name, Expr value);
  // A variable in any case: what depends on it stays in this scope.
  Expr LetVariable(std::string name, Expr value);
  // The same bound to `value` of all work-items of the group, combined.
  Expr GroupReduce(std::string name, ExprOp combine, Expr value);
  // A grid coordinate.
  VariableId Grid(int axis, std::string name, const ir::Dim& size);
  // Points along x that are taken together: the first one, and the one behind the last.
  std::pair<VariableId, VariableId> GridRange(std::string name, const ir::Dim& size);
  // A local buffer, allocated at the innermost scope.
  uint32_t Local(std::string name, DType dtype, Memory memory, int64_t size);
  // The same in the kernel's scratch memory, behind what is there so far.
  uint32_t Scratch(std::string name, DType dtype, const ir::Dim& elements);

  // Scope number of the innermost bound variable in `a`. Reads of buffers that the kernel writes belong to
  // the innermost scope; unbound variables (axes of reductions, lanes) count for nothing.
  int ScopeOf(const Expr& a) const;
  // Runs `build` as if `scope` were the innermost one: what it adds stands before the loops that are open
  // inside.
  void At(int scope, const std::function<void()>& build);
  // From now on and as long as the innermost scope is open, Place and Remembered give `value` for `a`.
  void Remember(const Expr& a, const Expr& value);
  Expr Remembered(const Expr& a);  // invalid: not known
  // The expressions with shared and outer parts replaced by variables.
  std::vector<Expr> Place(std::span<const Expr> roots);
  Expr Place(const Expr& root) { return Place(std::span(&root, 1))[0]; }

  // Closes all scopes; the kernel's body.
  StmtPtr Finish();

 private:
  struct Scope {
    std::vector<StmtPtr> statements;
    bool is_loop = false;
    VariableId variable = 0;
    Expr begin, end, condition;
    LoopKind kind = LoopKind::kSerial;
    int64_t step = 1;
    std::vector<uint32_t> placed;  // numbers in placed_ that end with this scope
    std::vector<VariableId> bound;
  };
  struct Placement;

  void Bind(VariableId variable, int scope);
  bool IsMutableLoad(const Expr& a) const;
  // The innermost scope that is a condition: what it guards, loads above all, stays inside. 0: none is.
  int InnermostCondition() const;

  LoopKernel* kernel_;
  std::vector<Scope> scopes_;
  std::unordered_map<VariableId, int> scope_of_;
  ExprNumbering numbering_;
  std::map<uint32_t, Expr> placed_;  // expressions that have a variable
};

}  // namespace tvmvm::tensor
