// Sequences that loops build: inserting at the end is done in place, so that the work grows with the length.
#include <gtest/gtest.h>

#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

constexpr std::string_view kInserts = R"(
symbol n: [-inf, inf]
symbol i: [0, inf]
symbol l: [0, inf]
func @main {
  input "n" = %0: tensor<i64,[]>
  input "x" = %1: tensor<f32,[4]>
  define_dims(%0) {symbols = strings["n"]}
  %2: sequence<tensor<f32,[4]>> = sequence.construct()
  %5: sequence<tensor<f32,[4]>> = loop(%2) {continue = dim(1), count = "", finals = strings[], index = "i", initial = dims[], next = dims[], start = dim(1), symbols = strings[], trip = dim(n)} (%3: sequence<tensor<f32,[4]>>) {
    sequence.length(%3) {symbols = strings["l"]}
    %4: sequence<tensor<f32,[4]>> = sequence.insert(%3, %1) {scalars = dims[l, 0]}
    yield %4
  }
  output "s" = %5
}
)";

// The same, with all insertions of a step in a loop of its own.
constexpr std::string_view kNested = R"(
symbol n: [-inf, inf]
symbol i: [0, inf]
symbol j: [0, inf]
symbol l: [0, inf]
func @main {
  input "n" = %0: tensor<i64,[]>
  input "x" = %1: tensor<f32,[4]>
  define_dims(%0) {symbols = strings["n"]}
  %2: sequence<tensor<f32,[4]>> = sequence.construct()
  %5: sequence<tensor<f32,[4]>> = loop(%2) {continue = dim(1), count = "", finals = strings[], index = "i", initial = dims[], next = dims[], start = dim(1), symbols = strings[], trip = dim(floordiv(n, 2))} (%3: sequence<tensor<f32,[4]>>) {
    %8: sequence<tensor<f32,[4]>> = loop(%3) {continue = dim(1), count = "", finals = strings[], index = "j", initial = dims[], next = dims[], start = dim(1), symbols = strings[], trip = dim(2)} (%6: sequence<tensor<f32,[4]>>) {
      sequence.length(%6) {symbols = strings["l"]}
      %7: sequence<tensor<f32,[4]>> = sequence.insert(%6, %1) {scalars = dims[l, 0]}
      yield %7
    }
    yield %8
  }
  output "s" = %5
}
)";

// The number of elements, or the error.
std::string Build(std::string_view text, int64_t n, const Limits& limits) {
  CompileOptions options;
  options.targets = {"x86-64-v3"};
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  if (!compiled) return compiled.error().message;
  auto vm = *Vm::Create(compiled->program, {.threads = 1});
  Invocation invocation = vm->NewInvocation();
  invocation.SetLimits(limits);
  float x[4] = {1, 2, 3, 4};
  std::vector<Value> inputs{Tensor::Borrow(DType::kI64, {}, &n), Tensor::Borrow(DType::kF32, {4}, x)};
  std::vector<Value> outputs(1);
  Status status = invocation.Run(inputs, outputs);
  return status ? std::to_string(outputs[0].elements().size()) : status.error().message;
}

// Half a million copies of what was there would take minutes; in place it is a matter of milliseconds.
TEST(SequenceTest, LoopsInsertInPlace) {
  for (std::string_view text : {kInserts, kNested})
    EXPECT_EQ(Build(text, 500'000, {.timeout = std::chrono::seconds(60)}), "500000");
}

}  // namespace
}  // namespace tvmvm
