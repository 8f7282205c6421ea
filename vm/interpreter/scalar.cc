// Failures of scalar instructions.
#include "vm/interpreter/scalar.h"

#include <string>

namespace tvmvm {

const uint32_t* FailOverflow(Machine& m, const uint32_t* pc) {
  return m.run.Fail(pc, Code::kInvalidArgument, "the result does not fit into 64 bits");
}

const uint32_t* FailDivision(Machine& m, const uint32_t* pc) {
  if (m.frames.scalars[pc[3]] == 0) return m.run.Fail(pc, Code::kInvalidArgument, "division by zero");
  return m.run.Fail(
      pc, Code::kInvalidArgument,
      "the quotient of " + std::to_string(m.frames.scalars[pc[2]]) + " and -1 does not fit into 64 bits");
}

}  // namespace tvmvm
