// What the compiler did, counted: the same on every machine, so that a test can hold it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tvmvm::ir {

struct CompileCounters {
  int64_t imported_nodes = 0;     // that the importer made, attempts included
  int64_t imported_graphs = 0;    // subgraphs, each as often as it was imported
  int64_t pass_nodes = 0;         // that the module had after a pass, summed over the passes
  int64_t placements = 0;         // of functions
  int64_t schedules_asked = 0;    // of a group for a target
  int64_t schedules_made = 0;     // of these, those that nobody had asked for before
  int64_t kernels_built = 0;      // by schedules
  int64_t loops_described = 0;    // for a target, to see whether they can be one kernel
  int64_t kernels_generated = 0;  // code for a kernel and a target

  std::vector<std::pair<std::string, int64_t>> List() const {
    return {{"nodes imported", imported_nodes},       {"graphs imported", imported_graphs},
            {"nodes after passes", pass_nodes},       {"placements", placements},
            {"schedules asked for", schedules_asked}, {"schedules made", schedules_made},
            {"kernels built", kernels_built},         {"loops described", loops_described},
            {"kernels generated", kernels_generated}};
  }
};

}  // namespace tvmvm::ir
