// Groups of single regions, for passes that come after fuse-groups.
#pragma once

#include "compiler/graph/graph.h"

namespace tvmvm::passes {

// Fuses what one region runs; the regions of its control nodes stay as they are. What lies on different
// devices is not fused.
void FuseRegion(ir::Function* function, ir::RegionId region);

// Puts the nodes of groups in a region, and in the control regions in it, back into the region.
void TakeGroupsApart(ir::Function* function, ir::RegionId region);

}  // namespace tvmvm::passes
