// Valid programs made at random: all opcodes and host functions, branches forwards and backwards, calls,
// containers, plans and slots, one or two devices beside the CPU. What is made is accepted by the verifier,
// and asks the interpreter for whatever the verifier lets pass: operands mostly fit, so that runs come far,
// and are wrong now and then.
#pragma once

#include <memory>

#include "tests/fuzz/choices.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm::fuzz {

// An error is a defect of the maker, or of the verifier.
Expected<std::shared_ptr<const Program>> MakeProgram(Choices& choices);

}  // namespace tvmvm::fuzz
