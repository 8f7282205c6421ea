#include "compiler/lowering/dim_emitter.h"

#include <vector>

namespace tvmvm::lowering {
namespace {

using ir::Dim;
using ir::DimOp;

// -x for a product with a negative constant factor, so that sums can subtract.
bool IsNegated(const Dim& dim, Dim* positive) {
  if (dim.op() != DimOp::kMul) return false;
  for (const Dim& factor : dim.operands()) {
    if (!factor.is_constant() || factor.value() >= 0 || factor.value() == INT64_MIN) continue;
    *positive = Dim(0) - dim;
    return true;
  }
  return false;
}

}  // namespace

void DimEmitter::Define(const ir::SymbolId& symbol, ScalarReg reg) {
  symbols_[symbol] = reg;
  if (!scopes_.empty()) scopes_.back().symbols.push_back(symbol);
}

void DimEmitter::LeaveScope() {
  for (const ir::SymbolId& symbol : scopes_.back().symbols) symbols_.erase(symbol);
  for (const Dim& dim : scopes_.back().emitted) emitted_.erase(dim);
  scopes_.pop_back();
}

bool DimEmitter::CanEmit(const Dim& dim) const {
  return !AnySymbol(dim, [this](const ir::SymbolId& symbol) { return !IsDefined(symbol); });
}

ScalarReg DimEmitter::Emit(const Dim& dim) {
  if (dim.is_constant()) return function_->Immediate(dim.value());
  if (auto found = emitted_.find(dim); found != emitted_.end()) return found->second;
  ScalarReg reg = EmitNew(dim);
  emitted_.emplace(dim, reg);
  if (!scopes_.empty()) scopes_.back().emitted.push_back(dim);
  return reg;
}

ScalarReg DimEmitter::EmitSum(const Dim& dim) {
  std::vector<Dim> added, subtracted;
  for (const Dim& term : dim.operands()) {
    Dim positive;
    if (IsNegated(term, &positive))
      subtracted.push_back(positive);
    else
      added.push_back(term);
  }
  if (added.empty()) added.push_back(Dim(0));
  ScalarReg sum = Emit(added[0]);
  for (size_t i = 1; i < added.size(); ++i) sum = function_->Binary(Opcode::kAdd, sum, Emit(added[i]));
  for (const Dim& term : subtracted) sum = function_->Binary(Opcode::kSub, sum, Emit(term));
  return sum;
}

ScalarReg DimEmitter::EmitNew(const Dim& dim) {
  const std::vector<Dim>& operands = dim.operands();
  switch (dim.op()) {
    case DimOp::kSymbol: {
      auto found = symbols_.find(dim.symbol());
      if (found != symbols_.end()) return found->second;
      if (missing_.is_none()) missing_ = dim.symbol();
      return function_->Immediate(0);
    }
    case DimOp::kAdd:
      return EmitSum(dim);
    case DimOp::kNot: {
      ScalarReg operand = Emit(operands[0]);
      return function_->Binary(Opcode::kEqual, operand, function_->Immediate(0));
    }
    case DimOp::kSelect: {
      ScalarReg condition = Emit(operands[0]), then = Emit(operands[1]), otherwise = Emit(operands[2]);
      return function_->Select(condition, then, otherwise);
    }
    default: {
      ScalarReg result = Emit(operands[0]);
      for (size_t i = 1; i < operands.size(); ++i)
        result = function_->Binary(RowOf(dim.op()).opcode, result, Emit(operands[i]));
      return result;
    }
  }
}

}  // namespace tvmvm::lowering
