// Ranges, blocks and lanes of loops: how an axis is divided over grid points and vectors.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/loops/nest.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

// begin <= position < end.
struct Range {
  Expr begin, end;
  int64_t divisor = 1;  // of both bounds, known from the dims
};

Range WholeAxis(const ir::Dim& extent);

// The part of an axis that a grid point takes: blocks of `block` elements along grid axis `axis`.
Range BlockOf(Nest& nest, int axis, const std::string& name, const ir::Dim& extent, const ir::Dim& block);

// The same along grid axis x for neighbouring blocks that are taken together.
Range BlocksOf(Nest& nest, const std::string& name, const ir::Dim& extent, const ir::Dim& block);
// Builds loops over the part, and others for where that is the whole axis: what the launch knows of their
// bounds need not be computed within them.
void WholeOrPart(Nest& nest, const Range& part, const ir::Dim& extent,
                 const std::function<void(const Range&)>& build);

// Binds the coordinates of the row-major position within `extents` of the listed axes to loop variables.
std::vector<Expr> BindCoordinates(Nest& nest, const ir::Dims& extents, Expr position);

// Lanes that suit the element types in the expressions: as many of the widest type as a register holds; 1
// where elements share bytes. `along`: what the lanes are neighbours along, unless something is reduced; what
// is loaded once for all of them has no lanes.
int LanesFor(std::span<const Expr> roots, const TargetInfo& target,
             std::optional<VariableId> along = std::nullopt);

// begin + as many whole steps as fit before end, bound to a variable; the end itself where it is known that
// nothing is left.
Expr WholeSteps(Nest& nest, const Range& range, int64_t step);
// What whole steps up to `to` leave.
Range RestAfter(const Range& range, const Expr& to, int64_t step);

}  // namespace tvmvm::tensor
