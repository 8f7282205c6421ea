// A model's graph as a picture.
#pragma once

#include <string>

#include "tvm-vm/compiler.h"

namespace tvmvm::cli {

// In Graphviz's DOT language: a box for each node, an arrow for each value from who makes it to who reads it,
// and a frame around each graph that a node holds. Weights are not drawn.
std::string DrawGraph(const GraphInfo& graph);

}  // namespace tvmvm::cli
