// Where a kernel asks whether its run is to end. A grid point that is known to be short (loop_bounds.h) never
// does; in others it is the loops that may be long, each once in about kWorkBetweenPolls: it goes on in
// blocks of iterations, and what lies around other such loops counts its own work and that of short loops
// within. Nothing is added to what a loop repeats unless an iteration takes that long, and two comparisons to
// a short one. Loops over the results of a range of points are the caller's business, who chooses the range.
#pragma once

#include <unordered_map>

#include "compiler/loops/loop_ir.h"

namespace tvmvm::codegen {

struct PollPoint {
  int64_t work = 1;              // of an iteration, in the unit of KernelPoll::work
  int64_t iterations = 1;        // of a block; 1: there are none, each iteration looks at the counter
  int64_t short_iterations = 0;  // so few of a loop in blocks are counted by the loop around it
};

// By loop, of a kernel as printers get it; the statements are borrowed.
using PollPoints = std::unordered_map<const tensor::Stmt*, PollPoint>;
PollPoints FindPollPoints(const tensor::LoopKernel& kernel);

}  // namespace tvmvm::codegen
