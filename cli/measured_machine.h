// What was measured of this machine (machine_probe.h), kept in the cache folder: one file for each CPU, level
// and number of threads.
#pragma once

#include <string>
#include <string_view>

#include "cli/json.h"
#include "tvm-vm/profiler.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::cli {

struct MeasuredMachine {
  std::string cpu;  // as it names itself
  CpuLevel level = CpuLevel::kHost;
  int threads = 1;
  MachineLimits limits;
};

// From the folder, or measured now and stored there; `anew` measures in any case. An empty folder, or one
// that others may write to, keeps nothing.
MeasuredMachine MeasuredMachineFor(CpuLevel level, int threads, bool anew);
// Measures again, for something was seen to be faster than `machine` says, which was disturbed then: what is
// faster of both counts from now on.
void MeasureAgain(MeasuredMachine* machine);

Json ToJson(const MeasuredMachine& machine);
// The limits that ToJson wrote; without speeds where the text is no such thing, or of another machine.
MachineLimits LimitsFromJson(std::string_view text, const MeasuredMachine& machine);
// "AMD EPYC, x86-64-v4, 1 thread: 110 GFLOP/s, 230 GB/s in 8 KB, ..."
std::string Describe(const MeasuredMachine& machine);

}  // namespace tvmvm::cli
