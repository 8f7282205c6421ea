// Every operation in every type on every CPU level of this machine, against the evaluator.
#include "tests/compiler/codegen/compiled_kernel.h"
#include "tests/compiler/codegen/operation_cases.h"

namespace tvmvm::codegen {
namespace {

std::vector<KernelRunner> CpuRunners() {
  std::vector<KernelRunner> runners;
  for (CpuLevel level : LevelsHere())
    runners.push_back({CpuLevelName(level), [level](const auto& kernel, const auto& buffers) {
                         std::vector<void*> addresses;
                         for (std::span<std::byte> buffer : buffers) addresses.push_back(buffer.data());
                         return CompiledKernel(kernel, level).Run(addresses);
                       }});
  return runners;
}

class ArithmeticIn : public testing::TestWithParam<DType> {};

TEST_P(ArithmeticIn, BinaryOperationsAgreeWithTheEvaluator) {
  CompareBinaryOperations(CpuRunners(), GetParam());
}
TEST_P(ArithmeticIn, IntegerDivisionsAgreeWithTheEvaluator) {
  CompareIntegerDivisions(CpuRunners(), GetParam());
}
TEST_P(ArithmeticIn, FloatDivisionsAgreeWithTheEvaluator) { CompareFloatDivisions(CpuRunners(), GetParam()); }
TEST_P(ArithmeticIn, UnaryOperationsAgreeWithTheEvaluator) {
  CompareUnaryOperations(CpuRunners(), GetParam());
}
TEST_P(ArithmeticIn, BitOperationsAgreeWithTheEvaluator) { CompareBitOperations(CpuRunners(), GetParam()); }
TEST_P(ArithmeticIn, LaneReductionsAgreeWithTheEvaluator) { CompareLaneReductions(CpuRunners(), GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, ArithmeticIn, testing::ValuesIn(kArithmetic), NameOf);

TEST(DotProductsOfBytes, AgreeWithTheEvaluator) { CompareDotProductsOfBytes(CpuRunners()); }

TEST(Scales, AgreeWithTheEvaluator) {
  std::vector<KernelRunner> runners = CpuRunners();
  std::erase_if(runners, [](const KernelRunner& runner) {
    return runner.name == CpuLevelName(CpuLevel::kX86_64_V3);  // math functions ask it for none
  });
  for (DType dtype : {DType::kF32, DType::kF64}) CompareScales(runners, dtype);
}

TEST(QuantizedNumbers, AgreeWithTheEvaluator) {
  for (DType dtype : {DType::kF32, DType::kF64}) CompareQuantized(CpuRunners(), dtype);
}

class CastFrom : public testing::TestWithParam<DType> {};
TEST_P(CastFrom, EveryTypeAgreesWithTheEvaluator) { CompareCasts(CpuRunners(), GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, CastFrom, testing::ValuesIn(kStored), NameOf);

}  // namespace
}  // namespace tvmvm::codegen
