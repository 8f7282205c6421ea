// Generated code of every approximated function against the C library in higher precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <utility>

#include "compiler/loops/loop_rewrite.h"
#include "tests/compiler/codegen/compiled_kernel.h"

namespace tvmvm::codegen {
namespace {

using namespace tensor;  // NOLINT
using Reference = long double (*)(long double);

constexpr int kLanes = 16;

// out[i] = op(a[i]) for i < n, n a multiple of kLanes.
LoopKernel UnaryKernel(ExprOp op, DType dtype) {
  LoopKernel kernel;
  kernel.name = "unary";
  uint32_t a = kernel.AddArgument("a", dtype, Access::kRead);
  uint32_t out = kernel.AddArgument("out", dtype, Access::kWrite);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  kernel.grid_size[0] = ir::Dim::Symbol("points");
  VariableId lane = kernel.NewVariable("lane");
  Expr i = Variable(kernel.grid[0]) * IntConstant(kLanes) + Variable(lane);
  kernel.body = For(lane, IntConstant(0), IntConstant(kLanes), Store(out, i, Unary(op, Load(a, dtype, i))),
                    LoopKind::kVectorized);
  return kernel;
}

// Distance in units of the last place of T at the reference.
template <class T>
double UlpDistance(T value, long double reference) {
  T nearest = static_cast<T>(reference);
  if (std::isnan(value) || std::isnan(nearest)) return std::isnan(value) == std::isnan(nearest) ? 0 : 1e30;
  if (std::isinf(nearest)) {  // just below overflow, infinity is as good as the largest number
    T largest = std::copysign(std::numeric_limits<T>::max(), nearest);
    return value == nearest                                                                           ? 0
           : value == largest && std::fabs(reference) < std::fabs((long double)largest) * (1 + 1e-6L) ? 1
                                                                                                      : 1e30;
  }
  if (std::isinf(value)) return std::fabs(reference) > std::numeric_limits<T>::max() * (1 - 4e-7L) ? 1 : 1e30;
  int exponent = std::max(
      reference == 0
          ? -100000
          : std::ilogb(nearest == 0 ? static_cast<T>(std::numeric_limits<T>::denorm_min()) : nearest),
      std::numeric_limits<T>::min_exponent - 1);
  long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(static_cast<long double>(value) - reference) / ulp);
}

long double ReferenceSigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  ExprOp op;
  const char* name;
  Reference reference;
  double low, high;  // beyond: only special values are tried
  double limit_f32, limit_f64;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr double kHuge = 1e300;
const Case kCases[] = {
    {ExprOp::kExp, "exp", std::exp, -kHuge, kHuge, 1.5, 1.5},
    {ExprOp::kExp2, "exp2", std::exp2, -kHuge, kHuge, 1.5, 1.5},
    {ExprOp::kExpm1, "expm1", std::expm1, -kHuge, kHuge, 2, 2},
    {ExprOp::kLog, "log", std::log, -kHuge, kHuge, 1.5, 1.5},
    {ExprOp::kLog1p, "log1p", std::log1p, -kHuge, kHuge, 2, 2},
    {ExprOp::kTanh, "tanh", std::tanh, -kHuge, kHuge, 2.5, 2.5},
    {ExprOp::kSigmoid, "sigmoid", ReferenceSigmoid, -kHuge, kHuge, 2.5, 2.5},
    {ExprOp::kErf, "erf", std::erf, -kHuge, kHuge, 2, 2},
    {ExprOp::kSin, "sin", std::sin, -1e9, 1e9, 1.5, 1.5},
    {ExprOp::kCos, "cos", std::cos, -1e9, 1e9, 1.5, 1.5},
    {ExprOp::kTan, "tan", std::tan, -1e9, 1e9, 1, 3},
    {ExprOp::kAsin, "asin", std::asin, -kHuge, kHuge, 1, 2.5},
    {ExprOp::kAcos, "acos", std::acos, -kHuge, kHuge, 1, 2.5},
    {ExprOp::kAtan, "atan", std::atan, -kHuge, kHuge, 1, 2},
    {ExprOp::kSinh, "sinh", std::sinh, -kHuge, kHuge, 1, 4},
    {ExprOp::kCosh, "cosh", std::cosh, -kHuge, kHuge, 1, 4},
    {ExprOp::kAsinh, "asinh", std::asinh, -kHuge, kHuge, 1, 3},
    {ExprOp::kAcosh, "acosh", std::acosh, -kHuge, kHuge, 1, 3},
    {ExprOp::kAtanh, "atanh", std::atanh, -kHuge, kHuge, 1, 3},
};

template <class T>
std::vector<T> Inputs(const Case& c, size_t count) {
  std::vector<T> inputs;
  T inf = std::numeric_limits<T>::infinity();
  for (double v : {0.0,
                   0.5,
                   1.0,
                   1.5,
                   2.0,
                   0.7071067811865476,
                   1.4142135623730951,
                   88.7,
                   89.0,
                   103.9,
                   104.1,
                   709.7,
                   709.9,
                   745.2,
                   1e-5,
                   1e-10,
                   1e-30,
                   3.0,
                   10.0,
                   17.0,
                   20.0,
                   0.92,
                   0.9999999,
                   1.0000001,
                   88.73,
                   87.4,
                   103.3,
                   104.0,
                   127.9,
                   149.5,
                   708.5,
                   744.9,
                   1e9,
                   1e30})
    for (double sign : {1.0, -1.0})
      if (v <= c.high) inputs.push_back(static_cast<T>(sign * v));
  for (T v :
       {inf, std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::denorm_min(),
        std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), std::numeric_limits<T>::epsilon()}) {
    bool in_range = !std::isfinite(v) || (v >= c.low && v <= c.high);
    if (in_range) inputs.insert(inputs.end(), {v, -v});
  }
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-12, 7), wide_exponent(-126, 127), unit(-1, 1);
  while (inputs.size() < count) {
    double e = random() % 4 == 0 ? wide_exponent(random) : exponent(random);
    double v = std::exp2(e) * (random() % 2 ? 1 : -1) * (1 + 0.5 * unit(random));
    if (random() % 4 == 0) v = unit(random);
    if (v >= c.low && v <= c.high) inputs.push_back(static_cast<T>(v));
  }
  while (inputs.size() % kLanes) inputs.push_back(T{});
  return inputs;
}

