// Which device of a kind is taken where nobody says which.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tvm-vm/device.h"

namespace tvmvm {

// A device that a machine has; its position among those of its kind is the number in its name.
struct FoundDevice {
  DeviceDescription description;
  std::string unusable;  // "" or why it cannot be opened
};

// The positions, the fastest device first: discrete GPUs, then integrated ones, virtual ones, CPUs, others;
// among equals the one with more memory, then the one that was found first. Unusable ones come last.
std::vector<size_t> FastestFirst(std::span<const FoundDevice> found);

}  // namespace tvmvm
