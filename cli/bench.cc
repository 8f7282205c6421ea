#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/files.h"
#include "cli/forecast.h"
#include "cli/json.h"
#include "cli/measured_machine.h"
#include "cli/model.h"
#include "cli/signature.h"
#include "tvm-vm/cpu_device.h"
#include "tvm-vm/profiler.h"

namespace tvmvm::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kObservedRuns = 10;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Timing {
  double load_ms = 0;   // loading the program and binding it to the machine
  double first_ms = 0;  // the first run, which makes the outputs and the plan
  int64_t peak_bytes = 0, held_bytes = 0;
  Planned planned;
  std::vector<double> runs;  // warm runs in milliseconds, sorted

  double Percentile(double fraction) const {
    return runs[std::min(runs.size() - 1, static_cast<size_t>(fraction * static_cast<double>(runs.size())))];
  }
};

Status TimeRuns(Invocation& invocation, std::span<const Value> inputs, std::span<Value> outputs,
                const BenchArguments& arguments, Timing* timing) {
  Clock::time_point begin = Clock::now();
  TVMVM_CHECK_OK(invocation.Run(inputs, outputs));  // makes the outputs; later runs write into them
  timing->first_ms = MillisecondsSince(begin);
  begin = Clock::now();
  bool by_count = arguments.repeat > 0;
  while (by_count ? static_cast<int64_t>(timing->runs.size()) < arguments.repeat
                  : timing->runs.empty() || MillisecondsSince(begin) < arguments.seconds * 1e3) {
    Clock::time_point run_begin = Clock::now();
    TVMVM_CHECK_OK(invocation.Run(inputs, outputs));
    timing->runs.push_back(MillisecondsSince(run_begin));
  }
  std::ranges::sort(timing->runs);
  timing->peak_bytes = invocation.peak_bytes();
  timing->held_bytes = invocation.held_bytes();
  return {};
}

// The level of the kernels that the CPU runs: "x86-64-v4 shared object". What a JIT makes is of the machine's
// own.
CpuLevel LevelInUse(const Vm& vm) {
  for (const DeviceUse& use : vm.Devices())
    if (use.device == kHostDevice)
      if (auto level = CpuLevelFromName(use.form.substr(0, use.form.find(' '))); level != CpuLevel::kHost)
        return level.value_or(HostCpuLevel());
  return HostCpuLevel();
}

// Runs again with every launch observed; the timed runs are not, so that observing costs them nothing. What
// the shortest of these runs showed is in `profiler` then, or all of them, one after another, with
// `keep_all`.
Status ObserveRuns(Invocation& invocation, std::span<const Value> inputs, std::span<Value> outputs,
                   bool keep_all, Profiler* profiler) {
  std::optional<Profiler> shortest;
  invocation.SetLaunchObserver(profiler->observer());
  invocation.SetCopyObserver(profiler->copy_observer());
  for (int i = 0; i < kObservedRuns; ++i) {
    TVMVM_CHECK_OK(invocation.Run(inputs, outputs));
    if (keep_all) continue;
    if (!shortest || profiler->total_nanoseconds() < shortest->total_nanoseconds()) shortest = *profiler;
    profiler->Clear();
  }
  invocation.SetLaunchObserver({});
  invocation.SetCopyObserver({});
  if (shortest) *profiler = *std::move(shortest);
  return {};
}

// Whether a kernel did more operations than the machine does at most.
bool IsFasterThanMachine(const Profiler& profiler) {
  constexpr double kClearly = 1.03;
  return std::ranges::any_of(profiler.Kernels(), [](const KernelProfile& kernel) {
    return kernel.flops_ns > kClearly * static_cast<double>(kernel.nanoseconds);
  });
}

