// Emits symbolic dims as scalar bytecode: each distinct expression once per function.
#pragma once

#include <unordered_map>
#include <vector>

#include "bytecode/builder.h"
#include "compiler/dim/dim.h"

namespace tvmvm::lowering {

class DimEmitter {
 public:
  explicit DimEmitter(FunctionBuilder* function) : function_(function) {}

  // From here on, until the scope ends, the symbol is in this register.
  void Define(const ir::SymbolId& symbol, ScalarReg reg);
  bool IsDefined(const ir::SymbolId& symbol) const { return symbols_.contains(symbol); }
  // True when all symbols of the dim are defined.
  bool CanEmit(const ir::Dim& dim) const;
  // The register that holds the dim's value; emits code the first time. All symbols must be defined; an
  // unknown one is recorded in `missing` and gives 0.
  ScalarReg Emit(const ir::Dim& dim);
  // Code between EnterScope and LeaveScope may not run, or run again: what it computes is not used after it.
  void EnterScope() { scopes_.emplace_back(); }
  void LeaveScope();
  const ir::SymbolId& missing() const { return missing_; }

 private:
  ScalarReg EmitNew(const ir::Dim& dim);
  ScalarReg EmitSum(const ir::Dim& dim);

  struct Scope {
    std::vector<ir::SymbolId> symbols;
    std::vector<ir::Dim> emitted;
  };

  FunctionBuilder* function_;
  std::vector<Scope> scopes_;
  std::unordered_map<ir::SymbolId, ScalarReg> symbols_;
  std::unordered_map<ir::Dim, ScalarReg> emitted_;
  ir::SymbolId missing_;
};

}  // namespace tvmvm::lowering
