// Rows: which part of its inputs a node reads to make a part of its result.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::memory {

// The indices start, start + 1, ... of one axis.
struct Rows {
  int axis = 0;
  ir::Dim start, size;
  friend bool operator==(const Rows&, const Rows&) = default;
};

// A node that makes some rows of what another makes.
struct PartOfNode {
  ir::Node node;                            // with its attributes; inputs and outputs are the other's
  std::vector<std::optional<Rows>> inputs;  // what it reads of each; nothing: all of it
};

// How to make `rows` of the only result of a core node. Windows read what lies around their rows, too.
// Nothing: the operator's results are not made row by row, or it cannot be shown that they are.
std::optional<PartOfNode> TakeRows(const ir::Function& function, const ir::Node& node, const Rows& rows);

}  // namespace tvmvm::memory
