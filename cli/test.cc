#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/compiler_library.h"
#include "cli/console.h"
#include "cli/json.h"
#include "cli/process_pool.h"
#include "cli/test_folder.h"
#include "tvm-vm/cpu_device.h"

namespace tvmvm::cli {
namespace {

std::string TestName(const std::string& folder) { return std::filesystem::path(folder).filename().string(); }

// A child's answer: the outcome's letter, then the detail.
std::string Encode(const TestResult& result) { return static_cast<char>(result.outcome) + result.detail; }

TestResult Decode(const TaskReport& report) {
  if (!report.finished || report.text.empty()) return {Outcome::kError, report.text};
  return {static_cast<Outcome>(report.text[0]), report.text.substr(1)};
}

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
};

Counts Count(const std::vector<TestResult>& results) {
  Counts counts;
  for (const TestResult& result : results) {
    if (result.outcome == Outcome::kPass)
      ++counts.passed;
    else if (result.outcome == Outcome::kSkip)
      ++counts.skipped;
    else
      ++counts.failed;
  }
  return counts;
}

Json ToJson(const std::vector<std::string>& folders, const std::vector<TestResult>& results) {
  Counts counts = Count(results);
  Json tests = Json::array();
  for (size_t i = 0; i < results.size(); ++i)
    tests.push_back({{"name", TestName(folders[i])},
                     {"outcome", OutcomeName(results[i].outcome)},
                     {"detail", results[i].detail}});
  return {{"passed", counts.passed},
          {"failed", counts.failed},
          {"skipped", counts.skipped},
          {"tests", std::move(tests)}};
}

}  // namespace

Expected<int> TestCommand(const TestArguments& arguments) {
  TVMVM_TRY(std::vector<std::string> folders, FindTestFolders(arguments.folders));
  if (folders.empty())
    return MakeError(Code::kNotFound,
                     "there is no test: a test is a folder with model.onnx and test_data_set_0");
  TVMVM_CHECK_OK(OpenCompiler());  // once here, so that no child loads it again
  std::vector<TestResult> results(folders.size());
  size_t ended = 0;
  ProgressLine progress;
  auto done = [&](int index, const TaskReport& report) {
    TestResult& result = results[static_cast<size_t>(index)];
    result = Decode(report);
    if (result.outcome != Outcome::kPass) {
      std::string line = fmt::format("{} {}: {}", OutcomeName(result.outcome),
                                     TestName(folders[static_cast<size_t>(index)]), result.detail);
      std::ranges::replace(line, '\n', ' ');
      progress.Clear();
      arguments.json ? PrintNote(line) : PrintResult(line);
    }
    progress.Update(TestName(folders[static_cast<size_t>(index)]),
                    static_cast<double>(++ended) / static_cast<double>(folders.size()));
  };
  ProcessPoolOptions options{.jobs = arguments.jobs > 0 ? arguments.jobs : AvailableCpus(),
                             .timeout_seconds = arguments.timeout_seconds};
  auto task = [&](int index) {
    return Encode(RunTestFolder(folders[static_cast<size_t>(index)], arguments));
  };
  RunInProcesses(static_cast<int>(folders.size()), options, task, done);
  progress.Clear();

  Counts counts = Count(results);
  if (arguments.json) {
    PrintResult(FormatJson(ToJson(folders, results), 1));
  } else {
    PrintResult(
        fmt::format("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped));
  }
  return counts.failed == 0 && counts.passed > 0 ? kExitOk : kExitFailed;
}

}  // namespace tvmvm::cli
