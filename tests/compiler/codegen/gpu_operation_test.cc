// Every operation in every type on a GPU language's device, against the evaluator.
#define CL_TARGET_OPENCL_VERSION 120
#include "tests/compiler/codegen/opencl_runner.h"
#include "tests/compiler/codegen/operation_cases.h"
#include "tests/require.h"

namespace tvmvm::codegen {
namespace {

class GpuArithmeticIn : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    std::string reason;
    OpenClRunner* opencl = OpenClRunner::Get(&reason);
    if (opencl == nullptr) TVMVM_SKIP_WITHOUT("opencl", reason);
    runners_.push_back({"opencl", [opencl](const auto& kernel, const auto& buffers) {
                          std::string message;
                          int32_t code = opencl->Run(kernel, buffers, {}, &message);
                          if (code < 0) ADD_FAILURE() << message;
                          return code;
                        }});
  }
  std::vector<KernelRunner> runners_;
};

// Building a program takes long: fewer lanes than on the CPU.
const std::vector<int> kFewWidths = {1, 4};

TEST_P(GpuArithmeticIn, BinaryOperationsAgreeWithTheEvaluator) {
  CompareBinaryOperations(runners_, GetParam(), kFewWidths);
}
TEST_P(GpuArithmeticIn, IntegerDivisionsAgreeWithTheEvaluator) {
  CompareIntegerDivisions(runners_, GetParam(), {1});
}
TEST_P(GpuArithmeticIn, FloatDivisionsAgreeWithTheEvaluator) {
  CompareFloatDivisions(runners_, GetParam(), kFewWidths);
}
TEST_P(GpuArithmeticIn, UnaryOperationsAgreeWithTheEvaluator) {
  CompareUnaryOperations(runners_, GetParam(), kFewWidths);
}
TEST_P(GpuArithmeticIn, BitOperationsAgreeWithTheEvaluator) {
  CompareBitOperations(runners_, GetParam(), {1});
}
INSTANTIATE_TEST_SUITE_P(All, GpuArithmeticIn, testing::ValuesIn(kArithmetic), NameOf);

class GpuCastFrom : public GpuArithmeticIn {};
TEST_P(GpuCastFrom, EveryTypeAgreesWithTheEvaluator) { CompareCasts(runners_, GetParam(), {1}); }
INSTANTIATE_TEST_SUITE_P(All, GpuCastFrom, testing::ValuesIn(kStored), NameOf);

}  // namespace
}  // namespace tvmvm::codegen
