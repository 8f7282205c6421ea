#include "tvm-vm/cpu_device.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "allocator/host_memory.h"
#include "allocator/thread_scratch.h"
#include "bytecode/kernel_abi.h"
#include "bytecode/steady_time.h"
#include "devices/cpu/cpu_features.h"
#include "devices/cpu/kernel_loader.h"
#include "devices/cpu/poll_entry.h"
#include "devices/driver/memory_range.h"

namespace tvmvm {
namespace {

// One core's rough speed, for deciding whether a launch is worth other threads.
constexpr int64_t kFlopsPerMicrosecond = 60'000;
constexpr int64_t kBytesPerMicrosecond = 15'000;
constexpr int64_t kCachedBytes = int64_t{1}
                                 << 20;  // so few are in the cache, as a rule, where they were made
constexpr int64_t kCachedBytesPerMicrosecond = 40'000;
// Below these one thread is faster: a job costs less than a microsecond where a thread is awake, and 20 where
// it sleeps (bench/pool_bench.cc).
constexpr int64_t kInlineMicroseconds = 20, kAwakeInlineMicroseconds = 5;
constexpr int64_t kGrainMicroseconds = 2;      // the smallest part worth a thread
constexpr int64_t kCancelMicroseconds = 1000;  // how long a thread may run without asking for cancel
constexpr int64_t kFirstMicroseconds = 100;  // the same before it is known how far an estimate can be trusted

class CpuKernelSet final : public KernelSet {
 public:
  std::string description() const override { return description_; }

  std::vector<KernelFunction> functions;
  std::unique_ptr<LoadedKernels> library;
  std::shared_ptr<const void> jit_owner;
  std::string description_;
};

constexpr int32_t kNoScratch = -1;  // in place of a kernel's return code; kernels return others

// One launch: parts run until the first nonzero code or a cancel, which is asked for between slices of them
// and by kernels with long grid points. Estimates may be far off, as where memory is touched for the first
// time or far apart: slices grow and shrink with what they take.
struct Job {
  KernelFunction function;
  const LaunchRequest* request;
  const CancelToken* cancel;
  int64_t most;                      // grid points that are run in one call, as estimated
  std::atomic<int64_t> slice{most};  // and as found
  std::atomic<int32_t> code{0};

  void CutUp(int64_t points, int64_t microseconds) {
    auto in = [&](int64_t time) {
      return std::max<int64_t>(1, points / std::max<int64_t>(1, microseconds / time));
    };
    most = in(kCancelMicroseconds);
    slice = in(kFirstMicroseconds);
  }

  void Learn(int64_t points, int64_t nanoseconds) {
    constexpr int64_t kLong = kCancelMicroseconds * 1000;
    if (nanoseconds > kLong)
      slice.store(std::max<int64_t>(1, points / (nanoseconds / kLong + 1)), std::memory_order_relaxed);
    else if (nanoseconds < kLong / 2 && points <= most / 2)
      slice.store(points * 2, std::memory_order_relaxed);
  }

  struct Poll final : KernelPoll {
    explicit Poll(const Job* of)
        : KernelPoll{kWorkBetweenPolls, &TvmvmAskKeepingRegisters, &Answer}, job(of) {}
    static int32_t Answer(KernelPoll* poll) {
      const bool is_over = static_cast<const Poll*>(poll)->job->IsOver();
      poll->work = is_over ? -1 : kWorkBetweenPolls;
      return is_over;
    }
    const Job* job;
  };

  static void Run(void* context, int, int64_t begin, int64_t end) {
    static_cast<Job*>(context)->Part(begin, end);
  }

  [[gnu::always_inline]] inline void Part(int64_t begin, int64_t end) {
    Poll poll(this);
    KernelArgs args{request->addresses.data(), request->scalars.data(), nullptr, &poll};
    std::optional<ThreadScratch> scratch;
    if (request->scratch_bytes > 0) {
      scratch.emplace(request->scratch_bytes);
      args.scratch = scratch->memory();
      if (args.scratch == nullptr) return Stop(kNoScratch);
    }
    while (begin < end) {
      if (IsOver()) return Stop(kStopped);
      const int64_t points = slice.load(std::memory_order_relaxed);
      const bool is_cut = end - begin > points;
      const int64_t stop = is_cut ? begin + points : end, began = is_cut ? SteadyNanoseconds() : 0;
      if (int32_t result = function(&args, begin, stop); result != 0) return Stop(result);
      if (is_cut) Learn(points, SteadyNanoseconds() - began);
      begin = stop;
    }
  }

