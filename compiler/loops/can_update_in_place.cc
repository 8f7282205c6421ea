#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/outline.h"

namespace tvmvm::tensor {
namespace {

// Follows a kernel in execution order. Allowed: in one iteration of an innermost loop, loads at an index
// before the stores at that index, where no other iteration comes. A kernel stores each element of a
// written-only argument once, but where tiles meet. One that reads and writes it may only copy the elements,
// before it stores anything else. Of a kernel whose rows are apart, loops that only load may come before all
// loops that store; a loop that holds both is done with its rows, and loops of other rows may follow.
class InPlaceCheck {
 public:
  InPlaceCheck(const LoopKernel& kernel, uint32_t read, uint32_t written, bool by_rows)
      : read_(read),
        written_(written),
        by_rows_(by_rows),
        only_copies_(!by_rows && kernel.buffers[written].access != Access::kWrite) {}

  bool Run(const Stmt& root) {
    Statement(root);
    CloseLoop();
    return ok_ && (has_met_ || !by_rows_);
  }

 private:
  void Statement(const Stmt& s) {
    if (!ok_) return;
    switch (s.kind) {
      case StmtKind::kFor: {
        Loads(s.begin);
        Loads(s.end);
        CloseLoop();
        const bool had_looked = std::exchange(has_looked_, false), had_stored = has_stored_;
        for (const StmtPtr& child : s.body) Statement(*child);
        CloseLoop();
        if (has_looked_) has_stored_ = had_stored;
        has_looked_ = has_looked_ || had_looked;
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
    has_stored_ = true;
    has_met_ = has_met_ || !loads_.empty();
    Expr index = Expanded(s.index);
    for (const Expr& load : loads_) ok_ &= Same(load, index) && !MayMeet(index);
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
    const bool only_loads = !loads_.empty() && stores_.empty();
    if (only_loads && (!by_rows_ || has_stored_)) ok_ = false;
    has_looked_ = has_looked_ || only_loads;
    loads_.clear();
    stores_.clear();
  }

  // Whether two iterations may come to one element: the last tile of many begins where all of it exists, and
  // what it has in common with the one before is computed twice. Whole steps of a range, floor((end - begin)
  // / step), are no place of a tile, wherever the range ends.
  static bool MayMeet(const Expr& index) {
    std::unordered_set<const ExprNode*> seen;
    return MayMeet(index, &seen);
  }
  static bool MayMeet(const Expr& index, std::unordered_set<const ExprNode*>* seen) {
    if (!seen->insert(index.get()).second) return false;
    if (index.op() == ExprOp::kMin || index.op() == ExprOp::kMax || index.op() == ExprOp::kSelect)
      return true;
    const bool is_count = index.op() == ExprOp::kFloorDiv && index->operands[0].op() == ExprOp::kSub;
    return !is_count &&
           std::ranges::any_of(index->operands, [&](const Expr& operand) { return MayMeet(operand, seen); });
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
  bool by_rows_, only_copies_;
  bool ok_ = true, others_stored_ = false;
  bool has_stored_ = false;           // any loop, of the rows at hand
  bool has_looked_ = false;           // a loop that only loads, in the loop at hand
  bool has_met_ = false;              // a load and a store of one iteration
  std::vector<Expr> loads_, stores_;  // indices in the innermost loop at hand
  std::unordered_map<VariableId, Expr> definitions_;
};

}  // namespace

bool CanUpdateInPlace(const LoopKernel& kernel, uint32_t read, uint32_t written) {
  return InPlaceCheck(kernel, read, written, false).Run(*kernel.body);
}

bool CanUpdateRowsInPlace(const LoopKernel& kernel, uint32_t read, uint32_t written) {
  return InPlaceCheck(kernel, read, written, true).Run(*kernel.body);
}

}  // namespace tvmvm::tensor
