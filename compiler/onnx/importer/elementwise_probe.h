// Whether an operator does something to each element alone: found out by lowering it.
#pragma once

#include <functional>
#include <vector>

#include "compiler/onnx/importer/flat_views.h"
#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// Whether these nodes are elementwise, on values of the dims or on single numbers.
bool AreElementwise(const Function& function, const std::vector<NodeId>& nodes, const Dims& dims);

// Whether `lower`, run with the context's inputs of unknown rank at each rank that they may have, and as
// lists of their elements, gives the same elementwise operators each time. The inputs have one shape. What it
// builds is thrown away.
bool IsElementwise(const std::function<void()>& lower, OnnxContext* context, FlatViews* flats);

}  // namespace tvmvm::ir
