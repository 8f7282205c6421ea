#include "compiler/schedules/cpu/tiles/launch_choices.h"

#include <algorithm>
#include <tuple>

#include "compiler/expr/rewrite.h"
#include "compiler/schedules/group_kernel.h"

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

Expr MovesMoreThan(const GroupView& group, const ir::Dims& dims, std::span<const uint32_t> outputs,
                   int64_t bytes) {
  auto product = [](const ir::Dims& of) {
    Expr elements = IntConstant(1);
    for (const ir::Dim& dim : of) elements = elements * DimValue(dim);
    return elements;
  };
  auto bytes_of = [&](ir::ValueId value) {
    return int64_t{std::max(DTypeBits(group.type(value).dtype) / 8, 1)};
  };
  const Expr elements = product(dims);
  const ir::Dim count = Product(dims);
  int64_t of_each = 0;
  for (uint32_t output : outputs) of_each += bytes_of(group.outputs()[output]);
  Expr others = IntConstant(0);  // of inputs that are repeated, or read in part
  for (ir::ValueId input : group.inputs()) {
    const ir::Dims& from = group.type(input).dims;
    if (Product(from) == count)
      of_each += bytes_of(input);
    else
      others = others + Min(product(from), elements) * IntConstant(bytes_of(input));
  }
  return LessEqual(IntConstant(bytes), elements * IntConstant(of_each) + others);
}

ir::Dim AreBetterTurned(const ir::Dim& results, const ir::Dims& rows, bool are_lanes_results, int64_t most) {
  const ir::Dim least = 16;
  ir::Dim suits = 1;
  for (const ir::Dim& row : rows) {
    const auto& [along, other] = are_lanes_results ? std::tie(results, row) : std::tie(row, results);
    if (!MayBeFew(along, most)) return 0;
    suits = And(suits, And(LessEqual(along, most), LessEqual(least, other)));
  }
  return suits;
}

}  // namespace tvmvm::tensor
