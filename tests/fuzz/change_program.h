// Small changes of valid programs, which may leave them valid.
#pragma once

#include "bytecode/instruction.h"
#include "tests/fuzz/choices.h"
#include "tvm-vm/program.h"

namespace tvmvm::fuzz {

// A word of some function is another one: telling, or near to what it was.
inline void ChangeWord(Program* program, Choices& choices) {
  FunctionSpec& function = program->functions[choices.Below(program->functions.size())];
  uint32_t& word = function.code[choices.Below(function.code.size())];
  const uint32_t telling[] = {0,
                              word + 1,
                              word - 1,
                              word ^ (1u << choices.Below(8)),
                              function.scalar_registers,
                              function.ref_registers,
                              choices.Below(64),
                              0xffffffffu,
                              BufferOperand::kConstantBit | choices.Below(4),
                              BufferOperand::kSlotBit | choices.Below(4),
                              (word & ~0xffu) | choices.Below(Opcodes().size())};
  word = telling[choices.Below(std::size(telling))];
}

}  // namespace tvmvm::fuzz
