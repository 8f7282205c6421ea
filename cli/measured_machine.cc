#include "cli/measured_machine.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cli/console.h"
#include "cli/files.h"
#include "cli/machine_probe.h"
#include "tvm-vm/cpu_device.h"
#include "tvm-vm/device_list.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tvmvm::cli {
namespace {

constexpr int kProbeVersion = 1;     // of what is measured and how
constexpr double kSameSpeed = 0.85;  // sizes within that are shown as one

// Family, model and stepping: virtual machines of one name differ in them.
uint32_t CpuSignature() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) return eax;
#endif
  return 0;
}

std::string CpuName() {
  CpuDeviceOptions options;
  options.threads = 1;
  return fmt::format("{} ({:x})", CreateCpuDevice(options)->description().hardware, CpuSignature());
}

std::string FileName(const MeasuredMachine& machine) {
  std::string name = fmt::format("speed-{}-{}-{}", machine.cpu, CpuLevelName(machine.level), machine.threads);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  return name + ".json";
}

// Where such files are kept; empty: nowhere.
std::string Folder() {
  const DeviceOptions options = DeviceOptions::FromEnvironment();
  return options.CacheProblem().empty() ? options.cache_folder : "";
}

MachineLimits Faster(const MachineLimits& a, MachineLimits b) {
  b.f32 = std::max(a.f32, b.f32);
  b.f64 = std::max(a.f64, b.f64);
  b.bytes = std::max(a.bytes, b.bytes);
  for (size_t i = 0; i < std::min(a.bandwidths.size(), b.bandwidths.size()); ++i)
    b.bandwidths[i].bytes = std::max(a.bandwidths[i].bytes, b.bandwidths[i].bytes);
  return b;
}

// The folder is this user's alone, as its other files ask for.
Status Store(const MeasuredMachine& machine, const std::filesystem::path& folder) {
  if (folder.has_parent_path()) TVMVM_CHECK_OK(MakeFolder(folder.parent_path()));
  mkdir(folder.c_str(), 0700);
  TVMVM_TRY(OutputFile file, OutputFile::Create(folder / FileName(machine)));
  TVMVM_CHECK_OK(file.Write(FormatJson(ToJson(machine), 1)));
  return file.Commit();
}

}  // namespace

MeasuredMachine MeasuredMachineFor(CpuLevel level, int threads, bool anew) {
  MeasuredMachine machine{CpuName(), level, threads, {}};
  const std::string folder = Folder();
  if (!folder.empty() && !anew)
    if (Expected<std::string> text = ReadTextFile(folder + "/" + FileName(machine)))
      machine.limits = LimitsFromJson(*text, machine);
  if (machine.limits.bandwidths.empty()) MeasureAgain(&machine);
  return machine;
}

void MeasureAgain(MeasuredMachine* machine) {
  PrintNote("measuring what this machine does at most, a second or two");
  machine->limits = Faster(machine->limits, MeasureMachine(machine->level, machine->threads));
  const std::string folder = Folder();
  if (folder.empty() || machine->limits.bandwidths.empty()) return;
  if (Status stored = Store(*machine, folder); !stored) PrintNote("not kept: " + stored.error().message);
}

Json ToJson(const MeasuredMachine& machine) {
  Json bandwidths = Json::array();
  for (const MachineLimits::Bandwidth& bandwidth : machine.limits.bandwidths)
    bandwidths.push_back({{"bytes", bandwidth.size}, {"gbytes_per_s", bandwidth.bytes}});
  return {
      {"cpu", machine.cpu},
      {"level", CpuLevelName(machine.level)},
      {"threads", machine.threads},
      {"probe", kProbeVersion},
      {"gflops", {{"f32", machine.limits.f32}, {"f64", machine.limits.f64}, {"bytes", machine.limits.bytes}}},
      {"bandwidths", bandwidths}};
}

MachineLimits LimitsFromJson(std::string_view text, const MeasuredMachine& machine) {
  try {
    const Json json = Json::parse(text);
    if (json.at("probe") != kProbeVersion || json.at("cpu") != machine.cpu ||
        json.at("level") != CpuLevelName(machine.level) || json.at("threads") != machine.threads)
      return {};
    const Json& gflops = json.at("gflops");
    MachineLimits limits{gflops.at("f32"), gflops.at("f64"), gflops.at("bytes"), {}};
    for (const Json& bandwidth : json.at("bandwidths"))
      limits.bandwidths.push_back({bandwidth.at("bytes"), bandwidth.at("gbytes_per_s")});
    return limits;
  } catch (const Json::exception&) {  // no file of ours, or cut off
    return {};
  }
}

std::string Describe(const MeasuredMachine& machine) {
  const MachineLimits& limits = machine.limits;
  std::string text =
      fmt::format("{}, {}, {} {}: {:.0f} GFLOP/s (f64 {:.0f}, bytes {:.0f}), GB/s:", machine.cpu,
                  CpuLevelName(machine.level), machine.threads, machine.threads == 1 ? "thread" : "threads",
                  limits.f32, limits.f64, limits.bytes);
  const std::vector<MachineLimits::Bandwidth>& sizes = limits.bandwidths;
  for (size_t begin = 0, end = 0; begin < sizes.size(); begin = end) {
    while (end < sizes.size() && sizes[end].bytes >= kSameSpeed * sizes[begin].bytes) ++end;
    text += fmt::format("{} {:.0f} in {}", begin == 0 ? "" : ",", sizes[begin].bytes,
                        FormatBytes(static_cast<double>(sizes[end - 1].size)));
  }
  return text;
}

}  // namespace tvmvm::cli
