// Reverse-mode differentiation of the graph IR. Gradients are core nodes like all others, so they are
// optimized, compiled and differentiated again like all others. The rules are in gradient_rule.h.
#pragma once

#include <vector>

#include "compiler/graph/op_builder.h"

namespace tvmvm::autodiff {

// The gradients of the sum of y's elements with respect to each of `xs`, in the types of these, as nodes that
// the builder appends. `xs` and `constants` are taken as independent of each other whatever computes them: no
// gradient goes through them. An x that y does not depend on gets zeros. Integers and bools carry no
// gradient. Where y or an x is no tensor of floats, or an operator on the way has no rule, the builder fails.
std::vector<ir::ValueId> Gradients(ir::OpBuilder& b, ir::ValueId y, const std::vector<ir::ValueId>& xs,
                                   const std::vector<ir::ValueId>& constants = {});

// The value as one of its own: the builder neither folds what is computed from it nor looks through it at
// what it is made of. Values that Gradients is to find as `xs` are made so, before they are used.
ir::ValueId Independent(ir::OpBuilder& b, ir::ValueId value);

// y computed once more, with values[k] in the place of originals[k] where they differ. Shapes must be those
// of the originals when the model runs. The builder fails where a shape depends on a replaced value, or
// control flow does.
ir::ValueId Recompute(ir::OpBuilder& b, ir::ValueId y, const std::vector<ir::ValueId>& originals,
                      const std::vector<ir::ValueId>& values);

}  // namespace tvmvm::autodiff
