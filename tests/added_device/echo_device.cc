#include "devices/echo/echo_device.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "allocator/host_memory.h"
#include "devices/driver/memory_range.h"

namespace tvmvm {
namespace {

char* AddressOf(const DeviceSpan& span) { return reinterpret_cast<char*>(span.memory.handle) + span.offset; }

class EchoKernelSet final : public KernelSet {
 public:
  std::string description() const override { return "echo"; }
};

class EchoDevice final : public Device {
 public:
  EchoDevice() {
    target_.device = DeviceKind::kEcho;
    description_.hardware = description_.driver = description_.api = "echo";
  }
  const std::string& name() const override { return name_; }
  const TargetInfo& target() const override { return target_; }
  const DeviceDescription& description() const override { return description_; }

  Expected<DeviceMemory> Allocate(int64_t bytes, const CancelToken*) override {
    TVMVM_TRY(void* memory, AllocateHost(bytes));
    live_bytes_ += bytes;
    return DeviceMemory{nullptr, reinterpret_cast<uint64_t>(memory), bytes};
  }
  void Free(const DeviceMemory& memory) override {
    live_bytes_ -= memory.bytes;
    FreeHost(reinterpret_cast<void*>(memory.handle));
  }
  Expected<std::unique_ptr<KernelSet>> LoadKernels(std::span<const KernelSpec> kernels,
                                                   std::span<const KernelLibrarySpec>,
                                                   const LoadProgress& progress) override {
    if (progress) progress(kernels.size());
    return std::make_unique<EchoKernelSet>();
  }
  Expected<std::unique_ptr<Queue>> NewQueue() override;
  DeviceStatistics statistics() const override {
    DeviceStatistics statistics;
    statistics.live_bytes = statistics.peak_bytes = statistics.held_bytes = live_bytes_;
    return statistics;
  }

 private:
  const std::string name_ = DeviceKindName(DeviceKind::kEcho);
  TargetInfo target_;
  DeviceDescription description_;
  std::atomic<int64_t> live_bytes_{0};
};

class EchoQueue final : public Queue {
 public:
  explicit EchoQueue(Device* device) : device_(device) {}

  Status CopyIn(const DeviceSpan& to, const void* from, int64_t bytes, const CancelToken*) override {
    TVMVM_CHECK_OK(CheckRange(to, bytes));
    std::memcpy(AddressOf(to), from, static_cast<size_t>(bytes));
    return {};
  }
  Status CopyOut(void* to, const DeviceSpan& from, int64_t bytes, const CancelToken*) override {
    TVMVM_CHECK_OK(CheckRange(from, bytes));
    std::memcpy(to, AddressOf(from), static_cast<size_t>(bytes));
    return {};
  }
  Status Copy(const DeviceSpan& to, const DeviceSpan& from, int64_t bytes, const CancelToken*) override {
    TVMVM_CHECK_OK(CheckCopy(to, from, bytes));
    std::memcpy(AddressOf(to), AddressOf(from), static_cast<size_t>(bytes));
    return {};
  }
  Status Fill(const DeviceSpan& to, uint8_t value, int64_t bytes, const CancelToken*) override {
    TVMVM_CHECK_OK(CheckRange(to, bytes));
    std::memset(AddressOf(to), value, static_cast<size_t>(bytes));
    return {};
  }
  Expected<int32_t> Launch(const LaunchRequest& request, const CancelToken*) override {
    const int64_t points = GridPoints(request);
    if (points < 0) return ImpossibleGrid(request);
    for (const DeviceSpan& buffer : request.buffers) TVMVM_CHECK_OK(CheckRange(buffer, 0));
    if (points == 0 || request.buffers.empty()) return 0;
    const DeviceSpan &from = request.buffers.front(), &to = request.buffers.back();
    const int64_t bytes =
        std::min({from.bytes, to.bytes, from.memory.bytes - from.offset, to.memory.bytes - to.offset});
    std::memmove(AddressOf(to), AddressOf(from), static_cast<size_t>(bytes));
    return 0;
  }
  Status Flush() override { return {}; }
  Expected<std::optional<KernelFailure>> Wait(const CancelToken*) override {
    return std::optional<KernelFailure>();
  }
  void FreeAfterWork(const DeviceMemory& memory) override { device_->Free(memory); }

 private:
  Device* device_;
};

Expected<std::unique_ptr<Queue>> EchoDevice::NewQueue() { return std::make_unique<EchoQueue>(this); }

}  // namespace

std::shared_ptr<Device> CreateEchoDevice() { return std::make_shared<EchoDevice>(); }

}  // namespace tvmvm
