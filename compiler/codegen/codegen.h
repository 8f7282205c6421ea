// Loop IR -> packed kernels. The only folder that knows LLVM (with compiler/jit).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/loops/loop_ir.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::codegen {

struct KernelSource {
  std::string symbol;  // unique in the library
  const tensor::LoopKernel* kernel =
      nullptr;  // vectorised or not: codegen runs Vectorize and ExpandMath as needed
  // The order of the launch's scalar arguments, shared by all levels of one program: a superset of what the
  // kernel needs (LaunchScalars). Empty: LaunchScalars(*kernel).
  std::vector<ir::Dim> scalars;
};

struct CodegenOptions {
  TargetInfo target;
  KernelForm form = KernelForm::kSharedObject;
  int threads = 1;
};

// Compiles the kernels for one target into one blob: an ELF shared object without imports or relocations
// beyond relative ones (kSharedObject), or one LLVM bitcode module (kBitcode). Thread-safe. Errors: kInternal
// with the kernel's name; kUnsupported for a dtype that the target cannot do.
Expected<std::vector<std::byte>> GenerateCpuLibrary(std::span<const KernelSource> kernels,
                                                    const CodegenOptions& options);

// The target of this machine: its level plus the features that the CPU has.
TargetInfo HostTarget();
// "host" or a level's name. Errors: kInvalidArgument listing the known names.
Expected<TargetInfo> TargetFromName(std::string_view name);
// LLVM IR of one kernel as text, for tests and --print-after=codegen.
Expected<std::string> PrintLlvm(const KernelSource& kernel, const CodegenOptions& options);

}  // namespace tvmvm::codegen
