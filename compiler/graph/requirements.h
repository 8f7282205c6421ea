// What the types of a node take for granted about dims: equal sizes of broadcast, contracted or joined axes,
// positions inside the data. What symbols leave open is checked by a guard before the node runs.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

struct Requirement {
  Dim condition;        // must not be 0
  std::string message;  // {0}, {1}, ... are the values
  Dims values;
};

// Only what is not known to hold. Nodes in the node's regions are included. What an operator requires, its
// row tells (CoreOp::requirements).
std::vector<Requirement> RequirementsOf(const Function& function, const Node& node);

// ---- what rows are made of ----

using Requirements = std::vector<Requirement>;

void Require(Requirements* list, Dim condition, std::string message, Dims values);
// "`what` is 3, want 4".
void RequireEqual(Requirements* list, const Dim& found, const Dim& wanted, const std::string& what);
// Every input broadcasts to the result.
void RequireBroadcast(const Function& function, const Node& node, Requirements* list);
// The indices, input 1, are no longer than the data, input 0, along any axis but the node's `axis`.
void RequireSmallerIndices(const Function& function, const Node& node, Requirements* list);

}  // namespace tvmvm::ir
