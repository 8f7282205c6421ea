#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "cli/commands.h"
#include "cli/compare.h"
#include "cli/console.h"
#include "cli/data_set.h"
#include "cli/files.h"
#include "cli/forecast.h"
#include "cli/json.h"
#include "cli/model.h"
#include "cli/npy.h"
#include "cli/signature.h"
#include "cli/value_files.h"
#include "cli/value_text.h"

namespace tvmvm::cli {
namespace {

// Turns a value's name into a file's: separators become '_', and names that meet are numbered.
std::string FileName(std::string name, std::set<std::string>& taken) {
  std::ranges::replace(name, '/', '_');
  if (name.empty() || name[0] == '.') name = fmt::format("_{}", name);
  constexpr size_t kLongest = 200;
  name.resize(std::min(name.size(), kLongest));
  std::string unique = name;
  for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{}.{}", name, i);
  return unique;
}

// Which outputs to write: with --dump NAME those of the value or node of that name, else all.
bool IsWanted(const std::string& output, const std::string& dump) {
  if (dump.empty() || dump == "all" || output == dump) return true;
  // Exporters name a node's values after the node: "/layer/MatMul" gives "/layer/MatMul_output_0".
  return output.starts_with(dump + "_output_") || output.starts_with(dump + ":");
}

struct Outcome {
  std::vector<Value> outputs;
  std::string devices;
  double milliseconds = 0;
  int64_t peak_bytes = 0, held_bytes = 0;
  Planned planned;
};

Expected<Outcome> Execute(Vm& vm, std::span<const Value> inputs, const RunArguments& arguments) {
  Outcome outcome;
  outcome.outputs.resize(vm.program().main().outputs.size());
  Invocation invocation = vm.NewInvocation();
  invocation.SetLimits(LimitsOf(arguments.limits));
  if (arguments.trace_values) invocation.SetTraceObserver([](std::string_view line) { PrintNote(line); });
  auto begin = std::chrono::steady_clock::now();
  TVMVM_CHECK_OK(invocation.Run(inputs, outcome.outputs));
  outcome.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  outcome.peak_bytes = invocation.peak_bytes();
  outcome.held_bytes = invocation.held_bytes();
  outcome.planned = PlannedFor(vm, inputs, false);
  outcome.devices = DescribeDevices(vm);
  return outcome;
}

Expected<size_t> FindOutput(const FunctionSpec& main, const Expectation& expectation, size_t position) {
  if (expectation.name.empty()) {
    if (position < main.outputs.size()) return position;
    return MakeError(Code::kInvalidArgument,
                     fmt::format("more outputs are expected than the model has ({})", main.outputs.size()));
  }
  auto found = std::ranges::find(main.outputs, expectation.name, &ParameterSpec::name);
  if (found != main.outputs.end()) return static_cast<size_t>(found - main.outputs.begin());
  std::vector<std::string> names;
  for (const ParameterSpec& output : main.outputs) names.push_back(output.name);
  return MakeError(Code::kInvalidArgument, fmt::format("the model has no output '{}'; its outputs are: {}",
                                                       expectation.name, fmt::join(names, ", ")));
}

// The values named by --expect, read before anything runs so that a wrong path costs nothing.
struct ExpectedOutput {
  size_t output;
  Value want;
};

Expected<std::vector<ExpectedOutput>> ReadExpectations(const FunctionSpec& main,
                                                       const RunArguments& arguments) {
  std::vector<ExpectedOutput> result;
  for (size_t i = 0; i < arguments.expectations.size(); ++i) {
    if (arguments.expectations[i].name.empty() && IsDataSet(arguments.expectations[i].path)) {
      TVMVM_TRY(auto values, ReadDataSet(main.outputs, arguments.expectations[i].path, "output"));
      for (size_t output = 0; output < values.size(); ++output)
        if (values[output]) result.push_back({output, *std::move(values[output])});
      continue;
    }
    TVMVM_TRY(size_t output, FindOutput(main, arguments.expectations[i], i));
    TVMVM_TRY(Value want, ReadValueFile(arguments.expectations[i].path, main.outputs[output].type,
                                        arguments.limits.max_bytes));
    result.push_back({output, std::move(want)});
  }
  return result;
}

Status WriteOutputs(const FunctionSpec& main, const Outcome& outcome, const RunArguments& arguments,
                    std::vector<std::string>* files) {
  files->resize(outcome.outputs.size());
  if (arguments.output_dir.empty()) return {};
  if (IsStandard(arguments.output_dir)) {
    if (outcome.outputs.size() != 1 || !outcome.outputs[0].is_tensor())
      return MakeError(Code::kInvalidArgument,
                       "--output-dir -: standard output takes one tensor, the model has other outputs");
    return WriteNpy(arguments.output_dir, outcome.outputs[0].tensor());
  }
  TVMVM_CHECK_OK(MakeFolder(arguments.output_dir));
  std::set<std::string> taken;
  for (size_t i = 0; i < outcome.outputs.size(); ++i) {
    if (!IsWanted(main.outputs[i].name, arguments.dump)) continue;
    std::string stem = arguments.output_dir + "/" + FileName(main.outputs[i].name, taken);
    TVMVM_TRY((*files)[i], WriteValueFile(stem, outcome.outputs[i]));
  }
  return {};
}

void PrintText(const FunctionSpec& main, const Outcome& outcome, const RunArguments& arguments) {
  constexpr int64_t kLook = 8;
  for (size_t i = 0; i < outcome.outputs.size(); ++i) {
    if (!IsWanted(main.outputs[i].name, arguments.dump)) continue;
    PrintResult(FormatValue(main.outputs[i].name, outcome.outputs[i], kLook));
  }
  PrintNote(fmt::format("ran in {:.3f} ms, peak memory {} ({}, held {}), {}", outcome.milliseconds,
                        FormatBytes(static_cast<double>(outcome.peak_bytes)), FormatPlanned(outcome.planned),
                        FormatBytes(static_cast<double>(outcome.held_bytes)), outcome.devices));
}

void PrintJson(const FunctionSpec& main, std::span<const Value> inputs, const Outcome& outcome,
               const RunArguments& arguments, const std::vector<std::string>& files,
               const std::vector<std::string>& differences) {
  Json outputs = Json::array();
  for (size_t i = 0; i < outcome.outputs.size(); ++i) {
    if (!IsWanted(main.outputs[i].name, arguments.dump)) continue;
    Json output = {{"name", main.outputs[i].name}};
    output.update(DescribeValue(outcome.outputs[i]));
    output.update(DescribeContents(outcome.outputs[i]));
    if (!files[i].empty()) output["file"] = files[i];
    outputs.push_back(std::move(output));
  }
  PrintResult(FormatJson(Json{{"inputs", DescribeInputs(main, inputs)},
                              {"outputs", outputs},
                              {"ms", outcome.milliseconds},
                              {"peak_bytes", outcome.peak_bytes},
                              {"planned_bytes", ToJson(outcome.planned)},
                              {"held_bytes", outcome.held_bytes},
                              {"devices", outcome.devices},
                              {"differences", differences}}));
}

}  // namespace

Expected<int> RunCommand(const RunArguments& arguments) {
  bool is_compiled_here = false;
  TVMVM_TRY(ProgramPointer program,
            LoadModel(arguments.model, {!arguments.dump.empty(), arguments.trace_values}, &is_compiled_here));
  const FunctionSpec& main = program->main();
  bool any_wanted = std::ranges::any_of(
      main.outputs, [&](const ParameterSpec& output) { return IsWanted(output.name, arguments.dump); });
  if (!arguments.dump.empty() && !any_wanted)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("the model has no value or node named '{}'", arguments.dump));
  InputReport report;
  TVMVM_TRY(std::vector<Value> inputs,
            MakeInputs(main, arguments.inputs, arguments.limits.max_bytes, &report));
  for (const std::string& note : NotesOf(report)) PrintNote(note);
  TVMVM_TRY(std::vector<ExpectedOutput> expected, ReadExpectations(main, arguments));
  TVMVM_TRY(std::shared_ptr<Vm> vm, CreateVm(program, arguments.model, is_compiled_here));
  TVMVM_TRY(Outcome outcome, Execute(*vm, inputs, arguments));

  std::vector<std::string> differences;
  Tolerance tolerance{.rtol = arguments.rtol, .atol = arguments.atol};
  for (const ExpectedOutput& expectation : expected) {
    auto difference = FindDifference(outcome.outputs[expectation.output], expectation.want, tolerance);
    if (difference)
      differences.push_back(
          fmt::format("output '{}': {}", main.outputs[expectation.output].name, *difference));
  }
  std::vector<std::string> files;
  TVMVM_CHECK_OK(WriteOutputs(main, outcome, arguments, &files));
  if (arguments.json) {
    PrintJson(main, inputs, outcome, arguments, files, differences);
  } else if (!IsStandard(arguments.output_dir)) {
    PrintText(main, outcome, arguments);
  }
  for (const std::string& difference : differences) PrintProblem(difference);
  return differences.empty() ? kExitOk : kExitFailed;
}

}  // namespace tvmvm::cli
