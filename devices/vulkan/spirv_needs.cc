#include "devices/vulkan/spirv_needs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace tvmvm {
namespace {

// Numbers of the SPIR-V specification.
constexpr size_t kHeaderWords = 5;
constexpr uint16_t kOpExtension = 10, kOpEntryPoint = 15, kOpExecutionMode = 16, kOpCapability = 17,
                   kOpFunction = 54;
constexpr uint32_t kModelGlCompute = 5, kModeLocalSize = 17, kCapabilityMatrices = 6022;
constexpr uint32_t kCapabilityFloat64 = 10, kCapabilityKeepsNan = 4466, kModeKeepsNan = 4461;

constexpr const char* kMalformed = "a well-formed module";

struct Capability {
  uint32_t number;
  const char* name;
  bool VulkanHardware::*has = nullptr;  // null: every device that can be used has it
  VkSubgroupFeatureFlags subgroup = 0;
};

constexpr Capability kCapabilities[] = {
    {0, "matrices"},
    {1, "shaders"},
    {9, "f16 arithmetic", &VulkanHardware::has_f16},
    {10, "f64 arithmetic", &VulkanHardware::has_f64},
    {11, "64-bit integers", &VulkanHardware::has_i64},
    {22, "16-bit integers", &VulkanHardware::has_i16},
    {39, "8-bit integers", &VulkanHardware::has_i8},
    {61, "subgroups", nullptr, VK_SUBGROUP_FEATURE_BASIC_BIT},
    {62, "subgroup votes", nullptr, VK_SUBGROUP_FEATURE_VOTE_BIT},
    {63, "subgroup arithmetic", nullptr, VK_SUBGROUP_FEATURE_ARITHMETIC_BIT},
    {64, "subgroup ballots", nullptr, VK_SUBGROUP_FEATURE_BALLOT_BIT},
    {65, "subgroup shuffles", nullptr, VK_SUBGROUP_FEATURE_SHUFFLE_BIT},
    {66, "relative subgroup shuffles", nullptr, VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT},
    {67, "clustered subgroups", nullptr, VK_SUBGROUP_FEATURE_CLUSTERED_BIT},
    {4433, "16-bit storage", &VulkanHardware::has_storage16},
    {4448, "8-bit storage", &VulkanHardware::has_storage8},
    {5345, "the Vulkan memory model", &VulkanHardware::has_memory_model},
    {5346, "the Vulkan memory model", &VulkanHardware::has_memory_model},
    {5347, "buffer device addresses"},
    {kCapabilityMatrices, "matrices of 16 x 16 f16 numbers", &VulkanHardware::has_matrices},
};

bool Has(const VulkanHardware& hardware, const Capability& capability) {
  if (capability.has != nullptr) return hardware.*capability.has;
  if (capability.subgroup == 0) return true;
  return (hardware.subgroup.supportedOperations & capability.subgroup) != 0 &&
         (hardware.subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

std::string MissingCapability(uint32_t number, const VulkanHardware& hardware) {
  for (const Capability& capability : kCapabilities)
    if (capability.number == number) return Has(hardware, capability) ? "" : capability.name;
  return "SPIR-V capability " + std::to_string(number);
}

std::string TooLargeGroup(const uint32_t* size, const VulkanHardware& hardware) {
  const VkPhysicalDeviceLimits& limits = hardware.properties.limits;
  uint64_t items = 1;
  bool fits = true;
  for (int axis = 0; axis < 3; ++axis) {
    fits = fits && size[axis] <= limits.maxComputeWorkGroupSize[axis];
    items *= std::max(size[axis], 1u);
    fits = fits && items <= limits.maxComputeWorkGroupInvocations;
  }
  if (fits) return {};
  return "work-groups of " + std::to_string(size[0]) + " x " + std::to_string(size[1]) + " x " +
         std::to_string(size[2]);
}

bool IsMain(std::span<const uint32_t> instruction) {
  constexpr char kMain[8] = "main";  // with its zeros, two words
  return instruction.size() >= 5 && instruction[1] == kModelGlCompute &&
         std::memcmp(&instruction[3], kMain, sizeof kMain) == 0;
}

// Visits the opcodes and instructions of the module's declarations until `visit` returns false; false: they
// are malformed.
template <class Visit>
bool ForDeclarations(std::span<const uint32_t> module, const Visit& visit) {
  for (size_t at = kHeaderWords; at < module.size();) {
    const auto opcode = static_cast<uint16_t>(module[at] & 0xffff);
    const size_t words = module[at] >> 16;
    if (words == 0 || words > module.size() - at) return false;
    if (!visit(opcode, module.subspan(at, words)) || opcode == kOpFunction) return true;
    at += words;
  }
  return true;
}

void Append(std::vector<uint32_t>* words, uint32_t opcode, std::span<const uint32_t> operands) {
  words->push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
  words->insert(words->end(), operands.begin(), operands.end());
}

}  // namespace

std::string MissingFor(std::span<const uint32_t> module, const VulkanHardware& hardware) {
  bool has_main = false;
  std::string missing;
  const bool is_whole = ForDeclarations(module, [&](uint16_t opcode, std::span<const uint32_t> words) {
    if (opcode == kOpCapability && words.size() == 2) missing = MissingCapability(words[1], hardware);
    if (opcode == kOpExecutionMode && words.size() == 6 && words[2] == kModeLocalSize)
      missing = TooLargeGroup(&words[3], hardware);
    if (opcode == kOpEntryPoint) has_main = has_main || IsMain(words);
    return missing.empty();
  });
  if (!missing.empty()) return missing;
  return is_whole && has_main ? "" : kMalformed;
}

bool HasMatrices(std::span<const uint32_t> module) {
  bool has = false;
  ForDeclarations(module, [&](uint16_t opcode, std::span<const uint32_t> words) {
    has = opcode == kOpCapability && words.size() == 2 && words[1] == kCapabilityMatrices;
    return !has;
  });
  return has;
}

// Declarations have their order: the capability stands with the others, the extension behind them, modes
// behind the entry point.
std::vector<uint32_t> KeepingNan(std::span<const uint32_t> module, const VulkanHardware& hardware) {
  if (!hardware.keeps_nan32) return {module.begin(), module.end()};
  std::vector<uint32_t> words(module.begin(), module.begin() + kHeaderWords);
  bool keeps64 = false, has_extension = false;
  auto keep = [&](uint32_t entry_point, uint32_t bits) {
    Append(&words, kOpExecutionMode, std::array{entry_point, kModeKeepsNan, bits});
  };
  Append(&words, kOpCapability, std::array{kCapabilityKeepsNan});
  size_t copied = kHeaderWords;
  ForDeclarations(module, [&](uint16_t opcode, std::span<const uint32_t> declaration) {
    if (opcode == kOpCapability && declaration.size() == 2 && declaration[1] == kCapabilityFloat64)
      keeps64 = hardware.keeps_nan64;
    if (opcode != kOpCapability && !std::exchange(has_extension, true)) {
      std::array<uint32_t, 6> name{};
      std::memcpy(name.data(), "SPV_KHR_float_controls", sizeof "SPV_KHR_float_controls");
      Append(&words, kOpExtension, name);
    }
    words.insert(words.end(), declaration.begin(), declaration.end());
    copied += declaration.size();
    if (opcode == kOpEntryPoint && IsMain(declaration)) {
      keep(declaration[2], 32);
      if (keeps64) keep(declaration[2], 64);
    }
    return true;
  });
  words.insert(words.end(), module.begin() + static_cast<ptrdiff_t>(copied), module.end());
  return words;
}

std::span<const uint32_t> ModuleFor(const SpirvLibrary& library, const std::string& symbol,
                                    const VulkanHardware& hardware) {
  for (const std::string_view form : kSpirvAlternatives) {
    const auto better = library.Find(symbol + std::string(form));
    if (!better.empty() && MissingFor(better, hardware).empty()) return better;
  }
  return library.Find(symbol);
}

}  // namespace tvmvm
