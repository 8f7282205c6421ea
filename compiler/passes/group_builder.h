// Groups as nodes: what may be a part of one, and how its members move into it.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::passes {

// What a group is built around: a product or a window.
bool IsAnchor(const ir::Node& node);
// Runs as a kernel, alone or with others.
bool IsLaunched(const ir::Node& node);
// Costs nothing to repeat in every group that uses it.
bool IsFree(const ir::Node& node);
// Decodes constants: each group that reads the result computes it from the codes.
bool DecodesConstants(const ir::Function& function, const ir::Node& node);

// Makes one `fused` node of `members`, in the order in which they run: they move into its region, whose
// parameters stand for the values from outside. Only the values of `leaving`, at least one, leave it.
// `clones`: whether it takes copies of operators that are free, not only of constants.
ir::NodeId BuildGroup(ir::Function* function, std::vector<ir::NodeId> members,
                      const std::vector<ir::NodeId>& leaving, bool clones);

}  // namespace tvmvm::passes
