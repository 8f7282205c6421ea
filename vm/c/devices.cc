// The functions of c_api.h for devices.
#include "tvm-vm/warm.h"
#include "vm/c/objects.h"

using tvmvm::Code;
using tvmvm::MakeError;
using tvmvm::Status;
using tvmvm::c::Guarded;
using tvmvm::c::NullArgument;

namespace {

tvmvm::Expected<tvmvm::DeviceOptions> OptionsFrom(const tvmvm_device_options* options) {
  tvmvm::DeviceOptions chosen = tvmvm::DeviceOptions::FromEnvironment();
  if (options == nullptr) return chosen;
  if (options->size < sizeof *options)
    return MakeError(Code::kInvalidArgument, "options.size is " + std::to_string(options->size) +
                                                 ", at least " + std::to_string(sizeof *options) +
                                                 " is wanted");
  chosen.max_bytes = options->max_bytes;
  chosen.cpu.threads = options->threads;
  if (options->cache_folder != nullptr) chosen.cache_folder = options->cache_folder;
  return chosen;
}

const tvmvm::DeviceDescription& Description(const tvmvm_device_list* list, size_t index) {
  return list->devices[index].description;
}

}  // namespace

extern "C" {

tvmvm_status* tvmvm_device_list_create(tvmvm_device_list** list) {
  return Guarded([&]() -> Status {
    if (list == nullptr) return NullArgument("list");
    *list = new tvmvm_device_list{tvmvm::ListDevices().devices};
    return {};
  });
}
void tvmvm_device_list_free(tvmvm_device_list* list) { delete list; }
size_t tvmvm_device_list_size(const tvmvm_device_list* list) { return list->devices.size(); }
const char* tvmvm_device_list_name(const tvmvm_device_list* list, size_t index) {
  return list->devices[index].name.c_str();
}
const char* tvmvm_device_list_hardware(const tvmvm_device_list* list, size_t index) {
  return Description(list, index).hardware.c_str();
}
const char* tvmvm_device_list_driver(const tvmvm_device_list* list, size_t index) {
  return Description(list, index).driver.c_str();
}
const char* tvmvm_device_list_api(const tvmvm_device_list* list, size_t index) {
  return Description(list, index).api.c_str();
}
int64_t tvmvm_device_list_memory_bytes(const tvmvm_device_list* list, size_t index) {
  return Description(list, index).memory_bytes;
}
const char* tvmvm_device_list_unusable(const tvmvm_device_list* list, size_t index) {
  return list->devices[index].unusable.c_str();
}

tvmvm_status* tvmvm_device_open(const char* selection, const tvmvm_device_options* options,
                                tvmvm_device** device) {
  return Guarded([&]() -> Status {
    if (selection == nullptr || device == nullptr) return NullArgument("selection or device");
    TVMVM_TRY(const tvmvm::DeviceOptions chosen, OptionsFrom(options));
    TVMVM_TRY(std::shared_ptr<tvmvm::Device> opened, tvmvm::OpenDevice(selection, chosen));
    *device = new tvmvm_device{std::move(opened)};
    return {};
  });
}
void tvmvm_device_free(tvmvm_device* device) { delete device; }
const char* tvmvm_device_name(const tvmvm_device* device) { return device->device->name().c_str(); }
tvmvm_status* tvmvm_device_get_statistics(const tvmvm_device* device, tvmvm_device_statistics* statistics) {
  return Guarded([&]() -> Status {
    if (device == nullptr || statistics == nullptr) return NullArgument("device or statistics");
    if (statistics->size < sizeof *statistics)
      return MakeError(Code::kInvalidArgument, "statistics.size is " + std::to_string(statistics->size) +
                                                   ", at least " + std::to_string(sizeof *statistics) +
                                                   " is wanted");
    const tvmvm::DeviceStatistics found = device->device->statistics();
    statistics->live_bytes = found.live_bytes;
    statistics->peak_bytes = found.peak_bytes;
    statistics->held_bytes = found.held_bytes;
    statistics->blocks = found.blocks;
    statistics->launches = found.launches;
    statistics->waits = found.waits;
    return {};
  });
}
tvmvm_status* tvmvm_device_warm(const tvmvm_device* device, const tvmvm_program* program, size_t* kernels) {
  return Guarded([&]() -> Status {
    if (device == nullptr || program == nullptr) return NullArgument("device or program");
    TVMVM_TRY(const tvmvm::WarmResult result, tvmvm::WarmKernels(*program->program, *device->device));
    if (kernels != nullptr) *kernels = result.kernels;
    return {};
  });
}

}  // extern "C"
