// Schedules in a few lines: what each kernel of a group costs, its grid, and what its innermost loops do with
// vectors. Golden tests hold it, so that a fusion or a vector that gets lost is seen.
#pragma once

#include <string>

#include "compiler/schedules/group.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

// One paragraph for each kernel:
//
//   contract when lt(4, m) grid [ceildiv(m, 96), 12, 1] flops m*4718592 bytes m*15360+9437184; in0 packed0
//   out0
//     for k by 4: 24 fma x8, 8 loads, 8 loads x8
//
// A line for each loop that works itself, outer ones first ("straight": what is in no loop); unrolled loops
// count as often as they run. "x8" are lanes; loads and stores of vectors are of consecutive elements
// unless they are called strided, gathers or scatters; what registers hold counts for nothing.
std::string Summarize(const GroupProgram& program, const TargetInfo& target);

}  // namespace tvmvm::tensor
