#include "compiler/codegen/c/spirv_matrices.h"

#include <gtest/gtest.h>

namespace tvmvm::codegen {
namespace {

using Words = std::vector<uint32_t>;

constexpr uint32_t kBound = 100;

// A module of these instructions: opcode and operands.
Words Module(const std::vector<Words>& instructions, uint32_t bound = kBound) {
  Words words = {0x07230203, 0x00010300, 0, bound, 0};
  for (const Words& instruction : instructions) {
    words.push_back(static_cast<uint32_t>(instruction.size()) << 16 | instruction[0]);
    words.insert(words.end(), instruction.begin() + 1, instruction.end());
  }
  return words;
}

// Of the SPIR-V specification.
const Words kShader = {17, 1}, kFloat16 = {17, 9}, kMatrices = {17, 6022};
const Words kUint = {21, 1, 32, 0}, kSixteen = {43, 1, 2, 16}, kThirtyTwo = {43, 1, 3, 32};

Words Matrix(uint32_t id, uint32_t element) { return {4456, id, element, 10, 11, 11, 12}; }

TEST(SpirvMatrices, WidthsBecomeTypes) {
  Words module = Module({kShader, kMatrices, kUint, kSixteen, kThirtyTwo, Matrix(4, 2), Matrix(5, 3)});
  EXPECT_TRUE(HasMatrixTypes(module));
  GiveMatricesTheirElements(&module);
  EXPECT_EQ(module, Module({kShader,
                            kFloat16,
                            kMatrices,
                            {22, kBound, 16},
                            {22, kBound + 1, 32},
                            kUint,
                            kSixteen,
                            kThirtyTwo,
                            Matrix(4, kBound),
                            Matrix(5, kBound + 1)},
                           kBound + 2));
}

TEST(SpirvMatrices, TypesThatAreThereStandOnceAndFirst) {
  Words module =
      Module({kShader, kFloat16, kUint, kSixteen, kThirtyTwo, {22, 7, 32}, Matrix(4, 2), Matrix(5, 3)});
  GiveMatricesTheirElements(&module);
  EXPECT_EQ(module, Module({kShader,
                            kFloat16,
                            {22, kBound, 16},
                            {22, 7, 32},
                            kUint,
                            kSixteen,
                            kThirtyTwo,
                            Matrix(4, kBound),
                            Matrix(5, 7)},
                           kBound + 1));
}

TEST(SpirvMatrices, OtherModulesStayAsTheyAre) {
  const Words module = Module({kShader, kUint, kSixteen, {22, 7, 32}});
  Words same = module;
  EXPECT_FALSE(HasMatrixTypes(module));
  GiveMatricesTheirElements(&same);
  EXPECT_EQ(same, module);
}

}  // namespace
}  // namespace tvmvm::codegen
