#include "devices/vulkan/vulkan_device.h"

#include "devices/vulkan/vulkan_queue.h"

namespace tvmvm {
namespace {

class VulkanDevice final : public Device {
 public:
  VulkanDevice(std::shared_ptr<VulkanContext> context, const VulkanDeviceOptions& options)
      : context_(std::move(context)),
        options_(options),
        target_(TargetOf(context_->hardware())),
        description_(Describe(context_->hardware())),
        cache_(options.cache_folder),
        memories_(context_, options.max_bytes) {}

  const std::string& name() const override { return context_->name(); }
  const TargetInfo& target() const override { return target_; }
  const DeviceDescription& description() const override { return description_; }

  Expected<DeviceMemory> Allocate(int64_t bytes, const CancelToken* cancel) override {
    TVMVM_CHECK_OK(context_->CheckHealth());
    TVMVM_TRY(const VulkanMemory::Piece* piece, memories_.device.Allocate(bytes, cancel));
    // What the host may only write, since reading takes a bus' way for each word, is not shared.
    char* host = context_->hardware().shares_memory ? VulkanMemory::HostOf(*piece) : nullptr;
    return DeviceMemory{host, reinterpret_cast<uint64_t>(piece), bytes};
  }
  void Free(const DeviceMemory& memory) override {
    if (memory.handle != 0) memories_.device.Free(&PieceOf(memory));
  }

  Expected<std::unique_ptr<KernelSet>> LoadKernels(std::span<const KernelSpec> kernels,
                                                   std::span<const KernelLibrarySpec> libraries,
                                                   const LoadProgress& progress) override {
    TVMVM_CHECK_OK(context_->CheckHealth());
    return VulkanKernelSet::Create(context_, cache_, kernels, libraries, progress);
  }

  Expected<std::unique_ptr<Queue>> NewQueue() override {
    TVMVM_CHECK_OK(context_->CheckHealth());
    return VulkanQueue::Create(context_, &memories_, &counts_);
  }

  DeviceStatistics statistics() const override { return counts_.With(memories_.device.statistics()); }

  Expected<std::shared_ptr<Device>> Reopen() const override {
    TVMVM_TRY(std::shared_ptr<VulkanContext> context, context_->Again());
    return std::make_shared<VulkanDevice>(std::move(context), options_);
  }

 private:
  const std::shared_ptr<VulkanContext> context_;
  const VulkanDeviceOptions options_;
  const TargetInfo target_;
  const DeviceDescription description_;
  const CacheFolder cache_;
  VulkanMemories memories_;
  QueueCounts counts_;
};

}  // namespace

Expected<std::vector<FoundDevice>> ListVulkanDevices() {
  TVMVM_TRY(const VulkanInstance* instance, VulkanInstance::Get(false));
  std::vector<FoundDevice> devices;
  for (VkPhysicalDevice device : instance->physical_devices()) {
    const VulkanHardware hardware = ReadHardware(instance->functions(), device);
    devices.push_back({Describe(hardware), hardware.unusable});
  }
  if (devices.empty()) return MakeError(Code::kNotFound, "the Vulkan drivers have no device");
  return devices;
}

Expected<std::shared_ptr<Device>> CreateVulkanDevice(int index, const VulkanDeviceOptions& options) {
  TVMVM_TRY(VulkanInstance * instance, VulkanInstance::Get(options.validation));
  const std::vector<VkPhysicalDevice>& devices = instance->physical_devices();
  if (index < 0 || static_cast<size_t>(index) >= devices.size())
    return MakeError(Code::kNotFound, "no Vulkan device " + std::to_string(index) + ": there are " +
                                          std::to_string(devices.size()));
  const VulkanHardware hardware = ReadHardware(instance->functions(), devices[static_cast<size_t>(index)]);
  TVMVM_TRY(std::shared_ptr<VulkanContext> context,
            VulkanContext::Create(instance, hardware, "vulkan:" + std::to_string(index)));
  return std::make_shared<VulkanDevice>(std::move(context), options);
}

}  // namespace tvmvm
