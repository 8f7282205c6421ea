// update-in-place for single loops, for passes that come after it.
#pragma once

#include "compiler/graph/graph.h"

namespace tvmvm::passes {

// Lets the loop's body change what it carries where it lies.
void UpdateLoopInPlace(ir::Function* function, ir::NodeId loop);

}  // namespace tvmvm::passes
