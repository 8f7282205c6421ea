// The devices that --device names, opened.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tvm-vm/device.h"
#include "tvm-vm/status.h"

namespace tvmvm::cli {

// Whether a device's selection means the CPU.
bool NamesCpu(const std::string& name);

// For VmOptions::devices: those GPUs in front of "cpu" that are there; nothing where "cpu" comes first, which
// the Vm makes itself. Errors: where none of them is there, those of the first, as kNotFound.
Expected<std::vector<std::shared_ptr<Device>>> OpenGpus(const std::vector<std::string>& names);

}  // namespace tvmvm::cli
