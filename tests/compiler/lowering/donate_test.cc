// Outputs in the memory of donated inputs (CompileOptions::donate) hold what they hold in memory of their
// own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tvm-vm/compiler.h"
#include "tvm-vm/forecast.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using testing::HasSubstr;
using Pairs = std::vector<std::pair<std::string, std::string>>;

Expected<std::shared_ptr<Vm>> Compiled(const std::string& text, const Pairs& donate) {
  CompileOptions options;
  options.targets = {"host"};
  options.verify_passes = true;
  options.donate = donate;
  TVMVM_TRY(CompileResult compiled, GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options));
  return Vm::Create(compiled.program, VmOptions{.threads = 2});
}

std::string ErrorOf(const std::string& text, const Pairs& donate) {
  auto vm = Compiled(text, donate);
  return vm ? "" : vm.error().message;
}

Tensor Numbers(const Shape& shape, uint32_t seed) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, shape);
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    static_cast<float*>(tensor.data())[i] = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return tensor;
}

// Every donated pair in one memory, as large as the larger of both.
void Share(const std::vector<Donation>& donations, std::vector<Tensor>* inputs,
           std::vector<Tensor>* outputs) {
  for (const Donation& donation : donations) {
    const Tensor from = (*inputs)[donation.input], to = (*outputs)[donation.output];
    const Tensor memory =
        *Tensor::Allocate(DType::kU8, Shape({std::max(from.byte_count(), to.byte_count())}));
    const auto owner = std::make_shared<Tensor>(memory);
    std::memcpy(memory.data(), from.data(), static_cast<size_t>(from.byte_count()));
    (*inputs)[donation.input] = Tensor::Share(from.dtype(), from.shape(), memory.data(), owner);
    (*outputs)[donation.output] = Tensor::Share(to.dtype(), to.shape(), memory.data(), owner);
  }
}

// `direct`: nothing beside the outputs that is as large as they are.
void Check(const std::string& text, const Pairs& donate, std::vector<Tensor> inputs, bool direct) {
  auto plain = Compiled(text, {}), donating = Compiled(text, donate);
  ASSERT_TRUE(plain && donating) << ErrorOf(text, donate);
  ASSERT_EQ((*donating)->Donations().size(), donate.size());
  std::vector<Tensor> wanted((*plain)->program().main().outputs.size()), apart(wanted.size());
  ASSERT_TRUE((*plain)->NewInvocation().Run(inputs, wanted));
  Invocation invocation = (*donating)->NewInvocation();
  Status status = invocation.Run(inputs, apart);
  ASSERT_TRUE(status) << status.error().message;
  std::vector<Tensor> shared = wanted;
  for (size_t k = 0; k < shared.size(); ++k) shared[k] = *Tensor::Allocate(DType::kF32, wanted[k].shape());
  Share((*donating)->Donations(), &inputs, &shared);
  Invocation alone = (*donating)->NewInvocation();
  status = alone.Run(inputs, shared);
  ASSERT_TRUE(status) << status.error().message;
  for (size_t k = 0; k < wanted.size(); ++k) {
    const auto bytes = static_cast<size_t>(wanted[k].byte_count());
    EXPECT_EQ(std::memcmp(apart[k].data(), wanted[k].data(), bytes), 0) << "apart, output " << k;
    EXPECT_EQ(std::memcmp(shared[k].data(), wanted[k].data(), bytes), 0) << "shared, output " << k;
  }
  if (direct) {
    EXPECT_LT(alone.peak_bytes(), wanted[0].byte_count()) << text;
  }
}

constexpr const char* kCache = R"(symbol b: [0, inf] input
symbol n: [0, inf] input
symbol m: [0, inf] input
func @main {{
  input "past" = %0: tensor<f32,[b,3,n,8]>
  input "new" = %1: tensor<f32,[b,3,m,8]>
  %2: tensor<f32,[b,3,m,8]> = tanh(%1)
  %3: tensor<f32,[b,3,n+m,8]> = concat(%0, %2) {{axis = 2}}
  {}
  output "present" = %3
  output "sum" = %4
}}
)";

TEST(Donate, CachesGrowOnAnInnerAxis) {
  const std::string text = fmt::format(
      kCache, "%4: tensor<f32,[b,3,n+m,1]> = reduce(%3) {flags = dims[0, 0, 0, 1], kind = \"sum\"}");
  const int64_t sizes[][3] = {{1, 1, 1}, {2, 5, 1}, {1, 33, 4}, {3, 1, 40}, {2, 0, 3}, {2, 7, 0}, {0, 3, 3}};
  for (const auto& [b, n, m] : sizes)
    Check(text, {{"past", "present"}}, {Numbers({b, 3, n, 8}, 1), Numbers({b, 3, m, 8}, 2)}, b * n > 30);
}

TEST(Donate, AnInputThatIsNeededLaterIsWrittenOverLast) {
  const std::string text = fmt::format(
      kCache, "%4: tensor<f32,[b,3,n,1]> = reduce(%0) {flags = dims[0, 0, 0, 1], kind = \"sum\"}");
  Check(text, {{"past", "present"}}, {Numbers({2, 3, 9, 8}, 1), Numbers({2, 3, 2, 8}, 2)}, false);
}

