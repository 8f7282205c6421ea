// What a parallel launch costs beyond its work: a job of one empty part for each thread, by threads and by
// the microseconds in which the caller does something else between two jobs (the others wait meanwhile, and
// sleep after a while). `best`, `median` and `p90` are microseconds of one job.
//
// The caller's own part takes nothing, so this is all barrier: waking, handing out parts, waiting for the
// last.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "tvm-vm/cpu_device.h"

namespace tvmvm::bench {
namespace {

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void Occupy(double microseconds) {
  const Clock::time_point begin = Clock::now();
  while (MicrosecondsSince(begin) < microseconds) {
  }
}

struct PartLength {
  double microseconds = 0;
};

void RunPart(void* context, int, int64_t begin, int64_t end) {
  const double length = static_cast<const PartLength*>(context)->microseconds;
  if (length > 0) Occupy(length * static_cast<double>(end - begin));
}

void Barrier(benchmark::State& state) {
  const auto threads = static_cast<int>(state.range(0));
  const auto gap = static_cast<double>(state.range(1));
  const auto pool = CreateWorkerPool(threads);
  PartLength part;
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) pool->Run(threads, 1, RunPart, &part);
  for (auto _ : state) {
    if (gap > 0) Occupy(gap);
    const Clock::time_point begin = Clock::now();
    pool->Run(threads, 1, RunPart, &part);
    times.push_back(MicrosecondsSince(begin));
    state.SetIterationTime(times.back() * 1e-6);
  }
  std::ranges::sort(times);
  state.counters["best"] = times.front();
  state.counters["median"] = times[times.size() / 2];
  state.counters["p90"] = times[times.size() * 9 / 10];
}

// How much of the threads' time a job of `part` microseconds a thread is worth: 1 would be no loss at all.
void Efficiency(benchmark::State& state) {
  const auto threads = static_cast<int>(state.range(0));
  const auto pool = CreateWorkerPool(threads);
  PartLength part{static_cast<double>(state.range(1)) / 8};
  std::vector<double> times;
  for (auto _ : state) {
    const Clock::time_point begin = Clock::now();
    pool->Run(int64_t{threads} * 8, 1, RunPart, &part);
    times.push_back(MicrosecondsSince(begin));
    state.SetIterationTime(times.back() * 1e-6);
  }
  std::ranges::sort(times);
  state.counters["median"] = times[times.size() / 2];
  state.counters["efficiency"] = static_cast<double>(state.range(1)) / times[times.size() / 2];
}

void EachThreads(benchmark::internal::Benchmark* bench, std::vector<int64_t> numbers) {
  const auto most = static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  for (int threads = 2; threads <= most; threads *= 2)
    for (int64_t number : numbers) bench->Args({threads, number});
  bench->UseManualTime()->Iterations(2000)->Unit(benchmark::kMicrosecond);
}

BENCHMARK(Barrier)->ArgNames({"threads", "gap_us"})->Apply([](benchmark::internal::Benchmark* bench) {
  EachThreads(bench, {0, 2, 10, 50, 200, 1000});
});
BENCHMARK(Efficiency)->ArgNames({"threads", "part_us"})->Apply([](benchmark::internal::Benchmark* bench) {
  EachThreads(bench, {2, 5, 20, 100});
});

}  // namespace
}  // namespace tvmvm::bench

BENCHMARK_MAIN();
