// What a run of a program can reach.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "tvm-vm/program.h"

namespace tvmvm {

// What is used of a device.
struct DeviceUses {
  bool is_used = false;
  std::set<uint32_t> kernels;    // that are launched there, by KernelId
  std::set<uint32_t> constants;  // that launches there name, by ConstantId; not of the host's
};

// What the functions that a run can reach use.
struct Uses {
  std::vector<bool> functions;
  std::vector<DeviceUses> devices;  // by number; the host's CPU is always used
};

// Of the functions that can be called when `entry` is run.
Uses UsesOf(const Program& program, FunctionId entry);

}  // namespace tvmvm
