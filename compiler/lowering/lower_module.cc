#include "compiler/lowering/lower_module.h"

#include <deque>

#include "bytecode/builder.h"
#include "compiler/lowering/function_lowering.h"
#include "compiler/lowering/kernel_table.h"

namespace tvmvm::lowering {

Expected<std::shared_ptr<const Program>> LowerModule(const ir::Module& module,
                                                     const LoweringOptions& options) {
  Builder builder;
  KernelTable kernels(&options);
  // All are declared before any is emitted: functions may call each other.
  std::deque<FunctionLowering> functions;
  std::map<std::string, FunctionId> ids;
  for (const ir::Function& function : module.functions) {
    functions.emplace_back(function, module.Ranges(), options, &kernels, &builder);
    ids.emplace(function.name, functions.back().id());
  }
  for (FunctionLowering& function : functions) TVMVM_CHECK_OK(function.Run(ids));
  builder.SetEntry(functions.front().id());
  builder.SetProvenance(options.provenance);
  TVMVM_CHECK_OK(kernels.AddTo(&builder));  // ids follow the table's order, as the launches assume
  return builder.Finish();
}

}  // namespace tvmvm::lowering
