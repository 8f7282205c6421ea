// Binding: a program made ready on devices. Immutable, shared by all Invocations of a Vm.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "bytecode/launch_contract.h"
#include "serializer/trusted_libraries.h"
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
  FunctionId entry;                                     // that of the devices
  std::vector<std::shared_ptr<Device>> devices;         // by number; null where one is not used
  std::vector<std::unique_ptr<KernelSet>> kernel_sets;  // by device; null where none is launched
  std::vector<KernelBinding> kernels;                   // by device, then KernelId
  // By KernelId: of those that are launched and that have one.
  std::vector<std::optional<LaunchContract>> contracts;
  std::vector<Bytes> constants;  // by ConstantId
  std::vector<std::shared_ptr<const DeviceConstants>>
      device_constants;  // by device; null where none is named
  // Which inputs and outputs may stay in a device's memory during a run.
  std::vector<bool> inputs_stay, outputs_stay;
  // By output: the number of the input in whose memory it may be given; kNotDonated: of none.
  static constexpr uint32_t kNotDonated = UINT32_MAX;
  std::vector<uint32_t> donated;
  std::unique_ptr<Signature> signature;
  uint32_t longest_list = 0;  // words of the longest list operand in the code

  const KernelBinding& kernel(uint32_t device, uint32_t id) const {
    return kernels[device * program->kernels.size() + id];
  }
  // The first device in use but for the CPU; null where there is none.
  std::shared_ptr<Device> first_other() const {
    const auto found = std::find_if(devices.begin() + 1, devices.end(),
                                    [](const auto& device) { return device != nullptr; });
    return found != devices.end() ? *found : nullptr;
  }
};

// `devices` in order of preference: of the program's entries the one runs that uses most of the devices in
// front of the first CPU, and whose kernels `trust` lets run; there is a CPU among them. Errors: kUnsupported
// where no device runs a kernel, naming both, or where one is used and `allow_native` is false;
// kInvalidProgram, also where `trust` refuses kernels of every entry.
Expected<std::shared_ptr<const Binding>> Bind(std::shared_ptr<const Program> program,
                                              std::vector<std::shared_ptr<Device>> devices, bool allow_native,
                                              const TrustOptions& trust);

}  // namespace tvmvm
