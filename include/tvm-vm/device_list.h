// The devices of this build, and how one is selected: "cpu", "opencl", "opencl:1", "vulkan:nvidia".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tvm-vm/cpu_device.h"
#include "tvm-vm/device.h"
#include "tvm-vm/export.h"

namespace tvmvm {

struct DeviceOptions {
  int64_t max_bytes = 0;     // of memory of devices that have their own; 0: no limit
  std::string cache_folder;  // for what drivers compile; "": nothing is kept
  bool validation = false;   // Vulkan: with the validation layer
  CpuDeviceOptions cpu;

  // With DefaultCacheFolder(), and validation where $TVMVM_VULKAN_VALIDATION is 1.
  TVMVM_EXPORT static DeviceOptions FromEnvironment();
  // Why nothing is kept in the folder that is there; "" where it is used, or is yet to be made.
  TVMVM_EXPORT std::string CacheProblem() const;
};

struct ListedDevice {
  std::string name;  // what selects it: "cpu", "opencl:0"
  DeviceKind kind = DeviceKind::kCpu;
  DeviceDescription description;
  std::string unusable;  // "" or why it cannot be opened
};

struct DeviceListing {
  std::vector<ListedDevice> devices;
  std::vector<std::string> absent;  // kinds without device: "opencl: no OpenCL platform is installed"
};

// Asks every loader of this build; the devices of a kind come with the fastest first (DeviceType, then
// memory), and each keeps the number that it has in its kind. Never fails: what does not answer is in
// `absent`.
TVMVM_EXPORT DeviceListing ListDevices();

// `selection` is a kind ("cpu", "opencl", "vulkan", "null"), alone or with a position ("opencl:1") or a part
// of the hardware's or driver's name ("vulkan:nvidia", upper or lower case alike); of several that fit the
// fastest usable one. Errors: kInvalidArgument for a kind that does not exist; kNotFound with a list of what
// there is; whatever opening the device says.
TVMVM_EXPORT Expected<std::shared_ptr<Device>> OpenDevice(std::string_view selection,
                                                          const DeviceOptions& options);

}  // namespace tvmvm
