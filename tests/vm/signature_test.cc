#include "vm/binding/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/vm/test_kernels.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using testing::TensorType;

class SignatureCheck : public ::testing::Test {
 protected:
  // The error's message, or "" when the inputs are taken.
  std::string Check(std::vector<ParameterSpec> parameters, std::vector<Tensor> inputs) {
    FunctionSpec function = testing::Signature("main", std::move(parameters), {});
    tvmvm::Signature signature(function);
    std::vector<int64_t> bound(signature.symbol_count());
    Status status = signature.CheckInputs(std::span<const Tensor>(inputs), bound);
    if (status) return "";
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
    return status.error().message;
  }
  static Tensor F32(std::vector<int64_t> dims) { return *Tensor::Allocate(DType::kF32, Shape(dims)); }
  static ParameterSpec P(std::string name, std::vector<std::string> dims) {
    return {std::move(name), TensorType(DType::kF32, std::move(dims))};
  }
};

TEST_F(SignatureCheck, CountsInputs) {
  EXPECT_EQ(Check({P("x", {"n"})}, {}), "0 inputs given, the program takes 1");
  EXPECT_EQ(Check({P("x", {"n"})}, {F32({1}), F32({1})}), "2 inputs given, the program takes 1");
}

TEST_F(SignatureCheck, TypesAndRanks) {
  EXPECT_EQ(Check({P("x", {"n"})}, {*Tensor::Allocate(DType::kI32, Shape{1})}),
            "input 'x': element type i32 given, wanted f32");
  EXPECT_EQ(Check({P("x", {"n", "3"})}, {F32({1})}),
            "input 'x': rank 1 given (shape [1]), wanted 2 (f32[n, 3])");
  EXPECT_EQ(Check({P("x", {"n"})}, {Tensor()}), "input 'x': no tensor given, wanted f32[n]");
  EXPECT_EQ(Check({P("x", {"n"})}, {Tensor::Borrow(DType::kF32, Shape{2}, nullptr)}),
            "input 'x': its data is null");
  ParameterSpec any = P("x", {});
  any.type.has_rank = false;
  EXPECT_EQ(Check({any}, {F32({1, 2, 3})}), "");
}

TEST_F(SignatureCheck, FixedDims) {
  EXPECT_EQ(Check({P("x", {"n", "3"})}, {F32({5, 3})}), "");
  EXPECT_EQ(Check({P("x", {"n", "3"})}, {F32({5, 4})}),
            "input 'x': dimension 1 must be 3, given 4 (shape [5, 4], wanted f32[n, 3])");
}

TEST_F(SignatureCheck, Bounds) {
  ParameterSpec x = P("x", {"n"});
  x.type.dims[0].low = 2;
  x.type.dims[0].high = 8;
  EXPECT_EQ(Check({x}, {F32({2})}), "");
  EXPECT_EQ(Check({x}, {F32({8})}), "");
  EXPECT_THAT(Check({x}, {F32({1})}), HasSubstr("dimension 0 must be from 2 to 8, given 1"));
  EXPECT_THAT(Check({x}, {F32({9})}), HasSubstr("dimension 0 must be from 2 to 8, given 9"));
  x.type.dims[0].high = INT64_MAX;
  EXPECT_THAT(Check({x}, {F32({1})}), HasSubstr("must be at least 2, given 1"));
}

TEST_F(SignatureCheck, SymbolsAgreeAcrossInputs) {
  EXPECT_EQ(Check({P("x", {"n", "m"}), P("z", {"m"})}, {F32({5, 3}), F32({3})}), "");
  EXPECT_EQ(Check({P("x", {"n", "m"}), P("z", {"m"})}, {F32({5, 3}), F32({4})}),
            "input 'z': dimension 0 must be m = 3 as in dimension 1 of input 'x', given 4 (shape [4], wanted "
            "f32[m]); compile the model with --distinct-dims if they may differ");
  EXPECT_THAT(Check({P("x", {"n", "n"})}, {F32({5, 3})}), HasSubstr("n = 5 as in dimension 0 of input 'x'"));
  EXPECT_THAT(Check({P("x", {"'my dim'", "'my dim'"})}, {F32({5, 3})}),
              HasSubstr("must be 'my dim' = 5 as in"));
  EXPECT_THAT(Check({P("x", {"n", "'n'"})}, {F32({5, 3})}), HasSubstr("must be n = 5 as in"));
  EXPECT_EQ(Check({P("x", {"?", "?", "?+1"})}, {F32({5, 3, 1})}), "") << "nobody knows these";
}

TEST_F(SignatureCheck, ExpressionsAreCheckedAfterAllSymbolsAreKnown) {
  EXPECT_EQ(Check({P("x", {"n*4+1"}), P("z", {"n"})}, {F32({9}), F32({2})}), "");
  EXPECT_THAT(Check({P("x", {"n*4+1"}), P("z", {"n"})}, {F32({8}), F32({2})}),
              HasSubstr("input 'x': dimension 0 must be n*4+1 = 9, given 8"));
  EXPECT_EQ(Check({P("x", {"min(q, 4)"})}, {F32({100})}), "") << "no input gives q";
}

}  // namespace
}  // namespace tvmvm
