#include "cli/open_devices.h"

#include <optional>

#include "bytecode/device_kinds.h"
#include "tvm-vm/device_list.h"

namespace tvmvm::cli {

bool NamesCpu(const std::string& name) {
  const std::optional<DeviceKind> kind = KindOfSelection(name);
  return kind && ClassOf(*kind) == DeviceClass::kCpu;
}

Expected<std::vector<std::shared_ptr<Device>>> OpenGpus(const std::vector<std::string>& names) {
  std::vector<std::shared_ptr<Device>> devices;
  std::optional<Error> first_error;
  for (const std::string& name : names) {
    if (NamesCpu(name)) break;
    Expected<std::shared_ptr<Device>> device = OpenDevice(name, DeviceOptions::FromEnvironment());
    if (device)
      devices.push_back(*std::move(device));
    else if (!first_error)
      first_error = device.error();
  }
  if (devices.empty() && first_error) return tl::unexpected(*first_error);
  return devices;
}

}  // namespace tvmvm::cli