Status Profile(const Vm& vm, Invocation& invocation, std::span<const Value> inputs, std::span<Value> outputs,
               const BenchArguments& arguments, Profiler* profiler, MeasuredMachine* machine) {
  const int cpus = AvailableCpus(), threads = arguments.model.threads;
  *machine =
      MeasuredMachineFor(LevelInUse(vm), threads > 0 ? std::min(threads, cpus) : cpus, arguments.measure);
  profiler->SetLimits(machine->limits);
  TVMVM_CHECK_OK(ObserveRuns(invocation, inputs, outputs, false, profiler));
  if (!IsFasterThanMachine(*profiler)) return {};
  MeasureAgain(machine);
  profiler->Clear();
  profiler->SetLimits(machine->limits);
  return ObserveRuns(invocation, inputs, outputs, false, profiler);
}

Status WriteTrace(const Profiler& profiler, const std::string& path) {
  TVMVM_TRY(OutputFile file, OutputFile::Create(path));
  TVMVM_CHECK_OK(file.Write(profiler.ChromeTrace()));
  return file.Commit();
}

// Inputs in the memory of the GPU, and room there for outputs of the shapes that a first run gives.
Status MakeResident(Vm& vm, Invocation& invocation, std::vector<Value>* inputs, std::vector<Value>* outputs) {
  const std::shared_ptr<Device> gpu = vm.gpu();
  if (!gpu) return MakeError(Code::kInvalidArgument, "--resident: the program runs on no GPU");
  TVMVM_CHECK_OK(invocation.Run(*inputs, *outputs));
  for (std::vector<Value>* values : {inputs, outputs}) {
    for (Value& value : *values) {
      if (!value.is_tensor() || value.tensor().dtype() == DType::kString) continue;
      TVMVM_TRY(Tensor there, value.tensor().CopyTo(gpu));
      value = std::move(there);
    }
  }
  return {};
}

// Gives donated inputs memory with room for their outputs, which a run of its own tells the shapes of.
Status Donate(Vm& vm, std::vector<Value>* inputs, std::vector<Value>* outputs) {
  const std::vector<Donation> donations = vm.Donations();
  if (donations.empty()) return {};
  std::vector<Value> results(outputs->size());
  TVMVM_CHECK_OK(vm.NewInvocation().Run(*inputs, results));
  for (const Donation& donation : donations) {
    const Tensor from = (*inputs)[donation.input].tensor(), to = results[donation.output].tensor();
    TVMVM_TRY(Tensor memory,
              Tensor::Allocate(DType::kU8, Shape({std::max(from.byte_count(), to.byte_count())})));
    const auto owner = std::make_shared<Tensor>(memory);
    Tensor input = Tensor::Share(from.dtype(), from.shape(), memory.data(), owner);
    TVMVM_CHECK_OK(input.CopyFrom(from));
    (*inputs)[donation.input] = std::move(input);
    (*outputs)[donation.output] = Tensor::Share(to.dtype(), to.shape(), memory.data(), owner);
  }
  return {};
}

Json ToJson(const Timing& timing) {
  return {{"runs", timing.runs.size()},
          {"first_ms", timing.first_ms},
          {"best_ms", timing.runs.front()},
          {"median_ms", timing.Percentile(0.5)},
          {"p90_ms", timing.Percentile(0.9)},
          {"p99_ms", timing.Percentile(0.99)},
          {"load_ms", timing.load_ms},
          {"peak_bytes", timing.peak_bytes},
          {"planned_bytes", ToJson(timing.planned)},
          {"held_bytes", timing.held_bytes}};
}

Json ToJson(const Profiler& profiler, const Program& program) {
  Json kernels = Json::array();
  for (const KernelProfile& profile : profiler.Kernels()) {
    const KernelSpec& kernel = program.kernels[profile.kernel.index];
    kernels.push_back({{"name", kernel.name},
                       {"device", profiler.DeviceName(profile.device)},
                       {"source_node", kernel.source_node},
                       {"launches", profile.launches},
                       {"nanoseconds", profile.nanoseconds},
                       {"flops", profile.flops},
                       {"bytes", profile.bytes}});
    if (profile.limit_ns <= 0) continue;
    const double part = 1.0 / static_cast<double>(std::max<int64_t>(1, profile.nanoseconds));
    kernels.back().update({{"limit_ns", profile.limit_ns},
                           {"of_flops", profile.flops_ns * part},
                           {"of_bytes", profile.bytes_ns * part},
                           {"of_limit", profile.limit_ns * part}});
  }
  return kernels;
}

