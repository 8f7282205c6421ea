#include "devices/null/null_device.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "allocator/block_times.h"
#include "allocator/host_memory.h"
#include "bytecode/steady_time.h"
#include "devices/driver/deadline.h"
#include "devices/driver/memory_range.h"

namespace tvmvm {
namespace {

class NullKernelSet final : public KernelSet {
 public:
  std::string description() const override { return "nothing is computed"; }
};

class NullDevice final : public Device {
 public:
  explicit NullDevice(const NullDeviceOptions& options) : options_(options) {
    target_.device = options.kind;
    description_ = {"no hardware", "none", "none", options.max_bytes, {"computes nothing"}};
  }

  const std::string& name() const override { return name_; }
  const TargetInfo& target() const override { return target_; }
  const DeviceDescription& description() const override { return description_; }

  Expected<DeviceMemory> Allocate(int64_t bytes, const CancelToken* cancel) override {
    TVMVM_CHECK_OK(CheckTime(bytes, DeadlineOf(cancel)));
    std::lock_guard lock(mutex_);
    if (++allocations_ == options_.fail_allocation ||
        (options_.max_bytes > 0 && bytes > options_.max_bytes - statistics_.live_bytes))
      return MakeError(Code::kOutOfMemory, name_ + ": no " + std::to_string(bytes) + " bytes");
    TVMVM_TRY(void* memory, AllocateHost(bytes));
    std::memset(memory, 0, static_cast<size_t>(bytes));
    statistics_.live_bytes += bytes;
    statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.live_bytes);
    statistics_.held_bytes = statistics_.live_bytes;
    ++statistics_.blocks;
    return DeviceMemory{nullptr, reinterpret_cast<uint64_t>(memory), bytes};
  }

  void Free(const DeviceMemory& memory) override {
    std::lock_guard lock(mutex_);
    statistics_.live_bytes -= memory.bytes;
    statistics_.held_bytes = statistics_.live_bytes;
    --statistics_.blocks;
    FreeHost(reinterpret_cast<void*>(memory.handle));
  }

  Expected<std::unique_ptr<KernelSet>> LoadKernels(std::span<const KernelSpec> kernels,
                                                   std::span<const KernelLibrarySpec>,
                                                   const LoadProgress& progress) override {
    if (progress) progress(kernels.size());
    return std::make_unique<NullKernelSet>();
  }

  Expected<std::unique_ptr<Queue>> NewQueue() override;

  DeviceStatistics statistics() const override {
    std::lock_guard lock(mutex_);
    DeviceStatistics statistics = statistics_;
    statistics.new_megabyte_ns = options_.new_megabyte_ns;
    return statistics;
  }

  Expected<std::shared_ptr<Device>> Reopen() const override {
    if (options_.stays_lost) return MakeError(Code::kDeviceLost, name_ + ": the device does not come back");
    return CreateNullDevice({.kind = options_.kind, .max_bytes = options_.max_bytes});
  }

  Status CheckTime(int64_t bytes, int64_t deadline_ns) const {
    if (deadline_ns == 0) return {};
    const Status status =
        BlockTimes(options_.new_megabyte_ns).Check(bytes, deadline_ns - SteadyNanoseconds());
    return status ? status : MakeError(status.error().code, name_ + ": " + status.error().message);
  }
  // Waits for work that is not done.
  Status Await(const CancelToken* cancel) const {
    while (options_.is_busy != nullptr && *options_.is_busy)
      if (cancel != nullptr && cancel->cancelled())
        return MakeError(Code::kCancelled, "stopped while waiting for " + name_);
    return {};
  }
  int64_t most_ahead() const { return options_.most_ahead; }
  // Counts a piece of work. Errors: kDeviceLost from the chosen one on.
  Status Submit() {
    ++submits_;
    return CheckHealth();
  }
  Status CheckHealth() const {
    if (options_.lose_at_submit == 0 || submits_ < options_.lose_at_submit) return {};
    return MakeError(Code::kDeviceLost, name_ + ": the device is lost");
  }
  // Errors: kOutOfMemory from the chosen one.
  Status CountWait() {
    std::lock_guard lock(mutex_);
    if (++statistics_.waits != options_.fail_wait) return {};
    return MakeError(Code::kOutOfMemory, name_ + ": no memory to submit with");
  }
  // The code that this launch ends with.
  int32_t CountLaunch() {
    std::lock_guard lock(mutex_);
    return ++statistics_.launches == options_.fail_launch ? options_.failure_code : 0;
  }

