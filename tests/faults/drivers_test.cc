// Calls of the drivers fail, each in its turn: that is an error with its own code, nothing is lost, no result
// is wrong, and all goes on, on the device itself or, where that was lost, on the one that is opened anew.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "devices/null/null_device.h"
#include "tests/faults/driver_calls.h"
#include "tests/faults/driver_faults.h"
#include "tests/faults/fail_each.h"
#include "tests/faults/gpu_models.h"
#include "tests/require.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/warm.h"

namespace tvmvm::testing {
namespace {

class DriverFails : public ::testing::TestWithParam<std::tuple<std::string, DriverFault>> {
 protected:
  const DriverFault& fault() const { return std::get<1>(GetParam()); }
  const std::string& kind() const { return fault().device; }
  void SetUp() override {
    auto device = OpenDevice(kind(), {});
    if (!device) TVMVM_SKIP_WITHOUT(kind(), device.error().message);
    device->reset();
    (void)ListDevices();  // which opens what is never closed
    nothing_ = DriverObjectsNow();
    folder_ = ::testing::TempDir() + "driver_fails_" + std::to_string(getpid());
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    EXPECT_EQ(TextOf(DriverObjectsNow()), TextOf(nothing_)) << "in the end";
  }

  Expected<std::shared_ptr<Device>> Open() const { return OpenDevice(kind(), {.cache_folder = folder_}); }
  void FailEach(
      const std::string& what, const std::function<Status()>& step,
      const std::function<void()>& recover = [] {}) const {
    testing::FailEach(
        std::get<0>(GetParam()) + ", " + what, fault(), step,
        [&](const Error& error) { return fault().Explains(error); }, recover);
  }

