#include "devices.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "errors.h"
#include "tvm-vm/device_list.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tvmvm::python {
namespace {

nb::dict Describe(const std::string& name, const DeviceDescription& description) {
  nb::dict device;
  device["name"] = name;
  device["hardware"] = description.hardware;
  device["driver"] = description.driver;
  device["api"] = description.api;
  device["type"] = DeviceTypeName(description.type);
  device["memory_bytes"] = description.memory_bytes;
  device["features"] = description.features;
  return device;
}

nb::list List() {
  DeviceListing listing;
  {
    nb::gil_scoped_release unlocked;
    listing = ListDevices();
  }
  nb::list devices;
  for (const ListedDevice& listed : listing.devices) {
    nb::dict device = Describe(listed.name, listed.description);
    device["kind"] = DeviceKindName(listed.kind);
    device["unusable"] = listed.unusable;
    devices.append(device);
  }
  return devices;
}

DevicePointer Open(const std::string& selection, int64_t max_bytes) {
  DeviceOptions options = DeviceOptions::FromEnvironment();
  options.max_bytes = max_bytes;
  nb::gil_scoped_release unlocked;
  Expected<std::shared_ptr<Device>> device = OpenDevice(selection, options);
  nb::gil_scoped_acquire lock;
  return {OrRaise(std::move(device))};
}

nb::dict Statistics(const DevicePointer& pointer) {
  const DeviceStatistics statistics = pointer.device->statistics();
  nb::dict numbers;
  numbers["live_bytes"] = statistics.live_bytes;
  numbers["peak_bytes"] = statistics.peak_bytes;
  numbers["held_bytes"] = statistics.held_bytes;
  numbers["launches"] = statistics.launches;
  numbers["waits"] = statistics.waits;
  return numbers;
}

}  // namespace

void AddDevices(nb::module_& module) {
  nb::class_<DevicePointer>(module, "Device",
                            "A device that is open. Shared by any number of Vms and tensors.")
      .def(
          "__init__",
          [](DevicePointer* self, const std::string& selection, int64_t max_bytes) {
            new (self) DevicePointer(Open(selection, max_bytes));
          },
          "selection"_a, nb::kw_only(), "max_bytes"_a = 0,
          "Opens what is selected: \"vulkan\", \"opencl:1\", \"vulkan:nvidia\". `max_bytes` bounds the "
          "memory that "
          "it holds for all who use it.")
      .def_prop_ro("name", [](const DevicePointer& self) { return self.device->name(); })
      .def_prop_ro("is_cpu",
                   [](const DevicePointer& self) {
                     return ClassOf(self.device->target().device) == DeviceClass::kCpu;
                   })
      .def_prop_ro(
          "description",
          [](const DevicePointer& self) { return Describe(self.device->name(), self.device->description()); })
      .def("statistics", &Statistics, "Bytes handed out and held, launches, waits.")
      .def("__repr__",
           [](const DevicePointer& self) { return "tvm_vm.Device(" + self.device->name() + ")"; });
  module.def("list_devices", &List);
}

}  // namespace tvmvm::python
