// Compiles one loop IR kernel to a shared object for a CPU level and calls it.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "bytecode/kernel_abi.h"
#include "compiler/codegen/codegen.h"

namespace tvmvm::codegen {

// Levels of this machine, lowest first.
inline std::vector<CpuLevel> LevelsHere() {
  std::vector<CpuLevel> levels = {CpuLevel::kX86_64_V3};
  if (HostTarget().vector_bits == 512) levels.push_back(CpuLevel::kX86_64_V4);
  if (HostTarget().vector_bits == 512 && HostTarget().has_vnni) levels.push_back(CpuLevel::kX86_64_V4Vnni);
  return levels;
}

class CompiledKernel {
 public:
  CompiledKernel(const tensor::LoopKernel& kernel, CpuLevel level)
      : dims_(tensor::LaunchScalars(kernel)), kernel_(kernel) {
    KernelSource source{"kernel_under_test", &kernel};
    CodegenOptions options;
    options.target = TargetInfoFor(level);
    Expected<std::vector<std::byte>> library = GenerateCpuLibrary({&source, 1}, options);
    if (!library) {
      ADD_FAILURE() << library.error().message;
      return;
    }
    static std::atomic<int> count = 0;
    int descriptor = memfd_create("kernel", 0);
    EXPECT_EQ(write(descriptor, library->data(), library->size()), static_cast<ssize_t>(library->size()));
    std::string alias = fmt::format("/proc/{}/fd/./{}{}", getpid(),
                                    std::string(static_cast<size_t>(count++ % 1000), '/'), descriptor);
    handle_ = dlopen(alias.c_str(), RTLD_NOW | RTLD_LOCAL);
    close(descriptor);
    if (!handle_) {
      ADD_FAILURE() << dlerror();
      return;
    }
    function_ = reinterpret_cast<KernelFunction>(dlsym(handle_, "kernel_under_test"));
    EXPECT_NE(function_, nullptr);
  }
  ~CompiledKernel() {
    if (handle_) dlclose(handle_);
  }
  CompiledKernel(const CompiledKernel&) = delete;
  CompiledKernel& operator=(const CompiledKernel&) = delete;

  // Runs the whole grid for the given values of symbols, in so many pieces, the last one first. -1: did not
  // compile.
  int32_t Run(std::vector<void*> buffers,
              const std::function<std::optional<int64_t>(const ir::SymbolId&)>& symbols = {},
              void* scratch = nullptr, int64_t pieces = 1) const {
    if (!function_) return -1;
    auto value_of = [&](const ir::Dim& dim) {
      return dim.is_constant() ? dim.value() : ir::Evaluate(dim, symbols).value();
    };
    std::vector<int64_t> scalars;
    for (const ir::Dim& dim : dims_) scalars.push_back(value_of(dim));
    int64_t points = 1;
    for (const ir::Dim& size : kernel_.grid_size) points *= value_of(size);
    KernelPoll poll{INT64_MAX, nullptr, nullptr};  // nobody asks
    KernelArgs arguments{buffers.data(), scalars.data(), scratch, &poll};
    for (int64_t piece = pieces; piece-- > 0;) {
      const int64_t begin = points * piece / pieces, end = points * (piece + 1) / pieces;
      if (int32_t code = function_(&arguments, begin, end); code != 0) return code;
    }
    return 0;
  }
  KernelFunction function() const { return function_; }

 private:
  std::vector<ir::Dim> dims_;
  const tensor::LoopKernel& kernel_;
  void* handle_ = nullptr;
  KernelFunction function_ = nullptr;
};

}  // namespace tvmvm::codegen