 private:
  const NullDeviceOptions options_;
  const std::string name_ = "null";
  TargetInfo target_;
  DeviceDescription description_;
  mutable std::mutex mutex_;
  int64_t allocations_ = 0;
  DeviceStatistics statistics_;
  std::atomic<int64_t> submits_{0};
};

char* AddressOf(const DeviceSpan& span) { return reinterpret_cast<char*>(span.memory.handle) + span.offset; }

// Copies at once, but what is copied out arrives with Wait, as on a device that works by itself.
class NullQueue final : public Queue {
 public:
  explicit NullQueue(NullDevice* device) : device_(device) {}
  ~NullQueue() override { FreeWaiting(); }

  Status CopyIn(const DeviceSpan& to, const void* from, int64_t bytes, const CancelToken* cancel) override {
    TVMVM_CHECK_OK(CheckRange(to, bytes));
    TVMVM_CHECK_OK(Submit(cancel));
    std::memcpy(AddressOf(to), from, static_cast<size_t>(bytes));
    return {};
  }

  Status CopyOut(void* to, const DeviceSpan& from, int64_t bytes, const CancelToken* cancel) override {
    TVMVM_CHECK_OK(CheckRange(from, bytes));
    TVMVM_CHECK_OK(Submit(cancel));
    copies_out_.push_back({to, std::vector<char>(AddressOf(from), AddressOf(from) + bytes)});
    return {};
  }

  Status Copy(const DeviceSpan& to, const DeviceSpan& from, int64_t bytes,
              const CancelToken* cancel) override {
    TVMVM_CHECK_OK(CheckCopy(to, from, bytes));
    TVMVM_CHECK_OK(Submit(cancel));
    std::memcpy(AddressOf(to), AddressOf(from), static_cast<size_t>(bytes));
    return {};
  }

  Status Fill(const DeviceSpan& to, uint8_t value, int64_t bytes, const CancelToken* cancel) override {
    TVMVM_CHECK_OK(CheckRange(to, bytes));
    TVMVM_CHECK_OK(Submit(cancel));
    std::memset(AddressOf(to), value, static_cast<size_t>(bytes));
    return {};
  }

  Expected<int32_t> Launch(const LaunchRequest& request, const CancelToken* cancel) override {
    const int64_t points = GridPoints(request);
    if (points < 0) [[unlikely]]
      return ImpossibleGrid(request);
    if (points == 0) return 0;
    for (const DeviceSpan& buffer : request.buffers) TVMVM_CHECK_OK(CheckRange(buffer, 0));
    TVMVM_CHECK_OK(Submit(cancel));
    if (int32_t code = device_->CountLaunch(); code != 0 && !failure_)
      failure_ = KernelFailure{request.tag, request.kernel, code};
    return 0;
  }

  Status Flush() override { return {}; }

  Expected<std::optional<KernelFailure>> Wait(const CancelToken* cancel) override {
    if (ahead_ > 0) TVMVM_CHECK_OK(device_->Await(cancel));
    if (std::exchange(ahead_, 0) > 0) TVMVM_CHECK_OK(device_->CountWait());
    TVMVM_CHECK_OK(device_->CheckHealth());
    for (const CopiedOut& copy : copies_out_)
      if (!copy.bytes.empty()) std::memcpy(copy.to, copy.bytes.data(), copy.bytes.size());
    copies_out_.clear();
    FreeWaiting();
    return std::exchange(failure_, std::nullopt);
  }

  void FreeAfterWork(const DeviceMemory& memory) override { waiting_.push_back(memory); }

 private:
  struct CopiedOut {
    void* to;
    std::vector<char> bytes;
  };

  void FreeWaiting() {
    for (const DeviceMemory& memory : waiting_) device_->Free(memory);
    waiting_.clear();
  }

  // Makes room for one piece of work.
  Status Submit(const CancelToken* cancel) {
    if (ahead_ >= device_->most_ahead()) TVMVM_CHECK_OK(device_->Await(cancel));
    ++ahead_;
    return device_->Submit();
  }

  NullDevice* device_;
  int64_t ahead_ = 0;  // pieces of work since the last wait
  std::vector<CopiedOut> copies_out_;
  std::vector<DeviceMemory> waiting_;
  std::optional<KernelFailure> failure_;
};

Expected<std::unique_ptr<Queue>> NullDevice::NewQueue() { return std::make_unique<NullQueue>(this); }

}  // namespace

std::shared_ptr<Device> CreateNullDevice(const NullDeviceOptions& options) {
  return std::make_shared<NullDevice>(options);
}

}  // namespace tvmvm
