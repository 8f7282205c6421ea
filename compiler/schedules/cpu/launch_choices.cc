#include "compiler/schedules/cpu/launch_choices.h"

#include "compiler/expr/rewrite.h"

namespace tvmvm::tensor {

Expr FindLaunchChoice(const std::vector<Expr>& roots, const std::function<bool(const Expr&)>& matters) {
  Expr found;
  auto see = [&](const Expr& e) {
    if (found.valid() || e.op() != ExprOp::kSelect || !matters(e)) return;
    bool is_known = true;
    VisitOnce(e->operands[0], [&](const Expr& part) {
      is_known &= part.op() != ExprOp::kVariable && part.op() != ExprOp::kLoad;
    });
    if (is_known) found = e->operands[0];
  };
  for (const Expr& root : roots)
    VisitOnce(root, [&](const Expr& e) {
      if (e.op() == ExprOp::kLoad) VisitOnce(e->operands[0], see);
    });
  return found;
}

std::vector<Expr> Chosen(const std::vector<Expr>& roots, const Expr& choice, bool holds) {
  Rewriter rewrite([&](const Expr& e) {
    const bool is_choice = e.op() == ExprOp::kSelect && e.lanes() == 1 && Same(e->operands[0], choice);
    return is_choice ? Expr(e->operands[holds ? 1 : 2]) : e;
  });
  std::vector<Expr> chosen;
  for (const Expr& root : roots) chosen.push_back(rewrite(root));
  return chosen;
}

bool Divides(const Expr& e) {
  bool divides = false;
  VisitOnce(e, [&](const Expr& part) {
    divides |= part.op() == ExprOp::kFloorDiv || part.op() == ExprOp::kFloorMod;
  });
  return divides;
}

}  // namespace tvmvm::tensor
