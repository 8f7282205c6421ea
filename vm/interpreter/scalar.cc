// Failures of scalar instructions.
#include "vm/interpreter/scalar.h"

#include <string>

namespace tvmvm {

const uint32_t* FailScalar(Machine& m, const uint32_t* pc) {
  const auto opcode = static_cast<Opcode>(*pc & 0xff);
  if (opcode < Opcode::kFloorDiv || opcode > Opcode::kFloorMod)
    return m.run.Fail(pc, Code::kInvalidArgument, "the result does not fit into 64 bits");
  if (m.frames.scalars[pc[3]] == 0) return m.run.Fail(pc, Code::kInvalidArgument, "division by zero");
  return m.run.Fail(
      pc, Code::kInvalidArgument,
      "the quotient of " + std::to_string(m.frames.scalars[pc[2]]) + " and -1 does not fit into 64 bits");
}

}  // namespace tvmvm
