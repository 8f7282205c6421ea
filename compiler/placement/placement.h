// Placement: which device runs what. Every group of a function goes to the GPU or to the CPU; where a value
// is needed on the other device, a `transfer` node copies it. What only the CPU can do (strings, sequences,
// the numbers that scalar bytecode reads, groups without a kernel for the GPU) stays there; of the rest, as
// much as possible goes to the GPU, but for what is tiny and lies between things of the CPU: the division is
// the cheapest one by an estimate of work and copies, found as a minimum cut. Where the CPU alone takes less
// time than a call of the GPU with all that belongs to it, everything stays on the CPU. Several GPUs share
// what one would get (divide.h).
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/schedules/schedule_cache.h"
#include "tvm-vm/status.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::placement {

struct PlacementOptions {
  TargetInfo gpu;                                // what kernels are made for
  std::vector<TargetInfo> cpu;                   // CPU levels, at least one
  std::vector<std::string> gpu_names = {"gpu"};  // one for each GPU that is to be used, for the table
  bool strict = false;                           // everything on the GPU; errors name what cannot be there
  bool prefer_gpu = false;  // the division as it is, though the CPU alone may take less time
};

// One group or other step of a model.
struct PlacementRow {
  std::string function;
  std::string what;    // "fused (6)", "if", "sequence.insert"
  std::string source;  // the model's node
  uint32_t device = kHostDevice;
  std::string reason;
  ir::NodeId node;
};

// A loop in whose steps the host waits for the GPU, although all that a step computes could be computed
// there.
struct WaitingLoop {
  size_t function = 0;  // its number in the module
  ir::NodeId loop;
  int64_t most_steps = 1;  // so many steps could be worth as much as a wait: see PollLoops
};

struct Placement {
  std::vector<PlacementRow> rows;
  std::vector<WaitingLoop> waiting;
};

// Places all functions of a module whose groups are formed. Errors: kUnsupported where `strict` is not
// possible, with all reasons; kInternal.
Expected<Placement> PlaceModule(ir::Module* module, const PlacementOptions& options,
                                tensor::ScheduleCache* schedules);

// The rows of a module that was changed after its groups were placed; `before` holds the reasons.
std::vector<PlacementRow> RowsOf(const ir::Module& module, const std::vector<PlacementRow>& before);

// The rows as a table for people.
std::string PlacementTable(const std::vector<PlacementRow>& rows, const PlacementOptions& options);

}  // namespace tvmvm::placement
