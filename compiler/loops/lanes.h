// Lanes: the elements that vectors of a loop hold, and which loads suit them.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "compiler/loops/nest.h"

namespace tvmvm::tensor {

// The elements that one statement works on at once: `unroll` vectors of `width` lanes. Element number
// unroll_variable * width + lane_variable.
struct Lanes {
  int width = 1;
  int unroll = 1;
  VariableId lane_variable = 0, unroll_variable = 0;
  Expr guard;  // bool: which elements there are; invalid: all of them

  static Lanes Make(LoopKernel* kernel, int width, int unroll);
  int count() const { return width * unroll; }
  Expr Number() const;
  bool In(const Expr& a) const;  // whether `a` differs between the elements
};

// Steps of loads up to here are made of wide loads and shuffles.
inline constexpr int64_t kMaxShortStep = 4;

// Whether loads along a variable are wide, or the same for all lanes, or of a short step.
bool LoadsWide(const Expr& a, VariableId variable);
// Whether the last, partial vector of a loop may be a masked one: element types that masks exist for at every
// level, and no gathers.
bool SuitsMasks(std::span<const Expr> roots, VariableId variable);
// `a` with loads that touch only elements that there are.
Expr Guarded(const Expr& a, const Lanes& lanes);

// Vectors of `width` lanes that are best woven into one: processors look ahead over few operations, so that
// chains of them, such as functions are, overlap only side by side. 1 where there are none, or many.
int VectorsToWeave(std::span<const Expr> roots, int width);

// Opens the loops over the elements, builds, closes.
void ForLanes(Nest& nest, const Lanes& lanes, const std::function<void()>& build);

// Loops over a range in vectors: groups of `unroll` vectors, single vectors, single elements. `build` gets
// the position of the element and the lanes at hand, and opens them with ForLanes where it stores.
void ForVectors(Nest& nest, const std::string& name, Expr begin, const Expr& end, int width, int unroll,
                const std::function<void(const Expr&, const Lanes&)>& build);

// How well loads in `a` suit vectors along `variable`: the number of distinct loads that are neither at unit
// stride nor the same for all lanes.
int GatheredLoads(const Expr& a, VariableId variable);

}  // namespace tvmvm::tensor
