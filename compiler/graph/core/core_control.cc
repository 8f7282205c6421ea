// Control: nodes that own regions. Their types come from their regions, so they have no type rule of their
// own; the verifier compares.
#include "compiler/graph/core/core_families.h"

namespace tvmvm::ir {
namespace {

constexpr CoreOp kRows[] = {
    {.name = "fused",
     .kind = OpKind::kFused,
     .max_inputs = -1,
     .meaning = "a group that runs as one unit; inputs are the region's parameters, outputs its results"},
    {.name = "if",
     .kind = OpKind::kIf,
     .meaning = "the results of the first region where `condition` is not 0, else of the second",
     .attributes = "condition symbols then_values else_values"},
    {.name = "loop",
     .kind = OpKind::kLoop,
     .max_inputs = -1,
     .meaning = "a region repeated with carried values; collects a value of each step",
     .attributes = "trip start continue index count symbols initial next finals"},
    {.name = "call",
     .kind = OpKind::kCall,
     .max_inputs = -1,
     .meaning = "the results of function `callee`",
     .attributes = "callee"},
};

}  // namespace

std::span<const CoreOp> ControlFamily() { return kRows; }

}  // namespace tvmvm::ir
