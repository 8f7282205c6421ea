// Scalar instructions, against what their rows say.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/vm/text_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// y[0] = <mnemonic> x[0], x[1], ...
std::string Program(std::string_view mnemonic, int operands) {
  std::string text = R"---(
entry @main
func @main("x": i64[k]) -> ("y": i64[1]) frame 10, 2 {
  i0 = const 0
  i1 = const 8
  i2 = const 16
  i3 = const 1
  i4 = load r0, i0, i64
  i5 = load r0, i1, i64
  i6 = load r0, i2, i64
  r1 = output 0, [i3]
  node "/op (Op)"
  i7 = )---";
  text += mnemonic;
  text += operands == 1 ? " i4" : operands == 2 ? " i4, i5" : " i4, i5, i6";
  return text + "\n  store r1, i0, i64, i7\n  return [], [r1]\n}\n";
}

int64_t Eval(std::string_view mnemonic, int64_t a, int64_t b) {
  std::vector<int64_t> result = RunInts(Program(mnemonic, 2), {Ints({a, b, 0})});
  return result.empty() ? 0 : result[0];
}
int64_t Eval(std::string_view mnemonic, int64_t a) {
  std::vector<int64_t> result = RunInts(Program(mnemonic, 1), {Ints({a, 0, 0})});
  return result.empty() ? 0 : result[0];
}
std::string Error(std::string_view mnemonic, int64_t a, int64_t b) {
  return RunError(Program(mnemonic, 2), {Ints({a, b, 0})});
}
int64_t F(double value) { return std::bit_cast<int64_t>(value); }

TEST(Scalar, Arithmetic) {
  EXPECT_EQ(Eval("add", 2, 3), 5);
  EXPECT_EQ(Eval("sub", 2, 3), -1);
  EXPECT_EQ(Eval("mul", -4, 3), -12);
  EXPECT_EQ(Eval("min", 4, -3), -3);
  EXPECT_EQ(Eval("max", 4, -3), 4);
  EXPECT_EQ(Eval("and", 6, 3), 2);
  EXPECT_EQ(Eval("or", 6, 3), 7);
  EXPECT_EQ(Eval("not", 0), 1);
  EXPECT_EQ(Eval("not", 7), 0);
  EXPECT_EQ(Eval("move", kMin), kMin);
}

TEST(Scalar, DivisionsRoundAsTheirNamesSay) {
  for (int64_t a = -7; a <= 7; ++a)
    for (int64_t b : {-3, -2, -1, 1, 2, 3}) {
      const double exact = static_cast<double>(a) / static_cast<double>(b);
      EXPECT_EQ(Eval("floordiv", a, b), static_cast<int64_t>(std::floor(exact))) << a << " " << b;
      EXPECT_EQ(Eval("ceildiv", a, b), static_cast<int64_t>(std::ceil(exact))) << a << " " << b;
      EXPECT_EQ(Eval("floormod", a, b), a - b * static_cast<int64_t>(std::floor(exact))) << a << " " << b;
    }
}

TEST(Scalar, Comparisons) {
  EXPECT_EQ(Eval("eq", 3, 3), 1);
  EXPECT_EQ(Eval("eq", 3, 4), 0);
  EXPECT_EQ(Eval("ne", 3, 4), 1);
  EXPECT_EQ(Eval("ne", 3, 3), 0);
  EXPECT_EQ(Eval("lt", -1, 0), 1);
  EXPECT_EQ(Eval("lt", 0, 0), 0);
  EXPECT_EQ(Eval("le", 0, 0), 1);
  EXPECT_EQ(Eval("le", 1, 0), 0);
}

TEST(Scalar, Select) {
  EXPECT_THAT(RunInts(Program("select", 3), {Ints({1, 10, 20})}), ElementsAre(10));
  EXPECT_THAT(RunInts(Program("select", 3), {Ints({0, 10, 20})}), ElementsAre(20));
}

TEST(Scalar, Floats) {
  EXPECT_EQ(Eval("f64.add", F(1.5), F(2)), F(3.5));
  EXPECT_EQ(Eval("f64.sub", F(1.5), F(2)), F(-0.5));
  EXPECT_EQ(Eval("f64.mul", F(1.5), F(2)), F(3));
  EXPECT_EQ(Eval("f64.div", F(1), F(0)), F(INFINITY));
  EXPECT_EQ(Eval("f64.lt", F(-1), F(1)), 1);
  EXPECT_EQ(Eval("f64.lt", F(NAN), F(1)), 0);
  EXPECT_EQ(Eval("f64.from", -3), F(-3));
  EXPECT_EQ(Eval("f64.toint", F(-2.5)), -3);
  EXPECT_EQ(Eval("f64.toint", F(1e300)), kMax);
  EXPECT_EQ(Eval("f64.toint", F(-1e300)), kMin);
  EXPECT_EQ(Eval("f64.toint", F(NAN)), 0);
}

TEST(Scalar, OverflowAndDivisionByZeroAreErrorsThatNameTheNode) {
  EXPECT_THAT(Error("add", kMax, 1), HasSubstr("invalid_argument: @main:"));
  EXPECT_THAT(Error("add", kMax, 1), HasSubstr("add: the result does not fit into 64 bits (node /op (Op))"));
  EXPECT_THAT(Error("sub", kMin, 1), HasSubstr("does not fit"));
  EXPECT_THAT(Error("mul", kMax, 2), HasSubstr("does not fit"));
  for (const char* division : {"floordiv", "ceildiv", "floormod"}) {
    EXPECT_THAT(Error(division, 1, 0), HasSubstr("division by zero"));
    EXPECT_THAT(Error(division, kMin, -1), HasSubstr("does not fit"));
  }
}

}  // namespace
}  // namespace tvmvm
