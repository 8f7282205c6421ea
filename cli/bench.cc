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
#include "cli/run_times.h"
#include "cli/sandbox.h"
#include "cli/shape_list.h"
#include "cli/signature.h"
#include "tvm-vm/cpu_device.h"
#include "tvm-vm/memory_pool.h"
#include "tvm-vm/profiler.h"

namespace tvmvm::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The level of the kernels that the CPU runs: "x86-64-v4 shared object". What a JIT makes is of the machine's
// own.
CpuLevel LevelInUse(const Vm& vm) {
  for (const DeviceUse& use : vm.Devices())
    if (use.device == kHostDevice)
      if (auto level = CpuLevelFromName(use.form.substr(0, use.form.find(' '))); level != CpuLevel::kHost)
        return level.value_or(HostCpuLevel());
  return HostCpuLevel();
}

// How often to run again with every launch observed: as often as was asked for, else as often as the time
// allows.
int64_t ObservedRuns(const BenchArguments& arguments, const RunTimes& times) {
  constexpr int64_t kMost = 10;
  if (arguments.repeat > 0) return arguments.repeat;
  const double fit = arguments.seconds * 1e3 / std::max(times.Mean(), 1e-3);
  return std::clamp<int64_t>(static_cast<int64_t>(fit), 1, kMost);
}

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// What a run is given and takes: the model's, and what it is run with.
struct Bench {
  ProgramPointer program;
  const BenchArguments& arguments;
  int threads = 1;
  std::shared_ptr<MemoryPool> pool;  // null: none was asked for
  std::shared_ptr<Vm> vm;            // null: in sandboxes
  std::vector<Invocation> invocations;
  std::vector<Run> clients;  // of these, or of the sandboxes
  std::vector<Value> inputs, outputs;

  Invocation& invocation() { return invocations[0]; }
};

// Makes what each client runs with.
Status MakeClients(Bench& bench, bool is_compiled_here) {
  const BenchArguments& arguments = bench.arguments;
  const auto count = static_cast<size_t>(arguments.clients);
  if (arguments.sandbox) {
    for (size_t i = 0; i < count; ++i) {
      TVMVM_TRY(Run run, CreateSandbox(bench.program, arguments.model, is_compiled_here, arguments.limits));
      bench.clients.push_back(std::move(run));
    }
    return {};
  }
  TVMVM_TRY(bench.vm, CreateVm(bench.program, arguments.model, is_compiled_here, bench.pool));
  bench.invocations.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Invocation& invocation = bench.invocations.emplace_back(bench.vm->NewInvocation());
    invocation.SetLimits(LimitsOf(arguments.limits));
    bench.clients.emplace_back([&invocation](std::span<const Value> inputs, std::span<Value> outputs) {
      return invocation.Run(inputs, outputs);
    });
  }
  return {};
}

std::shared_ptr<MemoryPool> PoolOf(const BenchArguments& arguments) {
  if (arguments.memory_pool == 0) return nullptr;
  const auto wait = std::chrono::duration<double>(arguments.pool_wait);
  return MemoryPool::Create({.max_bytes = arguments.memory_pool,
                             .max_wait = std::chrono::duration_cast<std::chrono::nanoseconds>(wait)});
}

