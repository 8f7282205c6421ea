#include "devices/vulkan/vulkan_kernels.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "bytecode/digest.h"
#include "bytecode/spirv_library.h"
#include "devices/vulkan/spirv_needs.h"

namespace tvmvm {
namespace {

// What the driver's cache depends on: device, driver, the modules.
std::string CacheKey(const VulkanHardware& hardware, std::span<const std::byte> library) {
  const VkPhysicalDeviceProperties& properties = hardware.properties;
  std::string key = "vulkan pipelines 1\n" + std::string(properties.deviceName) + "\n" + hardware.driver;
  for (uint32_t number : {properties.vendorID, properties.deviceID, properties.driverVersion})
    key += "\n" + std::to_string(number);
  Digest uuid;
  static_assert(sizeof uuid.bytes == VK_UUID_SIZE);
  std::memcpy(uuid.bytes.data(), properties.pipelineCacheUUID, VK_UUID_SIZE);
  return key + "\n" + uuid.Hex() + "\n" + DigestOf(library).Hex();
}

// The driver's own cache, filled from the folder; written back where it grew.
class PipelineCache {
 public:
  PipelineCache(VulkanContext* context, const CacheFolder& folder, std::span<const std::byte> library)
      : context_(context), folder_(folder), key_(CacheKey(context->hardware(), library)) {
    const std::optional<std::vector<std::byte>> stored = folder_.Load(key_);
    VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    if (stored) {
      info.initialDataSize = stored->size();
      info.pInitialData = stored->data();
      stored_bytes_ = stored->size();
    }
    // Without a cache pipelines are made all the same.
    if (context_->f().CreatePipelineCache(context_->device(), &info, nullptr, &cache_) != VK_SUCCESS)
      cache_ = VK_NULL_HANDLE;
  }
  ~PipelineCache() { context_->f().DestroyPipelineCache(context_->device(), cache_, nullptr); }
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  VkPipelineCache get() const { return cache_; }

  void Save() const {
    size_t size = 0;
    if (cache_ == VK_NULL_HANDLE ||
        context_->f().GetPipelineCacheData(context_->device(), cache_, &size, nullptr) != VK_SUCCESS ||
        size <= stored_bytes_)
      return;
    std::vector<std::byte> data(size);
    if (context_->f().GetPipelineCacheData(context_->device(), cache_, &size, data.data()) != VK_SUCCESS)
      return;
    folder_.Store(key_, std::span(data).first(size));
  }

 private:
  VulkanContext* context_;
  const CacheFolder& folder_;
  const std::string key_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  size_t stored_bytes_ = 0;
};

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
  std::vector<std::span<const uint32_t>> modules;
  for (const KernelSpec& kernel : kernels) {
    modules.push_back(ModuleFor(library, kernel.symbol, set->context_->hardware()));
    if (modules.back().empty())
      return MakeError(
          Code::kInvalidProgram,
          "kernel '" + kernel.name + "': the SPIR-V library has no symbol '" + kernel.symbol + "'");
    if (std::string lacks = MissingFor(modules.back(), set->context_->hardware()); !lacks.empty())
      return MakeError(Code::kUnsupported, "kernel '" + kernel.name + "' needs " + lacks + ", which " +
                                               set->context_->name() + " (" +
                                               set->context_->hardware().properties.deviceName + ") lacks");
  }
  TVMVM_CHECK_OK(set->CreateLayout());
  const PipelineCache pipelines(set->context_.get(), cache, found->bytes);
  TVMVM_CHECK_OK(set->CreatePipelines(kernels, modules, pipelines.get(), progress));
  pipelines.Save();
  TVMVM_CHECK_OK(set->context_->CheckHealth());
  return set;
}

VulkanKernelSet::~VulkanKernelSet() {
  for (const VulkanKernel& kernel : kernels_)
    context_->f().DestroyPipeline(context_->device(), kernel.pipeline, nullptr);
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

// Drivers compile one pipeline on one thread: several threads share the work.
Status VulkanKernelSet::CreatePipelines(std::span<const KernelSpec> kernels,
                                        std::span<const std::span<const uint32_t>> modules,
                                        VkPipelineCache cache, const LoadProgress& progress) {
  constexpr size_t kKernelsPerThread = 2, kMostThreads = 16;
  kernels_.resize(kernels.size());
  std::atomic<size_t> next{0};
  size_t ready = 0;
  std::mutex mutex;
  Status first;
  auto work = [&] {
    for (size_t i = next++; i < kernels.size(); i = next++) {
      Status status = CreatePipeline(kernels[i], modules[i], cache, &kernels_[i]);
      std::lock_guard lock(mutex);
      if (status) {
        ++ready;
        if (progress) progress(ready);
        continue;
      }
      if (first) first = std::move(status);
      next = kernels.size();
    }
  };
  const size_t useful = std::min<size_t>(kernels.size() / kKernelsPerThread, kMostThreads);
  const size_t threads = std::min<size_t>(useful, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (size_t i = 1; i < threads; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;
    }
  }
  work();
  for (std::thread& thread : others) thread.join();
  return first;
}

Status VulkanKernelSet::CreatePipeline(const KernelSpec& spec, std::span<const uint32_t> module,
                                       VkPipelineCache cache, VulkanKernel* kernel) {
  const VulkanDeviceFunctions& f = context_->f();
  kernel->buffers = spec.buffers;
  kernel->scalars = spec.scalar_count;
  kernel->pushed = ArgumentsArePushed(kernel->buffers.size(), kernel->scalars);

  VkShaderModuleCreateInfo shader{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  shader.codeSize = module.size_bytes();
  shader.pCode = module.data();
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.layout = layout_;
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.pName = "main";
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT subgroup{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT};
  subgroup.requiredSubgroupSize = kMatrixSubgroup;
  if (context_->hardware().asks_for_subgroups && HasMatrices(module)) {
    info.stage.pNext = &subgroup;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
  }
  VkResult result = f.CreateShaderModule(context_->device(), &shader, nullptr, &info.stage.module);
  if (result == VK_SUCCESS) {
    result = f.CreateComputePipelines(context_->device(), cache, 1, &info, nullptr, &kernel->pipeline);
    f.DestroyShaderModule(context_->device(), info.stage.module, nullptr);
  }
  if (result == VK_SUCCESS) return {};
  Error error = VulkanError(result, "kernel '" + spec.name + "' does not build on " + context_->name() +
                                        " (" + context_->hardware().properties.deviceName + ")");
  if (error.code == Code::kUnsupported) error.code = Code::kInvalidProgram;
  return tl::unexpected(std::move(error));
}

}  // namespace tvmvm