Json CopiesToJson(const Profiler& profiler) {
  Json copies = Json::array();
  for (const CopyProfile& profile : profiler.Copies())
    copies.push_back({{"from", profiler.DeviceName(profile.from)},
                      {"to", profiler.DeviceName(profile.to)},
                      {"copies", profile.copies},
                      {"nanoseconds", profile.nanoseconds},
                      {"bytes", profile.bytes}});
  return copies;
}

Json ToJson(const std::vector<DeviceUse>& devices) {
  Json list = Json::array();
  for (const DeviceUse& device : devices)
    list.push_back({{"name", device.name}, {"kernels", device.kernels}, {"form", device.form}});
  return list;
}

std::string FormatTiming(const Timing& timing) {
  return fmt::format(
      "{} runs: best {:.4f} ms, median {:.4f} ms, p90 {:.4f} ms, p99 {:.4f} ms\nfirst run {:.4f} ms, load "
      "{:.3f} ms, "
      "peak memory {} ({}, held {})",
      timing.runs.size(), timing.runs.front(), timing.Percentile(0.5), timing.Percentile(0.9),
      timing.Percentile(0.99), timing.first_ms, timing.load_ms,
      FormatBytes(static_cast<double>(timing.peak_bytes)), FormatPlanned(timing.planned),
      FormatBytes(static_cast<double>(timing.held_bytes)));
}

}  // namespace

Expected<int> BenchCommand(const BenchArguments& arguments) {
  Timing timing;
  Clock::time_point begin = Clock::now();
  TVMVM_TRY(ProgramPointer program, LoadModel(arguments.model));
  TVMVM_TRY(std::shared_ptr<Vm> vm, CreateVm(program, arguments.model));
  timing.load_ms = MillisecondsSince(begin);

  TVMVM_TRY(std::vector<Value> inputs,
            MakeInputs(program->main(), arguments.inputs, arguments.limits.max_bytes));
  std::vector<Value> outputs(program->main().outputs.size());
  Invocation invocation = vm->NewInvocation();
  invocation.SetLimits(LimitsOf(arguments.limits));
  if (arguments.resident)
    TVMVM_CHECK_OK(MakeResident(*vm, invocation, &inputs, &outputs));
  else
    TVMVM_CHECK_OK(Donate(*vm, &inputs, &outputs));
  TVMVM_CHECK_OK(TimeRuns(invocation, inputs, outputs, arguments, &timing));
  timing.planned = PlannedFor(*vm, inputs, !arguments.resident);
  if (!arguments.trace.empty()) {
    Profiler all(program, true, vm->Devices());
    TVMVM_CHECK_OK(ObserveRuns(invocation, inputs, outputs, true, &all));
    TVMVM_CHECK_OK(WriteTrace(all, arguments.trace));
  }
  Profiler profiler(program, false, vm->Devices());
  MeasuredMachine machine;
  if (arguments.profile)
    TVMVM_CHECK_OK(Profile(*vm, invocation, inputs, outputs, arguments, &profiler, &machine));

  if (arguments.json) {
    Json json = ToJson(timing);
    json["devices"] = ToJson(vm->Devices());
    if (arguments.profile) {
      json["machine"] = ToJson(machine);
      json["kernels"] = ToJson(profiler, *program);
      json["copies"] = CopiesToJson(profiler);
    }
    PrintResult(FormatJson(json));
  } else {
    PrintResult(FormatTiming(timing));
    if (vm->Devices().size() > 1) PrintResult(DescribeDevices(*vm));
    if (arguments.profile) PrintResult(profiler.Table() + Describe(machine));
  }
  return kExitOk;
}

}  // namespace tvmvm::cli
