#include "tvm-vm/device.h"

namespace tvmvm {

const char* DeviceTypeName(DeviceType type) {
  switch (type) {
    case DeviceType::kDiscreteGpu:
      return "discrete GPU";
    case DeviceType::kIntegratedGpu:
      return "integrated GPU";
    case DeviceType::kVirtualGpu:
      return "virtual GPU";
    case DeviceType::kCpu:
      return "CPU";
    case DeviceType::kOther:
      break;
  }
  return "device";
}

Expected<std::shared_ptr<Device>> Device::Reopen() const {
  return MakeError(Code::kUnsupported, name() + ": this device is not opened anew");
}

}  // namespace tvmvm
