// Loops on a GPU: how often the host waits for it, counted on the null device, and the same results as on the
// CPU, whenever they end.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <random>

#include "devices/null/null_device.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kWidth = 128;  // a step of so many numbers squared is worth a GPU

struct LoopText {
  std::string go_on = "dim(g)";  // `continue`
  std::string trip = "dim(m-1)";
  bool collects = true;
};

// A step: h = h w + 1, z = z + sqrt(limit - max h), and the row of `table` that the step before chose. g is
// go[max h], where it ends; d = max h chooses the next row. s counts on the host.
std::string Model(const LoopText& text) {
  const bool counted = text.go_on == "dim(1)";
  return fmt::format(
      R"(symbol m: [1, inf] input
symbol i: [0, inf]
symbol s: [-inf, inf]
symbol q: [-inf, inf]
symbol g: [0, 1]
symbol d: [-inf, inf]
symbol last: [-inf, inf]
symbol lastq: [-inf, inf]
symbol steps: [0, inf]
func @main {{
  input "h" = %0: tensor<f32,[128,128]>
  input "w" = %1: tensor<f32,[128,128]>
  input "go" = %2: tensor<bool,[m]>
  input "table" = %3: tensor<f32,[m,128]>
  input "limit" = %4: tensor<f32,[]>
  input "z" = %5: tensor<f32,[1,1]>
  %6: tensor<f32,[128,128]>, %7: tensor<f32,[1,1]>{outputs} = loop(%0, %5) {{continue = {go_on}, count = "{count}", finals = strings["last", "lastq"], index = "i", initial = dims[2, 0], next = dims[mod(s*3+i, 1000), d], start = dim(1), symbols = strings["s", "q"], trip = {trip}}} (%10: tensor<f32,[128,128]>, %11: tensor<f32,[1,1]>) {{
    %12: tensor<f32,[1,128]> = slice(%3) {{dims = dims[1, 128], starts = dims[q, 0], steps = dims[1, 1]}}
    %13: tensor<f32,[128,128]> = contract(%10, %1) {{dtype = f32, lhs_batch = [], lhs_contract = [1], rhs_batch = [], rhs_contract = [0]}}
    %14: tensor<f32,[]> = constant() {{data = dense<f32,[]>[1]}}
    %15: tensor<f32,[128,128]> = add(%13, %14)
    %16: tensor<f32,[1,1]> = reduce(%15) {{flags = dims[1, 1], kind = "max"}}
    %17: tensor<i64,[1,1]> = cast(%16) {{to = i64}}
    %18: tensor<i64,[1]> = reshape(%17) {{dims = dims[1]}}
    check_indices(%18) {{sizes = dims[m]}}
    %19: tensor<bool,[1]> = gather(%2, %18) {{axis = 0}}
    define_dims(%19) {{symbols = strings["g"]}}
    define_dims(%18) {{symbols = strings["d"]}}
    %20: tensor<f32,[1,1]> = sub(%4, %16)
    %21: tensor<f32,[1,1]> = sqrt(%20)
    %22: tensor<f32,[1,1]> = add(%11, %21)
    %23: tensor<f32,[1,128]> = add(%12, %16)
    %24: tensor<f32,[128]> = reshape(%23) {{dims = dims[128]}}
    yield %15, %22{results}
  }}
  %9: tensor<i64,[3]> = dims_tensor() {{dims = dims[3], dtype = i64, elements = dims[last, lastq, {count_dim}]}}
  output "h_last" = %6
  output "z_last" = %7
  output "symbols" = %9
{output_rows}}}
)",
      fmt::arg("go_on", text.go_on), fmt::arg("trip", text.trip), fmt::arg("count", counted ? "" : "steps"),
      fmt::arg("count_dim", counted ? "m-1" : "steps"),
      fmt::arg("outputs", !text.collects ? ""
                          : counted      ? ", %8: tensor<f32,[m-1,128]>"
                                         : ", %8: tensor<f32,[steps,128]>"),
      fmt::arg("results", text.collects ? ", %24" : ""),
      fmt::arg("output_rows", text.collects ? "  output \"rows\" = %8\n" : ""));
}

std::shared_ptr<const Program> Compiled(const std::string& text, const std::string& gpu) {
  CompileOptions options;
  options.targets = {"host"};
  options.devices = {gpu, "cpu"};
  options.prefer_gpu = true;
  auto compiled = GetCompiler().CompileBytes(std::as_bytes(std::span(text)), options);
  if (compiled) return compiled->program;
  ADD_FAILURE() << compiled.error().message << "\n" << text;
  return nullptr;
}

Tensor Make(DType dtype, std::vector<int64_t> dims) {
  Expected<Tensor> tensor = Tensor::Allocate(dtype, Shape(dims));
  std::memset(tensor->data(), 0, static_cast<size_t>(tensor->byte_count()));
  return *tensor;
}

template <class T>
std::span<T> Elements(Tensor& tensor) {
  return {static_cast<T*>(tensor.data()), static_cast<size_t>(tensor.byte_count()) / sizeof(T)};
}

