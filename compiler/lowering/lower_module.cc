#include "compiler/lowering/lower_module.h"

#include "bytecode/builder.h"
#include "compiler/lowering/function_lowering.h"
#include "compiler/lowering/kernel_table.h"

namespace tvmvm::lowering {

Expected<std::shared_ptr<const Program>> LowerModule(const ir::Module& module,
                                                     const LoweringOptions& options) {
  Builder builder;
  KernelTable kernels(&options);
  FunctionLowering main(module.main(), module.Ranges(), options, &kernels, &builder);
  TVMVM_TRY(FunctionId entry, main.Run());
  builder.SetEntry(entry);
  builder.SetProvenance(options.provenance);
  TVMVM_CHECK_OK(kernels.AddTo(&builder));  // ids follow the table's order, as the launches assume
  return builder.Finish();
}

}  // namespace tvmvm::lowering
