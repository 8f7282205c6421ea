// Loop IR -> kernels for GPUs: OpenCL C, and GLSL that becomes SPIR-V. Knows no LLVM. The ABI of the kernels
// is bytecode/kernel_abi.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/codegen.h"
#include "tvm-vm/status.h"

namespace tvmvm::codegen {

// Whether code can be made of the kernel for the target; asked by placement. Errors: kUnsupported saying what
// the kernel needs and the target lacks.
Status CheckGpuKernel(const tensor::LoopKernel& kernel, const TargetInfo& target);

// One text for all kernels (kOpenClC), or a library of one SPIR-V module for each (kSpirV), and one by
// subgroups where that is another (kBySubgroups). Thread-safe.
// Errors: kUnsupported for a kernel that CheckGpuKernel refuses, or when SPIR-V is asked of a build without
// it; kInternal with the kernel's name.
Expected<std::vector<std::byte>> GenerateGpuLibrary(std::span<const KernelSource> kernels,
                                                    const CodegenOptions& options);

// The texts themselves, for tests and --print-after=codegen.
Expected<std::string> PrintOpenClC(std::span<const KernelSource> kernels);
Expected<std::string> PrintGlsl(const KernelSource& kernel, bool by_subgroups = false);
// Without type names and functions: what a reader wants to see.
Expected<std::string> PrintOpenClKernel(const KernelSource& kernel);
Expected<std::string> PrintGlslKernel(const KernelSource& kernel, bool by_subgroups = false);

// Whether this build makes SPIR-V.
bool CanMakeSpirv();

}  // namespace tvmvm::codegen
