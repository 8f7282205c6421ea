// The rules of the graph IR, checked after every pass in debug builds and on whatever the parser reads.
#pragma once

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

// - Ids are in range; a node is in one region at most, a value is defined once.
// - A value is defined before it is used, in the same region or one around it.
// - Symbols are defined before their use, in the same region or one around it: by the types of a function's
//   parameters, by define_dims, by control nodes (control.h), by the results of host functions and calls. The
//   module lists them all; its list says kInput of those of parameters only.
// - Each node's inputs and attributes are what its row wants, and its result types are what the row infers.
// - Known contents agree with the type. Regions fit their node.
// Errors: kInternal "@main: add (node /layer.0/Add): ...".
[[nodiscard]] Status VerifyModule(const Module& module);
[[nodiscard]] Status VerifyFunction(const Module& module, const Function& function);

}  // namespace tvmvm::ir
