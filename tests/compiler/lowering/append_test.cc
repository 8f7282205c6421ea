// Caches that loops make longer: with the rows put behind the old ones and with copies of all, the results
// are the same; nobody who holds an older cache sees the new rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

// Two caches grow from the same one, by rows of x as they are and doubled; the third follows the first by a
// step.
const std::string kCaches = R"(
symbol c: [0, 1000] input
symbol n: [0, 1000] input
symbol t: [0, inf]
symbol l: [0, inf]
symbol i: [0, inf]
symbol f: [0, inf]
symbol g: [0, inf]
func @main {
  input "cache" = %0: tensor<f32,[1,c,4]>
  input "x" = %1: tensor<f32,[n,4]>
  %2: tensor<f32,[1,f,4]>, %3: tensor<f32,[1,f,4]>, %4: tensor<f32,[1,g,4]> = loop(%0, %0, %0) {continue = dim(1), count = "", finals = strings["f", "g"], index = "i", initial = dims[c, c], next = dims[t+1, t], start = dim(1), symbols = strings["t", "l"], trip = dim(n)} (%6: tensor<f32,[1,t,4]>, %7: tensor<f32,[1,t,4]>, %8: tensor<f32,[1,l,4]>) {
    %9: tensor<f32,[1,4]> = slice(%1) {dims = dims[1, 4], starts = dims[i, 0], steps = dims[1, 1]}
    %10: tensor<f32,[1,1,4]> = reshape(%9) {dims = dims[1, 1, 4]}
    %11: tensor<f32,[1,1,4]> = add(%10, %10)
    %12: tensor<f32,[1,t+1,4]> = concat(%6, %10) {axis = 1}
    %13: tensor<f32,[1,t+1,4]> = concat(%6, %11) {axis = 1}
    yield %12, %13, %6
  }
  output "first" = %2
  output "second" = %3
  output "late" = %4
}
)";

struct Result {
  std::string error;
  std::vector<Shape> shapes;
  std::vector<std::vector<float>> values;
  int64_t kernel_bytes = 0;  // that the kernels read and write
};

Result RunCaches(bool append, int64_t cached, int64_t steps, const std::string& text = kCaches) {
  CompileOptions options;
  options.targets = {"x86-64-v3"};
  if (!append) options.disabled_passes = {"update-in-place"};
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  if (!compiled) return {.error = compiled.error().message};
  auto vm = Vm::Create(compiled->program, {.threads = 1});
  if (!vm) return {.error = vm.error().message};
  std::vector<float> cache(static_cast<size_t>(4 * cached)), x(static_cast<size_t>(4 * steps));
  std::iota(cache.begin(), cache.end(), 100.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kF32, {1, cached, 4}, cache.data()),
                             Tensor::Borrow(DType::kF32, {steps, 4}, x.data())};
  std::vector<Tensor> outputs(3);
  Invocation invocation = (*vm)->NewInvocation();
  Result result;
  invocation.SetLaunchObserver([&](const LaunchRecord& launch) { result.kernel_bytes += launch.bytes; });
  if (Status status = invocation.Run(inputs, outputs); !status) return {.error = status.error().message};
  for (const Tensor& output : outputs) {
    result.shapes.push_back(output.shape());
    const float* data = static_cast<const float*>(output.data());
    result.values.emplace_back(data, data + output.element_count());
  }
  return result;
}

TEST(AppendTest, GrowingCachesAreWhatCopiesWouldBe) {
  for (auto [cached, steps] : {std::pair{0, 0}, {0, 1}, {3, 0}, {1, 1}, {0, 9}, {5, 40}}) {
    Result copied = RunCaches(false, cached, steps), appended = RunCaches(true, cached, steps);
    ASSERT_EQ(copied.error, "");
    ASSERT_EQ(appended.error, "");
    EXPECT_EQ(appended.shapes, copied.shapes) << cached << " cached, " << steps << " steps";
    EXPECT_EQ(appended.values, copied.values) << cached << " cached, " << steps << " steps";
  }
}

TEST(AppendTest, TheWorkOfAStepDoesNotGrowWithTheCache) {
  std::string apart = kCaches;  // each cache grows from itself
  apart.replace(apart.find("concat(%6, %11)"), 15, "concat(%7, %11)");
  auto bytes = [&](bool append, int64_t steps) { return RunCaches(append, 0, steps, apart).kernel_bytes; };
  EXPECT_LE(bytes(true, 400), 2 * bytes(true, 200) + 1000);
  EXPECT_GE(bytes(false, 400), 3 * bytes(false, 200));
}

}  // namespace
}  // namespace tvmvm
