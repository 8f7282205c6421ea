// What a run of a program can reach.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "tvm-vm/program.h"

namespace tvmvm {

// What the functions that a run can reach use.
struct Uses {
  std::vector<bool> functions, kernels;
  bool classes[kDeviceClassCount] = {true, false};  // the CPU is always there
  std::set<uint32_t> gpu_constants;                 // that launches on the GPU name
};

// Of the functions that can be called when `entry` is run.
Uses UsesOf(const Program& program, FunctionId entry);
// The kernels of a class that a run uses, by KernelId.
std::vector<uint32_t> KernelsOf(const Program& program, const Uses& uses, DeviceClass wanted);

}  // namespace tvmvm
