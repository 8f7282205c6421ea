// Transposed convolutions as convolutions: an output of stride s belongs to one of s phases, and those of one
// phase are a convolution of stride 1 with every s-th tap. Phases together are one convolution, whose
// channels are then put side by side (sub-pixel convolution, Shi et al. 2016): all of them, or where the
// stride does not divide the kernel and it pays, those that have the same number of taps. Or as products of
// each pixel with all taps, added up where they overlap, where these are few.
#pragma once

#include "compiler/graph/graph.h"
#include "compiler/graph/op_builder.h"

namespace tvmvm::passes {

// The result of `node`, a transposed convolution, of `x` and of its weights [C, M/groups, k...]; `layout` is
// that of `x` and of the result.
ir::ValueId ConvolvePhases(ir::OpBuilder& builder, const ir::Node& node, ir::ValueId x, ir::ValueId weights,
                           ir::Layout layout);

}  // namespace tvmvm::passes
