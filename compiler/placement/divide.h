// Division: several GPUs share what placement gave to one. Each gets a stretch of the function's body, the
// first GPU the first, so that a value crosses to the next once; stretches take about the same time and end
// where little is alive.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "compiler/graph/graph.h"

namespace tvmvm::placement {

// A node of a function's body.
struct BodyNode {
  ir::NodeId node;
  int64_t time = 0;  // that it takes on a GPU, in nanoseconds
};

// Gives the values that are on kFirstGpu to the GPUs from it to kFirstGpu + gpus - 1; fewer where there are
// not so many nodes. `body` holds the nodes of the body in their order, `bytes` tells the size of a value.
// Transfers are put in afterwards.
void DivideAmongGpus(ir::Function* function, std::span<const BodyNode> body, uint32_t gpus,
                     const std::function<int64_t(const ir::Type&)>& bytes);

}  // namespace tvmvm::placement
