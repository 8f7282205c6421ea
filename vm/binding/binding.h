// Binding: a program made ready on devices. Immutable, shared by all Invocations of a Vm.
#pragma once

#include <memory>
#include <vector>

#include "tvm-vm/device.h"
#include "tvm-vm/program.h"
#include "vm/binding/device_constants.h"
#include "vm/binding/signature.h"
#include "vm/objects/object.h"

namespace tvmvm {

struct KernelBinding {
  const KernelSet* kernels = nullptr;  // null: nothing launches it
  uint32_t index = 0;                  // in the set
};

struct Binding {
  std::shared_ptr<const Program> program;
  FunctionId entry;                                     // that of the devices' class
  std::vector<std::shared_ptr<Device>> devices;         // by queue: the CPU, then the GPU where one is used
  std::vector<std::unique_ptr<KernelSet>> kernel_sets;  // by queue; null where none is launched
  std::vector<KernelBinding> kernels;                   // by KernelId
  std::vector<Bytes> constants;                         // by ConstantId
  std::shared_ptr<const DeviceConstants> device_constants;  // where the GPU's launches name constants
  // Which inputs and outputs may stay in the GPU's memory during a run.
  std::vector<bool> inputs_stay, outputs_stay;
  std::unique_ptr<Signature> signature;
  uint32_t longest_list = 0;  // words of the longest list operand in the code
};

// `devices` in order of preference: with a GPU in front, and where the program has an entry for that class,
// it runs that one. There is a CPU among them; of GPUs the first counts. Errors: kUnsupported where no device
// runs a kernel, naming both, or where one is used and `allow_native` is false; kInvalidProgram.
Expected<std::shared_ptr<const Binding>> Bind(std::shared_ptr<const Program> program,
                                              std::vector<std::shared_ptr<Device>> devices,
                                              bool allow_native);

}  // namespace tvmvm
