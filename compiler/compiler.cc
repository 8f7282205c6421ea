#include "tvm-vm/compiler.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "bytecode/device_kinds.h"
#include "compiler/codegen/codegen.h"
#include "compiler/graph/parser.h"
#include "compiler/jit/jit.h"
#include "compiler/lowering/lower_module.h"
#include "compiler/memory/fit_budget.h"
#include "compiler/memory/join_in_place.h"
#include "compiler/memory/read_panels.h"
#include "compiler/memory/slice_batches.h"
#include "compiler/model_info.h"
#include "compiler/onnx/importer/keep_values.h"
#include "compiler/onnx/importer/onnx_importer.h"
#include "compiler/onnx/model/mapped_file.h"
#include "compiler/onnx/model/onnx_model.h"
#include "compiler/operator_list.h"
#include "compiler/operator_uses.h"
#include "compiler/pipeline.h"
#include "compiler/placement/placement.h"
#include "compiler/schedules/product_group.h"
#include "compiler/schedules/schedule_overrides.h"
#include "fmt/format.h"
#include "tvm-vm/version.h"

namespace tvmvm {
namespace {

using Clock = std::chrono::steady_clock;

std::string BaseName(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Status CheckNames(const std::vector<std::string>& asked, const std::vector<std::string>& known,
                  std::string_view what) {
  for (const std::string& name : asked)
    if (name != "all" && std::find(known.begin(), known.end(), name) == known.end())
      return MakeError(Code::kInvalidArgument,
                       fmt::format("no {} is named '{}'; there are: {}", what, name, fmt::join(known, ", ")));
  return {};
}

// The kinds of the GPUs among the devices, in order; several of a kind are several devices.
Expected<std::vector<DeviceKind>> GpusOf(const CompileOptions& options) {
  std::vector<DeviceKind> gpus;
  for (const std::string& device : options.devices) {
    const std::optional<DeviceKind> kind = KindOfSelection(device);
    if (!kind)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("no device is named '{}'; there are: {}",
                                   device.substr(0, device.find(':')), DeviceKindNames()));
    if (ClassOf(*kind) == DeviceClass::kGpu) gpus.push_back(*kind);
  }
  return gpus;
}

// Names that --print-after, --stop-after and --disable-pass accept.
Status CheckStageNames(const CompileOptions& options) {
  std::vector<std::string> known{"import", "place", "fit-budget"}, optional;
  for (const passes::Pass& pass : PassPipeline()) {
    known.emplace_back(pass.name);
    if (pass.optional) optional.emplace_back(pass.name);
  }
  optional.emplace_back(lowering::kShareMemory);
  for (std::string_view name : {memory::kReadPanels, memory::kSliceBatches, memory::kJoinInPlace}) {
    known.emplace_back(name);
    optional.emplace_back(name);
  }
  std::vector<std::string> asked = options.print_after;
  if (!options.stop_after.empty()) asked.push_back(options.stop_after);
  TVMVM_CHECK_OK(CheckNames(asked, known, "pass"));
  return CheckNames(options.disabled_passes, optional, "optional pass");
}

Expected<std::vector<TargetInfo>> TargetsOf(const CompileOptions& options) {
  std::vector<std::string> names = options.targets;
  if (names.empty()) names = {"x86-64-v3", "x86-64-v4"};
  std::vector<TargetInfo> targets;
  for (const std::string& name : names) {
    TVMVM_TRY(TargetInfo target, codegen::TargetFromName(name));
    targets.push_back(target);
  }
  return targets;
}

// 0: weights stay as they are.
int WeightBits(WeightStorage storage) {
  switch (storage) {
    case WeightStorage::kInt8:
      return 8;
    case WeightStorage::kInt4:
      return 4;
    case WeightStorage::kAsGiven:
      break;
  }
  return 0;
}

std::string OptionsText(const CompileOptions& options, const std::vector<TargetInfo>& targets) {
  std::string text = "--device " + fmt::format("{}", fmt::join(options.devices, ",")) + " --target ";
  for (size_t i = 0; i < targets.size(); ++i)
    text += (i ? "," : "") + std::string(CpuLevelName(targets[i].cpu_level));
  if (options.precision == Precision::kF16) text += " --precision fp16";
  if (const int bits = WeightBits(options.weights)) text += fmt::format(" --weights int{}", bits);
  for (const auto& [name, bound] : options.dims)
    text += fmt::format(" --dim {}={}..{}", name, bound.low, bound.high);
  if (options.distinct_dims) text += " --distinct-dims";
  if (options.memory_budget > 0) text += fmt::format(" --memory-budget {}", options.memory_budget);
  for (const auto& [input, output] : options.donate) text += fmt::format(" --donate {}={}", input, output);
  return text;
}

void PrintTimes(const CompileOptions& options, const PassRunner& runner, double import_ms, double lower_ms) {
  if (!options.time_passes || !options.print) return;
  std::string text = fmt::format("{:24} {:>10.2f} ms\n", "import", import_ms);
  double total = import_ms + lower_ms;
  for (const auto& [name, milliseconds] : runner.milliseconds) {
    text += fmt::format("{:24} {:>10.2f} ms\n", name, milliseconds);
    total += milliseconds;
  }
  text += fmt::format("{:24} {:>10.2f} ms\n{:24} {:>10.2f} ms\n", "lower and generate code", lower_ms,
                      "total", total);
  for (const auto& [name, count] : runner.counters->List())
    text += fmt::format("{:24} {:>10}\n", name, count);
  options.print(text);
}

std::string DigestOf(std::span<const std::byte> bytes) {
  XXH128_hash_t digest = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

ir::DimFacts FactsOf(const CompileOptions& options) {
  ir::DimFacts facts;
  for (const auto& [name, bound] : options.dims) facts[name] = {bound.low, bound.high};
  return facts;
}

Expected<ir::Module> Import(const ir::OnnxModel& model, const CompileOptions& options,
                            ir::CompileCounters* counters, std::vector<std::string>* warnings) {
  ir::ImportOptions import;
  import.counters = counters;
  import.keep_all_values = options.keep_all_values;
  import.strict = options.strict_onnx;
  import.distinct_dims = options.distinct_dims;
  import.dims = FactsOf(options);
  return ir::ImportOnnx(model, import, warnings);
}

// Loops that are to be polled get the attribute that PollLoops asks for. False: there are none.
bool MarkLoops(const std::vector<placement::WaitingLoop>& loops, ir::Module* module) {
  bool any = false;
  for (const placement::WaitingLoop& loop : loops) {
    if (loop.most_steps <= 1) continue;
    module->functions[loop.function].node(loop.loop).decided.poll = loop.most_steps;
    any = true;
  }
  return any;
}

// Gives the module's groups to the CPU and the GPU. `stopped` is set when options->stop_after ended it.
Status PlaceOnDevices(const placement::PlacementOptions& place, tensor::ScheduleCache* schedules,
                      PassRunner* runner, ir::Module* module, bool* stopped) {
  const CompileOptions& options = *runner->options;
  Clock::time_point start = Clock::now();
  TVMVM_TRY(placement::Placement placed, placement::PlaceModule(module, place, schedules));
  const bool polls = MarkLoops(placed.waiting, module);
  runner->milliseconds.emplace_back("place", MillisecondsSince(start));
  TVMVM_CHECK_OK(runner->After("place", *module, stopped));
  if (!*stopped) TVMVM_CHECK_OK(runner->Run(passes::PassStage::kPlaced, *module, stopped));
  if (polls) placed.rows = placement::RowsOf(*module, placed.rows);
  const size_t gpus = place.gpu_names.size();
  const bool is_new = gpus == 1 || lowering::GpuCount(*module) == gpus;
  if (options.print_placement && options.print && is_new)
    options.print(placement::PlacementTable(placed.rows, place));
  return {};
}

std::vector<KernelForm> GpuForms(const std::vector<DeviceKind>& gpus) {
  std::vector<KernelForm> forms;
  for (DeviceKind gpu : gpus) forms.push_back(InfoOf(gpu)->form);
  std::sort(forms.begin(), forms.end());
  forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
  return forms;
}

// A model on its way to a Program: as the CPU runs it, and as it runs where there are GPUs, for each number
// of them.
struct Variants {
  ir::Module cpu;
  std::vector<ir::Module> gpu;
};

// All passes, and placement. Passes run once for both variants as long as these are alike. Nothing:
// stop_after ended it.
Expected<std::optional<Variants>> Transform(ir::Module module, const std::vector<TargetInfo>& targets,
                                            const std::vector<DeviceKind>& gpus,
                                            tensor::ScheduleCache* schedules, PassRunner* runner) {
  using passes::PassStage;
  const CompileOptions& options = *runner->options;
  Variants variants{std::move(module), {}};
  bool stopped = false;
  TVMVM_CHECK_OK(runner->After("import", variants.cpu, &stopped));
  if (!stopped) TVMVM_CHECK_OK(runner->Run(PassStage::kModel, variants.cpu, &stopped));
  if (stopped) return std::nullopt;
  TVMVM_CHECK_OK(passes::DonateInputs(variants.cpu, runner->context));
  const bool differ = !gpus.empty() && options.precision == Precision::kF16;
  std::optional<ir::Module> for_gpus;  // where it is another
  if (differ) for_gpus = variants.cpu;
  TVMVM_CHECK_OK(runner->Run(PassStage::kDevice, variants.cpu, &stopped));
  if (stopped) return std::nullopt;
  if (gpus.empty()) TVMVM_CHECK_OK(runner->Run(PassStage::kPlaced, variants.cpu, &stopped));
  if (stopped) return std::nullopt;
  if (gpus.empty()) return variants;

  PassRunner gpu{
      &options, {.targets = targets, .half_factors = differ, .for_gpus = true}, runner->counters, {}};
  if (differ) TVMVM_CHECK_OK(gpu.Run(PassStage::kDevice, *for_gpus, &stopped));
  placement::PlacementOptions place;
  place.gpu = GpuTargetInfo(gpus[0]);
  place.cpu = targets;
  place.gpu_names.clear();
  place.strict = options.strict;
  place.prefer_gpu = options.prefer_gpu;
  for (DeviceKind kind : gpus) {
    place.gpu_names.emplace_back(DeviceKindName(kind));
    ir::Module divided = differ ? *for_gpus : variants.cpu;
    TVMVM_CHECK_OK(PlaceOnDevices(place, schedules, &gpu, &divided, &stopped));
    if (stopped) break;
    const bool uses_all = lowering::GpuCount(divided) == place.gpu_names.size();
    if (uses_all || variants.gpu.empty()) variants.gpu.push_back(std::move(divided));
    if (!uses_all) break;  // nor would it use more
  }
  for (auto& [name, milliseconds] : gpu.milliseconds)
    runner->milliseconds.emplace_back("gpu: " + name, milliseconds);
  if (stopped) return std::nullopt;
  return variants;
}

bool IsDisabled(const CompileOptions& options, std::string_view pass) {
  return std::ranges::any_of(options.disabled_passes,
                             [&](const std::string& name) { return name == "all" || name == pass; });
}

// A budget splits and joins by itself, and traced values are shown whole.
bool ChangesMemory(const CompileOptions& options, std::string_view pass) {
  return options.memory_budget <= 0 && !options.trace_values && !IsDisabled(options, pass);
}

// `bytes`: what the module was read from.
Expected<CompileResult> Compile(ir::Module imported, std::span<const std::byte> bytes,
                                const CompileOptions& options, ir::CompileCounters* counters,
                                Clock::time_point start) {
  CompileResult result;
  TVMVM_TRY(std::vector<TargetInfo> targets, TargetsOf(options));
  double import_ms = MillisecondsSince(start);
  TVMVM_TRY(std::vector<DeviceKind> gpus, GpusOf(options));
  if (gpus.empty() && options.precision == Precision::kF16)
    result.warnings.emplace_back("--precision fp16 is for GPUs: there is none among the devices");
  for (const ir::Function& function : imported.functions)
    counters->imported_nodes += static_cast<int64_t>(function.nodes.size());
  TVMVM_TRY(const auto overrides,
            tensor::ScheduleOverrides::Parse(options.schedules, options.schedules_name));
  tensor::ScheduleCache schedules(counters, &overrides);
  PassRunner runner{&options,
                    {.targets = targets,
                     .weight_bits = WeightBits(options.weights),
                     .weight_reports = &result.weights,
                     .for_gpus = !gpus.empty() && options.precision != Precision::kF16,
                     .donate = options.donate,
                     .has_gpus = !gpus.empty()},
                    counters,
                    {}};
  TVMVM_TRY(std::optional<Variants> variants,
            Transform(std::move(imported), targets, gpus, &schedules, &runner));
  if (!variants) return result;
  ir::Module& module = variants->cpu;
  const bool has_gpus = !variants->gpu.empty();

  // Beside the levels that are packed by default, one for the machines that multiply bytes at once.
  if (options.targets.empty() && tensor::HasProductsOfBytes(module))
    targets.push_back(TargetInfoFor(CpuLevel::kX86_64_V4Vnni));

  Clock::time_point lower_start = Clock::now();
  lowering::LoweringOptions lower;
  lower.targets = targets;
  if (has_gpus) lower.gpu_targets = {GpuTargetInfo(gpus[0])};
  lower.gpu_forms = GpuForms(gpus);
  const bool has_spirv = std::ranges::count(lower.gpu_forms, KernelForm::kSpirV) > 0;
  if (has_gpus && has_spirv && options.precision == Precision::kF16) {
    lower.gpu_targets[0].awaits_matrices = true;
    lower.gpu_targets.push_back(GpuTargetWithMatrices(gpus[0]));
  }
  lower.bitcode = options.bitcode;
  lower.trace_values = options.trace_values;
  lower.share_memory = !IsDisabled(options, lowering::kShareMemory);
  lower.donate = options.donate;
  lower.threads = options.threads > 0 ? options.threads
                                      : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (!IsDisabled(options, memory::kReadPanels)) {
    TVMVM_CHECK_OK(memory::ReadPanels(targets[0], &schedules, &module));
    bool stopped = false;
    TVMVM_CHECK_OK(runner.After(memory::kReadPanels, module, &stopped));
    if (stopped) return result;
  }
  if (ChangesMemory(options, memory::kSliceBatches)) {
    memory::SliceBatches(&module);
    bool stopped = false;
    TVMVM_CHECK_OK(runner.After(memory::kSliceBatches, module, &stopped));
    if (stopped) return result;
  }
  if (ChangesMemory(options, memory::kJoinInPlace)) {
    memory::JoinInPlace(lower, &schedules, &module);
    bool stopped = false;
    TVMVM_CHECK_OK(runner.After(memory::kJoinInPlace, module, &stopped));
    if (stopped) return result;
  }
  if (options.memory_budget > 0) {
    TVMVM_TRY(result.memory, memory::FitBudget(options.memory_budget, lower, overrides, &module));
    bool stopped = false;
    TVMVM_CHECK_OK(runner.After("fit-budget", module, &stopped));
    if (stopped) return result;
  }
  lower.provenance = {"tvm-vm " + VersionText(TVMVM_VERSION), options.model_name, DigestOf(bytes),
                      OptionsText(options, targets)};
  lower.progress = options.progress;
  TVMVM_TRY(result.program, lowering::LowerModule(module, lower, &schedules, variants->gpu));
  result.work = counters->List();
  result.schedules = tensor::WriteSchedules(schedules.chosen());
  for (std::string& sentence : overrides.Unmatched(schedules.chosen()))
    result.warnings.push_back(std::move(sentence));
  PrintTimes(options, runner, import_ms, MillisecondsSince(lower_start));
  return result;
}

// The graph IR's own text form, which begins with a comment, a symbol, a type or a function; no ONNX file
// does.
bool IsGraphText(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  text.remove_prefix(begin);
  return text.starts_with("//") || text.starts_with("symbol ") || text.starts_with("type ") ||
         text.starts_with("func @");
}

Expected<CompileResult> CompileText(std::span<const std::byte> bytes, const CompileOptions& options,
                                    Clock::time_point start) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  TVMVM_TRY(ir::Module module, ir::ParseModule(text, FactsOf(options)));
  ir::CompileCounters counters;
  return Compile(std::move(module), bytes, options, &counters, start);
}

Expected<CompileResult> CompileOnnx(ir::OnnxModel model, const CompileOptions& options,
                                    Clock::time_point start) {
  std::vector<std::string> warnings;
  TVMVM_TRY(std::vector<std::string> kept, ir::KeepValues(options.keep_values, &model));
  ir::CompileCounters counters;
  TVMVM_TRY(ir::Module module, Import(model, options, &counters, &warnings));
  TVMVM_TRY(CompileResult result, Compile(std::move(module), model.bytes, options, &counters, start));
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
  result.kept_values = std::move(kept);
  return result;
}

class ModelCompiler : public Compiler {
 public:
  Expected<CompileResult> CompileFile(const std::string& path, const CompileOptions& given) const override {
    Clock::time_point start = Clock::now();
    CompileOptions options = given;
    if (options.model_name.empty()) options.model_name = BaseName(path);
    TVMVM_CHECK_OK(CheckStageNames(options));
    TVMVM_TRY(auto file, ir::MappedFile::Open(path));
    if (IsGraphText(file->bytes())) return CompileText(file->bytes(), options, start);
    TVMVM_TRY(ir::OnnxModel model, ir::ReadOnnxFile(path, file));
    return CompileOnnx(std::move(model), options, start);
  }

