#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tvm-vm/cpu_device.h"

namespace tvmvm {
namespace {

// Runs `body(worker, begin, end)` over [0, count).
template <class Body>
void RunOn(WorkerPool& pool, int64_t count, int64_t grain, Body body) {
  pool.Run(
      count, grain,
      [](void* context, int worker, int64_t begin, int64_t end) {
        (*static_cast<Body*>(context))(worker, begin, end);
      },
      &body);
}

std::vector<int> Counts(WorkerPool& pool, int64_t count, int64_t grain) {
  std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
  RunOn(pool, count, grain, [&](int, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      visits[static_cast<size_t>(i)].fetch_add(1, std::memory_order_relaxed);
  });
  return {visits.begin(), visits.end()};
}

TEST(WorkerPool, CoversEachPointOnce) {
  auto pool = CreateWorkerPool(4);
  EXPECT_EQ(pool->worker_count(), 4);
  for (int64_t count : {0, 1, 2, 3, 7, 64, 1000, 12345})
    for (int64_t grain : {1, 3, 100, 100000})
      EXPECT_EQ(Counts(*pool, count, grain), std::vector<int>(static_cast<size_t>(count), 1))
          << count << " by " << grain;
}

TEST(WorkerPool, SurvivesManySmallJobs) {
  auto pool = CreateWorkerPool(3);
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 3000; ++round)
    RunOn(*pool, 16, 1, [&](int, int64_t begin, int64_t end) { sum.fetch_add(end - begin); });
  EXPECT_EQ(sum.load(), 3000 * 16);
}

TEST(WorkerPool, WorkersHaveNumbersOfTheirOwn) {
  auto pool = CreateWorkerPool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> clash{false};
  RunOn(*pool, 4000, 1, [&](int worker, int64_t, int64_t) {
    if (worker < 0 || worker >= 4 || inside[static_cast<size_t>(worker)].fetch_add(1) != 0)
      clash = true;  // two at once
    else
      inside[static_cast<size_t>(worker)].fetch_sub(1);
  });
  EXPECT_FALSE(clash);
}

TEST(WorkerPool, ManyCallersShareIt) {
  auto pool = CreateWorkerPool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        RunOn(*pool, 100, 5, [&](int, int64_t begin, int64_t end) { sum.fetch_add(end - begin); });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum.load(), 6 * 200 * 100);
}

TEST(WorkerPool, AJobMayStartAJob) {
  auto pool = CreateWorkerPool(2);
  std::atomic<int64_t> sum{0};
  RunOn(*pool, 10, 1, [&](int, int64_t begin, int64_t end) {
    RunOn(*pool, 10 * (end - begin), 1, [&](int, int64_t from, int64_t to) { sum.fetch_add(to - from); });
  });
  EXPECT_EQ(sum.load(), 100);
}

// Whether it says within a few seconds that `is_awake`; `meanwhile` is done in between.
template <class Meanwhile>
bool Becomes(const WorkerPool& pool, bool is_awake, Meanwhile meanwhile) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (pool.is_awake() != is_awake) {
    if (std::chrono::steady_clock::now() > end) return false;
    meanwhile();
  }
  return true;
}

TEST(WorkerPool, FallsAsleepAndIsWokenBySmallJobsThatComeClosely) {
  auto pool = CreateWorkerPool(2);
  EXPECT_FALSE(pool->is_awake());
  EXPECT_EQ(Counts(*pool, 8, 1), std::vector<int>(8, 1));
  EXPECT_TRUE(Becomes(*pool, false, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }));
  EXPECT_TRUE(Becomes(*pool, true, [&] { pool->Prepare(); }));
  EXPECT_TRUE(Becomes(*pool, false, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }));
  EXPECT_EQ(Counts(*pool, 100, 1), std::vector<int>(100, 1));
}

TEST(WorkerPool, JobsAfterPausesOfEveryLengthAreDone) {
  auto pool = CreateWorkerPool(3);
  for (int pause = 0; pause < 400; pause += 7) {
    std::this_thread::sleep_for(std::chrono::microseconds(pause));
    ASSERT_EQ(Counts(*pool, 12, 1), std::vector<int>(12, 1)) << pause;
  }
}

TEST(WorkerPool, OneWorkerIsTheCaller) {
  auto pool = CreateWorkerPool(1);
  const std::thread::id self = std::this_thread::get_id();
  RunOn(*pool, 100, 1, [&](int worker, int64_t, int64_t) {
    EXPECT_EQ(worker, 0);
    EXPECT_EQ(std::this_thread::get_id(), self);
  });
}

}  // namespace
}  // namespace tvmvm
