#include "compiler/codegen/c/spirv_matrices.h"

#include <functional>
#include <map>
#include <span>

namespace tvmvm::codegen {
namespace {

// Numbers of the SPIR-V specification.
constexpr size_t kHeaderWords = 5, kBound = 3;
constexpr uint32_t kOpCapability = 17, kFirstType = 19, kOpTypeFloat = 22, kLastType = 39, kOpConstant = 43,
                   kOpTypeCooperativeMatrix = 4456;
constexpr uint32_t kCapabilityFloat16 = 9;

using Instruction = std::span<const uint32_t>;

void ForInstructions(const std::vector<uint32_t>& words,
                     const std::function<void(uint32_t, Instruction)>& see) {
  for (size_t at = kHeaderWords; at < words.size();) {
    const size_t count = words[at] >> 16;
    if (count == 0 || count > words.size() - at) return;
    see(words[at] & 0xffff, Instruction(words).subspan(at, count));
    at += count;
  }
}

}  // namespace

bool HasMatrixTypes(const std::vector<uint32_t>& words) {
  bool has = false;
  ForInstructions(words, [&](uint32_t opcode, Instruction) { has |= opcode == kOpTypeCooperativeMatrix; });
  return has;
}

void GiveMatricesTheirElements(std::vector<uint32_t>* words) {
  if (!HasMatrixTypes(*words)) return;
  std::map<uint32_t, uint32_t> numbers, floats;  // constants by id; types' ids by width
  bool has_float16 = false;
  ForInstructions(*words, [&](uint32_t opcode, Instruction i) {
    if (opcode == kOpConstant && i.size() == 4) numbers[i[2]] = i[3];
    if (opcode == kOpTypeFloat) floats[i[2]] = i[1];
    has_float16 |= opcode == kOpCapability && i[1] == kCapabilityFloat16;
  });
  std::vector<uint32_t> result(words->begin(), words->begin() + kHeaderWords);
  for (uint32_t width : {16u, 32u})
    if (floats.emplace(width, result[kBound]).second) ++result[kBound];
  bool is_before_types = true;
  ForInstructions(*words, [&](uint32_t opcode, Instruction i) {
    if (is_before_types && opcode >= kFirstType && opcode <= kLastType) {
      is_before_types = false;
      for (auto [width, id] : floats) result.insert(result.end(), {3u << 16 | kOpTypeFloat, id, width});
    }
    if (opcode == kOpTypeFloat) return;
    result.insert(result.end(), i.begin(), i.end());
    if (opcode == kOpTypeCooperativeMatrix) result[result.size() - i.size() + 2] = floats[numbers[i[2]]];
    if (opcode == kOpCapability && !has_float16) {
      result.insert(result.end(), {2u << 16 | kOpCapability, kCapabilityFloat16});
      has_float16 = true;
    }
  });
  *words = std::move(result);
}

}  // namespace tvmvm::codegen
