// `tvm-vm plan`: what a run will hold of memory, without running it.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/files.h"
#include "cli/forecast.h"
#include "cli/json.h"
#include "cli/model.h"
#include "cli/open_devices.h"
#include "cli/plan_picture.h"

namespace tvmvm::cli {
namespace {

constexpr size_t kLargest = 10;

// GPUs in front of the CPU; none is opened.
size_t GpusIn(const std::vector<std::string>& devices) {
  return static_cast<size_t>(std::ranges::find_if(devices, NamesCpu) - devices.begin());
}

std::vector<const ForecastValue*> LargestOf(const MemoryForecast& forecast) {
  std::vector<const ForecastValue*> values;
  for (const ForecastValue& value : forecast.values) values.push_back(&value);
  std::ranges::stable_sort(values, std::greater(),
                           [](const ForecastValue* value) { return value->bytes.high; });
  values.resize(std::min(values.size(), kLargest));
  return values;
}

std::string PlaceText(const ForecastValue& value) {
  if (value.stage < 0) return value.is_output ? "an output" : "a tensor";
  if (value.offset < 0) return fmt::format("arena {}", value.stage);
  return fmt::format("arena {} + {}", value.stage, value.offset);
}

double OverBound(const MemoryForecast& forecast) {
  const int64_t bound = forecast.lower_bound_bytes.high, peak = forecast.peak_bytes.high;
  return bound > 0 ? static_cast<double>(peak) / static_cast<double>(bound) : 1.0;
}

std::string Exactly(const ByteRange& range) {
  return range.is_exact() ? fmt::format(" ({} bytes)", range.high) : "";
}

void PrintText(const MemoryForecast& forecast) {
  const ByteRange &peak = forecast.peak_bytes, &bound = forecast.lower_bound_bytes;
  PrintResult(fmt::format("peak         {}{}", FormatRange(peak), Exactly(peak)));
  PrintResult(fmt::format("lower bound  {}{}{}", FormatRange(bound), Exactly(bound),
                          peak.is_exact() ? fmt::format(", peak / bound {:.4f}", OverBound(forecast)) : ""));
  PrintResult(fmt::format("of the peak  {} are outputs, which a caller may give",
                          FormatRange(forecast.output_bytes)));
  if (forecast.donated_bytes.high > 0)
    PrintResult(fmt::format("beside it    {} of outputs in the memory of donated inputs",
                            FormatRange(forecast.donated_bytes)));
  PrintResult(fmt::format(
      "beside it    {} of scratch for each CPU thread, {} of registers, {} of constants in the file",
      FormatRange(forecast.scratch_bytes), FormatBytes(static_cast<double>(forecast.register_bytes)),
      FormatBytes(static_cast<double>(forecast.constant_bytes))));
  for (const ForecastDevice& device : forecast.devices)
    PrintResult(fmt::format("on {:<9} peak {}, lower bound {}, constants {}", device.name,
                            FormatRange(device.peak_bytes), FormatRange(device.lower_bound_bytes),
                            FormatBytes(static_cast<double>(device.constant_bytes))));
  for (size_t k = 0; k < forecast.stages.size(); ++k) {
    const ForecastStage& stage = forecast.stages[k];
    PrintResult(fmt::format("arena {}      {} for {} values, lower bound {}, in @{}{}{}", k,
                            FormatRange(stage.bytes), stage.values, FormatRange(stage.lower_bound),
                            stage.function, stage.node.empty() ? "" : " at " + stage.node,
                            stage.is_certain ? "" : ", where data say so"));
  }
  if (!forecast.values.empty()) PrintResult("largest values");
  for (const ForecastValue* value : LargestOf(forecast))
    PrintResult(fmt::format("  {:>10}  {:<20} {:>6}..{:<6} {}", FormatRange(value->bytes), PlaceText(*value),
                            value->first, value->last, value->node));
  if (!forecast.values.empty()) PrintResult("alive over time\n" + FormatTimeline(forecast));
  for (const std::string& reason : forecast.reasons) PrintResult("unbounded: " + reason);
}

Status WriteText(const std::string& path, const std::string& text) {
  TVMVM_TRY(OutputFile file, OutputFile::Create(path));
  TVMVM_CHECK_OK(file.Write(text));
  return file.Commit();
}

Json DeviceToJson(const ForecastDevice& device) {
  return {{"device", device.name},
          {"peak_bytes", UpperEnd(device.peak_bytes)},
          {"least_peak_bytes", device.peak_bytes.low},
          {"lower_bound_bytes", UpperEnd(device.lower_bound_bytes)},
          {"constant_bytes", device.constant_bytes}};
}

std::string DeviceName(const MemoryForecast& forecast, uint32_t number) {
  for (const ForecastDevice& device : forecast.devices)
    if (device.device == number) return device.name;
  return {};
}

Json ToJson(const MemoryForecast& forecast) {
  Json json = {{"peak_bytes", UpperEnd(forecast.peak_bytes)},
               {"least_peak_bytes", forecast.peak_bytes.low},
               {"lower_bound_bytes", UpperEnd(forecast.lower_bound_bytes)},
               {"exact", forecast.peak_bytes.is_exact()},
               {"output_bytes", UpperEnd(forecast.output_bytes)},
               {"donated_bytes", UpperEnd(forecast.donated_bytes)},
               {"scratch_bytes_per_thread", UpperEnd(forecast.scratch_bytes)},
               {"register_bytes", forecast.register_bytes},
               {"constant_bytes", forecast.constant_bytes},
               {"positions", forecast.positions},
               {"devices", Json::array()},
               {"stages", Json::array()},
               {"largest_values", Json::array()},
               {"unbounded", forecast.reasons}};
  for (const ForecastDevice& device : forecast.devices) json["devices"].push_back(DeviceToJson(device));
  for (const ForecastStage& stage : forecast.stages)
    json["stages"].push_back({{"function", stage.function},
                              {"node", stage.node},
                              {"device", DeviceName(forecast, stage.device)},
                              {"values", stage.values},
                              {"bytes", UpperEnd(stage.bytes)},
                              {"least_bytes", stage.bytes.low},
                              {"lower_bound_bytes", UpperEnd(stage.lower_bound)},
                              {"certain", stage.is_certain}});
  for (const ForecastValue* value : LargestOf(forecast)) {
    Json one = {{"node", value->node},
                {"device", DeviceName(forecast, value->device)},
                {"bytes", UpperEnd(value->bytes)},
                {"least_bytes", value->bytes.low},
                {"first", value->first},
                {"last", value->last},
                {"output", value->is_output}};
    if (value->stage >= 0) one["stage"] = value->stage;
    if (value->stage >= 0 && value->offset >= 0) one["offset"] = value->offset;
    json["largest_values"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

Expected<int> PlanCommand(const PlanArguments& arguments) {
  TVMVM_TRY(ProgramPointer program, LoadModel(arguments.model));
  DimRanges dims;
  for (const auto& [name, bound] : arguments.dims) dims[name] = {bound.low, bound.high};
  Expected<MemoryForecast> forecast = ForecastMemory(*program, dims, GpusIn(arguments.model.devices));
  if (!forecast && forecast.error().message.starts_with("no size is given"))
    return MakeError(forecast.error().code, forecast.error().message + ", as in --dim NAME=4 or NAME=1..8");
  if (!forecast) return tl::unexpected(forecast.error());
  const std::string title = "memory of " + arguments.model.path;
  if (!arguments.svg.empty()) TVMVM_CHECK_OK(WriteText(arguments.svg, DrawSvg(*forecast, title)));
  if (!arguments.html.empty()) TVMVM_CHECK_OK(WriteText(arguments.html, DrawHtml(*forecast, title)));
  if (arguments.json)
    PrintResult(FormatJson(ToJson(*forecast), 2));
  else
    PrintText(*forecast);
  return kExitOk;
}

}  // namespace tvmvm::cli
