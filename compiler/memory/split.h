// Splitting: nodes that run one after another are run for some rows after the others, so that what lies
// between them is only as large as these rows.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::memory {

// Nodes of one region, in their order; only the value of the last one is used by others.
struct Chain {
  ir::RegionId region;
  std::vector<ir::NodeId> nodes;
};

// Runs the chain in `parts` stretches of an axis of its result: what it reads is sliced, and the stretches
// are made where they lie in the result (a concat that is `joined`). The axis is the first one
// of more than one element. False, and the function is of no further use, where the nodes do not compute row
// by row or the stretches would not lie together.
bool SplitChain(ir::Function* function, const Chain& chain, int64_t parts);

// A region's nodes in their order, of which those outside read `results` only. Of axis 0 of everything the
// first `together` elements are computed at once, then `turns` others in a loop, `size` of them in a turn.
struct Samples {
  Chain chain;
  std::vector<ir::ValueId> results;
  ir::Dim together, turns, size;
};

// Does it. False, and the function is of no further use, where the nodes do not compute row by row.
bool SplitIntoLoop(ir::Module* module, ir::Function* function, const Samples& samples);

// Whether a node makes elements of axis 0 of its only result one by one.
bool MakesSamples(ir::Function* function, ir::NodeId node);

// A second node that computes the same, in no region yet; invalid where it cannot be had.
ir::NodeId CopyNode(ir::Function* function, ir::NodeId node);

}  // namespace tvmvm::memory
