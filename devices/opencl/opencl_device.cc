#include "devices/opencl/opencl_device.h"

#include "devices/opencl/opencl_queue.h"

namespace tvmvm {
namespace {

class OpenClDevice final : public Device {
 public:
  OpenClDevice(std::shared_ptr<OpenClContext> context, const OpenClDeviceOptions& options)
      : context_(std::move(context)),
        options_(options),
        target_(TargetOf(context_->hardware(), context_->shares_memory())),
        description_(Describe(context_->hardware(), context_->shares_memory())),
        cache_(options.cache_folder) {}

  const std::string& name() const override { return context_->name(); }
  const TargetInfo& target() const override { return target_; }
  const DeviceDescription& description() const override { return description_; }

  // Drivers take the memory when it is first used.
  Expected<DeviceMemory> Allocate(int64_t bytes, const CancelToken*) override {
    TVMVM_CHECK_OK(context_->CheckHealth());
    TVMVM_TRY(const OpenClContext::Piece* piece, context_->Allocate(bytes));
    return DeviceMemory{OpenClContext::HostOf(*piece), reinterpret_cast<uint64_t>(piece), bytes};
  }
  void Free(const DeviceMemory& memory) override {
    if (memory.handle != 0) context_->Free(&OpenClPieceOf(memory));
  }

  Expected<std::unique_ptr<KernelSet>> LoadKernels(std::span<const KernelSpec> kernels,
                                                   std::span<const KernelLibrarySpec> libraries,
                                                   const LoadProgress& progress) override {
    TVMVM_CHECK_OK(context_->CheckHealth());
    return OpenClKernelSet::Create(context_, cache_, kernels, libraries, progress);
  }

  Expected<std::unique_ptr<Queue>> NewQueue() override { return OpenClQueue::Create(context_, &counts_); }

  DeviceStatistics statistics() const override { return counts_.With(context_->statistics()); }

  Expected<std::shared_ptr<Device>> Reopen() const override {
    TVMVM_TRY(std::shared_ptr<OpenClContext> context,
              OpenClContext::Create(context_->f(), context_->hardware(), name(), options_.max_bytes));
    return std::make_shared<OpenClDevice>(std::move(context), options_);
  }

 private:
  const std::shared_ptr<OpenClContext> context_;
  const OpenClDeviceOptions options_;
  const TargetInfo target_;
  const DeviceDescription description_;
  const CacheFolder cache_;
  QueueCounts counts_;
};

}  // namespace

Expected<std::vector<FoundDevice>> ListOpenClDevices() {
  TVMVM_TRY(const OpenClFunctions* f, OpenClFunctions::Get());
  TVMVM_TRY(const std::vector<OpenClHardware> found, FindOpenClHardware(*f));
  std::vector<FoundDevice> devices;
  for (const OpenClHardware& hardware : found)
    devices.push_back({Describe(hardware, hardware.is_cpu && hardware.unified_memory), hardware.unusable});
  return devices;
}

Expected<std::shared_ptr<Device>> CreateOpenClDevice(int index, const OpenClDeviceOptions& options) {
  TVMVM_TRY(const OpenClFunctions* f, OpenClFunctions::Get());
  TVMVM_TRY(const std::vector<OpenClHardware> found, FindOpenClHardware(*f));
  if (index < 0 || static_cast<size_t>(index) >= found.size())
    return MakeError(Code::kNotFound, "no OpenCL device " + std::to_string(index) + ": there are " +
                                          std::to_string(found.size()));
  TVMVM_TRY(std::shared_ptr<OpenClContext> context,
            OpenClContext::Create(*f, found[static_cast<size_t>(index)], "opencl:" + std::to_string(index),
                                  options.max_bytes));
  return std::make_shared<OpenClDevice>(std::move(context), options);
}

}  // namespace tvmvm
