#include "vm/interpreter/binding.h"

#include <algorithm>
#include <string>

namespace tvmvm {
namespace {

// Loads all kernels of its kind onto the device at `index`.
Status BindDevice(uint32_t index, Binding* binding) {
  const Program& program = *binding->program;
  Device& device = *binding->devices[index];
  std::vector<KernelSpec> kernels;
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < program.kernels.size(); ++id) {
    if (program.kernels[id].device != device.target().device || binding->kernels[id].kernels != nullptr)
      continue;
    kernels.push_back(program.kernels[id]);
    ids.push_back(id);
  }
  if (kernels.empty()) return {};
  TVMVM_TRY(std::unique_ptr<KernelSet> set, device.LoadKernels(kernels, program.libraries));
  for (uint32_t i = 0; i < ids.size(); ++i) binding->kernels[ids[i]] = {set.get(), i, index};
  binding->kernel_sets.push_back(std::move(set));
  return {};
}

Status BindKernels(Binding* binding) {
  const Program& program = *binding->program;
  binding->kernels.resize(program.kernels.size());
  for (uint32_t index = 0; index < binding->devices.size(); ++index)
    TVMVM_CHECK_OK(BindDevice(index, binding));
  for (uint32_t id = 0; id < program.kernels.size(); ++id) {
    if (binding->kernels[id].kernels != nullptr) continue;
    std::string given;
    for (const std::shared_ptr<Device>& device : binding->devices)
      given += (given.empty() ? "" : ", ") + device->name();
    return MakeError(Code::kUnsupported, "kernel '" + program.kernels[id].name + "' runs on " +
                                             DeviceKindName(program.kernels[id].device) +
                                             "; the devices given are " + given);
  }
  return {};
}

void BindConstants(Binding* binding) {
  for (const ConstantSpec& constant : binding->program->constants) {
    // Never written: everything that holds a constant is read-only.
    char* data = reinterpret_cast<char*>(const_cast<std::byte*>(constant.bytes.data()));
    binding->constants.push_back(
        {data != nullptr ? data : EmptyMemory(), static_cast<int64_t>(constant.bytes.size())});
  }
}

uint32_t WordsOf(OperandKind kind, const uint32_t* at) {
  switch (kind) {
    case OperandKind::kImmediate:
      return 2;
    case OperandKind::kScalarList:
    case OperandKind::kRefList:
    case OperandKind::kScalarDstList:
    case OperandKind::kRefDstList:
      return 1 + at[0];
    case OperandKind::kBufferList:
      return 1 + 2 * at[0];
    default:
      return 1;
  }
}

// The longest list, so that one scratch of that size serves every instruction.
void ScanCode(Binding* binding) {
  const Program& program = *binding->program;
  for (const FunctionSpec& function : program.functions) {
    const uint32_t* code = function.code.data();
    for (size_t at = 0; at < function.code.size(); at += code[at] >> 8) {
      const auto opcode = static_cast<Opcode>(code[at] & 0xff);
      const uint32_t* operand = code + at + 1;
      for (OperandKind kind : InfoOf(opcode).operands) {
        const uint32_t words = WordsOf(kind, operand);
        binding->longest_list = std::max(binding->longest_list, words);
        operand += words;
      }
    }
  }
}

Status CheckEntry(const Program& program) {
  if (program.entry.index >= program.functions.size())
    return MakeError(Code::kInvalidProgram, "the program has no entry function");
  if (program.main().scalar_inputs != 0 || program.main().scalar_outputs != 0)
    return MakeError(Code::kInvalidProgram,
                     "@" + program.main().name + ": an entry function takes and gives no scalars");
  return {};
}

}  // namespace

Expected<std::shared_ptr<const Binding>> Bind(std::shared_ptr<const Program> program,
                                              std::vector<std::shared_ptr<Device>> devices) {
  if (!program) return MakeError(Code::kInvalidArgument, "no program given");
  auto binding = std::make_shared<Binding>();
  binding->program = std::move(program);
  binding->devices = std::move(devices);
  TVMVM_CHECK_OK(CheckEntry(*binding->program));
  ScanCode(binding.get());
  TVMVM_CHECK_OK(BindKernels(binding.get()));
  BindConstants(binding.get());
  binding->signature = std::make_unique<Signature>(binding->program->main());
  return binding;
}

}  // namespace tvmvm
