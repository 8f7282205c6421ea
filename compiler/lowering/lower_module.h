// Graph IR + schedules -> Program: kernels are generated for every target, code is emitted, memory is laid
// out.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/schedules/schedule_cache.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::lowering {

// As --disable-pass names it: values take the memory of what dies where they are made.
inline constexpr std::string_view kShareMemory = "share-memory";

struct LoweringOptions {
  std::vector<TargetInfo> targets;  // CPU levels, at least one; a library is packed for each
  // For what is placed on a GPU: what schedules are made for, and the libraries that are packed.
  std::vector<TargetInfo> gpu_targets;
  std::vector<KernelForm> gpu_forms;
  bool bitcode = false;  // also pack LLVM bitcode, generic
  bool share_memory = true;
  bool trace_values = false;  // emit what a TraceObserver is told
  int threads = 1;            // for code generation
  // Names of inputs of the first function and the outputs that may take their memory; as DonateInputs left
  // them.
  std::vector<std::pair<std::string, std::string>> donate;
  Provenance provenance;
  std::function<void(const std::string& stage, double fraction)> progress;  // may be empty
};

// The GPUs that a placed module uses.
uint32_t GpuCount(const ir::Module& module);

// `gpu_modules` are the same model with groups placed on GPUs: the program then has an entry for so many
// devices of that class, too. Errors: kUnsupported or kInternal naming the source node.
Expected<std::shared_ptr<const Program>> LowerModule(const ir::Module& module, const LoweringOptions& options,
                                                     tensor::ScheduleCache* schedules,
                                                     std::span<const ir::Module> gpu_modules = {});

}  // namespace tvmvm::lowering