  bool IsOver() const {
    return code.load(std::memory_order_relaxed) != 0 || (cancel != nullptr && cancel->cancelled());
  }

  void Stop(int32_t reason) {
    int32_t none = 0;
    code.compare_exchange_strong(none, reason, std::memory_order_relaxed);
  }
};

int64_t EstimatedMicroseconds(const LaunchRequest& request) {
  const int64_t speed = request.bytes <= kCachedBytes ? kCachedBytesPerMicrosecond : kBytesPerMicrosecond;
  return std::max(request.flops / kFlopsPerMicrosecond, request.bytes / speed);
}

// Whether one thread should run work of this length, which is more than what an awake thread is worth.
bool IsForOneThread(WorkerPool& pool, int64_t microseconds) {
  if (pool.worker_count() == 1) return true;
  if (microseconds >= kInlineMicroseconds) return false;
  if (pool.is_awake()) return false;
  pool.Prepare();
  return true;
}

// Launches, counted by each queue for itself: no two threads write one line.
class LaunchCounts {
 public:
  using Count = std::atomic<int64_t>;

  void Add(const Count* count) {
    std::lock_guard lock(mutex_);
    live_.push_back(count);
  }
  void Remove(const Count* count) {
    std::lock_guard lock(mutex_);
    ended_ += count->load(std::memory_order_relaxed);
    live_.erase(std::find(live_.begin(), live_.end(), count));
  }
  int64_t total() const {
    std::lock_guard lock(mutex_);
    int64_t sum = ended_;
    for (const Count* count : live_) sum += count->load(std::memory_order_relaxed);
    return sum;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<const Count*> live_;
  int64_t ended_ = 0;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuDeviceOptions& options)
      : options_(options),
        pool_(options.pool ? options.pool : CreateWorkerPool(options.threads)),
        target_(HostTargetInfo()),
        description_(DescribeHost(pool_->worker_count())) {}

  const std::string& name() const override { return name_; }
  const TargetInfo& target() const override { return target_; }
  const DeviceDescription& description() const override { return description_; }

  Expected<DeviceMemory> Allocate(int64_t bytes, const CancelToken*) override {
    TVMVM_TRY(void* memory, AllocateHost(bytes));
    int64_t live = live_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t peak = peak_bytes_.load(std::memory_order_relaxed);
    while (live > peak && !peak_bytes_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
    }
    return DeviceMemory{memory, reinterpret_cast<uint64_t>(memory), bytes};
  }
  void Free(const DeviceMemory& memory) override {
    live_bytes_.fetch_sub(memory.bytes, std::memory_order_relaxed);
    FreeHost(memory.host);
  }

  // Loading is rare: cold code is small code.
  [[gnu::cold]] Expected<std::unique_ptr<KernelSet>> LoadKernels(std::span<const KernelSpec> kernels,
                                                                 std::span<const KernelLibrarySpec> libraries,
                                                                 const LoadProgress&) override;
  Expected<std::unique_ptr<Queue>> NewQueue() override;
  // `launches` is of the queue alone.
  Expected<int32_t> Launch(const LaunchRequest& request, const CancelToken* cancel,
                           LaunchCounts::Count* launches);
  LaunchCounts& launches() { return launches_; }

  DeviceStatistics statistics() const override {
    DeviceStatistics statistics;
    statistics.live_bytes = live_bytes_.load(std::memory_order_relaxed);
    statistics.held_bytes = statistics.live_bytes + ThreadScratchBytes();
    statistics.peak_bytes = peak_bytes_.load(std::memory_order_relaxed);
    statistics.launches = launches_.total();
    return statistics;
  }

 private:
  [[gnu::cold]] bool Allowed(CpuLevel level) const;
  [[gnu::cold]] const KernelLibrarySpec* BestObject(std::span<const KernelLibrarySpec> libraries) const;
  [[gnu::cold]] Status LoadObject(const KernelLibrarySpec& library, std::span<const KernelSpec> kernels,
                                  CpuKernelSet* set) const;
  [[gnu::cold]] Status Jit(const KernelLibrarySpec& library, std::span<const KernelSpec> kernels,
                           CpuKernelSet* set) const;
  [[gnu::cold]] Error NoLibrary(std::span<const KernelLibrarySpec> libraries) const;

