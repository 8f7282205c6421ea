#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <thread>
#include <vector>

#include "tvm-vm/cpu_device.h"

namespace tvmvm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChunksPerWorker = 4;  // so that a slow or late worker costs at most a quarter of its part

// How long a thread looks before it sleeps: to wake it takes 5 to 50 us, and a call to the system.
constexpr auto kMostLooking = std::chrono::microseconds(200);  // while jobs come as closely as that
constexpr auto kLeastLooking = std::chrono::microseconds(3);
// Looking is polls first, which see a change at once, then turns given to other threads between them.
constexpr auto kPolling = std::chrono::microseconds(20);

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// Looks until `is_seen()`, for `time` at most; returns what it says last.
template <class IsSeen>
bool LookFor(Clock::duration time, IsSeen is_seen) {
  constexpr int kPolls = 32;  // between two looks at the clock
  for (int i = 0; i < kPolls; ++i, Pause())
    if (is_seen()) return true;
  const Clock::time_point begin = Clock::now();
  for (Clock::duration passed{0}; passed < time; passed = Clock::now() - begin) {
    for (int i = 0; i < kPolls; ++i, Pause())
      if (is_seen()) return true;
    if (passed > kPolling) std::this_thread::yield();
  }
  return is_seen();
}

// One job at a time: a caller that finds the pool at work runs its own job alone, which is right when many
// callers share the machine and cannot deadlock when a task starts a job.
//
// A job is a number of parts, and each worker's share is a row of them, at the same place in each job: what
// one kernel wrote, the next finds in the cache of the same core. A worker that is done with its own share
// goes on with those of others. Whoever took a part holds the job open until it has told `unfinished_`;
// nobody else reads the job, so that a thread that comes late finds nothing, or the next one.
class Pool final : public WorkerPool {
 public:
  explicit Pool(int workers) : workers_(std::max(1, workers)), shares_(static_cast<size_t>(workers_)) {}
  ~Pool() override {
    stop_.store(true);
    jobs_.fetch_add(1);
    jobs_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int worker_count() const override { return workers_; }

  void Run(int64_t count, int64_t grain, void (*task)(void*, int, int64_t, int64_t), void* context) override {
    if (count <= 0) return;
    grain = std::max<int64_t>(1, grain);
    if (workers_ == 1 || count <= grain || busy_.test_and_set(std::memory_order_acquire))
      return RunAlone(count, grain, task, context);
    StartThreads();
    const int64_t chunk = std::max(grain, count / (static_cast<int64_t>(workers_) * kChunksPerWorker));
    const auto parts = static_cast<int>(count / chunk + (count % chunk != 0));
    job_ = {task, context, count, chunk, parts};
    unfinished_.store(parts, std::memory_order_relaxed);
    for (int i = 0; i < workers_; ++i)
      share(i).store(ShareEnd(i) - ShareEnd(i - 1), std::memory_order_release);
    jobs_.fetch_add(1);
    Wake(std::min(parts, workers_) - 1);

    TakeParts(0);
    AwaitOthers();
    busy_.clear(std::memory_order_release);
  }

  bool is_awake() const override {
    return has_threads_.load(std::memory_order_relaxed) &&
           sleeping_.load(std::memory_order_relaxed) < workers_ - 1;
  }

  void Prepare() override {
    const int64_t now = Clock::now().time_since_epoch().count();
    const int64_t last = prepared_.exchange(now, std::memory_order_relaxed);
    if (workers_ == 1 || now - last > Clock::duration(kMostLooking).count() || is_awake()) return;
    if (busy_.test_and_set(std::memory_order_acquire)) return;
    StartThreads();
    jobs_.fetch_add(1);
    Wake(workers_ - 1);
    busy_.clear(std::memory_order_release);
  }

 private:
  struct Job {
    void (*task)(void*, int, int64_t, int64_t) = nullptr;
    void* context = nullptr;
    int64_t count = 0, chunk = 1;
    int parts = 0;
  };
  // Parts of a worker's share that nobody has taken; 0 and less: none.
  struct alignas(64) Share {
    std::atomic<int> untaken{0};
  };

  std::atomic<int>& share(int worker) { return shares_[static_cast<size_t>(worker)].untaken; }
  // The first part of the next worker's share.
  int ShareEnd(int worker) const { return static_cast<int>(int64_t{job_.parts} * (worker + 1) / workers_); }

  // In parts too, because a task looks for cancel when it begins.
  static void RunAlone(int64_t count, int64_t grain, void (*task)(void*, int, int64_t, int64_t),
                       void* context) {
    const int64_t chunk = std::max(grain, count / 16);
    for (int64_t begin = 0; begin < count;) {
      int64_t end = count - begin > chunk ? begin + chunk : count;
      task(context, 0, begin, end);
      begin = end;
    }
  }

  // The threads are made at the first job that needs them. Where the system gives fewer, the pool has fewer.
  void StartThreads() {
    if (has_threads_.load(std::memory_order_relaxed)) return;
    try {
      threads_.reserve(static_cast<size_t>(workers_ - 1));
      for (int worker = 1; worker < workers_; ++worker)
        threads_.emplace_back([this, worker, jobs = jobs_.load()] { Work(worker, jobs); });
    } catch (const std::exception&) {  // no more threads, or no memory for one
    }
    has_threads_.store(true, std::memory_order_relaxed);
  }

  // So many threads are wanted: those that look come by themselves. A thread that is about to sleep counts
  // itself first and looks at jobs_ then; this is called after jobs_ changed, so one of both sees the other.
  void Wake(int wanted) {
    const int sleeping = sleeping_.load();
    WakeTwo(wanted - (static_cast<int>(threads_.size()) - sleeping));
  }
  // The woken wake the others: each call costs microseconds.
  void WakeTwo(int wanted) {
    for (int i = 0; i < std::min(wanted, 2); ++i) jobs_.notify_one();
  }

  void Work(int worker, int seen) {
    Clock::duration looking = kMostLooking;
    while (true) {
      AwaitJob(seen, &looking);
      seen = jobs_.load();
      if (stop_.load()) return;
      TakeParts(worker);
    }
  }

  // Looks while that pays: as long as jobs come soon enough to be seen, and next to not at all otherwise.
  void AwaitJob(int seen, Clock::duration* looking) {
    const Clock::time_point begin = Clock::now();
    if (LookFor(*looking, [&] { return jobs_.load(std::memory_order_acquire) != seen; })) return;
    sleeping_.fetch_add(1);
    jobs_.wait(seen);
    sleeping_.fetch_sub(1);
    const bool was_near = Clock::now() - begin < kMostLooking;
    *looking =
        was_near ? Clock::duration(kMostLooking) : std::max<Clock::duration>(kLeastLooking, *looking / 2);
    WakeTwo(std::min(unfinished_.load(std::memory_order_relaxed), sleeping_.load()));
  }

  void AwaitOthers() {
    auto is_done = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
    if (LookFor(kMostLooking, is_done)) return;
    while (int parts = unfinished_.load(std::memory_order_acquire))
      unfinished_.wait(parts, std::memory_order_acquire);
  }

  void TakeParts(int worker) {
    for (int i = 0; i < workers_; ++i) TakeShare(worker, (worker + i) % workers_);
  }

  // What is left of the share of `owner`.
  void TakeShare(int worker, int owner) {
    int finished = 0;
    while (share(owner).load(std::memory_order_relaxed) > 0) {
      const int untaken = share(owner).fetch_sub(1, std::memory_order_acq_rel);
      if (untaken <= 0) break;
      const int64_t begin = (ShareEnd(owner) - untaken) * job_.chunk;
      job_.task(job_.context, worker, begin, std::min(begin + job_.chunk, job_.count));
      ++finished;
    }
    if (finished > 0 && unfinished_.fetch_sub(finished, std::memory_order_acq_rel) == finished)
      unfinished_.notify_one();
  }

  const int workers_;
  std::vector<std::thread> threads_;
  std::atomic<bool> has_threads_{false};
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> prepared_{0};
  Job job_;
  // Apart, because many threads look at one while others change another.
  std::vector<Share> shares_;
  alignas(64) std::atomic<int> unfinished_{0};  // parts
  alignas(64) std::atomic<int> jobs_{0};        // changes with each
  alignas(64) std::atomic<int> sleeping_{0};    // threads
};

}  // namespace

std::shared_ptr<WorkerPool> CreateWorkerPool(int threads) {
  return std::make_shared<Pool>(threads > 0 ? threads : AvailableCpus());
}

}  // namespace tvmvm
