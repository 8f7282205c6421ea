#include "vm/binding/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/vm/test_kernels.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using testing::TensorType;

std::optional<int64_t> Evaluate(std::string_view text,
                                std::initializer_list<std::pair<std::string_view, int64_t>> values) {
  SymbolTable symbols;
  const DimExpression expression = *DimExpression::Parse(text, &symbols);
  std::vector<int64_t> bound(symbols.size(), DimExpression::kUnbound);
  for (uint32_t i = 0; i < symbols.size(); ++i)
    for (const auto& [name, value] : values)
      if (symbols.name(i) == name) bound[i] = value;
  return expression.Evaluate(bound);
}

TEST(DimExpression, ReadsWhatTheCompilerWrites) {
  EXPECT_EQ(Evaluate("n", {{"n", 7}}), 7);
  EXPECT_EQ(Evaluate("n*4+1", {{"n", 7}}), 29);
  EXPECT_EQ(Evaluate("1 + 2 * 3 - 4", {}), 3);
  EXPECT_EQ(Evaluate("2*(n - -3)", {{"n", 1}}), 8);
  EXPECT_EQ(Evaluate("ceildiv(n, 2)", {{"n", 7}}), 4);
  EXPECT_EQ(Evaluate("floordiv(0 - n, 2)", {{"n", 7}}), -4);
  EXPECT_EQ(Evaluate("floormod(-n,4) + n // 2 + n % 4 + n/2", {{"n", 7}}), 1 + 3 + 3 + 3);
  EXPECT_EQ(Evaluate("min(n, 512) + max(n, 512)", {{"n", 7}}), 519);
  EXPECT_EQ(Evaluate("select(lt(n, m), n, m)", {{"n", 7}, {"m", 9}}), 7);
  EXPECT_EQ(Evaluate("select(and(eq(n,7), not(le(n, 6))), or(1, 2), ne(n, 7))", {{"n", 7}}), 3);
  EXPECT_EQ(Evaluate("past_len + 1", {{"past_len", 3}}), 4);
}

TEST(DimExpression, IsUnknownWhereASymbolOrAValueIs) {
  EXPECT_EQ(Evaluate("n*4", {}), std::nullopt);
  EXPECT_EQ(Evaluate("floordiv(4, n)", {{"n", 0}}), std::nullopt);
  EXPECT_EQ(Evaluate("n*n", {{"n", INT64_MAX}}), std::nullopt);
}

TEST(DimExpression, SymbolsThatAreNoIdentifiersAreQuoted) {
  EXPECT_EQ(Evaluate("'batch size'*2", {{"'batch size'", 5}}), 10);
  EXPECT_EQ(Evaluate(R"('it\'s' + '\\' + 'größe')", {{R"('it\'s')", 1}, {R"('\\')", 2}, {"'größe'", 3}}), 6);
  EXPECT_EQ(Evaluate("mod(n, 4)", {{"n", 7}}), 3);
}

TEST(DimExpression, AnyOtherTextIsAnError) {
  auto error = [](const std::string& text) {
    SymbolTable symbols;
    auto parsed = DimExpression::Parse(text, &symbols);
    return parsed ? "" : parsed.error().message;
  };
  EXPECT_EQ(error("batch size"), "'batch size' is no expression, from character 6 on");
  EXPECT_EQ(error("n*"), "'n*' is no expression, from character 2 on");
  for (const char* text : {"f(n)", "min(n)", "(n", "1n", "99999999999999999999", "?", "größe", "n)", "'n",
                           R"('n\')", "'", "n 'm'"})
    EXPECT_NE(error(text), "") << text;
  const std::string deep = std::string(100'000, '(') + "n" + std::string(100'000, ')');
  EXPECT_EQ(error(deep), "'" + std::string(100, '(') + "...' is no expression, from character 201 on");
  EXPECT_NE(error(std::string(100'000, '-')), "");
}

// Signatures of many symbols are read in milliseconds.
TEST(DimExpression, ManySymbols) {
  SymbolTable symbols;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(DimExpression::Parse("n" + std::to_string(i), &symbols));
  EXPECT_EQ(symbols.size(), 100'000u);
  EXPECT_EQ(symbols.Intern("n99999"), 99'999u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

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
}

TEST_F(SignatureCheck, ExpressionsAreCheckedAfterAllSymbolsAreKnown) {
  EXPECT_EQ(Check({P("x", {"n*4+1"}), P("z", {"n"})}, {F32({9}), F32({2})}), "");
  EXPECT_THAT(Check({P("x", {"n*4+1"}), P("z", {"n"})}, {F32({8}), F32({2})}),
              HasSubstr("input 'x': dimension 0 must be n*4+1 = 9, given 8"));
  EXPECT_EQ(Check({P("x", {"min(q, 4)"})}, {F32({100})}), "") << "no input gives q";
}

}  // namespace
}  // namespace tvmvm
