// SPIR-V modules as compute pipelines.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bytecode/spirv_library.h"
#include "devices/vulkan/vulkan_pipeline_cache.h"
#include "tvm-vm/device.h"

namespace tvmvm {

struct VulkanKernel {
  std::string name;
  std::span<const uint32_t> module;  // the program's
  std::vector<Access> buffers;
  uint32_t scalars = 0;
  bool pushed = false;  // its arguments are push constants; else they lie in memory
};

// Pipelines that the cache on disk holds are made when they are first asked for: a program launches few of
// its kernels at once, the dims choose which. Without the cache all are compiled ahead, by several threads.
class VulkanKernelSet final : public KernelSet {
 public:
  // Errors: kUnsupported where no library is SPIR-V or a kernel needs what the device lacks; kInvalidProgram
  // for malformed or missing modules and those that the driver refuses. They name kernel and device.
  static Expected<std::unique_ptr<KernelSet>> Create(std::shared_ptr<VulkanContext> context,
                                                     const CacheFolder& cache,
                                                     std::span<const KernelSpec> kernels,
                                                     std::span<const KernelLibrarySpec> libraries,
                                                     const LoadProgress& progress);
  ~VulkanKernelSet() override;

  std::string description() const override { return "SPIR-V"; }
  const VulkanKernel& kernel(uint32_t index) const { return kernels_[index]; }
  size_t size() const { return kernels_.size(); }
  // Any thread may ask. Errors: as Create, should the driver refuse what it took before; kOutOfMemory.
  Expected<VkPipeline> PipelineOf(uint32_t index) const;
  bool has_pipeline(uint32_t index) const { return pipelines_[index] != VK_NULL_HANDLE; }
  VkPipelineLayout layout() const { return layout_; }
  uint64_t id() const { return id_; }  // no other set of this process has it

 private:
  explicit VulkanKernelSet(std::shared_ptr<VulkanContext> context);
  Status CreateLayout();
  Status AddKernel(const KernelSpec& spec, const SpirvLibrary& library);
  Status CreateAllPipelines(const LoadProgress& progress);
  Expected<VkPipeline> CreatePipeline(const VulkanKernel& kernel) const;

  const std::shared_ptr<VulkanContext> context_;
  const uint64_t id_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::optional<VulkanPipelineCache> cache_;
  std::vector<VulkanKernel> kernels_;
  // By kernel; null: not made yet.
  mutable std::vector<std::atomic<VkPipeline>> pipelines_;
  mutable std::mutex mutex_;  // of those made late
};

}  // namespace tvmvm
