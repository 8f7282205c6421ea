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
  if (!context.options->donate.empty()) functions.front().Donate(context.options->donate);
  for (FunctionLowering& function : functions) TVMVM_CHECK_OK(function.Run(ids));
  return functions.front().id();
}

}  // namespace

uint32_t GpuCount(const ir::Module& module) {
  uint32_t count = 0;
  for (const ir::Function& function : module.functions)
    count = std::max(count, ir::DeviceCount(function) - ir::kFirstGpu);
  return count;
}

Expected<std::shared_ptr<const Program>> LowerModule(const ir::Module& module, const LoweringOptions& options,
                                                     tensor::ScheduleCache* schedules,
                                                     std::span<const ir::Module> gpu_modules) {
  Builder builder;
  KernelTable kernels(&options);
  ConstantTable constants(&builder);
  const LoweringContext context{&options, &kernels, schedules, &constants, &builder};
  TVMVM_TRY(FunctionId entry, LowerFunctions(module, "", context));
  builder.SetEntry(entry);
  std::vector<DeviceSpec> devices = {ir::SpecOf(kHostDevice), ir::SpecOf(ir::kFirstGpu)};
  for (const ir::Module& gpu_module : gpu_modules) {
    const uint32_t gpus = GpuCount(gpu_module);
    while (devices.size() < ir::kFirstGpu + gpus)
      devices.push_back(ir::SpecOf(static_cast<uint32_t>(devices.size())));
    const std::string suffix = gpus <= 1 ? ".gpu" : ".gpu" + std::to_string(gpus);
    DeviceEntry entry;
    TVMVM_TRY(entry.function, LowerFunctions(gpu_module, suffix, context));
    for (uint32_t gpu = 0; gpu < std::max(gpus, 1u); ++gpu) entry.devices.push_back(ir::kFirstGpu + gpu);
    entry.devices.push_back(kHostDevice);
    builder.AddEntry(std::move(entry));
  }
  builder.SetDevices(std::move(devices));
  constants.FindPlaces();
  builder.SetProvenance(options.provenance);
  schedules->counters().kernels_generated += kernels.CountGenerated();
  TVMVM_CHECK_OK(kernels.AddTo(&builder));  // ids follow the table's order, as the launches assume
  return builder.Finish();
}

}  // namespace tvmvm::lowering
