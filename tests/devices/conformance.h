// What the conformance suite needs to know of the device that it is linked with. Each device has one file
// that defines DeviceUnderTest().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/devices/kernel_files.h"
#include "tvm-vm/device.h"
#include "tvm-vm/device_list.h"

namespace tvmvm::testing {

struct ConformanceDevice {
  // Code kNotFound: the suite is skipped with the message as reason.
  std::function<Expected<std::shared_ptr<Device>>(const DeviceOptions& options)> create;
  DeviceKind kind = DeviceKind::kCpu;
  KernelForm form = KernelForm::kSharedObject;
  std::string target;                          // of the kernel library
  std::vector<std::byte> library;              // the kernels of tests/devices/kernels/conformance.c
  std::map<std::string, std::string> skipped;  // case -> reason
};

const ConformanceDevice& DeviceUnderTest();

}  // namespace tvmvm::testing
