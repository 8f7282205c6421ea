#include "compiler/expr/stride.h"

#include "compiler/dim/dim_polynomial.h"
#include "compiler/expr/rewrite.h"

namespace tvmvm::tensor {

bool DependsOn(const Expr& a, VariableId variable) {
  bool found = false;
  VisitOnce(a, [&](const Expr& e) { found |= e.op() == ExprOp::kVariable && e->id == variable; });
  return found;
}

std::optional<ir::Dim> AsDim(const Expr& a) {
  if (a.dtype() != DType::kI64 || a.lanes() != 1) return std::nullopt;
  if (a.op() == ExprOp::kConstant) return ir::Dim(a->integer);
  if (a.op() == ExprOp::kDim) return a->dim;
  return std::nullopt;
}

std::optional<ir::Dim> Coefficient(const Expr& index, VariableId variable) {
  switch (index.op()) {
    case ExprOp::kConstant:
    case ExprOp::kDim:
      return ir::Dim(0);
    case ExprOp::kVariable:
      return ir::Dim(index->id == variable ? 1 : 0);
    case ExprOp::kAdd:
    case ExprOp::kSub: {
      auto a = Coefficient(index->operands[0], variable), b = Coefficient(index->operands[1], variable);
      if (!a || !b) return std::nullopt;
      return index.op() == ExprOp::kAdd ? *a + *b : *a - *b;
    }
    case ExprOp::kMul: {
      auto a = Coefficient(index->operands[0], variable), b = Coefficient(index->operands[1], variable);
      if (!a || !b) return std::nullopt;
      if (a->IsConstant(0) && b->IsConstant(0)) return ir::Dim(0);
      if (auto factor = AsDim(index->operands[1]); factor && b->IsConstant(0)) return *a * *factor;
      if (auto factor = AsDim(index->operands[0]); factor && a->IsConstant(0)) return *b * *factor;
      return std::nullopt;
    }
    default:
      if (DependsOn(index, variable)) return std::nullopt;
      return ir::Dim(0);
  }
}

std::optional<std::vector<int64_t>> ConstantLanes(const Expr& a) {
  using Numbers = std::vector<int64_t>;
  const auto lanes = static_cast<size_t>(a.lanes());
  if (a.dtype() != DType::kI64) return std::nullopt;
  if (a.op() == ExprOp::kConstant) return Numbers(lanes, a->integer);
  if (a.op() != ExprOp::kRamp && a.op() != ExprOp::kBroadcast && a.op() != ExprOp::kAdd &&
      a.op() != ExprOp::kMul && a.op() != ExprOp::kFloorDiv)
    return std::nullopt;
  std::vector<Numbers> operands;
  for (const Expr& operand : a->operands) {
    std::optional<Numbers> numbers = ConstantLanes(operand);
    if (!numbers) return std::nullopt;
    operands.push_back(std::move(*numbers));
  }
  Numbers result;
  for (size_t lane = 0; lane < lanes; ++lane) {
    auto of = [&](size_t k) { return operands[k][operands[k].size() == 1 ? 0 : lane]; };
    const int64_t number = a.op() == ExprOp::kBroadcast ? of(0)
                           : a.op() == ExprOp::kRamp    ? of(0) + of(1) * static_cast<int64_t>(lane)
                           : a.op() == ExprOp::kAdd     ? of(0) + of(1)
                           : a.op() == ExprOp::kMul     ? of(0) * of(1)
                                                        : ir::FloorDivide(of(0), of(1));
    result.push_back(number);
  }
  return result;
}

std::optional<ir::Dim> FlattenedStep(const ir::Dims& sizes, const std::vector<ir::Dim>& steps) {
  std::optional<ir::Dim> inner, extent;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i].IsConstant(1)) continue;
    if (inner && !(steps[i] == *extent)) return std::nullopt;
    if (!inner) inner = steps[i];
    extent = steps[i] * sizes[i];
  }
  return inner ? *inner : ir::Dim(1);
}

}  // namespace tvmvm::tensor
