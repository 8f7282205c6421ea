#include <algorithm>
#include <atomic>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

#include "tvm-vm/cpu_device.h"

namespace tvmvm {
namespace {

constexpr int kSpins = 64;           // polls of 15 to 45 ns before a thread sleeps
constexpr int kChunksPerWorker = 4;  // so that a slow or late worker costs at most a quarter of its part

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// One job at a time: a caller that finds the pool at work runs its own job alone, which is right when many
// callers share the machine and cannot deadlock when a task starts a job.
class Pool final : public WorkerPool {
 public:
  explicit Pool(int workers) : workers_(std::max(1, workers)) {}
  ~Pool() override {
    stop_.store(true);
    epoch_.fetch_add(1);
    epoch_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int worker_count() const override { return workers_; }

  void Run(int64_t count, int64_t grain, void (*task)(void*, int, int64_t, int64_t), void* context) override {
    if (count <= 0) return;
    grain = std::max<int64_t>(1, grain);
    const int64_t parts = count / grain + (count % grain != 0);
    if (workers_ == 1 || parts < 2 || busy_.test_and_set(std::memory_order_acquire))
      return RunAlone(count, grain, task, context);
    StartThreads();
    job_.task = task;
    job_.context = context;
    job_.count = count;
    job_.chunk = std::max(grain, count / (static_cast<int64_t>(workers_) * kChunksPerWorker));
    job_.next.store(0, std::memory_order_relaxed);
    participants_.store(1, std::memory_order_release);  // opens the job
    epoch_.fetch_add(1);
    Wake(std::min<int64_t>(parts, workers_) - 1);

    TakePart(0);
    Leave();
    AwaitOthers();
    busy_.clear(std::memory_order_release);
  }

 private:
  struct Job {
    void (*task)(void*, int, int64_t, int64_t) = nullptr;
    void* context = nullptr;
    int64_t count = 0;
    int64_t chunk = 1;
    alignas(64) std::atomic<int64_t> next{0};
  };

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
    if (started_) return;
    started_ = true;
    threads_.reserve(static_cast<size_t>(workers_ - 1));
    for (int worker = 1; worker < workers_; ++worker) {
      try {
        threads_.emplace_back([this, worker, epoch = epoch_.load()] { Work(worker, epoch); });
      } catch (const std::system_error&) {
        break;
      }
    }
  }

  void Wake(int64_t wanted) {
    if (wanted >= static_cast<int64_t>(threads_.size())) {
      epoch_.notify_all();
    } else {
      for (int64_t i = 0; i < wanted; ++i) epoch_.notify_one();
    }
  }

  void Work(int worker, int seen) {
    while (true) {
      for (int i = 0; i < kSpins && epoch_.load(std::memory_order_acquire) == seen; ++i) Pause();
      epoch_.wait(seen);
      seen = epoch_.load();
      if (stop_.load()) return;
      if (!Enter()) continue;
      TakePart(worker);
      Leave();
    }
  }

  // A job is open while somebody takes part in it: the caller is in from the beginning, so 0 means closed.
  bool Enter() {
    int in = participants_.load(std::memory_order_relaxed);
    while (in > 0)
      if (participants_.compare_exchange_weak(in, in + 1, std::memory_order_acq_rel)) return true;
    return false;
  }
  void Leave() {
    if (participants_.fetch_sub(1, std::memory_order_acq_rel) == 1) participants_.notify_one();
  }
  void AwaitOthers() {
    for (int i = 0; i < kSpins && participants_.load(std::memory_order_acquire) != 0; ++i) Pause();
    while (int in = participants_.load(std::memory_order_acquire))
      participants_.wait(in, std::memory_order_acquire);
  }

  void TakePart(int worker) {
    while (true) {
      int64_t begin = job_.next.fetch_add(job_.chunk, std::memory_order_relaxed);
      if (begin >= job_.count || begin < 0) return;
      int64_t end = job_.count - begin > job_.chunk ? begin + job_.chunk : job_.count;
      job_.task(job_.context, worker, begin, end);
    }
  }

  const int workers_;
  std::vector<std::thread> threads_;
  bool started_ = false;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::atomic<bool> stop_{false};
  Job job_;
  alignas(64) std::atomic<int> participants_{0};
  alignas(64) std::atomic<int> epoch_{0};
};

}  // namespace

std::shared_ptr<WorkerPool> CreateWorkerPool(int threads) {
  return std::make_shared<Pool>(threads > 0 ? threads : AvailableCpus());
}

}  // namespace tvmvm
