// What loops collect that may end at any step: memory for all steps beforehand where that is little, else a
// buffer that grows.
#include <gmock/gmock.h>

#include "tvm-vm/assembler.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/forecast.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using testing::HasSubstr;
using testing::Not;

// Collects x * 1, x * 2, ... in at most `trip` steps, until there are n.
std::string Text(const std::string& trip) {
  return R"(
symbol n: [-inf, inf]
symbol i: [0, inf]
symbol a: [-inf, inf]
symbol b: [-inf, inf]
symbol steps: [0, inf]
func @main {
  input "n" = %0: tensor<i64,[]>
  input "x" = %1: tensor<i64,[3]>
  define_dims(%0) {symbols = strings["n"]}
  %2: tensor<i64,[3]>, %3: tensor<i64,[steps,3]> = loop(%1) {continue = dim(lt(a, n)), count = "steps", finals = strings["b"], index = "i", initial = dims[1], next = dims[a+1], start = dim(lt(0, n)), symbols = strings["a"], trip = dim()" +
         trip + R"()} (%4: tensor<i64,[3]>) {
    %5: tensor<i64,[3]> = add(%4, %1)
    yield %5, %4
  }
  output "y" = %3
}
)";
}

std::shared_ptr<const Program> Compiled(const std::string& text) {
  CompileOptions options;
  options.verify_passes = true;
  options.targets = {"x86-64-v3"};
  options.disabled_passes = {"outline-loops"};
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  if (!compiled) ADD_FAILURE() << compiled.error().message;
  return compiled ? compiled->program : nullptr;
}

// The number of steps, each with the wanted values, and the bytes that the run held at most.
std::pair<int64_t, int64_t> StepsAndPeak(const std::shared_ptr<const Program>& program, int64_t n) {
  auto vm = *Vm::Create(program, {.threads = 1});
  Invocation invocation = vm->NewInvocation();
  int64_t x[3] = {1, 10, -100};
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kI64, {}, &n), Tensor::Borrow(DType::kI64, {3}, x)};
  std::vector<Tensor> outputs(1);
  const Status status = invocation.Run(inputs, outputs);
  EXPECT_TRUE(status) << status.error().message;
  if (!status) return {-1, -1};
  const auto* y = static_cast<const int64_t*>(outputs[0].data());
  const int64_t steps = outputs[0].shape()[0];
  for (int64_t k = 0; k < 3 * steps; ++k) EXPECT_EQ(y[k], (k / 3 + 1) * x[k % 3]) << k;
  return {steps, invocation.peak_bytes()};
}

TEST(CollectedValues, AreReservedWhereTheyAreFew) {
  const auto program = Compiled(Text("64"));
  ASSERT_TRUE(program);
  EXPECT_THAT(Disassemble(*program), Not(HasSubstr("buffer.grow")));
  const auto forecast = ForecastMemory(*program, {});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_LE(forecast->peak_bytes.high, forecast->lower_bound_bytes.high + 128);
  for (int64_t n : {-1, 0, 1, 2, 63, 64, 65, 1000}) {
    const auto [steps, peak] = StepsAndPeak(program, n);
    EXPECT_EQ(steps, std::clamp<int64_t>(n, 0, 64)) << n;
    EXPECT_LE(peak, forecast->peak_bytes.high) << n;
  }
}

TEST(CollectedValues, OfNoStepAreReservedAsNothing) {
  for (const char* trip : {"0", "-3"}) {
    const auto program = Compiled(Text(trip));
    ASSERT_TRUE(program);
    EXPECT_EQ(StepsAndPeak(program, 5).first, 0);
  }
}

TEST(CollectedValues, GrowWhereTheyMayBeMany) {
  for (const char* trip : {"100000", "9223372036854775807"}) {
    const auto program = Compiled(Text(trip));
    ASSERT_TRUE(program);
    EXPECT_THAT(Disassemble(*program), HasSubstr("buffer.grow"));
    for (int64_t n : {0, 1, 9, 100, 5000}) EXPECT_EQ(StepsAndPeak(program, n).first, n);
  }
}

}  // namespace
}  // namespace tvmvm
