#include "cli/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string_view>

#include "cli/compiler_library.h"
#include "cli/console.h"
#include "cli/files.h"
#include "cli/open_devices.h"
#include "cli/trusted_keys.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::cli {

namespace {

constexpr std::string_view kModelEndings[] = {".onnx", ".ir", ".pb"};
constexpr std::string_view kProgramMagic = "\x89TVMVM\r\n";

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool IsProgram(std::span<const std::byte> bytes) { return TextOf(bytes).starts_with(kProgramMagic); }

bool BeginsAsProgram(const std::string& path) {
  auto file = InputFile::Open(path);
  std::array<std::byte, kProgramMagic.size()> begin;
  return file && file->ReadAt(0, begin) && IsProgram(begin);
}

Expected<CompileResult> CompileWithProgress(const std::string& path, std::span<const std::byte> bytes,
                                            CompileOptions options) {
  TVMVM_TRY(const Compiler* compiler, OpenCompiler());
  ProgressLine line;
  options.progress = [&line](const std::string& stage, double fraction) { line.Update(stage, fraction); };
  TVMVM_TRY(CompileResult result,
            IsStandard(path) ? compiler->CompileBytes(bytes, options) : compiler->CompileFile(path, options));
  line.Clear();
  for (const std::string& warning : result.warnings) PrintNote("warning: " + warning);
  return result;
}

// A GPU was asked for, and none of the program's kernels is for it.
Status CheckDevices(const Program& program, const ModelArguments& model) {
  const bool wants_gpu = !model.devices.empty() && !NamesCpu(model.devices[0]);
  const auto on_cpu = std::ranges::count(program.kernels, DeviceClass::kCpu, &KernelSpec::device);
  const bool has_gpu = std::ranges::any_of(
      program.kernels, [](const KernelSpec& kernel) { return kernel.device == DeviceClass::kGpu; });
  if (!wants_gpu) return {};
  if (model.strict && (on_cpu > 0 || !has_gpu))
    return MakeError(Code::kUnsupported,
                     fmt::format("'{}': --strict: {} of {} kernels run on the CPU; compile with --strict and "
                                 "--print-placement says why",
                                 model.path, on_cpu, program.kernels.size()));
  if (!has_gpu && !program.kernels.empty())
    PrintNote(fmt::format("'{}' was compiled for the CPU alone: it runs there", model.path));
  return {};
}

std::string Since(std::chrono::steady_clock::time_point begin) {
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  return fmt::format("in {:.3f} ms", taken.count());
}

std::string ContentsOf(const Program& program) {
  uint64_t bytes = 0;
  for (const ConstantSpec& constant : program.constants) bytes += constant.bytes.size();
  return fmt::format("{}, {} of constants", FormatCount(program.kernels.size(), "kernel"),
                     FormatBytes(static_cast<double>(bytes)));
}

Expected<ProgramPointer> LoadChecked(const ModelArguments& model, std::span<const std::byte> bytes) {
  auto owner = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  const LoadOptions options{.check_constants = model.trust.check_constants};
  TVMVM_TRY(ProgramPointer program, IsStandard(model.path) ? LoadProgramFromMemory(*owner, owner, options)
                                                           : LoadProgram(model.path, options));
  TVMVM_CHECK_OK(CheckDevices(*program, model));
  return program;
}

}  // namespace

bool IsModelFile(const std::string& path) {
  return std::ranges::any_of(kModelEndings,
                             [&](std::string_view ending) { return path.ends_with(ending); }) &&
         !BeginsAsProgram(path);
}

std::string ProgramNameFor(const std::string& model) {
  std::string stem = model;
  for (std::string_view ending : kModelEndings)
    if (model.ends_with(ending)) stem = model.substr(0, model.size() - ending.size());
  return stem + ".vmexe";
}

Expected<CompileResult> CompileWithProgress(const std::string& path, CompileOptions options) {
  if (!IsStandard(path)) return CompileWithProgress(path, {}, std::move(options));
  TVMVM_TRY(std::vector<std::byte> bytes, ReadStandardInput());
  return CompileWithProgress(path, bytes, std::move(options));
}

Status CheckOutput(const std::string& output, const std::string& input) {
  if (!IsSameFile(output, input)) return {};
  return MakeError(Code::kInvalidArgument,
                   fmt::format("'{}' would replace '{}', which is read", output, input));
}

