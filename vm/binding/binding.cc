#include "vm/binding/binding.h"

#include <algorithm>
#include <string>

#include "bytecode/derived_cache.h"
#include "bytecode/instruction.h"
#include "vm/binding/uses.h"

namespace tvmvm {
namespace {

std::string NamesOf(const std::vector<std::shared_ptr<Device>>& devices) {
  std::string names;
  for (const std::shared_ptr<Device>& device : devices) names += (names.empty() ? "" : ", ") + device->name();
  return names;
}

// The first device of each class that is used.
Status ChooseDevices(const std::vector<std::shared_ptr<Device>>& given, const Uses& uses, Binding* binding) {
  for (uint32_t number = 0; number < kDeviceClassCount; ++number) {
    if (!uses.classes[number]) continue;
    const auto wanted = static_cast<DeviceClass>(number);
    auto found = std::find_if(given.begin(), given.end(), [&](const std::shared_ptr<Device>& device) {
      return ClassOf(device->target().device) == wanted;
    });
    if (found == given.end())
      return MakeError(Code::kUnsupported, std::string("the program runs on a device of class ") +
                                               DeviceClassName(wanted) + "; the devices given are " +
                                               NamesOf(given));
    binding->devices.push_back(*found);
  }
  return {};
}

// Loads the kernels that are used of a device's class.
Status BindKernels(uint32_t queue, const Uses& uses, Binding* binding) {
  const Program& program = *binding->program;
  const std::vector<uint32_t> ids = KernelsOf(program, uses, static_cast<DeviceClass>(queue));
  std::vector<KernelSpec> kernels;
  for (uint32_t id : ids) kernels.push_back(program.kernels[id]);
  binding->kernel_sets.emplace_back();
  if (kernels.empty()) return {};
  TVMVM_TRY(std::unique_ptr<KernelSet> set, binding->devices[queue]->LoadKernels(kernels, program.libraries));
  for (uint32_t i = 0; i < ids.size(); ++i) binding->kernels[ids[i]] = {set.get(), i};
  binding->kernel_sets.back() = std::move(set);
  return {};
}

// Bitcode and the source of a GPU's kernels become machine code, too.
Status RefuseKernels(const Program& program, const Uses& uses) {
  const auto first = std::find(uses.kernels.begin(), uses.kernels.end(), true);
  if (first == uses.kernels.end()) return {};
  const auto count = std::count(first, uses.kernels.end(), true);
  return MakeError(Code::kUnsupported,
                   "the program runs code of its own: " + std::to_string(count) + " kernels, the first is '" +
                       program.kernels[static_cast<size_t>(first - uses.kernels.begin())].name +
                       "', and native code is not allowed");
}

Status UploadConstants(const Uses& uses, Binding* binding) {
  if (uses.gpu_constants.empty()) return {};
  const std::shared_ptr<Device>& device = binding->devices[1];
  const std::vector<uint32_t> ids(uses.gpu_constants.begin(), uses.gpu_constants.end());
  auto upload = [&] { return DeviceConstants::Upload(*binding->program, device, ids); };
  // One program may run in several ways on one device; each has its own constants.
  const std::string what = "constants of @" + binding->program->function(binding->entry).name;
  TVMVM_TRY(binding->device_constants,
            binding->program->derived->Get<DeviceConstants>(device.get(), what, upload));
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
                                              std::vector<std::shared_ptr<Device>> devices,
                                              bool allow_native) {
  if (!program) return MakeError(Code::kInvalidArgument, "no program given");
  auto binding = std::make_shared<Binding>();
  binding->program = std::move(program);
  TVMVM_CHECK_OK(CheckEntry(*binding->program));
  const bool gpu_first = !devices.empty() && ClassOf(devices[0]->target().device) == DeviceClass::kGpu;
  binding->entry =
      gpu_first ? binding->program->gpu_entry.value_or(binding->program->entry) : binding->program->entry;
  const Uses uses = UsesOf(*binding->program, binding->entry);
  if (!allow_native) TVMVM_CHECK_OK(RefuseKernels(*binding->program, uses));
  TVMVM_CHECK_OK(ChooseDevices(devices, uses, binding.get()));
  binding->kernels.resize(binding->program->kernels.size());
  for (uint32_t queue = 0; queue < binding->devices.size(); ++queue)
    TVMVM_CHECK_OK(BindKernels(queue, uses, binding.get()));
  ScanCode(binding.get());
  BindConstants(binding.get());
  TVMVM_CHECK_OK(UploadConstants(uses, binding.get()));
  const FunctionSpec& entry = binding->program->function(binding->entry);
  binding->inputs_stay.resize(entry.inputs.size());
  binding->outputs_stay.resize(entry.outputs.size());
  for (uint32_t input : entry.device_inputs) binding->inputs_stay[input] = true;
  for (uint32_t output : entry.device_outputs) binding->outputs_stay[output] = true;
  binding->signature = std::make_unique<Signature>(binding->program->main());
  return binding;
}

}  // namespace tvmvm
