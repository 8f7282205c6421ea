// Signature: checks what a caller gives against the entry function's parameters, before anything runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/program.h"
#include "bytecode/status.h"
#include "vm/dim_expression.h"
#include "vm/tensor.h"

namespace tvmvm {

// Immutable after construction, shared by threads.
class Signature {
 public:
  // `function` outlives the signature.
  explicit Signature(const FunctionSpec& function);

  size_t symbol_count() const { return symbols_.size(); }
  const SymbolTable& symbols() const { return symbols_; }

  // Count, kind, dtype, rank, dims, bounds, and symbols unified across inputs. `bound` has symbol_count()
  // elements and receives the symbols' values (DimExpression::kUnbound where no input gives one). Allocates
  // nothing when all is well. Errors: kInvalidArgument naming the input, the dimension, what was wanted and
  // what was given.
  Status CheckInputs(std::span<const Tensor> inputs, std::span<int64_t> bound) const;

 private:
  struct Dim {
    uint32_t input = 0;
    uint32_t axis = 0;
    DimExpression expression;
  };

  Status CheckType(uint32_t input, const Tensor& tensor) const;
  Status BindSymbols(std::span<const Tensor> inputs, std::span<int64_t> bound) const;
  Status CheckExpressions(std::span<const Tensor> inputs, std::span<const int64_t> bound) const;

  const FunctionSpec& function_;
  SymbolTable symbols_;
  std::vector<Dim> plain_;        // dims that are one symbol: they bind it
  std::vector<Dim> expressions_;  // dims to compare with what the bound symbols give
};

}  // namespace tvmvm
