// Dispatch: threaded code with one indirect jump per instruction. Scalar handlers are inlined here, the
// others are calls.
#include "vm/interpreter/handlers.h"
#include "vm/interpreter/scalar.h"

namespace tvmvm {
namespace {

// Pure instructions neither ask for the step count nor fail by it.
constexpr bool ReadsSteps(Effect effect) { return effect != Effect::kPure; }

}  // namespace

void Interpret(Machine& m, const uint32_t* pc) {
  static const void* const kLabels[] = {
#define OP(name, mnemonic, operands, effect, meaning) &&do_##name,
#include "bytecode/opcodes.def"
#undef OP
  };
  uint64_t steps = m.run.steps;
  goto* kLabels[*pc & 0xff];

#define OP(name, mnemonic, operands, effect, meaning)              \
  do_##name : {                                                    \
    ++steps;                                                       \
    if constexpr (ReadsSteps(Effect::effect)) m.run.steps = steps; \
    pc = Handle##name(m, pc);                                      \
    if (pc == nullptr) [[unlikely]]                                \
      return;                                                      \
    goto* kLabels[*pc & 0xff];                                     \
  }
#include "bytecode/opcodes.def"
#undef OP
}

}  // namespace tvmvm
