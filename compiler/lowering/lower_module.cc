#include "compiler/lowering/lower_module.h"

#include <deque>

#include "bytecode/builder.h"
#include "compiler/lowering/constant_table.h"
#include "compiler/lowering/function_lowering.h"
#include "compiler/lowering/kernel_table.h"

namespace tvmvm::lowering {
namespace {

// Lowers all functions of a module; the result is the entry. Function names get `suffix`.
Expected<FunctionId> LowerFunctions(const ir::Module& module, const std::string& suffix,
                                    const LoweringContext& context) {
  // All are declared before any is emitted: functions may call each other.
  std::deque<FunctionLowering> functions;
  std::map<std::string, FunctionId> ids;
  for (const ir::Function& function : module.functions) {
    functions.emplace_back(function, function.name + suffix, module.Ranges(), context);
    ids.emplace(function.name, functions.back().id());
  }
  for (FunctionLowering& function : functions) TVMVM_CHECK_OK(function.Run(ids));
  return functions.front().id();
}

}  // namespace

Expected<std::shared_ptr<const Program>> LowerModule(const ir::Module& module, const LoweringOptions& options,
                                                     tensor::ScheduleCache* schedules,
                                                     const ir::Module* gpu) {
  Builder builder;
  KernelTable kernels(&options);
  ConstantTable constants(&builder, gpu != nullptr);
  const LoweringContext context{&options, &kernels, schedules, &constants, &builder};
  TVMVM_TRY(FunctionId entry, LowerFunctions(module, "", context));
  builder.SetEntry(entry);
  if (gpu != nullptr) {
    TVMVM_TRY(FunctionId gpu_entry, LowerFunctions(*gpu, ".gpu", context));
    builder.SetGpuEntry(gpu_entry);
  }
  builder.SetProvenance(options.provenance);
  schedules->counters().kernels_generated += kernels.CountGenerated();
  TVMVM_CHECK_OK(kernels.AddTo(&builder));  // ids follow the table's order, as the launches assume
  return builder.Finish();
}

}  // namespace tvmvm::lowering
