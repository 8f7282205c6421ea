// Evaluates core nodes on host data, element by element: for folding constants and as the plain meaning of
// the graph IR that tests compare everything else with. Slow but exact: every operation as
// tensor/scalar_math.h defines it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

using SymbolValues = std::function<std::optional<int64_t>(const SymbolId&)>;

// The results of one node. `inputs` are in the node's order, null for an absent one. `types` are the inputs'
// types and `outputs` the results', whose symbols `symbols` gives values to. Errors: kUnsupported for
// operators that are no pull or types that are not numeric, and where more than `max_steps` operations would
// be needed.
Expected<std::vector<TensorData>> EvaluateNode(const Node& node, const std::vector<Type>& types,
                                               const std::vector<Type>& outputs,
                                               std::span<const TensorData* const> inputs,
                                               const SymbolValues& symbols, int64_t max_steps = INT64_MAX);

// The results of a function. Binds symbols from the inputs' dims and from define_dims; runs the regions of
// control nodes. Errors: kInvalidArgument where inputs do not fit the parameters; as EvaluateNode otherwise.
Expected<std::vector<TensorData>> EvaluateFunction(const Function& function,
                                                   std::span<const TensorData> inputs);

}  // namespace tvmvm::ir