template <class T>
void Check(const Case& c, DType dtype, double limit) {
  std::vector<T> inputs = Inputs<T>(c, 60000), outputs(inputs.size());
  LoopKernel kernel = UnaryKernel(c.op, dtype);
  for (CpuLevel level : LevelsHere()) {
    CompiledKernel compiled(kernel, level);
    int64_t points = static_cast<int64_t>(inputs.size()) / kLanes;
    ASSERT_EQ(compiled.Run({inputs.data(), outputs.data()}, [&](const ir::SymbolId&) { return points; }), 0);
    double worst = 0;
    T worst_input = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      double distance = UlpDistance<T>(outputs[i], c.reference(static_cast<long double>(inputs[i])));
      if (distance > worst) worst = distance, worst_input = inputs[i];
    }
    EXPECT_LE(worst, limit) << c.name << " " << DTypeName(dtype) << " at " << worst_input << " on "
                            << CpuLevelName(level);
  }
}

// out[i] = op(a[i], b[i])
LoopKernel BinaryKernel(ExprOp op, DType dtype) {
  LoopKernel kernel = UnaryKernel(ExprOp::kNegate, dtype);
  kernel.buffers.clear();
  kernel.argument_count = 0;
  uint32_t a = kernel.AddArgument("a", dtype, Access::kRead),
           b = kernel.AddArgument("b", dtype, Access::kRead);
  uint32_t out = kernel.AddArgument("out", dtype, Access::kWrite);
  VariableId lane = kernel.NewVariable("lane");
  Expr i = Variable(kernel.grid[0]) * IntConstant(kLanes) + Variable(lane);
  kernel.body = For(lane, IntConstant(0), IntConstant(kLanes),
                    Store(out, i, Binary(op, Load(a, dtype, i), Load(b, dtype, i))), LoopKind::kVectorized);
  return kernel;
}

template <class T>
void CheckBinary(ExprOp op, long double (*reference)(long double, long double), DType dtype, double limit) {
  T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> special = {0,
                            -T{0},
                            1,
                            -1,
                            2,
                            -2,
                            3,
                            -3,
                            T(0.5),
                            T(-0.5),
                            T(1.5),
                            10,
                            -10,
                            T(1e30),
                            T(-1e30),
                            inf,
                            -inf,
                            nan,
                            std::numeric_limits<T>::denorm_min(),
                            std::numeric_limits<T>::max()};
  std::vector<T> a, b;
  for (T x : special)
    for (T y : special) a.push_back(x), b.push_back(y);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> exponent(-20, 20), unit(-1, 1);
  while (a.size() < 40000) {
    double x = std::exp2(exponent(random)) * (random() % 3 ? 1 : -1);
    a.push_back(static_cast<T>(x));
    b.push_back(static_cast<T>(random() % 4 ? 30 * unit(random) : std::floor(60 * unit(random))));
  }
  while (a.size() % kLanes) a.push_back(1), b.push_back(1);
  std::vector<T> out(a.size());
  LoopKernel kernel = BinaryKernel(op, dtype);
  for (CpuLevel level : LevelsHere()) {
    int64_t points = static_cast<int64_t>(a.size()) / kLanes;
    ASSERT_EQ(CompiledKernel(kernel, level)
                  .Run({a.data(), b.data(), out.data()}, [&](const ir::SymbolId&) { return points; }),
              0);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      double distance = UlpDistance<T>(out[i], reference(a[i], b[i]));
      if (distance > worst) worst = distance, at = i;
    }
    EXPECT_LE(worst, limit) << DTypeName(dtype) << " of " << a[at] << ", " << b[at] << " gives " << out[at];
  }
}

