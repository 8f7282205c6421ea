// How large functions and values may be that are followed without running them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tvm-vm/assembler.h"
#include "tvm-vm/forecast.h"

namespace tvmvm {
namespace {

// So many times two numbers, and a branch around one of them, in registers of their own; then, or each time
// round a loop, n bytes.
std::string Text(int branches, bool is_loop) {
  std::string text = "entry @main\nfunc @main(\"x\": u8[n]) -> (\"y\": u8[n]) frame " +
                     fmt::format("{}, 2 {{\n  i0 = dim r0, 0\nagain:\n", 2 * branches + 1);
  for (int k = 0; k < branches; ++k)
    text += fmt::format(
        "  i{0} = const {1}\n  branch.if i0, L{1}\n  i{0} = add i0, i{0}\nL{1}:\n  i{2} = add i0, i{0}\n",
        2 * k + 1, k, 2 * k + 2);
  if (is_loop) text += "  branch.ifnot i0, again\n";
  return text + "  r1 = output 0, [i0]\n  fill [r1], i0, 0\n  return [], [r1]\n}\n";
}

Expected<MemoryForecast> Forecast(const std::string& text) {
  auto program = Assemble(text);
  EXPECT_TRUE(program) << program.error().message;
  return program ? ForecastMemory(**program, {{"n", {100, 100}}}) : MemoryForecast();
}

// Without loops, what is known at a point is given up once control is past it.
TEST(ForecastSize, ManyBlocksOfManyRegisters) {
  const auto forecast = Forecast(Text(3000, false));
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_EQ(forecast->peak_bytes.low, 100);
  EXPECT_EQ(forecast->peak_bytes.high, 100);
}

TEST(ForecastSize, LoopsAreBounded) {
  const auto forecast = Forecast(Text(3000, true));
  ASSERT_FALSE(forecast);
  EXPECT_EQ(forecast.error().code, Code::kUnsupported);
  EXPECT_EQ(forecast.error().message, "@main is too large to be followed: 6003 blocks with 6003 registers");
}

// An input that is handed out is copied.
TEST(ForecastSize, CopiesBeyondAllMemory) {
  auto program = Assemble(
      "entry @main\nfunc @main(\"x\": i64[n]) -> (\"y\": i64[n]) frame 0, 1 {\n  return [], [r0]\n}\n");
  ASSERT_TRUE(program) << program.error().message;
  for (const int64_t most : {int64_t{1} << 58, INT64_MAX / 16, INT64_MAX}) {
    const auto forecast = ForecastMemory(**program, {{"n", {1, most}}});
    ASSERT_TRUE(forecast) << forecast.error().message;
    EXPECT_EQ(forecast->peak_bytes.low, 8);
    EXPECT_EQ(forecast->peak_bytes.high, most > INT64_MAX / 8 ? INT64_MAX : most * 8);
  }
}

}  // namespace
}  // namespace tvmvm
