// Binding: a program made ready on devices. Immutable, shared by all Invocations of a Vm.
#pragma once

#include <memory>
#include <vector>

#include "bytecode/program.h"
#include "devices/device.h"
#include "vm/interpreter/object.h"
#include "vm/signature.h"

namespace tvmvm {

struct KernelBinding {
  const KernelSet* kernels = nullptr;  // null: not bound yet
  uint32_t index = 0;                  // in the set
  uint32_t device = 0;                 // in Binding::devices
};

struct Binding {
  std::shared_ptr<const Program> program;
  std::vector<std::shared_ptr<Device>> devices;         // the first one holds arenas and tensors
  std::vector<std::unique_ptr<KernelSet>> kernel_sets;  // one for each device that has kernels
  std::vector<KernelBinding> kernels;                   // by KernelId
  std::vector<Bytes> constants;                         // by ConstantId
  std::unique_ptr<Signature> signature;
  uint32_t longest_list = 0;  // words of the longest list operand in the code
};

// Errors: kUnsupported where no device runs a kernel, naming both; kInvalidProgram.
Expected<std::shared_ptr<const Binding>> Bind(std::shared_ptr<const Program> program,
                                              std::vector<std::shared_ptr<Device>> devices);

}  // namespace tvmvm
