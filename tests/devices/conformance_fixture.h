// What the cases of the conformance suite have in common: a device, a queue, the suite's kernels. Each case
// is one TEST_F.
#pragma once

#include <gtest/gtest.h>

#include "tests/devices/conformance.h"
#include "tests/require.h"

namespace tvmvm::testing {

inline KernelSpec Kernel(const std::string& name, uint32_t buffers, uint32_t scalars) {
  KernelSpec kernel;
  kernel.name = "test." + name;
  kernel.symbol = name;
  kernel.device = ClassOf(DeviceUnderTest().kind);
  kernel.scalar_count = scalars;
  kernel.buffers.assign(buffers, Access::kReadWrite);
  if (name == "axpy" || name == "advance") kernel.buffers[0] = Access::kRead;
  if (name == "advance" || name == "mark") kernel.buffers.back() = Access::kWrite;
  return kernel;
}

enum KernelIndex : uint32_t { kAxpy, kMark, kMany, kCheck, kAdvance };

inline std::vector<KernelSpec> Kernels() {
  return {Kernel("axpy", 2, 2), Kernel("mark", 1, 0), Kernel("many", 11, 10), Kernel("check", 1, 1),
          Kernel("advance", 2, 1)};
}

inline std::vector<KernelLibrarySpec> Libraries(const std::vector<std::byte>& bytes) {
  KernelLibrarySpec library;
  library.device = DeviceUnderTest().kind;
  library.form = DeviceUnderTest().form;
  library.target = DeviceUnderTest().target;
  library.bytes = bytes;
  return {library};
}

class Conformance : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto& skipped = DeviceUnderTest().skipped;
    const char* name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    if (auto found = skipped.find(name); found != skipped.end()) GTEST_SKIP() << found->second;
    auto device = DeviceUnderTest().create({});
    if (!device && device.error().code == Code::kNotFound)
      TVMVM_SKIP_WITHOUT(DeviceKindName(DeviceUnderTest().kind), device.error().message);
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
    auto queue = device_->NewQueue();
    ASSERT_TRUE(queue) << queue.error().message;
    queue_ = std::move(*queue);
  }

  void TearDown() override {
    if (!queue_) return;
    auto last = queue_->Wait(nullptr);
    EXPECT_TRUE(last) << last.error().message;
    queue_.reset();
    for (const DeviceMemory& memory : memory_) device_->Free(memory);
    kernels_.reset();
    EXPECT_EQ(device_->statistics().live_bytes, idle_bytes_);
  }

  void LoadKernels() {
    auto kernels = device_->LoadKernels(Kernels(), Libraries(DeviceUnderTest().library));
    ASSERT_TRUE(kernels) << kernels.error().message;
    kernels_ = std::move(*kernels);
  }

  DeviceMemory Allocate(int64_t bytes) {
    auto memory = device_->Allocate(bytes, nullptr);
    EXPECT_TRUE(memory) << memory.error().message;
    if (!memory) return {};
    memory_.push_back(*memory);
    return *memory;
  }

  template <class T>
  DeviceMemory Upload(const std::vector<T>& values) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
    DeviceMemory memory = Allocate(bytes);
    ExpectOk(queue_->CopyIn({memory, 0}, values.data(), bytes, nullptr));
    return memory;
  }

  template <class T>
  std::vector<T> Download(const DeviceSpan& from, size_t count) {
    std::vector<T> values(count);
    ExpectOk(queue_->CopyOut(values.data(), from, static_cast<int64_t>(count * sizeof(T)), nullptr));
    ExpectFine();
    return values;
  }

  static void ExpectOk(const Status& status) { EXPECT_TRUE(status) << status.error().message; }

  // All work ends well.
  void ExpectFine() {
    auto failure = queue_->Wait(nullptr);
    ASSERT_TRUE(failure) << failure.error().message;
    EXPECT_FALSE(*failure) << "code " << (*failure)->code;
  }

  // The kernel's code where the device runs it at once.
  Expected<int32_t> Launch(Queue& queue, KernelIndex kernel, int64_t points, std::vector<DeviceSpan> buffers,
                           std::vector<int64_t> scalars, uint64_t tag = 0) {
    std::vector<void*> addresses;
    for (const DeviceSpan& buffer : buffers)
      addresses.push_back(static_cast<char*>(buffer.memory.host) + buffer.offset);
    LaunchRequest request;
    request.kernels = kernels_.get();
    request.kernel = kernel;
    request.grid[0] = points;
    request.buffers = buffers;
    request.addresses = addresses;
    request.scalars = scalars;
    request.tag = tag;
    return queue.Launch(request, nullptr);
  }
  void ExpectLaunch(KernelIndex kernel, int64_t points, std::vector<DeviceSpan> buffers,
                    std::vector<int64_t> scalars) {
    auto code = Launch(*queue_, kernel, points, std::move(buffers), std::move(scalars));
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_EQ(*code, 0);
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<KernelSet> kernels_;
  std::vector<DeviceMemory> memory_;
  int64_t idle_bytes_ = 0;
};

}  // namespace tvmvm::testing