// m - 1 steps at most; `go`[t] tells after t steps whether there is another.
std::vector<Tensor> Inputs(const std::vector<bool>& go, double limit) {
  const auto m = static_cast<int64_t>(go.size());
  std::vector<Tensor> inputs{Make(DType::kF32, {kWidth, kWidth}),
                             Make(DType::kF32, {kWidth, kWidth}),
                             Make(DType::kBool, {m}),
                             Make(DType::kF32, {m, kWidth}),
                             Make(DType::kF32, {}),
                             Make(DType::kF32, {1, 1})};
  for (int64_t i = 0; i < kWidth; ++i) Elements<float>(inputs[1])[static_cast<size_t>(i * (kWidth + 1))] = 1;
  for (size_t i = 0; i < go.size(); ++i) Elements<char>(inputs[2])[i] = go[i];
  for (size_t i = 0; i < Elements<float>(inputs[3]).size(); ++i)
    Elements<float>(inputs[3])[i] = static_cast<float>(i % 977);
  Elements<float>(inputs[4])[0] = static_cast<float>(limit);
  return inputs;
}

struct Outcome {
  std::string error;
  std::vector<Tensor> outputs;
  int64_t waits = 0;
};

Outcome RunOn(const std::shared_ptr<const Program>& program, std::shared_ptr<Device> device,
              std::vector<Tensor> inputs, const Limits& limits = {}) {
  Outcome run;
  if (program == nullptr) return {"no program", {}, 0};
  VmOptions options{.threads = 1};
  if (device) options.devices = {device};
  auto vm = Vm::Create(program, options);
  if (!vm) return {vm.error().message, {}, 0};
  run.outputs.resize(program->main().outputs.size());
  const int64_t before = device ? device->statistics().waits : 0;
  Invocation invocation = (*vm)->NewInvocation();
  invocation.SetLimits(limits);
  if (Status status = invocation.Run(inputs, run.outputs); !status) run.error = status.error().message;
  run.waits = device ? device->statistics().waits - before : 0;
  return run;
}

// The null device's memory is zero and stays so: no condition becomes false, `go` neither.
int64_t WaitsOfNull(const LoopText& text, int64_t steps) {
  std::vector<Tensor> inputs = Inputs(std::vector<bool>(static_cast<size_t>(steps + 1), false), 0);
  for (Tensor& input : inputs) std::memset(input.data(), 0, static_cast<size_t>(input.byte_count()));
  const Outcome run = RunOn(Compiled(Model(text), "null"), CreateNullDevice({}), inputs);
  EXPECT_EQ(run.error, "");
  return run.waits;
}

// ---- waits ----

TEST(DeviceLoop, ALoopOfKnownLengthWaitsForNothing) {
  for (const bool collects : {false, true})
    for (const int64_t steps : {1, 2, 50}) {
      // Its numbers are needed after the loop, and the results at the end.
      EXPECT_EQ(WaitsOfNull({.go_on = "dim(1)", .collects = collects}, steps), 2) << steps;
    }
}

// Of a loop that is looked at after 2 steps, 4 more, ... and at most `most` more.
int64_t Polls(int64_t steps, int64_t most) {
  int64_t polls = 0;
  for (int64_t done = 0, width = 2; done < steps; width = std::min(2 * width, most), ++polls) done += width;
  return polls;
}

TEST(DeviceLoop, AConditionOfTheDeviceIsLookedAtOnceInSeveralSteps) {
  EXPECT_EQ(Polls(105, 10), 13);
  // And twice after the loop, for its numbers and for the results. A step that collects is longer.
  for (const int64_t steps : {1, 2, 3, 6, 7, 14, 15, 24, 25, 26, 104, 105}) {
    EXPECT_EQ(WaitsOfNull({.collects = false}, steps), Polls(steps, 10) + 2) << steps << " steps";
    EXPECT_EQ(WaitsOfNull({.collects = true}, steps), Polls(steps, 9) + 2) << steps << " steps";
    EXPECT_EQ(WaitsOfNull({.go_on = "dim(and(lt(i, 7), g))"}, steps),
              Polls(std::min<int64_t>(steps, 8), 10) + 2);
  }
}

