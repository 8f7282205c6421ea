// What this CPU can run: levels of packed code and the numbers that schedules and the JIT read.
#pragma once

#include "tvm-vm/device.h"
#include "tvm-vm/target_info.h"

namespace tvmvm {

// True when the CPU and the operating system run code of this level; kHost always.
bool HostRuns(CpuLevel level);
// The target of code made for exactly this machine.
TargetInfo HostTargetInfo();
// Its name, its level and what else matters; `workers` threads are used.
DeviceDescription DescribeHost(int workers);

}  // namespace tvmvm