  Expected<CompileResult> CompileBytes(std::span<const std::byte> bytes,
                                       const CompileOptions& options) const override {
    Clock::time_point start = Clock::now();
    TVMVM_CHECK_OK(CheckStageNames(options));
    if (IsGraphText(bytes)) return CompileText(bytes, options, start);
    TVMVM_TRY(ir::OnnxModel model, ir::ReadOnnxBytes(bytes));
    return CompileOnnx(std::move(model), options, start);
  }

  std::vector<std::pair<std::string, std::string>> Passes() const override {
    std::vector<std::pair<std::string, std::string>> passes{{"import", "read the model into the graph IR"}};
    for (const passes::Pass& pass : PassPipeline()) passes.emplace_back(pass.name, pass.purpose);
    return passes;
  }

  std::vector<OperatorInfo> Operators() const override { return ListOperators(); }
  std::vector<MissingOperatorInfo> MissingOperators() const override { return ListMissingOperators(); }
  std::vector<ElementTypeSet> ElementTypeSets() const override { return ListElementTypeSets(); }

  Expected<std::vector<OperatorUse>> OperatorsOf(const std::string& path) const override {
    TVMVM_TRY(auto file, ir::MappedFile::Open(path));
    TVMVM_TRY(ir::OnnxModel model, ir::ReadOnnxFile(path, file));
    return ir::ListOperatorUses(model);
  }

  std::shared_ptr<KernelJit> CreateJit() const override { return jit::MakeJit(); }

  Expected<ModelInfo> DescribeFile(const std::string& path) const override {
    TVMVM_TRY(auto file, ir::MappedFile::Open(path));
    TVMVM_TRY(ir::OnnxModel model, ir::ReadOnnxFile(path, file));
    return ir::DescribeModel(model);
  }
};

}  // namespace

const Compiler& GetCompiler() {
  static const ModelCompiler compiler;
  return compiler;
}

}  // namespace tvmvm

uint32_t tvmvm_compiler_version() { return TVMVM_VERSION; }
const tvmvm::Compiler* tvmvm_compiler() { return &tvmvm::GetCompiler(); }
