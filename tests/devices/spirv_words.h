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

// void main() {} in work-groups of 1 x 1 x `depth`.
inline std::vector<uint32_t> EmptySpirv(uint32_t depth) {
  constexpr uint32_t kMain = 1, kVoid = 2, kFunction = 3, kLabel = 4;
  return SpirvWords({{17, 1},                           // OpCapability Shader
                     {14, 0, 1},                        // OpMemoryModel Logical GLSL450
                     {15, 5, kMain, 0x6e69616d, 0},     // OpEntryPoint GLCompute "main"
                     {16, kMain, 17, 1, 1, depth},      // OpExecutionMode LocalSize
                     {19, kVoid},                       // OpTypeVoid
                     {33, kFunction, kVoid},            // OpTypeFunction
                     {54, kVoid, kMain, 0, kFunction},  // OpFunction
                     {248, kLabel},                     // OpLabel
                     {253},                             // OpReturn
                     {56}});                            // OpFunctionEnd
}

}  // namespace tvmvm::testing