// Runs again with every launch observed; the timed runs are not, so that observing costs them nothing. What
// the shortest of these runs showed is in `profiler` then, or all of them, one after another, with
// `keep_all`.
Status ObserveRuns(Bench& bench, int64_t runs, bool keep_all, Profiler* profiler) {
  std::optional<Profiler> shortest;
  bench.invocation().SetLaunchObserver(profiler->observer());
  bench.invocation().SetCopyObserver(profiler->copy_observer());
  const std::string shapes = FormatInputs(bench.program->main(), bench.inputs);
  for (int64_t i = 0; i < runs; ++i) {
    TraceSlice slice{.name = fmt::format("run {}", i), .begin_ns = Now(), .facts = {{"inputs", shapes}}};
    TVMVM_CHECK_OK(bench.invocation().Run(bench.inputs, bench.outputs));
    if (keep_all) {
      slice.end_ns = Now();
      slice.held_bytes = bench.invocation().held_bytes();
      profiler->AddSlice(std::move(slice));
      continue;
    }
    if (!shortest || profiler->total_nanoseconds() < shortest->total_nanoseconds()) shortest = *profiler;
    profiler->Clear();
  }
  bench.invocation().SetLaunchObserver({});
  bench.invocation().SetCopyObserver({});
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

Status Profile(Bench& bench, int64_t runs, Profiler* profiler, MeasuredMachine* machine) {
  *machine = MeasuredMachineFor(LevelInUse(*bench.vm), std::min(bench.threads, AvailableCpus()),
                                bench.arguments.measure);
  profiler->SetLimits(machine->limits);
  TVMVM_CHECK_OK(ObserveRuns(bench, runs, false, profiler));
  if (!IsFasterThanMachine(*profiler)) return {};
  MeasureAgain(machine);
  profiler->Clear();
  profiler->SetLimits(machine->limits);
  return ObserveRuns(bench, runs, false, profiler);
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

// Memory of an input is one client's.
bool Donates(const BenchArguments& arguments) {
  return !arguments.resident && !arguments.sandbox && arguments.clients == 1;
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

// The milliseconds of every timed run, in the order of time.
Status WriteTimes(const std::vector<ShapeLine>& shapes, const std::vector<RunTimes>& times,
                  const std::string& path) {
  std::string text = "shape,client,run,ms\n";
  for (size_t shape = 0; shape < times.size(); ++shape)
    for (size_t client = 0; client < times[shape].of_client.size(); ++client)
      for (size_t run = 0; run < times[shape].of_client[client].size(); ++run)
        text += fmt::format("{},{},{},{:.6f}\n", shapes[shape].text, client, run,
                            times[shape].of_client[client][run]);
  TVMVM_TRY(OutputFile file, OutputFile::Create(path));
  TVMVM_CHECK_OK(file.Write(text));
  return file.Commit();
}

Status MakeBenchInputs(const InputArguments& arguments, Bench* bench) {
  InputReport report;
  TVMVM_TRY(bench->inputs,
            MakeInputs(bench->program->main(), arguments, bench->arguments.limits.max_bytes, &report));
  for (const std::string& note : NotesOf(report)) PrintNote(note);
  bench->outputs.assign(bench->program->main().outputs.size(), Value());
  if (bench->arguments.resident)
    return MakeResident(*bench->vm, bench->invocation(), &bench->inputs, &bench->outputs);
  return Donates(bench->arguments) ? Donate(*bench->vm, &bench->inputs, &bench->outputs) : Status();
}

Expected<RunTimes> TimeShape(Bench& bench) {
  const Repetition repetition{bench.arguments.seconds, bench.arguments.repeat, bench.arguments.warm_up};
  TVMVM_TRY(RunTimes times, TimeRuns(bench.clients, bench.inputs, bench.outputs, repetition));
  if (bench.vm != nullptr) {
    times.peak_bytes = bench.invocation().peak_bytes();
    times.held_bytes = bench.invocation().held_bytes();
  }
  return times;
}

std::string Conditions(const Bench& bench) {
  const BenchArguments& arguments = bench.arguments;
  return fmt::format("{}, {}, {} to warm up beside the first{}",
                     FormatCount(static_cast<size_t>(bench.threads), "thread"),
                     FormatCount(static_cast<size_t>(arguments.clients), "client"),
                     FormatCount(static_cast<size_t>(arguments.warm_up), "run"),
                     arguments.sandbox ? ", each client in a process of its own" : "");
}

Json ConditionsToJson(const Bench& bench) {
  Json json = {{"threads", bench.threads}, {"clients", bench.arguments.clients}};
  if (bench.vm != nullptr)
    json["devices"] = DevicesToJson(*bench.vm);
  else
    json["sandbox"] = true;
  return json;
}

// Without what is held, where that is not known.
Json TimesToJson(const Bench& bench, const RunTimes& times) {
  Json json = ToJson(times);
  if (bench.vm != nullptr) return json;
  json.erase("peak_bytes");
  json.erase("held_bytes");
  return json;
}

// A table with a line for each shape.
Expected<int> BenchShapes(Bench& bench, std::string_view text, double load_ms) {
  std::vector<std::string> dims;
  for (const ParameterSpec& input : bench.program->main().inputs)
    for (const DimSpec& dim : input.type.dims) dims.push_back(dim.symbol);
  auto shapes = ParseShapes(text, bench.arguments.inputs, dims);
  if (!shapes)
    return MakeError(shapes.error().code,
                     fmt::format("'{}': {}", bench.arguments.shapes, shapes.error().message));
  size_t width = 5;
  for (const ShapeLine& shape : *shapes) width = std::max(width, shape.text.size());
  std::vector<RunTimes> times;
  Json rows = Json::array();
  if (!bench.arguments.json)
    PrintResult(fmt::format("{}, load {:.3f} ms\n{:<{}} {}", Conditions(bench), load_ms, "shape", width,
                            TimesHead()));
  for (const ShapeLine& shape : *shapes) {
    TVMVM_CHECK_OK(MakeBenchInputs(shape.inputs, &bench));
    TVMVM_TRY(RunTimes row, TimeShape(bench));
    if (bench.arguments.json) {
      rows.push_back(
          {{"shape", shape.text}, {"inputs", DescribeInputs(bench.program->main(), bench.inputs)}});
      rows.back().update(TimesToJson(bench, row));
    } else {
      PrintResult(fmt::format("{:<{}} {}", shape.text, width, TimesRow(row)));
    }
    times.push_back(std::move(row));
  }
  if (bench.arguments.json) {
    Json json = {{"load_ms", load_ms}, {"shapes", rows}};
    json.update(ConditionsToJson(bench));
    PrintResult(FormatJson(json));
  }
  if (!bench.arguments.times.empty()) TVMVM_CHECK_OK(WriteTimes(*shapes, times, bench.arguments.times));
  return kExitOk;
}

// What was seen of one shape.
struct Seen {
  RunTimes times;
  Planned planned;
  Profiler profiler;
  MeasuredMachine machine;
};

void PrintSeen(const Bench& bench, const Seen& seen, double load_ms) {
  const RunTimes& times = seen.times;
  PrintResult(fmt::format("{}\n{}\n{}", FormatInputs(bench.program->main(), bench.inputs), Conditions(bench),
                          FormatTimes(times)));
  const std::string begin = fmt::format("first run {:.4f} ms, load {:.3f} ms", times.first_ms, load_ms);
  if (bench.vm == nullptr) return PrintResult(begin);
  PrintResult(fmt::format("{}, peak memory {} ({}, held {})", begin,
                          FormatBytes(static_cast<double>(times.peak_bytes)), FormatPlanned(seen.planned),
                          FormatBytes(static_cast<double>(times.held_bytes))));
  if (bench.pool)
    PrintResult(fmt::format("the pool of {} held at most {}",
                            FormatBytes(static_cast<double>(bench.pool->max_bytes())),
                            FormatBytes(static_cast<double>(bench.pool->peak_bytes()))));
  if (bench.vm->Devices().size() > 1) PrintResult(DescribeDevices(*bench.vm));
  if (bench.arguments.profile) PrintResult(seen.profiler.Table() + Describe(seen.machine));
}

void PrintSeenJson(const Bench& bench, const Seen& seen, double load_ms, int64_t observed) {
  Json json = TimesToJson(bench, seen.times);
  json.update(ConditionsToJson(bench));
  json["load_ms"] = load_ms;
  json["inputs"] = DescribeInputs(bench.program->main(), bench.inputs);
  if (bench.vm != nullptr) json["planned_bytes"] = ToJson(seen.planned);
  if (bench.pool)
    json["pool"] = {{"max_bytes", bench.pool->max_bytes()}, {"peak_bytes", bench.pool->peak_bytes()}};
  if (bench.arguments.profile) {
    json["machine"] = ToJson(seen.machine);
    json["profiled_runs"] = observed;
    json["kernels"] = ToJson(seen.profiler, *bench.program);
    json["copies"] = CopiesToJson(seen.profiler);
  }
  PrintResult(FormatJson(json));
}

}  // namespace

Expected<int> BenchCommand(const BenchArguments& arguments) {
  for (const std::string& output : {arguments.trace, arguments.times})
    TVMVM_CHECK_OK(CheckOutput(output, arguments.model.path));
  const int64_t load_begin = Now();
  bool is_compiled_here = false;
  TVMVM_TRY(ProgramPointer program, LoadModel(arguments.model, {}, &is_compiled_here));
  const int all_threads = arguments.sandbox ? 1 : AvailableCpus();
  Bench bench{.program = program,
              .arguments = arguments,
              .threads = arguments.model.threads > 0 ? arguments.model.threads : all_threads,
              .pool = PoolOf(arguments)};
  TVMVM_CHECK_OK(MakeClients(bench, is_compiled_here));
  const int64_t load_end = Now();
  const double load_ms = static_cast<double>(load_end - load_begin) / 1e6;
  if (!arguments.shapes.empty()) {
    TVMVM_TRY(std::string text, ReadTextOrStandardInput(arguments.shapes));
    return BenchShapes(bench, text, load_ms);
  }
  TVMVM_CHECK_OK(MakeBenchInputs(arguments.inputs, &bench));
  TVMVM_TRY(RunTimes times, TimeShape(bench));
  const std::vector<DeviceUse> devices = bench.vm != nullptr ? bench.vm->Devices() : std::vector<DeviceUse>();
  Seen seen{std::move(times), {}, Profiler(program, false, devices), {}};
  if (bench.vm != nullptr) seen.planned = PlannedFor(*bench.vm, bench.inputs, Donates(arguments));
  if (!arguments.times.empty()) TVMVM_CHECK_OK(WriteTimes({ShapeLine{}}, {seen.times}, arguments.times));
  const int64_t observed = ObservedRuns(arguments, seen.times);
  if (!arguments.trace.empty()) {
    Profiler all(program, true, devices);
    all.AddSlice({.name = "load", .begin_ns = load_begin, .end_ns = load_end});
    TVMVM_CHECK_OK(ObserveRuns(bench, observed, true, &all));
    TVMVM_CHECK_OK(WriteTrace(all, arguments.trace));
  }
  if (arguments.profile) TVMVM_CHECK_OK(Profile(bench, observed, &seen.profiler, &seen.machine));
  if (arguments.json) {
    PrintSeenJson(bench, seen, load_ms, observed);
  } else {
    PrintSeen(bench, seen, load_ms);
    if (arguments.profile) PrintNote(fmt::format("the profile is of the shortest of {} runs", observed));
  }
  return kExitOk;
}

}  // namespace tvmvm::cli
