// Runs any program that the verifier accepts, as a careful host does: under limits, with inputs made for its
// signature, with kernels that touch nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/fuzz/choices.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"
#include "tvm-vm/vm.h"

namespace tvmvm::fuzz {

inline constexpr int64_t kMostBytes = 8 << 20;
Limits RunLimits();

// The end of the last of a few runs. What must hold whatever the program does is checked, and a breach of it
// is an error of Code::kInternal: errors say something, results are of the signature's types, what is held
// stays below the limit. `with_devices`: on up to two null devices, too.
Status RunUnderLimits(std::shared_ptr<const Program> program, Choices& choices, bool with_devices);

}  // namespace tvmvm::fuzz
