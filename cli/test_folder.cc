#include "cli/test_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/compare.h"
#include "cli/compiler_library.h"
#include "cli/data_set.h"
#include "cli/files.h"
#include "cli/json.h"
#include "cli/model.h"
#include "cli/signature.h"
#include "tvm-vm/vm.h"

namespace tvmvm::cli {
namespace {

namespace fs = std::filesystem;

// Folders directly inside `folder` whose names begin with `prefix`, sorted.
std::vector<std::string> Subfolders(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> result;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->is_directory() && at->path().filename().string().starts_with(prefix))
      result.push_back(at->path().string());
  std::ranges::sort(result);
  return result;
}

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

Expected<Tolerance> ReadTolerance(const std::string& folder) {
  Tolerance tolerance{.shape_only = HasRandomOutputs(fs::path(folder).filename().string())};
  std::string path = folder + "/data.json";
  if (!FileExists(path)) return tolerance;
  TVMVM_TRY(std::string text, ReadTextFile(path));
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return MakeError(Code::kInvalidArgument, fmt::format("'{}' is not a JSON object", path));
  if (json.contains("rtol") && json["rtol"].is_number()) tolerance.rtol = json["rtol"].get<double>();
  if (json.contains("atol") && json["atol"].is_number()) tolerance.atol = json["atol"].get<double>();
  return tolerance;
}

// nullopt when all outputs are as expected.
Expected<std::optional<std::string>> RunDataSet(Vm& vm, const std::string& folder, const Tolerance& tolerance,
                                                const Limits& limits) {
  const FunctionSpec& main = vm.program().main();
  TVMVM_TRY(auto given, ReadDataSet(main.inputs, folder, "input"));
  TVMVM_TRY(auto wanted, ReadDataSet(main.outputs, folder, "output"));
  std::vector<Value> inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i])
      return MakeError(Code::kInvalidArgument, fmt::format("no data for input '{}'", main.inputs[i].name));
    inputs.push_back(*std::move(given[i]));
  }
  std::vector<Value> outputs(main.outputs.size());
  Invocation invocation = vm.NewInvocation();
  invocation.SetLimits(limits);
  TVMVM_CHECK_OK(invocation.Run(inputs, outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!wanted[i]) continue;
    auto difference = FindDifference(outputs[i], *wanted[i], tolerance);
    if (difference)
      return fmt::format("{}: output '{}': {}", fs::path(folder).filename().string(), main.outputs[i].name,
                         *difference);
  }
  return std::nullopt;
}

Expected<TestResult> RunDataSets(const std::string& folder, const std::vector<std::string>& sets,
                                 const TestArguments& arguments) {
  TVMVM_TRY(const Compiler* compiler, OpenCompiler());
  TVMVM_TRY(Tolerance tolerance, ReadTolerance(folder));
  if (arguments.precision == Precision::kF16) tolerance.of_largest = kHalfPrecision;
  CompileOptions options;
  options.devices = arguments.devices;
  options.strict = arguments.strict;
  options.prefer_gpu = true;  // it is the device that is tested
  options.verify_passes = true;
  options.targets = arguments.targets;
  options.precision = arguments.precision;
  options.strict_onnx = arguments.import.strict_onnx;
  options.distinct_dims = arguments.import.distinct_dims;
  options.threads = arguments.threads;
  TVMVM_TRY(CompileResult compiled, compiler->CompileFile(folder + "/model.onnx", options));
  TVMVM_TRY(std::shared_ptr<Vm> vm, CreateVm(compiled.program, arguments.threads, arguments.devices));
  for (const std::string& set : sets) {
    TVMVM_TRY(std::optional<std::string> difference,
              RunDataSet(*vm, set, tolerance, {.max_bytes = arguments.max_bytes}));
    if (difference) return TestResult{Outcome::kFail, *difference};
  }
  return TestResult{Outcome::kPass, DescribeDevices(*vm)};
}

}  // namespace

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "pass";
    case Outcome::kFail:
      return "fail";
    case Outcome::kSkip:
      return "skip";
    case Outcome::kError:
      return "error";
  }
  return "error";
}

bool IsTestFolder(const std::string& path) {
  return FileExists(path + "/model.onnx") || !Subfolders(path, "test_data_set").empty();
}

Expected<std::vector<std::string>> FindTestFolders(const std::vector<std::string>& folders) {
  std::vector<std::string> result;
  for (std::string folder : folders) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) {
      if (fs::exists(folder, ignored)) continue;  // README.md among DIR/*
      return MakeError(Code::kNotFound, fmt::format("no such folder: '{}'", folder));
    }
    std::vector<std::string> inside;
    if (!IsTestFolder(folder))
      for (std::string& child : Subfolders(folder, ""))
        if (IsTestFolder(child)) inside.push_back(std::move(child));
    if (inside.empty() && !IsTestFolder(folder)) {
      const bool is_set = IsDataSet(folder);
      if (folders.size() > 1 && !is_set) continue;  // among DIR/*, too
      return MakeError(
          Code::kNotFound,
          fmt::format("'{}' holds no test: {}", folder,
                      is_set ? "it is the data of one, whose folder is above it"
                             : "neither model.onnx with test_data_set_0, nor folders with them"));
    }
    if (inside.empty()) {
      result.push_back(folder);
    } else {
      result.insert(result.end(), inside.begin(), inside.end());
    }
  }
  if (result.empty() && folders.size() > 1)
    return MakeError(Code::kNotFound, fmt::format("none of the {} folders holds a test", folders.size()));
  return result;
}

TestResult RunTestFolder(const std::string& folder, const TestArguments& arguments) {
  if (!FileExists(folder + "/model.onnx")) return {Outcome::kSkip, "no model.onnx"};
  std::vector<std::string> sets = Subfolders(folder, "test_data_set");
  if (sets.empty()) return {Outcome::kSkip, "no test data"};
  auto result = RunDataSets(folder, sets, arguments);
  if (!result)
    return {Outcome::kError, fmt::format("{} ({})", result.error().message, CodeName(result.error().code))};
  return *result;
}

}  // namespace tvmvm::cli
