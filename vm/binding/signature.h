// Signature: checks what a caller gives against the entry function's parameters, before anything runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/dim_expression.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"
#include "tvm-vm/value.h"
#include "vm/binding/arguments.h"

namespace tvmvm {

// Immutable after construction, shared by threads.
class Signature {
 public:
  // `function` outlives the signature.
  explicit Signature(const FunctionSpec& function);

  size_t symbol_count() const { return symbols_.size(); }
  const SymbolTable& symbols() const { return symbols_; }

  // Count, kind, dtype, rank, dims, bounds, also of what lies in sequences, optionals and tuples, and symbols
  // unified across inputs that are tensors. `bound` has symbol_count() elements and receives the symbols'
  // values (DimExpression::kUnbound where no input gives one). Allocates nothing when all is well. A tuple
  // whose type names no fields may have any: CheckMemory is for its tensors. Errors: kInvalidArgument naming
  // the input, the element, the dimension, what was wanted and what was given.
  Status CheckInputs(const Arguments& inputs, std::span<int64_t> bound) const;
  // What must hold for every tensor from outside, whatever its type.
  static Status CheckMemory(const Tensor& tensor) {
    if (tensor.data() != nullptr && tensor.dtype() != DType::kString && tensor.shape().ElementCount())
        [[likely]]
      return {};
    return CheckUnusual(tensor);
  }

 private:
  static Status CheckUnusual(const Tensor& tensor);
  struct Dim {
    uint32_t input = 0;
    uint32_t axis = 0;
    DimExpression expression;
  };

  Status CheckInput(uint32_t input, const Arguments& inputs) const;
  Status BindSymbols(const Arguments& inputs, std::span<int64_t> bound) const;
  Status CheckExpressions(const Arguments& inputs, std::span<const int64_t> bound) const;

  const FunctionSpec& function_;
  SymbolTable symbols_;
  std::vector<Dim> plain_;        // dims that are one symbol: they bind it
  std::vector<Dim> expressions_;  // dims to compare with what the bound symbols give
};

}  // namespace tvmvm
