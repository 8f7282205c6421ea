// What a parallel launch costs beyond its work, by threads and by the microseconds in which the caller does
// something else between two launches (the others wait meanwhile, and sleep after a while).
//
// Each job has one part of the same length for each thread, or eight: what it takes longer than its `job_us`
// is what waking, handing out parts and waiting for the last one cost. `best`, `median` and `p90` are
// microseconds. No more than the parts of threads that come too late can be lost: the caller does them.
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

void RunParts(void* microseconds, int, int64_t begin, int64_t end) {
  Occupy(*static_cast<const double*>(microseconds) * static_cast<double>(end - begin));
}

void TimeJobs(benchmark::State& state, int64_t parts) {
  const auto threads = static_cast<int>(state.range(0));
  const auto gap_us = static_cast<double>(state.range(1)), job_us = static_cast<double>(state.range(2));
  const auto pool = CreateWorkerPool(threads);
  double part_us = job_us / static_cast<double>(parts);
  std::vector<double> costs;
  for (auto _ : state) {
    if (gap_us > 0) Occupy(gap_us);
    const Clock::time_point begin = Clock::now();
    pool->Run(threads * parts, 1, RunParts, &part_us);
    const double taken = MicrosecondsSince(begin);
    costs.push_back(taken - job_us);
    state.SetIterationTime(taken * 1e-6);
  }
  std::ranges::sort(costs);
  state.counters["best"] = costs.front();
  state.counters["median"] = costs[costs.size() / 2];
  state.counters["p90"] = costs[costs.size() * 9 / 10];
}

void OnePart(benchmark::State& state) { TimeJobs(state, 1); }
void EightParts(benchmark::State& state) { TimeJobs(state, 8); }

void EachThreads(benchmark::internal::Benchmark* bench) {
  const auto most = static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  for (int threads = 2; threads <= most; threads *= 2)
    for (int64_t gap : {0, 5, 20, 50, 200, 1000})
      for (int64_t job : {20, 100}) bench->Args({threads, gap, job});
  bench->ArgNames({"threads", "gap_us", "job_us"});
  bench->UseManualTime()->Iterations(1000)->Unit(benchmark::kMicrosecond);
}

BENCHMARK(OnePart)->Apply(EachThreads);
BENCHMARK(EightParts)->Apply(EachThreads);

}  // namespace
}  // namespace tvmvm::bench

BENCHMARK_MAIN();