constexpr const char* kState = R"(symbol n: [0, inf] input
func @main {{
  input "h" = %0: tensor<f32,[n,40]>
  input "c" = %1: tensor<f32,[n,40]>
  {}
  output "h2" = %{}
  output "c2" = %{}
}}
)";

TEST(Donate, StatesAreUpdatedInPlace) {
  const std::string text = fmt::format(kState,
                                       "%2: tensor<f32,[n,40]> = mul(%1, %0)\n"
                                       "  %3: tensor<f32,[n,40]> = tanh(%0)",
                                       3, 2);
  for (int64_t n : {1, 3, 70})
    Check(text, {{"h", "h2"}, {"c", "c2"}}, {Numbers({n, 40}, 1), Numbers({n, 40}, 2)}, n > 3);
  // Each is needed for both: one of them is written over too early, but for a copy.
  const std::string mutual = fmt::format(kState,
                                         "%2: tensor<f32,[n,40]> = mul(%1, %0)\n"
                                         "  %3: tensor<f32,[n,40]> = sub(%0, %1)",
                                         3, 2);
  Check(mutual, {{"h", "h2"}, {"c", "c2"}}, {Numbers({30, 40}, 1), Numbers({30, 40}, 2)}, false);
}

TEST(Donate, OthersMayHaveTheInputItself) {
  const std::string text = fmt::format(kState, "%2: tensor<f32,[n,40]> = tanh(%0)", 2, 0);
  Check(text, {{"h", "h2"}}, {Numbers({30, 40}, 1), Numbers({30, 40}, 2)}, false);
  EXPECT_THAT(ErrorOf(fmt::format(kState, "", 1, 0), {{"h", "h2"}, {"c", "c2"}}),
              HasSubstr("keeps the input"));
  Check(fmt::format(kState, "", 0, 1), {{"h", "h2"}, {"c", "c2"}},
        {Numbers({30, 40}, 1), Numbers({30, 40}, 2)}, false);
}

TEST(Donate, WhatDoesNotFitIsRefused) {
  const std::string text =
      fmt::format(kState, "%2: tensor<f32,[40,n]> = transpose(%0) {perm = [1, 0]}", 2, 1);
  EXPECT_EQ(
      ErrorOf(text, {{"h", "h2"}}),
      "--donate h=h2: the input is tensor<f32,[n,40]>, the output tensor<f32,[40,n]>: they differ in more "
      "than the size of one axis");
  EXPECT_EQ(ErrorOf(text, {{"x", "h2"}}), "--donate: no input is named 'x'; there are: h, c");
  EXPECT_EQ(ErrorOf(text, {{"h", "y"}}), "--donate: no output is named 'y'; there are: h2, c2");
  EXPECT_EQ(ErrorOf(text, {{"h", "c2"}, {"c", "c2"}}),
            "--donate c=c2: one of them is in another pair already");
}

TEST(Donate, OtherMemoryOfInputsIsStillRefused) {
  const std::string text = fmt::format(kState, "%2: tensor<f32,[n,40]> = tanh(%0)", 2, 1);
  auto vm = Compiled(text, {{"h", "h2"}});
  ASSERT_TRUE(vm);
  std::vector<Tensor> inputs{Numbers({2, 40}, 1), Numbers({2, 40}, 2)}, outputs{inputs[1], Tensor()};
  Status status = (*vm)->NewInvocation().Run(inputs, outputs);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("input 1 'c' and output 0 'h2' share memory"));
  auto* data = static_cast<float*>(inputs[0].data());
  outputs = {Tensor::Borrow(DType::kF32, Shape({1, 40}), data + 40), Tensor()};
  inputs[0] = Tensor::Borrow(DType::kF32, Shape({2, 40}), data);
  status = (*vm)->NewInvocation().Run(inputs, outputs);
  EXPECT_FALSE(status) << "it begins elsewhere";
}

TEST(Donate, IsForecast) {
  const std::string text = fmt::format(
      kCache, "%4: tensor<f32,[b,3,n+m,1]> = reduce(%3) {flags = dims[0, 0, 0, 1], kind = \"sum\"}");
  auto vm = Compiled(text, {{"past", "present"}});
  ASSERT_TRUE(vm);
  auto forecast = (*vm)->Plan({{"b", {2, 2}}, {"n", {100, 100}}, {"m", {1, 1}}});
  ASSERT_TRUE(forecast) << forecast.error().message;
  EXPECT_EQ(forecast->donated_bytes, (ByteRange{2 * 3 * 101 * 8 * 4, 2 * 3 * 101 * 8 * 4}));
  EXPECT_EQ(forecast->output_bytes.high, 2 * 3 * 101 * 4);
  std::vector<Tensor> inputs{Numbers({2, 3, 100, 8}, 1), Numbers({2, 3, 1, 8}, 2)};
  std::vector<Tensor> outputs{*Tensor::Allocate(DType::kF32, Shape({2, 3, 101, 8})), Tensor()};
  Share((*vm)->Donations(), &inputs, &outputs);
  Invocation invocation = (*vm)->NewInvocation();
  ASSERT_TRUE(invocation.Run(inputs, outputs));
  EXPECT_EQ(invocation.peak_bytes(), forecast->peak_bytes.high);
}

}  // namespace
}  // namespace tvmvm
