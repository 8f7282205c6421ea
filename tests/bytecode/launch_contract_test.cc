#include "bytecode/launch_contract.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace tvmvm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

KernelSpec KernelWith(std::string contract) {
  KernelSpec kernel;
  kernel.name = "add";
  kernel.scalar_count = 2;
  kernel.buffers = {Access::kRead, Access::kWrite};
  kernel.contract = std::move(contract);
  return kernel;
}

std::string ErrorOf(std::string contract) {
  auto parsed = LaunchContract::Parse(KernelWith(std::move(contract)));
  return parsed ? "" : parsed.error().message;
}

struct Result {
  int failed = -1;             // the expression
  std::vector<int64_t> bytes;  // wanted of each buffer
};

// `numbers`: grid, scratch, scalars.
Result Ask(std::string text, std::vector<int64_t> numbers) {
  auto contract = LaunchContract::Parse(KernelWith(std::move(text)));
  EXPECT_TRUE(contract) << contract.error().message;
  if (!contract) return {};
  std::vector<int64_t> values(contract->initial().begin(), contract->initial().end());
  std::copy(numbers.begin(), numbers.end(), values.begin());
  Result result;
  if (auto failed = contract->Evaluate(values.data())) result.failed = static_cast<int>(*failed);
  for (size_t buffer = 0; buffer < 2; ++buffer) result.bytes.push_back(values[contract->bytes(buffer)]);
  return result;
}

TEST(LaunchContract, BytesFollowFromTheNumbers) {
  const Result result = Ask("0; s0*s1*4; (s0 + 1)*x; le(0, s0); le(s0, 512)", {3, 1, 1, 0, 5, 7});
  EXPECT_EQ(result.failed, -1);
  EXPECT_THAT(result.bytes, ElementsAre(140, 18));
}

TEST(LaunchContract, AllOperatorsAreThere) {
  const Result result =
      Ask("0; floordiv(s0, 2) + ceildiv(s0, 2)*10 + mod(s0, 4)*100; max(s0, s1) - min(s0, s1); "
          "and(lt(s0, s1), not(eq(s0, s1))); or(0, ne(s0, s1)); select(lt(s0, s1), 1, 0)",
          {1, 1, 1, 0, 5, 9});
  EXPECT_EQ(result.failed, -1);
  EXPECT_THAT(result.bytes, ElementsAre(132, 4));
}

TEST(LaunchContract, TheFirstThatFailsIsTold) {
  const std::string text = "s0*8; s0*4; s1*4; le(0, s0); eq(x, s0); lt(s1, 100)";
  EXPECT_EQ(Ask(text, {3, 1, 1, 24, 3, 5}).failed, -1);
  EXPECT_EQ(Ask(text, {3, 1, 1, 23, 3, 5}).failed, 0) << "scratch";
  EXPECT_EQ(Ask(text, {-3, 1, 1, 24, -3, 5}).failed, 3);
  EXPECT_EQ(Ask(text, {4, 1, 1, 24, 3, 5}).failed, 4);
  EXPECT_EQ(Ask(text, {3, 1, 1, 24, 3, 100}).failed, 5);
}

TEST(LaunchContract, WhatIsNoNumberOf64BitsFails) {
  constexpr int64_t kLarge = int64_t{1} << 62;
  EXPECT_EQ(Ask("0; s0*4; 0", {1, 1, 1, 0, kLarge, 0}).failed, 1);
  EXPECT_EQ(Ask("0; 0; s0 + s1", {1, 1, 1, 0, kLarge, kLarge}).failed, 2);
  EXPECT_EQ(Ask("0; 0; 0 - s0", {1, 1, 1, 0, INT64_MIN, 0}).failed, 2);
  EXPECT_EQ(Ask("0; 0; 0; floordiv(s0, s1)", {1, 1, 1, 0, 5, 0}).failed, 3);
  EXPECT_EQ(Ask("0; 0; 0; le(mod(s0, s1), 4)", {1, 1, 1, 0, INT64_MIN, -1}).failed, 3);
}

TEST(LaunchContract, TextsThatAreNoneAreRefused) {
  EXPECT_EQ(ErrorOf("0; 0; 0"), "");
  EXPECT_EQ(ErrorOf("0; 0"),
            "kernel 'add': its contract has 2 expressions, wanted scratch, 2 buffers and conditions");
  EXPECT_EQ(ErrorOf("0; 0; n"),
            "kernel 'add': its contract has 'n', which is not of x, y, z and its scalars");
  for (const char* name : {"s2", "s", "s01x", "xy", "w", "?", "''"})
    EXPECT_THAT(ErrorOf("0; 0; " + std::string(name)), HasSubstr("which is not of x, y, z")) << name;
  EXPECT_THAT(ErrorOf("0; 0; "), HasSubstr("its contract cannot be read: dim '': at 0: found the end"));
  EXPECT_THAT(ErrorOf("0; 0; 0; 1; "), HasSubstr("cannot be read"));
  EXPECT_THAT(ErrorOf("0; 0; floordiv(4, 0)"), HasSubstr("which has no value or is too large"));
  for (const char* condition : {"0", "eq(1, 2)", "le(2, 1)", "lt(2, 1)"})
    EXPECT_THAT(ErrorOf("0; 0; 0; " + std::string(condition)), HasSubstr("which never holds")) << condition;
  EXPECT_EQ(ErrorOf("0; 0; 0; eq(2, 2); le(1, 2); 7"), "");
}

TEST(LaunchContract, IsOfASize) {
  KernelSpec kernel = KernelWith("0; 0; 0");
  kernel.scalar_count = LaunchContract::kMostValues;
  EXPECT_THAT(LaunchContract::Parse(kernel).error().message, HasSubstr("is too large"));
  std::string text = "0; 0; 0";
  for (size_t i = 0; i < LaunchContract::kMostValues; ++i) text += "; s0";
  EXPECT_THAT(ErrorOf(text), HasSubstr("is too large"));
  text = "0; 0; 0";
  for (size_t i = 0; i < 900; ++i) text += "; s0*" + std::to_string(i + 2) + " + 1";
  EXPECT_THAT(ErrorOf(text), HasSubstr("which has no value or is too large"));
}

TEST(LaunchContract, ExpressionsAreFound) {
  EXPECT_EQ(ContractExpression("0; s0*4;x", 0), "0");
  EXPECT_EQ(ContractExpression("0; s0*4;x", 1), "s0*4");
  EXPECT_EQ(ContractExpression("0; s0*4;x", 2), "x");
  EXPECT_EQ(ContractExpression("0; s0*4;x", 3), "");
  EXPECT_EQ(ContractExpression("", 0), "");
}

}  // namespace
}  // namespace tvmvm
