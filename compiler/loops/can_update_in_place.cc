#include <unordered_map>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/outline.h"

namespace tvmvm::tensor {
namespace {

// Follows a kernel in execution order. Allowed: in one iteration of an innermost loop, loads at an index
// before the stores at that index. A kernel stores each element of a written-only argument once. One that
// reads and writes it may only copy the elements, before it stores anything else.
class InPlaceCheck {
 public:
  InPlaceCheck(const LoopKernel& kernel, uint32_t read, uint32_t written)
      : read_(read), written_(written), only_copies_(kernel.buffers[written].access != Access::kWrite) {}

  bool Run(const Stmt& root) {
    Statement(root);
    CloseLoop();
    return ok_;
  }

 private:
  void Statement(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::kFor: {
        Loads(s.begin);
        Loads(s.end);
        CloseLoop();
        for (const StmtPtr& child : s.body) Statement(*child);
        CloseLoop();
        return;
      }
      case StmtKind::kStore:
        Store(s);
        return;
      case StmtKind::kLet: {
        Loads(s.value);
        definitions_[s.variable] = Expanded(s.value);
        return;
      }
      default:
        Loads(s.value);
        for (const StmtPtr& child : s.body) Statement(*child);
    }
  }

  void Store(const Stmt& s) {
    bool is_copy = s.buffer == written_ && s.value.op() == ExprOp::kLoad && s.value->id == read_ &&
                   !s.mask.valid() && s.value->operands.size() == 1;
    Loads(s.index);
    Loads(s.mask);
    Loads(s.value);
    if (s.buffer != written_) return;
    if (only_copies_ && !is_copy) others_stored_ = true;
    Expr index = Expanded(s.index);
    for (const Expr& load : loads_) ok_ &= Same(load, index);
    stores_.push_back(index);
  }

  void Loads(const Expr& root) {
    if (!root.valid()) return;
    VisitOnce(root, [&](const Expr& e) {
      if (e.op() != ExprOp::kLoad || e->id != read_) return;
      if (!stores_.empty() || others_stored_) ok_ = false;
      loads_.push_back(Expanded(e->operands[0]));
    });
  }

  // Loads that no store of the same iteration follows happen at elements that another iteration may write.
  void CloseLoop() {
    if (!loads_.empty() && stores_.empty()) ok_ = false;
    loads_.clear();
    stores_.clear();
  }

  Expr Expanded(const Expr& a) const {
    Rewriter rewrite([&](const Expr& e) {
      if (e.op() != ExprOp::kVariable) return e;
      auto found = definitions_.find(e->id);
      return found == definitions_.end() ? e : found->second;
    });
    return rewrite(a);
  }

  uint32_t read_, written_;
  bool only_copies_;
  bool ok_ = true, others_stored_ = false;
  std::vector<Expr> loads_, stores_;  // indices in the innermost loop at hand
  std::unordered_map<VariableId, Expr> definitions_;
};

}  // namespace

bool CanUpdateInPlace(const LoopKernel& kernel, uint32_t read, uint32_t written) {
  return InPlaceCheck(kernel, read, written).Run(*kernel.body);
}

}  // namespace tvmvm::tensor
