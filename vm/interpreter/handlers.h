// One handler for each opcode: does the instruction at `pc` and gives the next one, or null when the run ends
// (the entry function returned, or Machine::Fail was called). A missing handler does not link.
#pragma once

#include "vm/interpreter/machine.h"

namespace tvmvm {

// What follows a list operand.
inline const uint32_t* AfterList(const uint32_t* list) { return list + 1 + list[0]; }

#define OP(name, mnemonic, operands, effect, meaning) \
  const uint32_t* Handle##name(Machine& m, const uint32_t* pc);
#include "bytecode/opcodes.def"
#undef OP

}  // namespace tvmvm
