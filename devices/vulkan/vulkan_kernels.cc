#include "devices/vulkan/vulkan_kernels.h"

#include <algorithm>
#include <thread>

#include "bytecode/guarded.h"
#include "bytecode/kernel_abi.h"
#include "devices/vulkan/spirv_needs.h"

namespace tvmvm {
namespace {

const KernelLibrarySpec* FindLibrary(std::span<const KernelLibrarySpec> libraries) {
  for (const KernelLibrarySpec& library : libraries)
    if (library.form == KernelForm::kSpirV) return &library;
  return nullptr;
}

uint64_t NewId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

VulkanKernelSet::VulkanKernelSet(std::shared_ptr<VulkanContext> context)
    : context_(std::move(context)), id_(NewId()) {}

Expected<std::unique_ptr<KernelSet>> VulkanKernelSet::Create(std::shared_ptr<VulkanContext> context,
                                                             const CacheFolder& cache,
                                                             std::span<const KernelSpec> kernels,
                                                             std::span<const KernelLibrarySpec> libraries,
                                                             const LoadProgress& progress) {
  std::unique_ptr<VulkanKernelSet> set(new VulkanKernelSet(std::move(context)));
  if (kernels.empty()) return set;
  const KernelLibrarySpec* found = FindLibrary(libraries);
  if (found == nullptr)
    return MakeError(Code::kUnsupported, set->context_->name() + ": the program holds no SPIR-V kernels");
  TVMVM_TRY(const SpirvLibrary library, SpirvLibrary::Open(found->bytes));
  for (const KernelSpec& kernel : kernels) TVMVM_CHECK_OK(set->AddKernel(kernel, library));
  set->pipelines_ = std::vector<std::atomic<VkPipeline>>(kernels.size());
  TVMVM_CHECK_OK(set->CreateLayout());
  set->cache_.emplace(set->context_, cache, found->bytes);
  if (progress || !set->cache_->was_stored()) {
    TVMVM_CHECK_OK(set->CreateAllPipelines(progress));
    set->cache_->Save();
  }
  TVMVM_CHECK_OK(set->context_->CheckHealth());
  return set;
}

VulkanKernelSet::~VulkanKernelSet() {
  // The driver may have compiled once more what was stored. A set that was not made whole leaves nothing.
  if (cache_ && cache_->was_stored())
    (void)Guarded([&]() -> Status {
      cache_->Save();
      return {};
    });
  for (VkPipeline pipeline : pipelines_) context_->f().DestroyPipeline(context_->device(), pipeline, nullptr);
  context_->f().DestroyPipelineLayout(context_->device(), layout_, nullptr);
}

Status VulkanKernelSet::CreateLayout() {
  VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushConstantBytes};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  return context_->Check(context_->f().CreatePipelineLayout(context_->device(), &info, nullptr, &layout_),
                         "vkCreatePipelineLayout");
}

Status VulkanKernelSet::AddKernel(const KernelSpec& spec, const SpirvLibrary& library) {
  const VulkanHardware& hardware = context_->hardware();
  VulkanKernel& kernel = kernels_.emplace_back();
  kernel.name = spec.name;
  kernel.module = ModuleFor(library, spec.symbol, hardware);
  kernel.buffers = spec.buffers;
  kernel.scalars = spec.scalar_count;
  kernel.pushed = ArgumentsArePushed(kernel.buffers.size(), kernel.scalars);
  if (kernel.module.empty())
    return MakeError(Code::kInvalidProgram,
                     "kernel '" + spec.name + "': the SPIR-V library has no symbol '" + spec.symbol + "'");
  if (std::string lacks = MissingFor(kernel.module, hardware); !lacks.empty())
    return MakeError(Code::kUnsupported, "kernel '" + spec.name + "' needs " + lacks + ", which " +
                                             context_->name() + " (" + hardware.properties.deviceName +
                                             ") lacks");
  return {};
}

// Drivers compile one pipeline on one thread: several threads share the work.
Status VulkanKernelSet::CreateAllPipelines(const LoadProgress& progress) {
  constexpr size_t kKernelsPerThread = 2, kMostThreads = 16;
  std::atomic<size_t> next{0};
  size_t ready = 0;
  std::mutex mutex;
  Status first;
  auto work = [&] {
    for (size_t i = next++; i < kernels_.size(); i = next++) {
      Expected<VkPipeline> pipeline = Guarded([&] { return CreatePipeline(kernels_[i]); });
      std::lock_guard lock(mutex);
      if (pipeline) {
        pipelines_[i] = *pipeline;
        if (progress) progress(++ready);
        continue;
      }
      if (first) first = tl::unexpected(std::move(pipeline.error()));
      next = kernels_.size();
    }
  };
  const size_t useful = std::min<size_t>(kernels_.size() / kKernelsPerThread, kMostThreads);
  const size_t threads = std::min<size_t>(useful, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  try {
    for (size_t i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::exception&) {  // no more threads, or no memory for one
  }
  work();
  for (std::thread& thread : others) thread.join();
  return first;
}

Expected<VkPipeline> VulkanKernelSet::PipelineOf(uint32_t index) const {
  std::atomic<VkPipeline>& pipeline = pipelines_[index];
  if (VkPipeline made = pipeline.load(std::memory_order_acquire); made != VK_NULL_HANDLE) [[likely]]
    return made;
  std::lock_guard lock(mutex_);
  if (pipeline == VK_NULL_HANDLE) {
    TVMVM_TRY(pipeline, CreatePipeline(kernels_[index]));
  }
  return pipeline.load();
}

Expected<VkPipeline> VulkanKernelSet::CreatePipeline(const VulkanKernel& kernel) const {
  const VulkanDeviceFunctions& f = context_->f();
  const std::vector<uint32_t> module = KeepingNan(kernel.module, context_->hardware());
  VkShaderModuleCreateInfo shader{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  shader.codeSize = std::span(module).size_bytes();
  shader.pCode = module.data();
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.layout = layout_;
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.pName = "main";
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT subgroup{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT};
  subgroup.requiredSubgroupSize = kMatrixSubgroup;
  if (context_->hardware().asks_for_subgroups && HasMatrices(kernel.module)) {
    info.stage.pNext = &subgroup;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
  }
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkResult result = f.CreateShaderModule(context_->device(), &shader, nullptr, &info.stage.module);
  if (result == VK_SUCCESS) {
    result = f.CreateComputePipelines(context_->device(), cache_->get(), 1, &info, nullptr, &pipeline);
    f.DestroyShaderModule(context_->device(), info.stage.module, nullptr);
  }
  if (context_->Check(result, "vkCreateComputePipelines")) return pipeline;  // a loss is remembered
  Error error = VulkanError(result, "kernel '" + kernel.name + "' does not build on " + context_->name() +
                                        " (" + context_->hardware().properties.deviceName + ")");
  if (error.code == Code::kUnsupported) error.code = Code::kInvalidProgram;
  return tl::unexpected(std::move(error));
}

}  // namespace tvmvm
