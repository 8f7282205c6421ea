// GPUs through Vulkan 1.1 with buffer device addresses. The loader is opened at run time: a program that
// never asks for a Vulkan device needs none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/found_device.h"
#include "tvm-vm/device.h"

namespace tvmvm {

struct VulkanDeviceOptions {
  int64_t max_bytes = 0;     // of device memory; 0: no limit
  std::string cache_folder;  // for pipelines; "": none are kept
  bool validation = false;   // with VK_LAYER_KHRONOS_validation: what it reports becomes an error of Wait
};

// All physical devices in the loader's order, the unusable ones too. Errors: kNotFound where there is no
// loader or driver, saying which.
Expected<std::vector<FoundDevice>> ListVulkanDevices();

// The device at that position of the list. Errors: kNotFound; kUnsupported naming what it lacks or, with
// validation, that the layer is missing.
Expected<std::shared_ptr<Device>> CreateVulkanDevice(int index, const VulkanDeviceOptions& options);

}  // namespace tvmvm
