// Devices as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "tvm-vm/device.h"

namespace tvmvm::python {

// tvm_vm.Device: shared by Vms and tensors.
struct DevicePointer {
  std::shared_ptr<Device> device;
};

void AddDevices(nanobind::module_& module);

}  // namespace tvmvm::python
