// SPIR-V modules as compute pipelines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/cache_folder.h"
#include "devices/device.h"
#include "devices/vulkan/vulkan_context.h"

namespace tvmvm {

struct VulkanKernel {
  VkPipeline pipeline = VK_NULL_HANDLE;
  std::vector<Access> buffers;
  uint32_t scalars = 0;
  bool pushed = false;  // its arguments are push constants; else they lie in memory
};

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
  VkPipelineLayout layout() const { return layout_; }
  uint64_t id() const { return id_; }  // no other set of this process has it

 private:
  explicit VulkanKernelSet(std::shared_ptr<VulkanContext> context);
  Status CreateLayout();
  Status CreatePipelines(std::span<const KernelSpec> kernels,
                         std::span<const std::span<const uint32_t>> modules, VkPipelineCache cache,
                         const LoadProgress& progress);
  Status CreatePipeline(const KernelSpec& spec, std::span<const uint32_t> module, VkPipelineCache cache,
                        VulkanKernel* kernel);

  const std::shared_ptr<VulkanContext> context_;
  const uint64_t id_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::vector<VulkanKernel> kernels_;
};

}  // namespace tvmvm
