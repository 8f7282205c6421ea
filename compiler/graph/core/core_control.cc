// Control: nodes that own regions. Their types come from their regions, so they have no type rule of their
// own; the verifier compares.
#include "compiler/graph/core/core_families.h"

namespace tvmvm::ir {
namespace {

constexpr CoreOp kRows[] = {
    {.name = "fused",
     .kind = OpKind::kControl,
     .max_inputs = -1,
     .meaning = "a group that runs as one unit; inputs are the region's parameters, outputs its results"},
    {.name = "if",
     .kind = OpKind::kControl,
     .meaning = "the results of the first region where `condition` is not 0, else of the second"},
    {.name = "loop",
     .kind = OpKind::kControl,
     .max_inputs = -1,
     .meaning = "a region repeated with carried values; collects a value of each step"},
    {.name = "call",
     .kind = OpKind::kControl,
     .max_inputs = -1,
     .meaning = "the results of function `callee`"},
};

}  // namespace

std::span<const CoreOp> ControlFamily() { return kRows; }

}  // namespace tvmvm::ir
