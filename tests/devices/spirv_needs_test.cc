#include "devices/vulkan/spirv_needs.h"

#include <gtest/gtest.h>

#include "tests/devices/spirv_words.h"

namespace tvmvm {
namespace {

using testing::SpirvInstruction;
using testing::SpirvWords;

VulkanHardware Hardware() {
  VulkanHardware hardware;
  hardware.has_i64 = true;
  hardware.subgroup.supportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
  hardware.subgroup.supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
  VkPhysicalDeviceLimits& limits = hardware.properties.limits;
  limits.maxComputeWorkGroupInvocations = 256;
  for (uint32_t& size : limits.maxComputeWorkGroupSize) size = 128;
  return hardware;
}

const std::vector<uint32_t> kMain = {15, 5, 1, 0x6e69616d, 0};  // OpEntryPoint GLCompute "main"

std::vector<uint32_t> Capability(uint32_t number) { return {17, number}; }
std::vector<uint32_t> LocalSize(uint32_t x, uint32_t y, uint32_t z) { return {16, 1, 17, x, y, z}; }

TEST(SpirvNeeds, AreMetByWhatTheDeviceHas) {
  EXPECT_EQ(MissingFor(SpirvWords({Capability(1), Capability(11), Capability(61), Capability(5347), kMain,
                                   LocalSize(64, 2, 2)}),
                       Hardware()),
            "");
}

TEST(SpirvNeeds, AreNamed) {
  const VulkanHardware hardware = Hardware();
  EXPECT_EQ(MissingFor(SpirvWords({Capability(9), kMain}), hardware), "f16 arithmetic");
  EXPECT_EQ(MissingFor(SpirvWords({Capability(63), kMain}), hardware), "subgroup arithmetic");
  EXPECT_EQ(MissingFor(SpirvWords({Capability(6022), kMain}), hardware), "matrices of 16 x 16 f16 numbers");
  EXPECT_EQ(MissingFor(SpirvWords({Capability(7000), kMain}), hardware), "SPIR-V capability 7000");
  EXPECT_EQ(MissingFor(SpirvWords({kMain, LocalSize(64, 4, 2)}), hardware), "work-groups of 64 x 4 x 2");
  EXPECT_EQ(MissingFor(SpirvWords({kMain, LocalSize(129, 1, 1)}), hardware), "work-groups of 129 x 1 x 1");
  EXPECT_EQ(MissingFor(SpirvWords({kMain, LocalSize(0xffffffff, 0xffffffff, 0xffffffff)}), hardware),
            "work-groups of 4294967295 x 4294967295 x 4294967295");
}

TEST(SpirvNeeds, MatricesAreDeclared) {
  VulkanHardware hardware = Hardware();
  hardware.has_matrices = true;
  EXPECT_EQ(MissingFor(SpirvWords({Capability(6022), kMain}), hardware), "");
  EXPECT_TRUE(HasMatrices(SpirvWords({Capability(1), Capability(6022), kMain})));
  EXPECT_FALSE(HasMatrices(SpirvWords({Capability(1), kMain})));
  EXPECT_FALSE(HasMatrices(SpirvWords({kMain, {54, 1, 2, 0, 3}, Capability(6022)}))) << "no declaration";
  EXPECT_FALSE(HasMatrices({}));
}

TEST(SpirvNeeds, TheDeviceDecidesWhichModuleOfASymbolRuns) {
  const std::vector<uint32_t> base = SpirvWords({Capability(1), kMain}),
                              better = SpirvWords({Capability(6022), kMain, LocalSize(64, 1, 1)}),
                              too_large = SpirvWords({Capability(6022), kMain, LocalSize(256, 1, 1)});
  auto bytes = PackSpirvLibrary({{"product", base},
                                 {"product@matrices", better},
                                 {"large", base},
                                 {"large@matrices", too_large},
                                 {"plain", base}});
  ASSERT_TRUE(bytes) << bytes.error().message;
  auto library = SpirvLibrary::Open(*bytes);
  ASSERT_TRUE(library) << library.error().message;
  auto chosen = [&](const char* symbol, bool has_matrices) {
    VulkanHardware hardware = Hardware();
    hardware.has_matrices = has_matrices;
    const std::span<const uint32_t> module = ModuleFor(*library, symbol, hardware);
    return std::vector<uint32_t>(module.begin(), module.end());
  };
  EXPECT_EQ(chosen("product", true), better);
  EXPECT_EQ(chosen("product", false), base);
  EXPECT_EQ(chosen("large", true), base) << "its work-groups are too large for the device";
  EXPECT_EQ(chosen("plain", true), base);
  EXPECT_TRUE(chosen("absent", true).empty());
}

TEST(SpirvNeeds, EveryAlternativeIsAskedFor) {
  const std::vector<uint32_t> base = SpirvWords({Capability(1), kMain}),
                              by_subgroups = SpirvWords({Capability(61), Capability(63), kMain}),
                              by_matrices = SpirvWords({Capability(6022), kMain});
  auto bytes = PackSpirvLibrary({{"sum", base},
                                 {"sum@subgroups", by_subgroups},
                                 {"both", base},
                                 {"both@matrices", by_matrices},
                                 {"both@subgroups", by_subgroups}});
  ASSERT_TRUE(bytes) << bytes.error().message;
  auto library = SpirvLibrary::Open(*bytes);
  ASSERT_TRUE(library) << library.error().message;
  VulkanHardware hardware = Hardware();
  auto chosen = [&](const char* symbol) {
    const std::span<const uint32_t> module = ModuleFor(*library, symbol, hardware);
    return std::vector<uint32_t>(module.begin(), module.end());
  };
  EXPECT_EQ(chosen("sum"), base) << "subgroups alone are not their arithmetic";
  hardware.subgroup.supportedOperations |= VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
  EXPECT_EQ(chosen("sum"), by_subgroups);
  EXPECT_EQ(chosen("both"), by_subgroups);
  hardware.has_matrices = true;
  EXPECT_EQ(chosen("both"), by_matrices);
  hardware.subgroup.supportedStages = 0;
  EXPECT_EQ(chosen("sum"), base) << "not in compute";
}

TEST(SpirvNeeds, MalformedModulesAreRefused) {
  const VulkanHardware hardware = Hardware();
  const std::string malformed = "a well-formed module";
  EXPECT_EQ(MissingFor({}, hardware), malformed);
  EXPECT_EQ(MissingFor(SpirvWords({Capability(1)}), hardware), malformed);
  EXPECT_EQ(MissingFor(SpirvWords({{15, 5, 1, 0x6e69616e, 0}}), hardware), malformed);  // another name
  std::vector<uint32_t> cut = SpirvWords({Capability(1), kMain});
  for (size_t size = 0; size < cut.size(); ++size)
    EXPECT_EQ(MissingFor(std::span(cut).first(size), hardware), malformed) << size;
  std::vector<uint32_t> endless = SpirvWords({Capability(1), kMain});
  endless[5] = 17;  // an instruction of no words
  EXPECT_EQ(MissingFor(endless, hardware), malformed);
}

TEST(SpirvNeeds, NanIsKeptWhereTheDeviceCan) {
  const std::vector<uint32_t> memory_model = {14, 0, 1}, label = {248, 4};
  const auto module =
      SpirvWords({Capability(1), Capability(10), memory_model, kMain, LocalSize(8, 1, 1), label});
  const SpirvInstruction extension = {10,         0x5f565053, 0x5f52484b, 0x616f6c66,
                                      0x6f635f74, 0x6f72746e, 0x0000736c};  // "SPV_KHR_float_controls"
  auto with = [&](const std::vector<SpirvInstruction>& modes) {
    std::vector<SpirvInstruction> all = {Capability(4466), Capability(1), Capability(10),
                                         extension,        memory_model,  kMain};
    all.insert(all.end(), modes.begin(), modes.end());
    all.insert(all.end(), {LocalSize(8, 1, 1), label});
    return SpirvWords(all);
  };
  VulkanHardware hardware = Hardware();
  EXPECT_EQ(KeepingNan(module, hardware), module);
  hardware.keeps_nan32 = true;
  EXPECT_EQ(KeepingNan(module, hardware), with({{16, 1, 4461, 32}}));
  hardware.keeps_nan64 = true;
  EXPECT_EQ(KeepingNan(module, hardware), with({{16, 1, 4461, 32}, {16, 1, 4461, 64}}));
}

}  // namespace
}  // namespace tvmvm