  DriverObjects nothing_{};
  std::string folder_;
};

class OpeningFails : public DriverFails {};

TEST_P(OpeningFails, OfADevice) {
  auto wanted = Open();
  ASSERT_TRUE(wanted) << wanted.error().message;
  auto text = [](const Device& device) {
    const DeviceDescription& about = device.description();
    const TargetInfo& target = device.target();
    std::string all = about.hardware + ", " + about.driver + ", " + about.api;
    for (const std::string& feature : about.features) all += ", " + feature;
    for (const int64_t number :
         {about.memory_bytes, target.max_block_bytes, target.shared_memory_bytes, int64_t{target.vector_bits},
          int64_t{target.max_group_size}, int64_t{target.has_f64}})
      all += ", " + std::to_string(number);
    return all;
  };
  const std::string whole = text(**wanted);
  auto check = [&](const Device& device) -> Status {
    if (text(device) == whole) return {};
    return MakeError(Code::kInternal, "another device: " + text(device) + ", not " + whole);
  };
  FailEach("open", [&]() -> Status {
    TVMVM_TRY(const std::shared_ptr<Device> device, Open());
    return check(*device);
  });
  FailEach("open anew", [&]() -> Status {
    TVMVM_TRY(const std::shared_ptr<Device> device, (*wanted)->Reopen());
    return check(*device);
  });
}

// What cannot be asked is absent, or cannot be used; all else is as it is.
TEST_P(OpeningFails, OfAListOfDevices) {
  auto list = [&] {
    std::string text;
    for (const ListedDevice& device : ListDevices().devices) {
      if (DeviceKindName(device.kind) != kind() || !device.unusable.empty()) continue;
      text += device.name + " " + device.description.hardware + " " + device.description.driver + " " +
              device.description.api + " " + std::to_string(device.description.memory_bytes) + "\n";
    }
    return text;
  };
  const std::string wanted = list();
  FailEach("list", [&]() -> Status {
    const std::string text = list();
    if (wanted.find(text) != std::string::npos) return {};
    return MakeError(Code::kInternal, "the list is " + text);
  });
}

// Work of all kinds, without kernels.
TEST_P(OpeningFails, OfAQueueAndItsWork) {
  std::shared_ptr<Device> device = *Open();
  constexpr int64_t kFlushes = 66;            // more than may be on their way
  const std::vector<char> large(9 << 19, 7);  // more than goes at once
  const auto bytes = static_cast<int64_t>(large.size());
  std::vector<char> back(large.size());
  auto work = [&](std::vector<DeviceMemory>* memory) -> Status {
    TVMVM_TRY(const std::unique_ptr<Queue> queue, device->NewQueue());
    for (int i = 0; i < 2; ++i) {
      TVMVM_TRY(const DeviceMemory block, device->Allocate(bytes, nullptr));
      memory->push_back(block);
    }
    const DeviceSpan first{(*memory)[0], 0}, second{(*memory)[1], 0};
    TVMVM_CHECK_OK(queue->Fill(first, 1, bytes, nullptr));
    TVMVM_CHECK_OK(queue->CopyIn(first, large.data(), bytes, nullptr));  // while the queue works
    for (int64_t i = 0; i < kFlushes; ++i) {
      TVMVM_CHECK_OK(queue->CopyIn({first.memory, 4096 * i}, &i, sizeof i, nullptr));
      TVMVM_CHECK_OK(queue->Flush());
    }
    TVMVM_CHECK_OK(queue->Copy(second, first, bytes, nullptr));
    TVMVM_CHECK_OK(queue->CopyOut(back.data(), second, bytes, nullptr));
    for (int i = 0; i < 40; ++i) {
      TVMVM_TRY(const DeviceMemory block, device->Allocate(1000, nullptr));
      queue->FreeAfterWork(block);
    }
    TVMVM_CHECK_OK(queue->Wait(nullptr));
    for (int64_t i = 0; i < kFlushes; ++i)
      if (std::memcmp(&back[4096 * i], &i, sizeof i) != 0 || back[4096 * i + sizeof i] != 7)
        return MakeError(Code::kInternal, "wrong bytes");
    return {};
  };
  auto all = [&]() -> Status {
    std::vector<DeviceMemory> memory;
    memory.reserve(2);
    Status status = work(&memory);
    for (const DeviceMemory& block : memory) device->Free(block);
    return status;
  };
  FailEach("queue", all, [&] {
    Status status = all();
    if (!status && status.error().code == Code::kDeviceLost && fault().loses_device()) {
      auto again = device->Reopen();
      ASSERT_TRUE(again) << again.error().message;
      device = *again;
      status = all();
    }
    EXPECT_EQ(TextOf(status), "");
    EXPECT_EQ(device->statistics().live_bytes, 0);
  });
}

class RunFails : public DriverFails {
 protected:
  void SetUp() override {
    DriverFails::SetUp();
    if (IsSkipped()) return;
    model_ = MakeGpuModel(std::get<0>(GetParam()), kind());
    ASSERT_TRUE(model_.program);
    device_ = *Open();
    BindAnew();
    wanted_.resize(model_.program->main().outputs.size());
    ASSERT_EQ(TextOf(invocation_->Run(model_.inputs, wanted_)), "");
    EXPECT_GT(device_->statistics().launches, 0) << "it runs on the CPU";
    NewInvocation();
  }
  void TearDown() override {
    Close();
    DriverFails::TearDown();
  }
  void Close() {
    invocation_.reset();
    vm_.reset();
    device_.reset();
  }
  Expected<std::shared_ptr<Vm>> Bind() const {
    VmOptions options = model_.options;
    options.devices = {device_};
    return Vm::Create(model_.program, options);
  }
  void BindAnew() {
    invocation_.reset();
    auto vm = Bind();
    ASSERT_TRUE(vm) << vm.error().message;
    vm_ = *vm;
    NewInvocation();
  }
  void NewInvocation() { invocation_.emplace(vm_->NewInvocation()); }

  Status Compare(const std::vector<Value>& outputs) const {
    for (size_t k = 0; k < outputs.size(); ++k)
      if (!IsSame(outputs[k], wanted_[k]))
        return MakeError(Code::kInternal, "output " + std::to_string(k) + " is wrong");
    return {};
  }
  Status Run() {
    std::vector<Value> outputs(wanted_.size());
    TVMVM_CHECK_OK(invocation_->Run(model_.inputs, outputs));
    return Compare(outputs);
  }
  Status RunThere() {
    std::vector<Value> inputs, outputs;
    for (const Value& input : model_.inputs) {
      TVMVM_TRY(Tensor there, input.tensor().CopyTo(device_));
      inputs.push_back(Value(std::move(there)));
    }
    for (const Value& output : wanted_) {
      TVMVM_TRY(Tensor there, Tensor::AllocateOn(device_, output.tensor().dtype(), output.tensor().shape()));
      outputs.push_back(Value(std::move(there)));
    }
    TVMVM_CHECK_OK(invocation_->Run(inputs, outputs));
    for (Value& output : outputs) {
      TVMVM_TRY(Tensor here, output.tensor().CopyTo(nullptr));
      output = Value(std::move(here));
    }
    return Compare(outputs);
  }
  // The next runs, on the device or on the one in its place.
  void ExpectRuns() {
    Status status = Run();
    if (!status && status.error().code == Code::kDeviceLost && fault().loses_device()) {
      auto again = device_->Reopen();
      ASSERT_TRUE(again) << again.error().message;
      device_ = *again;
      BindAnew();
      status = Run();
    }
    ASSERT_EQ(TextOf(status), "");
    EXPECT_EQ(TextOf(Run()), "");
  }
  void ExpectRunsAnew() {
    ExpectRuns();
    NewInvocation();
  }

