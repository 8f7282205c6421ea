#include "cli/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/compiler_library.h"
#include "cli/console.h"
#include "cli/files.h"
#include "cli/open_devices.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::cli {

bool IsModelFile(const std::string& path) { return path.ends_with(".onnx") || path.ends_with(".ir"); }

Expected<CompileResult> CompileWithProgress(const std::string& path, CompileOptions options) {
  TVMVM_TRY(const Compiler* compiler, OpenCompiler());
  ProgressLine line;
  options.progress = [&line](const std::string& stage, double fraction) { line.Update(stage, fraction); };
  TVMVM_TRY(CompileResult result, compiler->CompileFile(path, options));
  line.Clear();
  for (const std::string& warning : result.warnings) PrintNote("warning: " + warning);
  return result;
}

Expected<ProgramPointer> LoadModel(const ModelArguments& model, ModelView view) {
  if (!IsModelFile(model.path)) {
    if (model.precision != Precision::kF32)
      return MakeError(
          Code::kInvalidArgument,
          fmt::format("'{}': the precision is chosen where a model is compiled; this is a program",
                      model.path));
    if (!view.trace_values && !view.keep_all_values) return LoadProgram(model.path);
    return MakeError(Code::kInvalidArgument,
                     fmt::format("'{}': values inside the model can be shown for models only, which are "
                                 "compiled for that; this is a program",
                                 model.path));
  }
  if (view.keep_all_values && !model.path.ends_with(".onnx"))
    return MakeError(
        Code::kInvalidArgument,
        fmt::format("'{}': values inside the model can be written for .onnx files only", model.path));
  CompileOptions options;
  options.devices = model.devices;
  options.targets = model.targets;
  options.precision = model.precision;
  options.strict_onnx = model.import.strict_onnx;
  options.distinct_dims = model.import.distinct_dims;
  options.keep_all_values = view.keep_all_values;
  options.trace_values = view.trace_values;
  if (view.trace_values) options.disabled_passes = {"outline-loops"};  // so that each step is seen
  TVMVM_TRY(CompileResult result, CompileWithProgress(model.path, std::move(options)));
  return result.program;
}

Status SaveModel(const Program& program, const std::string& path) {
  if (!IsSpecialFile(path)) return SaveProgram(program, path);
  TVMVM_TRY(std::vector<std::byte> bytes, SerializeProgram(program));
  TVMVM_TRY(OutputFile file, OutputFile::Create(path));
  TVMVM_CHECK_OK(file.Write(bytes));
  return file.Commit();
}

Expected<std::shared_ptr<Vm>> CreateVm(ProgramPointer program, const ModelArguments& model) {
  const bool is_ours = model.path.ends_with(".onnx");
  return CreateVm(std::move(program), model.threads, model.devices, is_ours || !model.no_native);
}

Expected<std::shared_ptr<Vm>> CreateVm(ProgramPointer program, int threads,
                                       const std::vector<std::string>& devices, bool allow_native) {
  VmOptions options;
  options.threads = threads;
  options.allow_native = allow_native;
  TVMVM_TRY(options.devices, OpenGpus(devices));
  auto vm = Vm::Create(program, options);
  bool has_bitcode = std::ranges::any_of(program->libraries, [](const KernelLibrarySpec& library) {
    return library.form == KernelForm::kBitcode;
  });
  if (vm || vm.error().code != Code::kUnsupported || !has_bitcode || !allow_native) return vm;
  TVMVM_TRY(const Compiler* compiler, OpenCompiler());
  options.jit = compiler->CreateJit();
  return Vm::Create(std::move(program), options);
}

std::string DescribeDevices(const Vm& vm) {
  std::string text;
  std::vector<DeviceUse> devices = vm.Devices();
  for (auto device = devices.rbegin(); device != devices.rend(); ++device) {  // the GPU first
    text += fmt::format("{}{}{} on {}", text.empty() ? "" : ", ", device->kernels,
                        text.empty() ? " kernels" : "", device->name);
    if (!device->form.empty()) text += fmt::format(" ({})", device->form);
  }
  return text;
}

Limits LimitsOf(const LimitArguments& limits) {
  return {.max_bytes = limits.max_bytes,
          .max_steps = limits.max_steps,
          .timeout = std::chrono::nanoseconds(static_cast<int64_t>(limits.timeout_seconds * 1e9))};
}

}  // namespace tvmvm::cli
