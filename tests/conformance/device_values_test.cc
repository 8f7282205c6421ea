// What every device has to give alike: casts of floats beyond an integer's range (cases/casts.json), and
// regions of any size (roi_region of hostile/values.json), which must not take forever.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/compare.h"
#include "tests/conformance/case_model.h"
#include "tests/folders.h"
#include "tests/require.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using nlohmann::json;

json Read(const std::string& path) {
  std::ifstream file(SourcePath("tests/conformance/") + path);
  return json::parse(file, nullptr, false);
}

class DeviceValues : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto device = OpenDevice(GetParam(), {});
    if (!device) TVMVM_SKIP_WITHOUT(GetParam(), device.error().message);
    device_ = *device;
  }

  void Check(const json& text) {
    CaseModel model = ModelOfCase(text, false);
    CompileOptions options;
    options.devices = {GetParam(), "cpu"};
    options.targets = {"host"};
    auto compiled = GetCompiler().CompileBytes(ir::BytesOf(model.bytes), options);
    ASSERT_TRUE(compiled) << compiled.error().message;
    VmOptions vm_options{.threads = 1};
    vm_options.devices = {device_};
    auto vm = Vm::Create(compiled->program, vm_options);
    ASSERT_TRUE(vm) << vm.error().message;
    std::vector<Tensor> outputs(1);
    Invocation invocation = (*vm)->NewInvocation();
    invocation.SetLimits({.timeout = std::chrono::seconds(20)});
    Status status = invocation.Run(model.inputs, outputs);
    ASSERT_TRUE(status) << status.error().message;
    auto difference = cli::FindDifference(outputs[0], model.outputs[0], {1e-4, 1e-5});
    EXPECT_FALSE(difference) << *difference;
  }

  std::shared_ptr<Device> device_;
};

TEST_P(DeviceValues, CastsBeyondTheRangeOfIntegers) {
  json cases = Read("cases/casts.json");
  ASSERT_TRUE(cases.is_array());
  for (const json& text : cases) {
    if (text.value("known_sizes_only", false)) continue;  // a constant
    SCOPED_TRACE(text["name"].get<std::string>());
    Check(text);
  }
}

TEST_P(DeviceValues, RegionsOfAnySizeTakeBoundedWork) {
  json probes = Read("hostile/values.json");
  ASSERT_TRUE(probes.is_array());
  int regions = 0;
  for (json& probe : probes) {
    if (probe["name"] != "roi_region") continue;
    for (const json& attempt : probe["tries"]) {
      if (!attempt.contains("gives")) continue;
      SCOPED_TRACE(attempt["values"].dump());
      json text = probe;
      text["inputs"][1] = {{"type", "f32"}, {"dims", attempt["dims"]}, {"values", attempt["values"]}};
      text["outputs"] = json::array({attempt["gives"]});
      Check(text);
      ++regions;
    }
  }
  EXPECT_GT(regions, 20);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceValues, testing::Values("opencl", "vulkan"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tvmvm