  const CpuDeviceOptions options_;
  const std::shared_ptr<WorkerPool> pool_;
  const TargetInfo target_;
  const DeviceDescription description_;
  const std::string name_ = "cpu";
  std::atomic<int64_t> live_bytes_{0}, peak_bytes_{0};
  LaunchCounts launches_;
};

// Levels that this device takes: those the machine runs, at most the forced one.
bool CpuDevice::Allowed(CpuLevel level) const {
  if (!HostRuns(level)) return false;
  if (options_.force_level.empty()) return true;
  std::optional<CpuLevel> forced = CpuLevelFromName(options_.force_level);
  if (!forced) return false;
  if (level == *forced) return true;
  // An x86 level includes those that ask for less, which stand behind it.
  auto is_x86 = [](CpuLevel l) { return l != CpuLevel::kAArch64 && l != CpuLevel::kHost; };
  std::span<const CpuLevel> levels = CpuLevels();
  return is_x86(*forced) && is_x86(level) &&
         std::find(levels.begin(), levels.end(), level) > std::find(levels.begin(), levels.end(), *forced);
}

const KernelLibrarySpec* CpuDevice::BestObject(std::span<const KernelLibrarySpec> libraries) const {
  // "host" comes last: nothing says which machine it was made on.
  for (CpuLevel level : CpuLevels()) {
    if (!Allowed(level)) continue;
    for (const KernelLibrarySpec& library : libraries)
      if (library.device == DeviceKind::kCpu && library.form == KernelForm::kSharedObject &&
          library.target == CpuLevelName(level))
        return &library;
  }
  return nullptr;
}

Expected<std::unique_ptr<KernelSet>> CpuDevice::LoadKernels(std::span<const KernelSpec> kernels,
                                                            std::span<const KernelLibrarySpec> libraries,
                                                            const LoadProgress&) {
  auto set = std::make_unique<CpuKernelSet>();
  set->description_ = "no kernels";
  if (kernels.empty()) return set;
  if (const KernelLibrarySpec* object = BestObject(libraries)) {
    TVMVM_CHECK_OK(LoadObject(*object, kernels, set.get()));
    return set;
  }
  for (const KernelLibrarySpec& library : libraries) {
    if (library.device != DeviceKind::kCpu || library.form != KernelForm::kBitcode || !options_.jit) continue;
    TVMVM_CHECK_OK(Jit(library, kernels, set.get()));
    return set;
  }
  return tl::unexpected(NoLibrary(libraries));
}

Status CpuDevice::LoadObject(const KernelLibrarySpec& library, std::span<const KernelSpec> kernels,
                             CpuKernelSet* set) const {
  TVMVM_TRY(set->library, LoadedKernels::Load(library.bytes));
  for (const KernelSpec& kernel : kernels) {
    KernelFunction function = set->library->Find(kernel.symbol);
    if (function == nullptr)
      return MakeError(Code::kInvalidProgram, "kernel '" + kernel.name + "': the " + library.target +
                                                  " library has no symbol '" + kernel.symbol + "'");
    set->functions.push_back(function);
  }
  set->description_ = library.target + " shared object";
  return {};
}

Status CpuDevice::Jit(const KernelLibrarySpec& library, std::span<const KernelSpec> kernels,
                      CpuKernelSet* set) const {
  std::vector<std::string> symbols;
  for (const KernelSpec& kernel : kernels) symbols.push_back(kernel.symbol);
  TVMVM_TRY(KernelJit::Compiled compiled, options_.jit->Compile(library.bytes, symbols));
  if (compiled.functions.size() != kernels.size() ||
      std::find(compiled.functions.begin(), compiled.functions.end(), nullptr) != compiled.functions.end())
    return MakeError(Code::kInvalidProgram, "the bitcode library lacks kernels of the program");
  set->functions = std::move(compiled.functions);
  set->jit_owner = std::move(compiled.owner);
  set->description_ = "jit (host)";
  return {};
}

Error CpuDevice::NoLibrary(std::span<const KernelLibrarySpec> libraries) const {
  std::string held;
  bool bitcode = false;
  for (const KernelLibrarySpec& library : libraries) {
    if (library.device != DeviceKind::kCpu) continue;
    if (library.form == KernelForm::kBitcode) bitcode = true;
    held += (held.empty() ? "" : ", ") + library.target +
            (library.form == KernelForm::kBitcode ? " bitcode" : " shared object");
  }
  std::string message = (held.empty() ? "the program holds no code of its CPU kernels"
                                      : "the program holds CPU kernels as " + held) +
                        "; this machine runs " + CpuLevelName(HostCpuLevel());
  if (!options_.force_level.empty()) message += ", limited to " + options_.force_level;
  if (bitcode && !options_.jit) message += ", and there is no JIT for the bitcode";
  return Error{Code::kUnsupported, message};
}

Expected<int32_t> CpuDevice::Launch(const LaunchRequest& request, const CancelToken* cancel,
                                    LaunchCounts::Count* launches) {
  const auto& set = static_cast<const CpuKernelSet&>(*request.kernels);
  const int64_t points = GridPoints(request);
  if (points < 0) [[unlikely]]
    return ImpossibleGrid(request);
  if (points == 0) return 0;
  launches->store(launches->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const int64_t microseconds = EstimatedMicroseconds(request);
  Job job{set.functions[request.kernel], &request, cancel, points};
  if (microseconds >= kFirstMicroseconds) job.CutUp(points, microseconds);
  if (microseconds < kAwakeInlineMicroseconds || points == 1 || IsForOneThread(*pool_, microseconds)) {
    job.Part(0, points);
  } else {
    int64_t grain = std::max<int64_t>(1, points / std::max<int64_t>(1, microseconds / kGrainMicroseconds));
    pool_->Run(points, grain, &Job::Run, &job);
  }
  int32_t code = job.code.load(std::memory_order_relaxed);
  if (code == kNoScratch)
    return MakeError(Code::kOutOfMemory,
                     "no memory for " + std::to_string(request.scratch_bytes) + " bytes of scratch");
  if (code == kStopped) return MakeError(Code::kCancelled, "stopped within a kernel");
  return code;
}

// Does everything at once.
class CpuQueue final : public Queue {
 public:
  explicit CpuQueue(CpuDevice* device) : device_(device) { device_->launches().Add(&launches_); }
  ~CpuQueue() override { device_->launches().Remove(&launches_); }

  Status CopyIn(const DeviceSpan& to, const void* from, int64_t bytes, const CancelToken*) override {
    TVMVM_TRY(void* target, Address(to, bytes));
    std::memmove(target, from, static_cast<size_t>(bytes));
    return {};
  }
  Status CopyOut(void* to, const DeviceSpan& from, int64_t bytes, const CancelToken*) override {
    TVMVM_TRY(void* source, Address(from, bytes));
    std::memmove(to, source, static_cast<size_t>(bytes));
    return {};
  }
  Status Copy(const DeviceSpan& to, const DeviceSpan& from, int64_t bytes, const CancelToken*) override {
    TVMVM_TRY(void* target, Address(to, bytes));
    TVMVM_TRY(void* source, Address(from, bytes));
    std::memmove(target, source, static_cast<size_t>(bytes));
    return {};
  }
  Status Fill(const DeviceSpan& to, uint8_t value, int64_t bytes, const CancelToken*) override {
    TVMVM_TRY(void* target, Address(to, bytes));
    std::memset(target, value, static_cast<size_t>(bytes));
    return {};
  }
  Expected<int32_t> Launch(const LaunchRequest& request, const CancelToken* cancel) override {
    return device_->Launch(request, cancel, &launches_);
  }
  Status Flush() override { return {}; }
  Expected<std::optional<KernelFailure>> Wait(const CancelToken*) override { return std::nullopt; }
  void FreeAfterWork(const DeviceMemory& memory) override { device_->Free(memory); }

 private:
  static Expected<void*> Address(const DeviceSpan& span, int64_t bytes) {
    TVMVM_CHECK_OK(CheckRange(span, bytes));
    return static_cast<char*>(span.memory.host) + span.offset;
  }

  CpuDevice* device_;
  LaunchCounts::Count launches_{0};
};

Expected<std::unique_ptr<Queue>> CpuDevice::NewQueue() { return std::make_unique<CpuQueue>(this); }

}  // namespace

std::shared_ptr<Device> CreateCpuDevice(const CpuDeviceOptions& options) {
  return std::make_shared<CpuDevice>(options);
}

}  // namespace tvmvm
