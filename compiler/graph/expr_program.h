// ExprProgram: a tensor expression as a list of steps, run for one element after the other. Nothing in it
// depends on the element but the values of the index variables; what does not depend on a reduction's axes is
// computed outside of it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/expr/expr.h"
#include "compiler/expr/scalar_math.h"
#include "compiler/graph/evaluate.h"

namespace tvmvm::ir {

class ExprProgram {
 public:
  // The element `root` as a function of the variables 0 .. rank-1. Errors: an unknown symbol.
  static Expected<ExprProgram> Create(const tensor::Expr& root, uint32_t rank,
                                      std::span<const TensorData* const> inputs, const SymbolValues& symbols);

  tensor::Scalar Run(std::span<const int64_t> index);
  // Steps of one run, reductions included.
  int64_t steps_per_element() const;

 private:
  struct Step {
    const tensor::ExprNode* node = nullptr;
    DType operand_dtype = DType::kInvalid;  // of the first operand
    std::vector<uint32_t> operands;         // slots
    uint32_t slot = 0;
    const TensorData* input = nullptr;    // kElement
    int body = -1;                        // kReduce: a block
    std::vector<uint32_t> extents, axes;  // kReduce: slots
    uint32_t result = 0;                  // kReduce: slot of the body's value
  };
  struct Block {
    std::vector<tensor::VariableId> axes;
    std::vector<Step> steps;
  };

  ExprProgram(std::span<const TensorData* const> inputs, const SymbolValues& symbols)
      : inputs_(inputs), symbols_(&symbols) {}
  Expected<uint32_t> Compile(const tensor::Expr& e);
  Expected<uint32_t> CompileReduce(const tensor::Expr& e, Step step, size_t home);
  const std::vector<tensor::VariableId>& AxesOf(const tensor::Expr& e);
  uint32_t NewSlot(tensor::Scalar value = {});
  void RunBlock(size_t block);
  tensor::Scalar RunReduce(const Step& step);
  tensor::Scalar RunStep(const Step& step);
  tensor::Scalar Read(const Step& step) const;
  int64_t StepsOf(size_t block) const;

  tensor::Expr root_;  // keeps the nodes alive
  std::span<const TensorData* const> inputs_;
  const SymbolValues* symbols_;
  std::vector<Block> blocks_;
  std::vector<size_t> open_;  // while compiling: blocks from the outermost to the innermost
  std::vector<tensor::Scalar> slots_;
  std::unordered_map<const tensor::ExprNode*, uint32_t> slot_of_;
  std::map<tensor::VariableId, uint32_t> variables_;
  std::unordered_map<const tensor::ExprNode*, std::vector<tensor::VariableId>> axes_of_;
  uint32_t rank_ = 0;
  uint32_t result_ = 0;
};

}  // namespace tvmvm::ir