  FaultyModel model_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<Vm> vm_;
  std::optional<Invocation> invocation_;
  std::vector<Value> wanted_;
};

TEST_P(RunFails, WhileBinding) {
  auto bind = [&]() -> Status {
    TVMVM_TRY(const std::shared_ptr<Vm> vm, Bind());
    return {};
  };
  FailEach("bind", bind, [&] { ExpectRuns(); });
}

// With the folder of what the driver made empty, and with what is in it.
TEST_P(RunFails, WhileMakingKernels) {
  auto warm = [&]() -> Status {
    TVMVM_TRY(const WarmResult result, WarmKernels(*model_.program, *device_));
    return {};
  };
  auto bind_and_run = [&]() -> Status {
    TVMVM_TRY(const std::shared_ptr<Vm> vm, Bind());
    std::vector<Value> outputs(wanted_.size());
    TVMVM_CHECK_OK(vm->NewInvocation().Run(model_.inputs, outputs));
    return Compare(outputs);
  };
  auto empty = [&] { std::filesystem::remove_all(folder_); };
  empty();
  FailEach("warm", warm, [&] {
    ExpectRuns();
    empty();
  });
  ASSERT_EQ(TextOf(warm()), "");
  FailEach("bind and run what is kept", bind_and_run, [&] { ExpectRuns(); });
}

TEST_P(RunFails, AtAnyPlace) {
  FailEach(
      "first run", [&] { return Run(); }, [&] { ExpectRunsAnew(); });
}

TEST_P(RunFails, WithTensorsOfTheDevice) {
  FailEach(
      "run", [&] { return RunThere(); }, [&] { ExpectRunsAnew(); });
}

TEST_P(RunFails, AfterOthers) {
  ExpectRuns();
  FailEach(
      "later run", [&] { return Run(); }, [&] { ExpectRuns(); });
}

TEST_P(RunFails, AfterTrimming) {
  ExpectRuns();
  FailEach(
      "trim and run",
      [&]() -> Status {
        TVMVM_CHECK_OK(invocation_->Trim());
        return Run();
      },
      [&] { ExpectRuns(); });
}

TEST_P(RunFails, WhileClosing) {
  FailEach(
      "close",
      [&]() -> Status {
        const Status status = Run();
        Close();
        return status;
      },
      [&] {
        EXPECT_EQ(TextOf(DriverObjectsNow()), TextOf(nothing_));
        device_ = *Open();
        BindAnew();
        ExpectRunsAnew();
      });
}

// Nothing of what fails while a driver is first opened is remembered or lost.
class DriverStarts : public ::testing::TestWithParam<const char*> {};

TEST_P(DriverStarts, OnceItCan) {
  const std::string kind = GetParam();
  auto first = [] { return DriverObjectsNow()[static_cast<size_t>(DriverObject::VkInstance)]; };
  if (first() != 0) GTEST_SKIP() << "it has started: this test wants a process of its own";
  const bool is_opencl = kind == "opencl";
  const uint32_t kinds = kLookups | (is_opencl ? kOpenCl : kVulkan);
  const int no_memory = is_opencl ? CL_OUT_OF_HOST_MEMORY : VK_ERROR_OUT_OF_HOST_MEMORY;
  int64_t number = 0;
  for (bool has_failed = true; has_failed; ++number) {
    const Failing failing(kinds, number, Then::kOnce, no_memory);
    const auto device = OpenDevice(kind, {});
    has_failed = failing.has_failed();
    if (device) continue;
    if (!has_failed) TVMVM_SKIP_WITHOUT(kind, device.error().message);
    const Code code = device.error().code;
    EXPECT_TRUE(code == Code::kOutOfMemory || code == Code::kUnsupported || code == Code::kNotFound)
        << "call " << number << ": " << device.error().message;
    EXPECT_LE(first(), 1);
    DriverObjects held = DriverObjectsNow();
    held[static_cast<size_t>(DriverObject::VkInstance)] = 0;
    EXPECT_EQ(TextOf(held), "") << "call " << number;
  }
  EXPECT_GT(number, 20);
}

INSTANTIATE_TEST_SUITE_P(, DriverStarts, ::testing::Values("opencl", "vulkan"),
                         [](const auto& info) { return std::string(info.param); });

// OpenCL's functions are found once, all together.
TEST(VulkanFails, WithoutOneOfItsFunctions) {
  auto open = []() -> Status {
    TVMVM_TRY(const std::shared_ptr<Device> device, OpenDevice("vulkan", {}));
    return {};
  };
  if (Status status = open(); !status) TVMVM_SKIP_WITHOUT("vulkan", status.error().message);
  Fault missing{"missing", kLookups};
  missing.loses_memory = true;
  FailEach("open", missing, open, [](const Error& error) {
    return error.code == Code::kUnsupported && error.message.ends_with(FailedFunction());
  });
}

// The null device's own failures.
TEST(NullDeviceFails, AtAnyPlace) {
  const FaultyModel model = MakeFaultyModel("device");
  ASSERT_TRUE(model.program);
  auto vm_on = [&](const std::shared_ptr<Device>& device) {
    VmOptions options = model.options;
    options.devices = {device};
    return Vm::Create(model.program, options);
  };
  auto run = [&](Vm& vm, Invocation& invocation) -> Status {
    std::vector<Value> outputs(1);
    TVMVM_CHECK_OK(invocation.Run(model.inputs, outputs));
    EXPECT_TRUE(IsSame(outputs[0], model.inputs[0])) << vm.gpu()->name();
    return {};
  };
  constexpr std::pair<int64_t NullDeviceOptions::*, Code> kFaults[] = {
      {&NullDeviceOptions::fail_allocation, Code::kOutOfMemory},
      {&NullDeviceOptions::lose_at_submit, Code::kDeviceLost},
      {&NullDeviceOptions::fail_wait, Code::kOutOfMemory},
      {&NullDeviceOptions::fail_launch, Code::kInvalidArgument},
  };
  for (const auto& [option, code] : kFaults) {
    bool has_failed = true;
    int64_t number = 1;
    for (; has_failed; ++number) {
      NullDeviceOptions options;
      options.*option = number;
      std::shared_ptr<Device> device = CreateNullDevice(options);
      auto vm = vm_on(device);
      has_failed = !vm;
      if (!vm) {
        EXPECT_EQ(vm.error().code, code) << vm.error().message;
        continue;
      }
      Invocation invocation = (*vm)->NewInvocation();
      for (int i = 0; i < 3; ++i) {
        const Status status = run(**vm, invocation);
        if (status) continue;
        EXPECT_EQ(status.error().code, code) << status.error().message;
        EXPECT_TRUE(!has_failed || code == Code::kDeviceLost) << "it failed again";
        has_failed = true;
      }
      if (has_failed && code == Code::kDeviceLost) {
        auto again = vm_on(*device->Reopen());
        ASSERT_TRUE(again) << again.error().message;
        Invocation anew = (*again)->NewInvocation();
        EXPECT_EQ(TextOf(run(**again, anew)), "");
      }
    }
    EXPECT_GT(number, 3);
  }
}

std::string NameOf(const ::testing::TestParamInfo<std::tuple<std::string, DriverFault>>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(, OpeningFails,
                         ::testing::Combine(::testing::Values(std::string("device")),
                                            ::testing::ValuesIn(DriverFaults())),
                         &NameOf);
INSTANTIATE_TEST_SUITE_P(, RunFails,
                         ::testing::Combine(::testing::ValuesIn(GpuModelNames()),
                                            ::testing::ValuesIn(DriverFaults())),
                         &NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RunFails);

}  // namespace
}  // namespace tvmvm::testing
