// The functions of c_api.h for devices.
#include <cstddef>

#include "tvm-vm/warm.h"
#include "vm/c/objects.h"
#include "vm/c/pool.h"
#include "vm/c/sized.h"

using tvmvm::Code;
using tvmvm::MakeError;
using tvmvm::Status;
using tvmvm::c::Guarded;
using tvmvm::c::NullArgument;
using tvmvm::c::ReadSized;

namespace {

tvmvm::Expected<tvmvm::DeviceOptions> OptionsFrom(const tvmvm_device_options* options) {
  tvmvm::DeviceOptions chosen = tvmvm::DeviceOptions::FromEnvironment();
  if (options == nullptr) return chosen;
  TVMVM_TRY(const tvmvm_device_options read,
            ReadSized(*options, offsetof(tvmvm_device_options, pool), "options"));
  TVMVM_CHECK_OK(tvmvm::c::CheckNotNegative(
      {{read.max_bytes, "options.max_bytes"}, {read.threads, "options.threads"}}));
  chosen.max_bytes = read.max_bytes;
  chosen.cpu.threads = read.threads;
  TVMVM_TRY(chosen.cpu.pool, tvmvm::c::PoolFrom(read.pool));
  if (read.cache_folder != nullptr) chosen.cache_folder = read.cache_folder;
  return chosen;
}

// One without texts where there is none.
const tvmvm::ListedDevice& Listed(const tvmvm_device_list* list, size_t index) {
  static const tvmvm::ListedDevice none;
  return index < tvmvm_device_list_size(list) ? list->devices[index] : none;
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
size_t tvmvm_device_list_size(const tvmvm_device_list* list) {
  return list != nullptr ? list->devices.size() : 0;
}
const char* tvmvm_device_list_name(const tvmvm_device_list* list, size_t index) {
  return Listed(list, index).name.c_str();
}
const char* tvmvm_device_list_hardware(const tvmvm_device_list* list, size_t index) {
  return Listed(list, index).description.hardware.c_str();
}
const char* tvmvm_device_list_driver(const tvmvm_device_list* list, size_t index) {
  return Listed(list, index).description.driver.c_str();
}
const char* tvmvm_device_list_api(const tvmvm_device_list* list, size_t index) {
  return Listed(list, index).description.api.c_str();
}
int64_t tvmvm_device_list_memory_bytes(const tvmvm_device_list* list, size_t index) {
  return Listed(list, index).description.memory_bytes;
}
const char* tvmvm_device_list_unusable(const tvmvm_device_list* list, size_t index) {
  return Listed(list, index).unusable.c_str();
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
const char* tvmvm_device_name(const tvmvm_device* device) {
  return device != nullptr ? device->device->name().c_str() : "";
}
tvmvm_status* tvmvm_device_get_statistics(const tvmvm_device* device, tvmvm_device_statistics* statistics) {
  return Guarded([&]() -> Status {
    if (device == nullptr || statistics == nullptr) return NullArgument("device or statistics");
    const tvmvm::DeviceStatistics found = device->device->statistics();
    const tvmvm_device_statistics written = {.size = 0,
                                             .live_bytes = found.live_bytes,
                                             .peak_bytes = found.peak_bytes,
                                             .held_bytes = found.held_bytes,
                                             .blocks = found.blocks,
                                             .launches = found.launches,
                                             .waits = found.waits};
    return tvmvm::c::WriteSized(written, sizeof written, "statistics", statistics);
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
