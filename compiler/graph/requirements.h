// What the types of a node take for granted about dims: equal sizes of broadcast, contracted or joined axes,
// positions inside the data. What symbols leave open is checked by a guard before the node runs.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

struct Requirement {
  Dim condition;    // must not be 0
  std::string message;  // {0}, {1}, ... are the values
  Dims values;
};

// Only what is not known to hold. Nodes in the node's regions are included.
std::vector<Requirement> RequirementsOf(const Function& function, const Node& node);

}  // namespace tvmvm::ir
