// OpenCL C source as a built program.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "devices/driver/cache_folder.h"
#include "devices/opencl/opencl_context.h"
#include "tvm-vm/device.h"

namespace tvmvm {

struct OpenClKernel {
  std::string symbol;
  uint32_t buffers = 0;
  uint32_t scalars = 0;
  std::array<size_t, 3> group = {1, 1, 1};

  uint32_t argument_count() const { return 2 + 2 * buffers + scalars + 1; }  // see kernel_abi.h
};

class OpenClKernelSet final : public KernelSet {
 public:
  // Errors: kUnsupported where no library is OpenCL C or a kernel's work-groups are too large;
  // kInvalidProgram with the compiler's words for source that does not build and for missing kernels. They
  // name kernel and device.
  static Expected<std::unique_ptr<KernelSet>> Create(std::shared_ptr<OpenClContext> context,
                                                     const CacheFolder& cache,
                                                     std::span<const KernelSpec> kernels,
                                                     std::span<const KernelLibrarySpec> libraries,
                                                     const LoadProgress& progress);
  ~OpenClKernelSet() override;

  std::string description() const override { return "OpenCL C"; }
  size_t size() const { return kernels_.size(); }
  const OpenClKernel& kernel(uint32_t index) const { return kernels_[index]; }
  // Kernel objects hold arguments: each queue has its own.
  Expected<cl_kernel> NewKernelObject(uint32_t index) const;
  uint64_t id() const { return id_; }  // no other set of this process has it

 private:
  explicit OpenClKernelSet(std::shared_ptr<OpenClContext> context);
  Status Build(const CacheFolder& cache, std::span<const std::byte> source, bool is_ahead);
  bool BuildFromBinary(const std::vector<std::byte>& binary, const std::string& options);
  Status BuildFromSource(std::span<const std::byte> source, const std::string& options);
  std::vector<std::byte> Binary() const;
  std::string BuildLog() const;
  Status Inspect(const KernelSpec& spec, uint32_t index);

  const std::shared_ptr<OpenClContext> context_;
  const uint64_t id_;
  cl_program program_ = nullptr;
  std::vector<OpenClKernel> kernels_;
};

}  // namespace tvmvm