Expected<ProgramPointer> LoadModel(const ModelArguments& model, const ModelView& view, bool* is_compiled_here,
                                   std::vector<std::string>* kept) {
  const auto begin = std::chrono::steady_clock::now();
  const bool shows_inside = view.trace_values || view.keep_all_values || !view.keep_values.empty();
  std::vector<std::byte> bytes;
  if (is_compiled_here != nullptr) *is_compiled_here = false;
  if (IsStandard(model.path)) {
    TVMVM_TRY(bytes, ReadStandardInput());
  }
  const bool is_model = IsStandard(model.path) ? !IsProgram(bytes) : IsModelFile(model.path);
  if (!is_model) {
    if (model.precision != Precision::kF32)
      return MakeError(
          Code::kInvalidArgument,
          fmt::format("'{}': the precision is chosen where a model is compiled; this is a program",
                      model.path));
    if (!shows_inside) {
      TVMVM_TRY(ProgramPointer program, LoadChecked(model, bytes));
      PrintDetail(fmt::format("loaded '{}': {}, {}", model.path, ContentsOf(*program), Since(begin)));
      return program;
    }
    return MakeError(Code::kInvalidArgument,
                     fmt::format("'{}': values inside the model can be shown for models only, which are "
                                 "compiled for that; this is a program",
                                 model.path));
  }
  if (shows_inside && !view.trace_values && model.path.ends_with(".ir"))
    return MakeError(
        Code::kInvalidArgument,
        fmt::format("'{}': values inside the model can be written for .onnx files only", model.path));
  CompileOptions options;
  options.devices = model.devices;
  options.targets = model.targets;
  options.precision = model.precision;
  options.strict = model.strict;
  options.strict_onnx = model.import.strict_onnx;
  options.distinct_dims = model.import.distinct_dims;
  options.keep_all_values = view.keep_all_values;
  options.keep_values = view.keep_values;
  options.trace_values = view.trace_values;
  if (view.trace_values) options.disabled_passes = {"outline-loops"};  // so that each step is seen
  TVMVM_TRY(CompileResult result, CompileWithProgress(model.path, bytes, std::move(options)));
  if (is_compiled_here != nullptr) *is_compiled_here = true;
  if (kept) *kept = std::move(result.kept_values);
  PrintDetail(fmt::format("compiled '{}': {}, {}", model.path, ContentsOf(*result.program), Since(begin)));
  return result.program;
}

Status SaveModel(const Program& program, const std::string& path) {
  if (!IsStandard(path) && !IsSpecialFile(path)) return SaveProgram(program, BehindLinks(path));
  TVMVM_TRY(std::vector<std::byte> bytes, SerializeProgram(program));
  TVMVM_TRY(OutputFile file, OutputFile::Create(path));
  TVMVM_CHECK_OK(file.Write(bytes));
  return file.Commit();
}

Expected<VmOptions> TrustOf(const TrustArguments& trust) {
  const bool needs_keys = trust.trust == Trust::kSigned || trust.trust == Trust::kSignedKernels;
  if (needs_keys && trust.keys.empty())
    return MakeError(Code::kInvalidArgument, "--trust: --key names no public key to trust");
  VmOptions options;
  options.trust = trust.trust;
  options.signed_constants = trust.check_constants;
  TVMVM_TRY(options.trusted_keys, ReadPublicKeys(trust.keys));
  return options;
}

Expected<std::shared_ptr<Vm>> CreateVm(ProgramPointer program, const ModelArguments& model,
                                       bool is_compiled_here, std::shared_ptr<MemoryPool> memory) {
  VmOptions options;
  if (!is_compiled_here) {
    TVMVM_TRY(options, TrustOf(model.trust));
    options.allow_native = !model.no_native;
  }
  options.memory = std::move(memory);
  return CreateVm(std::move(program), model.threads, model.devices, std::move(options));
}

Expected<std::shared_ptr<Vm>> CreateVm(ProgramPointer program, int threads,
                                       const std::vector<std::string>& devices, VmOptions options) {
  options.threads = threads;
  const auto begin = std::chrono::steady_clock::now();
  TVMVM_TRY(options.devices, OpenGpus(devices));
  auto vm = Vm::Create(program, options);
  if (vm) PrintDetail(fmt::format("bound to {}, {}", DescribeDevices(**vm), Since(begin)));
  bool has_bitcode = std::ranges::any_of(program->libraries, [](const KernelLibrarySpec& library) {
    return library.form == KernelForm::kBitcode;
  });
  if (vm || vm.error().code != Code::kUnsupported || !has_bitcode || !options.allow_native) return vm;
  TVMVM_TRY(const Compiler* compiler, OpenCompiler());
  options.jit = compiler->CreateJit();
  return Vm::Create(std::move(program), options);
}

std::string DescribeDevices(const Vm& vm) {
  std::string text;
  std::vector<DeviceUse> devices = vm.Devices();
  for (auto device = devices.rbegin(); device != devices.rend(); ++device) {  // the GPU first
    const std::string count =
        text.empty() ? FormatCount(device->kernels, "kernel") : std::to_string(device->kernels);
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", count, device->name);
    if (!device->form.empty()) text += fmt::format(" ({})", device->form);
  }
  return text;
}

Json DevicesToJson(const Vm& vm) {
  Json list = Json::array();
  for (const DeviceUse& device : vm.Devices())
    list.push_back({{"name", device.name}, {"kernels", device.kernels}, {"form", device.form}});
  return list;
}

Limits LimitsOf(const LimitArguments& limits) {
  return {.max_bytes = limits.max_bytes,
          .max_steps = limits.max_steps,
          .timeout = std::chrono::nanoseconds(static_cast<int64_t>(limits.timeout_seconds * 1e9))};
}

}  // namespace tvmvm::cli
