// Building `if` and `loop` nodes for ONNX operators.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// Symbols that come to be after this object: while a region is built, those that mean nothing outside of it.
class InnerSymbols {
 public:
  explicit InnerSymbols(const Module& module);
  bool Mentioned(const Dim& dim) const;

 private:
  const Module* module_;
  SymbolTime begin_;
};

// Emits the nodes of a branch; gives its results.
using BuildBranch = std::function<Expected<std::vector<ValueId>>()>;

// An `if` node, or the one branch where the condition is known: the results. Sizes and known contents that
// differ between the branches become symbols. Errors go to the builder.
std::vector<ValueId> BuildIf(OpBuilder& b, const Dim& condition, const BuildBranch& then_branch,
                             const BuildBranch& else_branch);

struct LoopSpec {
  Dim trip = INT64_MAX;
  Dim start = 1;
  bool tests = false;            // the body's first result tells whether to go on
  std::vector<ValueId> initial;  // of the carried values
  const void* key = nullptr;  // tells bodies apart: what was learned of their types is kept; null: it is not
  // Builds the body for the step `index`; gives [condition,] carried..., collected...
  std::function<Expected<std::vector<ValueId>>(const Dim& index, const std::vector<ValueId>& carried)> body;
};

// A `loop` node and what it takes to make one: carried integers of one element become symbols; dims that
// differ from step to step become symbols, too, which takes another import of the body. The results are the
// carried values after the last step, then the collected ones with the steps as first axis. Errors go to the
// builder.
std::vector<ValueId> BuildLoop(OnnxContext& c, const LoopSpec& spec);

}  // namespace tvmvm::ir
