// Times of the demo model's runs and kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/demo/demo_model.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(DemoTest, BenchReportsItsNumbers) {
  ToolResult result = Run("tvm-vm bench $vmexe --dim length=4 --repeat 5 --threads 1 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["runs"], 5);
  for (const char* key : {"first_ms", "best_ms", "median_ms", "p99_ms", "load_ms", "peak_bytes", "mean_ms",
                          "p95_ms", "max_ms", "runs_per_second", "threads", "clients"})
    EXPECT_GT(json[key], 0) << key;
  EXPECT_EQ(json["devices"][0]["name"], "cpu");
  EXPECT_LE(json["best_ms"], json["median_ms"]);
  EXPECT_LE(json["median_ms"], json["p99_ms"]);
}

TEST_F(DemoTest, BenchSaysWhatItTimed) {
  ToolResult result = Run("tvm-vm bench $vmexe --dim length=4 --repeat 5 --threads 1");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"x: f32[1, 4, 64]", "1 thread, 1 client, 1 run to warm up", "5 runs: mean ",
                           "deviation ", "runs/s", "p95 ", "max ", "of too few runs"})
    EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_THAT(result.err, HasSubstr("assumed for inputs that are made: batch = 1"));
}

TEST_F(DemoTest, BenchTimesManyShapesAndClients) {
  WriteBytes(scratch_ / "shapes.txt", "batch=1 length=3  # short\n\nx=random:2x5x64\n");
  ToolResult table = Run("tvm-vm bench $vmexe --shapes shapes.txt --repeat 3 --times times.csv");
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("batch=1 length=3 "));
  EXPECT_THAT(table.out, HasSubstr("x=random:2x5x64 "));
  const std::string times = ReadBytes(scratch_ / "times.csv");
  EXPECT_EQ(std::ranges::count(times, '\n'), 1 + 3 + 3);
  EXPECT_THAT(times, StartsWith("shape,client,run,ms\nbatch=1 length=3,0,0,"));
  WriteBytes(scratch_ / "bad.txt", "batch=1\nbatch=x\n");
  ExpectFails("tvm-vm bench $vmexe --shapes bad.txt", "'bad.txt': line 2: ");

  ToolResult clients = Run("tvm-vm bench $vmexe --clients 3 --repeat 4 --threads 1 --json");
  ASSERT_EQ(clients.exit_code, 0) << clients.err;
  nlohmann::json json = nlohmann::json::parse(clients.out);
  EXPECT_EQ(json["clients"], 3);
  EXPECT_EQ(json["runs"], 12);
}

TEST_F(DemoTest, BenchShowsTheKernels) {
  ToolResult result =
      Run("export TVMVM_CACHE_DIR=$PWD; tvm-vm bench $vmexe --dim length=4 --repeat 2 --profile --trace "
          "trace.json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("GFLOP/s"));
  nlohmann::json trace = nlohmann::json::parse(ReadBytes(scratch_ / "trace.json"));
  std::map<std::string, int> names;
  for (const nlohmann::json& event : trace["traceEvents"]) ++names[event["name"]];
  EXPECT_EQ(names["process_name"], 1);
  EXPECT_GE(names["thread_name"], 2);  // of the runs, and of the CPU
  EXPECT_EQ(names["load"], 1);
  EXPECT_EQ(names["run 1"], 1);  // as many as asked for
  EXPECT_EQ(names["run 2"], 0);
  EXPECT_EQ(names["memory held"], 2);
  EXPECT_THAT(trace.dump(), HasSubstr("x: f32[1, 4, 64]"));
}

// The machine is measured once: the second profile finds the file.
TEST_F(DemoTest, BenchComparesKernelsWithTheMachine) {
  const std::string profile =
      "export TVMVM_CACHE_DIR=$PWD/cache; tvm-vm bench $vmexe --repeat 2 --threads 1 --profile";
  const ToolResult first = Run(profile);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  // No kernel of this machine is faster than that, which would have it measured again.
  for (const auto& file : std::filesystem::directory_iterator(scratch_ / "cache")) {
    nlohmann::json machine = nlohmann::json::parse(ReadBytes(file.path()));
    for (nlohmann::json& speed : machine["gflops"]) speed = speed.get<double>() * 1000;
    std::ofstream(file.path()) << machine;
  }
  const ToolResult second = Run(profile), json = Run(profile + " --json");
  EXPECT_THAT(first.out, HasSubstr("%flops  %bytes  %limit"));
  EXPECT_THAT(first.err, HasSubstr("measuring what this machine does"));
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(Run(profile + " --measure").err, HasSubstr("measuring what this machine does"));
#if defined(__x86_64__)
  EXPECT_THAT(second.err, Not(HasSubstr("measuring")));
  EXPECT_THAT(second.out, HasSubstr(", 1 thread: "));
  const nlohmann::json shown = nlohmann::json::parse(json.out);
  EXPECT_GT(shown["machine"]["gflops"]["f32"], 0);
  EXPECT_GT(shown["machine"]["bandwidths"].size(), 10u);
  for (const nlohmann::json& kernel : shown["kernels"]) {
    EXPECT_GT(kernel["limit_ns"], 0) << kernel;
    EXPECT_GE(kernel["of_limit"],
              std::max(kernel["of_flops"].get<double>(), kernel["of_bytes"].get<double>()) * 0.999)
        << kernel;
  }
#endif
}

}  // namespace
}  // namespace tvmvm::cli
