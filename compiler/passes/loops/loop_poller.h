// One loop whose steps depend on numbers that a device computes, without a wait of the host in each step.
// Where the condition comes from the host, those numbers are carried as tensors. Where it comes from the
// device, the loop becomes two:
//
//   outer: base = 0, width = 2, done = 0; while the counter is >= 0 and base < trip:
//     inner: `width` steps (fewer at the end), without a condition; nothing changes any more once the counter
//     is negative the host reads the counter; what the inner steps collected goes behind what was collected
//     before base += width; width = min(2 width, poll)
//
// Rows beyond the number of steps are cut off. What scalar bytecode carries is counted once more, in a loop
// of scalars, where it is used after the loop.
#pragma once

#include <set>
#include <vector>

#include "compiler/passes/loops/device_loop_body.h"

namespace tvmvm::passes {

struct PolledLoop {
  std::vector<ir::NodeId> nodes;  // that take the loop's place
  // What was collected of all steps: its length is known after the loop only, so it grows on the host.
  std::set<ir::ValueId> rows_on_host;
};

// `plan`: of this loop. The host looks at the condition once in `most_steps` steps at most. Errors:
// kInternal.
Expected<PolledLoop> PollLoop(PolledFunction* in, ir::NodeId loop, DeviceLoop plan, int64_t most_steps);

}  // namespace tvmvm::passes