TEST(Functions, PowWithinStatedError) {
  CheckBinary<float>(ExprOp::kPow, std::pow, DType::kF32, 1);
  CheckBinary<double>(ExprOp::kPow, std::pow, DType::kF64, 2);
}

TEST(Functions, Atan2WithinStatedError) {
  CheckBinary<float>(ExprOp::kAtan2, std::atan2, DType::kF32, 1);
  CheckBinary<double>(ExprOp::kAtan2, std::atan2, DType::kF64, 3);
}

class EveryFunction : public testing::TestWithParam<Case> {};

TEST_P(EveryFunction, F32WithinStatedError) { Check<float>(GetParam(), DType::kF32, GetParam().limit_f32); }
TEST_P(EveryFunction, F64WithinStatedError) { Check<double>(GetParam(), DType::kF64, GetParam().limit_f64); }

INSTANTIATE_TEST_SUITE_P(All, EveryFunction, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// Runs the kernel over the inputs, whole vectors of them, at every level: how far each result is from the
// reference.
template <class T, class Reference>
void CheckAll(const LoopKernel& kernel, std::vector<T> inputs, const Reference& reference, double limit,
              std::string_view name) {
  std::vector<T> outputs(inputs.size());
  const int64_t points = static_cast<int64_t>(inputs.size()) / kLanes;
  for (CpuLevel level : LevelsHere()) {
    ASSERT_EQ(CompiledKernel(kernel, level)
                  .Run({inputs.data(), outputs.data()}, [&](const ir::SymbolId&) { return points; }),
              0);
    for (size_t i = 0; i < inputs.size(); ++i)
      ASSERT_LE(UlpDistance<T>(outputs[i], reference(static_cast<long double>(inputs[i]))), limit)
          << name << " at " << inputs[i] << ", " << CpuLevelName(level);
  }
}

// Numbers that are 0 at most, and NaN of any bits.
template <class T>
void CheckFallingExp(DType dtype) {
  const Case falling{ExprOp::kExp, "exp", std::exp, -kHuge, 0, 1.5, 1.5};
  std::vector<T> inputs = Inputs<T>(falling, 60000);
  std::ranges::replace_if(
      inputs, [](T x) { return x > 0; }, -std::numeric_limits<T>::quiet_NaN());
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  for (Word low = 1; low < 64; ++low)
    inputs[low] = std::bit_cast<T>(std::bit_cast<Word>(std::numeric_limits<T>::quiet_NaN()) | low);
  LoopKernel kernel = UnaryKernel(ExprOp::kExp, dtype);
  kernel.body = MapExpressions(
      kernel.body, [](const Expr& e) { return e.op() == ExprOp::kExp ? FallingExp(e->operands[0]) : e; });
  CheckAll<T>(kernel, std::move(inputs), falling.reference, 1.5, DTypeName(dtype));
}

TEST(Functions, FallingExpWithinStatedError) {
  CheckFallingExp<float>(DType::kF32);
  CheckFallingExp<double>(DType::kF64);
}

// Evenly through the bit patterns of all numbers that are neither tiny nor beyond overflow.
TEST(Functions, ExponentialsHoldTheirErrorAllOver) {
  for (const Case& c : kCases) {
    if (c.op != ExprOp::kExp && c.op != ExprOp::kExp2 && c.op != ExprOp::kSigmoid) continue;
    std::vector<float> inputs;
    for (uint32_t bits = 0x30000000; bits < 0x43400000; bits += 997)
      for (uint32_t sign : {0u, 0x80000000u}) inputs.push_back(std::bit_cast<float>(bits | sign));
    while (inputs.size() % kLanes) inputs.push_back(0);
    CheckAll<float>(UnaryKernel(c.op, DType::kF32), std::move(inputs), c.reference, c.limit_f32, c.name);
  }
}

}  // namespace
}  // namespace tvmvm::codegen
