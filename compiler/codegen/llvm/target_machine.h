// LLVM's description of a CPU target, made from ours. Private to compiler/codegen and compiler/jit.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "tvm-vm/status.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::codegen {

struct CpuDescription {
  std::string triple;
  std::string cpu;       // LLVM's name, "x86-64-v3"
  std::string features;  // "+avx512vnni,..."
  int vector_bits = 256;
  bool has_vnni = false;
};

// Makes LLVM's targets known, once for the process.
void InitializeLlvmTargets();
CpuDescription DescribeCpu(const TargetInfo& target);
// Errors: kUnsupported for a target that this LLVM was built without.
Expected<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const CpuDescription& cpu);
// Puts the target's cpu and features on every function, for code that is compiled elsewhere than it is
// printed.
void SetTargetAttributes(llvm::Module& module, const CpuDescription& cpu);

}  // namespace tvmvm::codegen
