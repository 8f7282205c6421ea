// Eight threads on one Program, each with its own Invocation and its own shapes, give what one thread gives.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/folders.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

constexpr int64_t kWidth = 64;  // of the demo model

std::vector<float> RandomValues(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = distribution(random);
  return values;
}

Expected<std::vector<float>> RunOnce(Invocation& invocation, int64_t batch, int64_t length, uint32_t seed) {
  std::vector<float> values = RandomValues(batch * length * kWidth, seed);
  std::vector<Tensor> inputs{Tensor::Borrow(DType::kF32, {batch, length, kWidth}, values.data())};
  std::vector<Tensor> outputs(1);
  TVMVM_CHECK_OK(invocation.Run(inputs, outputs));
  std::vector<float> result(static_cast<size_t>(outputs[0].element_count()));
  std::memcpy(result.data(), outputs[0].data(), result.size() * sizeof(float));
  return result;
}

TEST(Concurrency, EightThreadsWithShapesOfTheirOwn) {
  std::string model = testing::TempDir() + "concurrency_demo.onnx";
  ASSERT_EQ(std::system((BuildPath("make_demo_model") + " " + model).c_str()), 0);
  auto compiled = GetCompiler().CompileFile(model, {});
  ASSERT_TRUE(compiled) << compiled.error().message;
  VmOptions options;
  options.threads = 2;
  auto vm = Vm::Create(compiled->program, options);
  ASSERT_TRUE(vm) << vm.error().message;

  auto shape_of = [](int thread, int round) {
    return std::pair<int64_t, int64_t>{1 + thread % 3, 1 + (thread * 7 + round * 5) % 40};
  };
  constexpr int kThreads = 8, kRounds = 12;
  std::vector<std::vector<std::vector<float>>> results(kThreads);
  std::vector<std::string> errors(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      Invocation invocation = (*vm)->NewInvocation();
      for (int round = 0; round < kRounds; ++round) {
        auto [batch, length] = shape_of(thread, round);
        auto result = RunOnce(invocation, batch, length, static_cast<uint32_t>(thread * 100 + round));
        if (!result)
          errors[thread] = result.error().message;
        else
          results[thread].push_back(std::move(*result));
      }
    });
  for (std::thread& thread : threads) thread.join();

  Invocation alone = (*vm)->NewInvocation();
  for (int thread = 0; thread < kThreads; ++thread) {
    ASSERT_EQ(errors[thread], "");
    ASSERT_EQ(results[thread].size(), static_cast<size_t>(kRounds));
    for (int round = 0; round < kRounds; ++round) {
      auto [batch, length] = shape_of(thread, round);
      auto expected = RunOnce(alone, batch, length, static_cast<uint32_t>(thread * 100 + round));
      ASSERT_TRUE(expected) << expected.error().message;
      EXPECT_EQ(results[thread][round], *expected) << "thread " << thread << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace tvmvm
