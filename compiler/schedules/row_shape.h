// Groups of rows: reductions over one set of axes, elementwise operators before, between and after them.
#pragma once

#include <optional>
#include <set>

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {

// What makes a group one of rows. A row: all elements that are reduced to one.
struct RowShape {
  ir::Dims whole, row;  // dims of elements, and of what there is once a row
  ir::Dims flags;       // 1: reduced
  int reductions = 0;
  bool has_whole_output = false;
};

// Nothing where the group is of another form.
std::optional<RowShape> FindRowShape(const GroupView& group);

// Whether an element costs so much to compute that it is better kept than computed again.
bool IsExpensive(const GroupView& group, const RowShape& shape, ir::ValueId element);

// Elements that a reduction needs, that something else needs as well, and that are expensive.
std::set<ir::ValueId> ValuesWorthKeeping(const GroupView& group, const RowShape& shape);

// Whether `maximum` is the largest element of rows and nothing but taken off them, and all results are made
// of the sum of what is left, be it of exponentials: a NaN of the row makes them NaN, too, where the maximum
// passes over it, which takes fewer operations.
bool OnlyShiftsExponentials(const GroupView& group, ir::ValueId maximum);

}  // namespace tvmvm::tensor
