// Kernels -> one LLVM module, optimised, ready for code generation or for bitcode. Private to this folder.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <span>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/llvm/target_machine.h"

namespace tvmvm::codegen {

// Prints the kernels and runs the few passes that printed code needs: registers for local buffers, common
// subexpressions, hoisting out of loops. Without `machine` the module is generic: no cpu, no features.
Expected<std::unique_ptr<llvm::Module>> MakeModule(llvm::LLVMContext& context,
                                                   std::span<const KernelSource> kernels,
                                                   const CpuDescription& cpu, llvm::TargetMachine* machine);
void Optimize(llvm::Module& module, llvm::TargetMachine* machine);
// Machine code of a module as an ELF object.
Expected<std::vector<char>> EmitObject(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tvmvm::codegen