TEST(DeviceLoop, ALoopWithoutEndKeepsItsLimits) {
  const auto program = Compiled(Model({.trip = "dim(9223372036854775807)"}), "null");
  std::vector<Tensor> inputs = Inputs({false, false}, 0);
  for (Tensor& input : inputs) std::memset(input.data(), 0, static_cast<size_t>(input.byte_count()));
  EXPECT_THAT(RunOn(program, CreateNullDevice({}), inputs, {.max_steps = 100'000}).error, HasSubstr("steps"));
  EXPECT_THAT(RunOn(program, CreateNullDevice({}), inputs, {.timeout = std::chrono::milliseconds(200)}).error,
              HasSubstr("200000 microseconds"));
}

// ---- results ----

class DeviceLoopOn : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto device = OpenDevice(GetParam(), {});
    if (!device) TVMVM_SKIP_WITHOUT(GetParam(), device.error().message);
    device_ = *device;
  }

  void ExpectAsOnCpu(const std::shared_ptr<const Program>& program, const std::vector<Tensor>& inputs,
                     const std::string& what) {
    const Outcome wanted = RunOn(program, nullptr, inputs), given = RunOn(program, device_, inputs);
    ASSERT_EQ(wanted.error, given.error) << what;
    for (size_t i = 0; i < wanted.outputs.size() && wanted.error.empty(); ++i) {
      Tensor a = wanted.outputs[i], b = given.outputs[i];
      ASSERT_EQ(a.shape().ToString(), b.shape().ToString()) << what << ", output " << i;
      if (a.dtype() == DType::kI64) {
        ASSERT_TRUE(std::ranges::equal(Elements<int64_t>(a), Elements<int64_t>(b)))
            << what << ", output " << i;
        continue;
      }
      for (size_t k = 0; k < Elements<float>(a).size(); ++k)
        ASSERT_NEAR(Elements<float>(a)[k], Elements<float>(b)[k], 1e-4)
            << what << ", output " << i << " at " << k;
    }
  }

  std::shared_ptr<Device> device_;
};

// Ends after `steps` of at most m - 1 steps, and would go on after that.
std::vector<bool> EndsAfter(int64_t steps, int64_t m) {
  std::vector<bool> go(static_cast<size_t>(m), true);
  if (steps < m) go[static_cast<size_t>(steps)] = false;
  return go;
}

// z would be NaN after the end, and the index of `go` out of range.
TEST_P(DeviceLoopOn, EndsWhereTheConditionFirstFails) {
  const auto program = Compiled(Model({}), GetParam());
  for (const int64_t steps : {1, 2, 3, 5, 6, 7, 13, 14, 15, 23, 24, 25})
    for (const int64_t m : {steps + 1, steps + 2, int64_t{40}})
      ExpectAsOnCpu(program, Inputs(EndsAfter(steps, m), static_cast<double>(steps)),
                    fmt::format("{} of {} steps", steps, m - 1));
  ExpectAsOnCpu(program, Inputs({true}, 0), "no step");
}

class MoreDeviceLoopsOn : public DeviceLoopOn {};

TEST_P(MoreDeviceLoopsOn, ConditionsMayComeAndGo) {
  const auto program = Compiled(Model({.collects = false}), GetParam());
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    std::vector<bool> go(1 + random() % 40);
    for (size_t i = 0; i < go.size(); ++i) go[i] = random() % 8 != 0;
    const auto end = std::find(go.begin() + std::min<std::ptrdiff_t>(1, std::ssize(go)), go.end(), false);
    ExpectAsOnCpu(program, Inputs(go, static_cast<double>(end - go.begin())), fmt::format("round {}", round));
  }
}

TEST_P(MoreDeviceLoopsOn, TheHostMayEndItToo) {
  const auto program = Compiled(Model({.go_on = "dim(and(lt(i, 8), g))"}), GetParam());
  for (const int64_t steps : {1, 4, 8, 9, 10, 20})
    ExpectAsOnCpu(program, Inputs(EndsAfter(steps, 30), static_cast<double>(std::min<int64_t>(steps, 9))),
                  fmt::format("{} steps", steps));
}

TEST_P(MoreDeviceLoopsOn, ItNeedNoBound) {
  const auto program = Compiled(Model({.trip = "dim(9223372036854775807)"}), GetParam());
  for (const int64_t steps : {1, 17}) ExpectAsOnCpu(program, Inputs(EndsAfter(steps, 40), 20), "");
}

TEST_P(MoreDeviceLoopsOn, AnIndexOutOfRangeEndsIt) {
  const auto program = Compiled(Model({.trip = "dim(9223372036854775807)"}), GetParam());
  for (std::shared_ptr<Device> device : {std::shared_ptr<Device>(), device_})
    EXPECT_THAT(RunOn(program, device, Inputs(std::vector<bool>(20, true), 50)).error,
                HasSubstr("index 20 is out of range"));
}

TEST_P(MoreDeviceLoopsOn, ALoopOfKnownLengthCarriesNumbersOfTheDevice) {
  const auto program = Compiled(Model({.go_on = "dim(1)"}), GetParam());
  for (const int64_t m : {1, 2, 9})
    ExpectAsOnCpu(program, Inputs(std::vector<bool>(static_cast<size_t>(m)), 10), "");
}

std::string NameOf(const testing::TestParamInfo<const char*>& device) { return device.param; }
INSTANTIATE_TEST_SUITE_P(Devices, DeviceLoopOn, testing::Values("vulkan", "opencl"), NameOf);
INSTANTIATE_TEST_SUITE_P(Devices, MoreDeviceLoopsOn, testing::Values("vulkan"), NameOf);

}  // namespace
}  // namespace tvmvm
