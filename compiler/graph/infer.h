// The types that a node's rule gives, in the form in which the function holds them.
#pragma once

#include <vector>

#include "compiler/graph/core_op.h"
#include "compiler/graph/graph.h"

namespace tvmvm::ir {

// For a node whose operator has a rule: one type for each result. Errors are those of the rule, which names what was
// found and wanted.
Expected<std::vector<Type>> InferResults(const Module& module, const Function& function, const Node& node);

}  // namespace tvmvm::ir
