// The table of contents of the compiler: which passes run, in which order.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/compile_counters.h"
#include "compiler/passes/pass.h"
#include "tvm-vm/compiler.h"

namespace tvmvm {

std::span<const passes::Pass> PassPipeline();

// What the runner does around every pass: timing, printing, verifying, stopping.
struct PassRunner {
  const CompileOptions* options = nullptr;
  passes::PassContext context;
  ir::CompileCounters* counters = nullptr;                   // may be null
  std::vector<std::pair<std::string, double>> milliseconds;  // one for each stage that ran

  // Runs the passes of one stage on the module. `stopped` is set when options->stop_after ended it.
  Status Run(passes::PassStage stage, ir::Module& module, bool* stopped);
  // After a stage that is no pass ("import"): prints when asked.
  Status After(std::string_view stage, const ir::Module& module, bool* stopped);
};

}  // namespace tvmvm
