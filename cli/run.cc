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
#include "cli/sandbox.h"
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

// What to show and to write: with --dump NAME the values of that name, else all outputs.
struct Shown {
  std::vector<std::pair<std::string, Value>> values;
  std::vector<std::string> files;  // one for each, where they are written
};

// `kept`: the outputs that --dump NAME is about.
Shown ChooseShown(const FunctionSpec& main, std::span<const Value> inputs, std::span<const Value> outputs,
                  const std::string& dump, const std::vector<std::string>& kept) {
  Shown shown;
  const bool has_name = !dump.empty() && dump != "all";
  for (size_t i = 0; has_name && i < inputs.size(); ++i)
    if (main.inputs[i].name == dump) shown.values.emplace_back(dump, inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!has_name || std::ranges::count(kept, main.outputs[i].name) > 0)
      shown.values.emplace_back(main.outputs[i].name, outputs[i]);
  shown.files.resize(shown.values.size());
  return shown;
}

struct Outcome {
  std::vector<Value> outputs;
  double milliseconds = 0;
  std::string note;  // what it ran on and held
  Json facts;        // the same for machines
};

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Expected<Outcome> Execute(Vm& vm, std::span<const Value> inputs, const RunArguments& arguments) {
  Outcome outcome;
  outcome.outputs.resize(vm.program().main().outputs.size());
  Invocation invocation = vm.NewInvocation();
  invocation.SetLimits(LimitsOf(arguments.limits));
  if (arguments.trace_values) invocation.SetTraceObserver([](std::string_view line) { PrintNote(line); });
  const auto begin = Clock::now();
  TVMVM_CHECK_OK(invocation.Run(inputs, outcome.outputs));
  outcome.milliseconds = MillisecondsSince(begin);
  const int64_t peak = invocation.peak_bytes(), held = invocation.held_bytes();
  const Planned planned = PlannedFor(vm, inputs, false);
  outcome.note =
      fmt::format("peak memory {} ({}, held {}), {}", FormatBytes(static_cast<double>(peak)),
                  FormatPlanned(planned), FormatBytes(static_cast<double>(held)), DescribeDevices(vm));
  outcome.facts = {{"peak_bytes", peak},
                   {"planned_bytes", ToJson(planned)},
                   {"held_bytes", held},
                   {"devices", DevicesToJson(vm)}};
  return outcome;
}

Expected<Outcome> ExecuteInSandbox(const ProgramPointer& program, std::span<const Value> inputs,
                                   const RunArguments& arguments, bool is_compiled_here) {
  Outcome outcome;
  outcome.outputs.resize(program->main().outputs.size());
  TVMVM_TRY(const Run run,
            CreateSandbox(program, arguments.model, is_compiled_here, arguments.limits));
  const auto begin = Clock::now();
  TVMVM_CHECK_OK(run(inputs, outcome.outputs));
  outcome.milliseconds = MillisecondsSince(begin);
  outcome.note = "in a process of its own";
  outcome.facts = {{"sandbox", true}};
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

Status WriteShown(const RunArguments& arguments, Shown* shown) {
  if (arguments.output_dir.empty()) return {};
  if (IsStandard(arguments.output_dir)) {
    if (shown->values.size() != 1 || !shown->values[0].second.is_tensor())
      return MakeError(Code::kInvalidArgument,
                       "--output-dir -: standard output takes one tensor, the model has other outputs");
    return WriteNpy(arguments.output_dir, shown->values[0].second.tensor());
  }
  TVMVM_CHECK_OK(MakeFolder(arguments.output_dir));
  std::set<std::string> taken;
  for (size_t i = 0; i < shown->values.size(); ++i) {
    const auto& [name, value] = shown->values[i];
    TVMVM_TRY(shown->files[i], WriteValueFile(arguments.output_dir + "/" + FileName(name, taken), value));
  }
  return {};
}

void PrintText(const Outcome& outcome, const Shown& shown) {
  constexpr int64_t kLook = 8;
  for (const auto& [name, value] : shown.values) PrintResult(FormatValue(name, value, kLook));
  for (const std::string& file : shown.files)
    if (!file.empty()) PrintDetail(fmt::format("wrote {}", file));
  PrintNote(fmt::format("ran in {:.3f} ms, {}", outcome.milliseconds, outcome.note));
}

void PrintJson(const FunctionSpec& main, std::span<const Value> inputs, const Outcome& outcome,
               const Shown& shown, const std::vector<std::string>& differences) {
  Json outputs = Json::array();
  for (size_t i = 0; i < shown.values.size(); ++i) {
    const auto& [name, value] = shown.values[i];
    Json output = {{"name", name}};
    output.update(DescribeValue(value));
    output.update(DescribeContents(value));
    if (!shown.files[i].empty()) output["file"] = shown.files[i];
    outputs.push_back(std::move(output));
  }
  Json result = {
      {"inputs", DescribeInputs(main, inputs)}, {"outputs", outputs}, {"ms", outcome.milliseconds}};
  result.update(outcome.facts);
  result["differences"] = differences;
  PrintResult(FormatJson(result));
}

ModelView ViewOf(const RunArguments& arguments) {
  ModelView view{.keep_all_values = arguments.dump == "all", .trace_values = arguments.trace_values};
  if (!arguments.dump.empty() && !view.keep_all_values) view.keep_values = {arguments.dump};
  return view;
}

}  // namespace

Expected<int> RunCommand(const RunArguments& arguments) {
  bool is_compiled_here = false;
  std::vector<std::string> kept;
  TVMVM_TRY(ProgramPointer program, LoadModel(arguments.model, ViewOf(arguments), &is_compiled_here, &kept));
  const FunctionSpec& main = program->main();
  InputReport report;
  TVMVM_TRY(std::vector<Value> inputs,
            MakeInputs(main, arguments.inputs, arguments.limits.max_bytes, &report));
  for (const std::string& note : NotesOf(report)) PrintNote(note);
  PrintDetail(FormatInputs(main, inputs));
  TVMVM_TRY(std::vector<ExpectedOutput> expected, ReadExpectations(main, arguments));
  auto execute = [&]() -> Expected<Outcome> {
    if (arguments.sandbox) return ExecuteInSandbox(program, inputs, arguments, is_compiled_here);
    TVMVM_TRY(std::shared_ptr<Vm> vm, CreateVm(program, arguments.model, is_compiled_here));
    return Execute(*vm, inputs, arguments);
  };
  TVMVM_TRY(Outcome outcome, execute());

  std::vector<std::string> differences;
  Tolerance tolerance{.rtol = arguments.rtol, .atol = arguments.atol};
  for (const ExpectedOutput& expectation : expected) {
    auto difference = FindDifference(outcome.outputs[expectation.output], expectation.want, tolerance);
    if (difference)
      differences.push_back(
          fmt::format("output '{}': {}", main.outputs[expectation.output].name, *difference));
  }
  Shown shown = ChooseShown(main, inputs, outcome.outputs, arguments.dump, kept);
  TVMVM_CHECK_OK(WriteShown(arguments, &shown));
  if (arguments.json) {
    PrintJson(main, inputs, outcome, shown, differences);
  } else if (!IsStandard(arguments.output_dir)) {
    PrintText(outcome, shown);
  }
  for (const std::string& difference : differences) PrintProblem(difference);
  return differences.empty() ? kExitOk : kExitFailed;
}

}  // namespace tvmvm::cli
