// SPIR-V modules written by hand.
#pragma once

#include <cstdint>
#include <vector>

namespace tvmvm::testing {

// Opcode and operands.
using SpirvInstruction = std::vector<uint32_t>;

// A module with these instructions behind its header; ids below 100.
inline std::vector<uint32_t> SpirvWords(const std::vector<SpirvInstruction>& instructions) {
  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, 100, 0};
  for (const SpirvInstruction& instruction : instructions) {
    words.push_back(static_cast<uint32_t>(instruction.size()) << 16 | instruction[0]);
    words.insert(words.end(), instruction.begin() + 1, instruction.end());
  }
  return words;
}

}  // namespace tvmvm::testing
