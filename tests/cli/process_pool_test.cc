#include "cli/process_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <stdexcept>

#include "tests/sanitizer.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;

std::map<int, TaskReport> RunAll(int count, const ProcessPoolOptions& options,
                                 const std::function<std::string(int)>& task) {
  std::map<int, TaskReport> reports;
  RunInProcesses(count, options, task, [&](int index, const TaskReport& report) { reports[index] = report; });
  return reports;
}

TEST(ProcessPoolTest, EveryTaskAnswers) {
  auto reports =
      RunAll(20, {.jobs = 3}, [](int i) { return std::string(static_cast<size_t>(i) * 10000, 'x'); });
  ASSERT_EQ(reports.size(), 20u);
  for (auto& [index, report] : reports) {
    EXPECT_TRUE(report.finished);
    EXPECT_EQ(report.text.size(), static_cast<size_t>(index) * 10000);
  }
}

TEST(ProcessPoolTest, ACrashIsThatTasksOwn) {
  auto reports = RunAll(3, {.jobs = 2}, [](int i) {
    if (i == 1) {
      std::fprintf(stderr, "first line\nlast words\n");
      std::signal(SIGSEGV, SIG_DFL);  // sanitizers catch it otherwise
      raise(SIGSEGV);
    }
    return std::string("fine");
  });
  EXPECT_TRUE(reports[0].finished);
  EXPECT_FALSE(reports[1].finished);
  EXPECT_EQ(reports[1].text, "crashed: Segmentation fault: last words");
  EXPECT_TRUE(reports[2].finished);
}

TEST(ProcessPoolTest, AHangEndsAtTheLimit) {
  auto begin = std::chrono::steady_clock::now();
  auto reports = RunAll(2, {.jobs = 2, .timeout_seconds = 0.2}, [](int i) {
    if (i == 0)
      for (;;) pause();
    return std::string("fine");
  });
  EXPECT_EQ(reports[0].text, "no answer within 0.2 s");
  EXPECT_TRUE(reports[1].finished);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kHang);
}

TEST(ProcessPoolTest, AnExitIsNoAnswer) {
  auto reports = RunAll(2, {}, [](int i) -> std::string {
    if (i == 0) _exit(3);
    throw std::runtime_error("thrown");
  });
  EXPECT_EQ(reports[0].text, "ended with exit code 3");
  EXPECT_THAT(reports[1].text, HasSubstr("thrown"));
}

}  // namespace
}  // namespace tvmvm::cli
