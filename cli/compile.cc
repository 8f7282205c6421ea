#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/files.h"
#include "cli/json.h"
#include "cli/model.h"

namespace tvmvm::cli {
namespace {

std::string DimsText(const WeightReport& weight) { return fmt::format("{}", fmt::join(weight.dims, "x")); }

// A line for each weight that --weights changed.
std::string WeightTable(const std::vector<WeightReport>& weights) {
  if (weights.empty()) return "no weight is large enough to be kept as integers";
  std::string text = fmt::format("{:>16} {:>4} {:>6} {:>5} {:>9} {:>9} {:>9} {:>9}  {}\n", "weight", "bits",
                                 "block", "zero", "before", "after", "error", "largest", "read by");
  for (const WeightReport& weight : weights)
    text += fmt::format("{:>16} {:>4} {:>6} {:>5} {:>9} {:>9} {:>8.3f}% {:>8.3f}%  {}\n", DimsText(weight),
                        weight.bits, weight.block, weight.has_zero_points ? "yes" : "no",
                        FormatBytes(static_cast<double>(weight.bytes_before)),
                        FormatBytes(static_cast<double>(weight.bytes)), 100 * weight.relative_error,
                        100 * weight.largest_error, weight.node);
  text.pop_back();
  return text;
}

Json WeightList(const std::vector<WeightReport>& weights) {
  Json list = Json::array();
  for (const WeightReport& weight : weights)
    list.push_back(Json{{"node", weight.node},
                        {"name", weight.name},
                        {"dims", weight.dims},
                        {"bits", weight.bits},
                        {"block", weight.block},
                        {"zero_points", weight.has_zero_points},
                        {"bytes_before", weight.bytes_before},
                        {"bytes", weight.bytes},
                        {"relative_error", weight.relative_error},
                        {"largest_error", weight.largest_error}});
  return list;
}

// What --memory-budget came to.
std::string MemoryText(const MemoryReport& memory) {
  if (memory.changes.empty())
    return fmt::format("a run holds {}, within the budget as it is",
                       FormatBytes(static_cast<double>(memory.bytes)));
  return fmt::format(
      "a run holds {} ({} bytes) in place of {}, at about {:.2f} x the time ({:.2f} x the arithmetic, {:.2f} "
      "x "
      "the memory traffic):\n  {}",
      FormatBytes(static_cast<double>(memory.bytes)), memory.bytes,
      FormatBytes(static_cast<double>(memory.bytes_before)), memory.time, memory.flops, memory.traffic,
      fmt::join(memory.changes, "\n  "));
}

Json MemoryJson(const MemoryReport& memory) {
  return Json{{"budget_bytes", memory.budget_bytes},
              {"bytes_before", memory.bytes_before},
              {"bytes", memory.bytes},
              {"time", memory.time},
              {"flops", memory.flops},
              {"traffic", memory.traffic},
              {"changes", memory.changes}};
}

Status WriteText(const std::string& path, const std::string& text) {
  TVMVM_TRY(OutputFile file, OutputFile::Create(path));
  TVMVM_CHECK_OK(file.Write(text));
  return file.Commit();
}

}  // namespace

Expected<int> CompileCommand(const CompileArguments& arguments) {
  auto begin = std::chrono::steady_clock::now();
  TVMVM_CHECK_OK(CheckOutput(arguments.output, arguments.model));
  const bool to_stdout = IsStandard(arguments.output);
  CompileOptions options = arguments.options;
  // With --json the results are one object; what the passes print becomes a remark.
  options.print = [&](const std::string& text) {
    arguments.json || to_stdout ? PrintNote(text) : PrintResult(text);
  };
  if (!arguments.schedule.empty()) {
    TVMVM_TRY(options.schedules, ReadTextFile(arguments.schedule));
    options.schedules_name = arguments.schedule;
  }
  TVMVM_TRY(CompileResult result, CompileWithProgress(arguments.model, std::move(options)));
  if (arguments.print_weights) PrintNote(WeightTable(result.weights));
  if (!result.program) return kExitOk;
  if (result.memory.budget_bytes > 0 && !arguments.json) PrintNote(MemoryText(result.memory));
  if (!arguments.write_schedule.empty())
    TVMVM_CHECK_OK(WriteText(arguments.write_schedule, result.schedules));
  TVMVM_CHECK_OK(SaveModel(*result.program, arguments.output));

  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::error_code ignored;
  uintmax_t bytes = to_stdout || IsSpecialFile(arguments.output)
                        ? 0
                        : std::filesystem::file_size(arguments.output, ignored);
  if (to_stdout) return kExitOk;
  if (arguments.json) {
    Json work = Json::object();
    for (const auto& [name, count] : result.work) work[name] = count;
    Json object{{"output", arguments.output},
                {"bytes", bytes},
                {"seconds", seconds},
                {"kernels", result.program->kernels.size()},
                {"work", work},
                {"weights", WeightList(result.weights)},
                {"warnings", result.warnings}};
    if (result.memory.budget_bytes > 0) object["memory"] = MemoryJson(result.memory);
    PrintResult(FormatJson(object));
  } else {
    PrintNote(fmt::format("wrote {}: {}, {}, in {:.2f} s", arguments.output,
                          FormatBytes(static_cast<double>(bytes)),
                          FormatCount(result.program->kernels.size(), "kernel"), seconds));
  }
  return kExitOk;
}

}  // namespace tvmvm::cli
