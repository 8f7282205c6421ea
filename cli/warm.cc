#include "tvm-vm/warm.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"
#include "cli/model.h"
#include "cli/open_devices.h"
#include "tvm-vm/device_list.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::cli {
namespace {

struct Warmed {
  std::string device;
  WarmResult result;
  double seconds = 0;
};

// Fills the cache of one device.
Expected<Warmed> WarmDevice(const Program& program, const std::string& name, const DeviceOptions& options,
                            const VmOptions& trusted) {
  TVMVM_TRY(const std::shared_ptr<Device> device, OpenDevice(name, options));
  const auto count = static_cast<double>(GpuKernelCount(program));
  ProgressLine line;
  const auto begin = std::chrono::steady_clock::now();
  const auto watch = [&](size_t ready) {
    line.Update(fmt::format("{}: {} of {} kernels", device->name(), ready, count),
                static_cast<double>(ready) / count);
  };
  TVMVM_TRY(const WarmResult result,
            WarmKernels(program, *device, watch, trusted.trust, trusted.trusted_keys));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return Warmed{device->name(), result, taken.count()};
}

// What the folder of kernels holds, of all programs.
uint64_t BytesIn(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code ignored;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder, ignored))
    if (file.is_regular_file(ignored)) bytes += file.file_size(ignored);
  return bytes;
}

}  // namespace

Expected<int> WarmCommand(const WarmArguments& arguments) {
  const DeviceOptions options = DeviceOptions::FromEnvironment();
  if (options.cache_folder.empty())
    return MakeError(Code::kInvalidArgument,
                     "there is no folder to keep kernels in: set TVMVM_CACHE_DIR, XDG_CACHE_HOME or HOME");
  if (const std::string problem = options.CacheProblem(); !problem.empty())
    return MakeError(Code::kInvalidArgument, fmt::format("kernels are not kept: {}", problem));
  const bool names_gpu =
      std::ranges::any_of(arguments.devices, [](const auto& name) { return !NamesCpu(name); });
  if (!names_gpu)
    return MakeError(Code::kInvalidArgument, "--device names no GPU: kernels for the CPU are machine code");
  TVMVM_TRY(const VmOptions trusted, TrustOf(arguments.trust));
  TVMVM_TRY(const std::shared_ptr<const Program> program,
            LoadProgram(arguments.path, {.check_constants = arguments.trust.check_constants}));
  Json json = {{"file", arguments.path}, {"folder", options.cache_folder}, {"devices", Json::array()}};
  for (const std::string& name : arguments.devices) {
    if (NamesCpu(name)) continue;
    TVMVM_TRY(const Warmed warmed, WarmDevice(*program, name, options, trusted));
    if (arguments.json)
      json["devices"].push_back({{"device", warmed.device},
                                 {"kernels", warmed.result.kernels},
                                 {"form", warmed.result.form},
                                 {"seconds", warmed.seconds}});
    else
      PrintResult(fmt::format("{}: {} kernels ({}) are ready after {:.0f} ms", warmed.device,
                              warmed.result.kernels, warmed.result.form, warmed.seconds * 1e3));
  }
  json["folder_bytes"] = BytesIn(options.cache_folder);
  if (arguments.json)
    PrintResult(FormatJson(json, 2));
  else
    PrintNote(fmt::format("'{}' holds {} now", options.cache_folder,
                          FormatBytes(json["folder_bytes"].get<double>())));
  return kExitOk;
}

}  // namespace tvmvm::cli
