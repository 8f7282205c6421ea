// Devices through OpenCL 1.2. The ICD loader is opened at run time: a program that never asks for an OpenCL
// device needs none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/found_device.h"
#include "tvm-vm/device.h"

namespace tvmvm {

struct OpenClDeviceOptions {
  int64_t max_bytes = 0;     // of device memory; 0: no limit
  std::string cache_folder;  // for built programs; "": none are kept
};

// All devices of all platforms in the loader's order, the unusable ones too. Errors: kNotFound where there is
// no loader, platform or device, saying which.
Expected<std::vector<FoundDevice>> ListOpenClDevices();

// The device at that position of the list. Errors: kNotFound; kUnsupported naming what it lacks.
Expected<std::shared_ptr<Device>> CreateOpenClDevice(int index, const OpenClDeviceOptions& options);

}  // namespace tvmvm
