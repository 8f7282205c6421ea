#include "vm/binding/binding.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "bytecode/derived_cache.h"
#include "bytecode/instruction.h"
#include "vm/binding/donations.h"
#include "vm/binding/uses.h"

namespace tvmvm {
namespace {

std::string NamesOf(const std::vector<std::shared_ptr<Device>>& devices) {
  std::string names;
  for (const std::shared_ptr<Device>& device : devices) names += (names.empty() ? "" : ", ") + device->name();
  return names;
}

bool IsOfClass(const std::shared_ptr<Device>& device, DeviceClass wanted) {
  return ClassOf(device->target().device) == wanted;
}

// The one of `given` that is meant; null where there is none.
std::shared_ptr<Device> DeviceFor(const DeviceSpec& wanted, std::span<const std::shared_ptr<Device>> given) {
  uint32_t ordinal = 0;
  for (const std::shared_ptr<Device>& device : given)
    if (IsOfClass(device, wanted.device_class) && ordinal++ == wanted.ordinal) return device;
  return nullptr;
}

Status ChooseDevices(const std::vector<std::shared_ptr<Device>>& given, const Uses& uses, Binding* binding) {
  const std::vector<DeviceSpec>& wanted = binding->program->devices;
  for (size_t number = 0; number < wanted.size(); ++number) {
    binding->devices.push_back(uses.devices[number].is_used ? DeviceFor(wanted[number], given) : nullptr);
    if (!uses.devices[number].is_used || binding->devices.back() != nullptr) continue;
    const uint32_t ordinal = wanted[number].ordinal;
    return MakeError(Code::kUnsupported,
                     "the program runs on " +
                         (ordinal == 0 ? "a device" : std::to_string(ordinal + 1) + " devices") +
                         " of class " + DeviceClassName(wanted[number].device_class) +
                         "; the devices given are " + NamesOf(given));
  }
  return {};
}

// Loads the kernels that are launched on a device.
Status BindKernels(uint32_t number, const Uses& uses, std::span<const KernelLibrarySpec> libraries,
                   Binding* binding) {
  const Program& program = *binding->program;
  const std::set<uint32_t>& ids = uses.devices[number].kernels;
  std::vector<KernelSpec> kernels;
  for (uint32_t id : ids) kernels.push_back(program.kernels[id]);
  const size_t first = binding->kernels.size();
  binding->kernels.resize(first + program.kernels.size());
  binding->kernel_sets.emplace_back();
  if (kernels.empty()) return {};
  TVMVM_TRY(std::unique_ptr<KernelSet> set, binding->devices[number]->LoadKernels(kernels, libraries));
  uint32_t index = 0;
  for (uint32_t id : ids) binding->kernels[first + id] = {set.get(), index++};
  binding->kernel_sets.back() = std::move(set);
  return {};
}

std::set<uint32_t> KernelsOf(const Uses& uses) {
  std::set<uint32_t> kernels;
  for (const DeviceUses& device : uses.devices) kernels.insert(device.kernels.begin(), device.kernels.end());
  return kernels;
}

// Bitcode and the source of a GPU's kernels become machine code, too.
Status RefuseKernels(const Program& program, const Uses& uses) {
  const std::set<uint32_t> kernels = KernelsOf(uses);
  if (kernels.empty()) return {};
  return MakeError(Code::kUnsupported, "the program runs code of its own: " + std::to_string(kernels.size()) +
                                           (kernels.size() == 1 ? " kernel, '" : " kernels, the first is '") +
                                           program.kernels[*kernels.begin()].name +
                                           "', and native code is not allowed");
}

Status BindContracts(const Uses& uses, Binding* binding) {
  const std::vector<KernelSpec>& kernels = binding->program->kernels;
  binding->contracts.resize(kernels.size());
  for (uint32_t id : KernelsOf(uses))
    if (!kernels[id].contract.empty()) {
      TVMVM_TRY(binding->contracts[id], LaunchContract::Parse(kernels[id]));
    }
  return {};
}

Status UploadConstants(const std::set<uint32_t>& ids, uint32_t number, Binding* binding) {
  binding->device_constants.emplace_back();
  if (ids.empty()) return {};
  const std::shared_ptr<Device>& device = binding->devices[number];
  auto upload = [&] { return DeviceConstants::Upload(*binding->program, device, {ids.begin(), ids.end()}); };
  // One program may run in several ways on one device; each has its own constants.
  const std::string what = "constants of @" + binding->program->function(binding->entry).name + " on " +
                           DeviceSpecName(binding->program->devices[number]);
  TVMVM_TRY(binding->device_constants.back(),
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

// Whether `libraries` hold something for every device that launches kernels, in whatever form.
bool HasLibraries(const Uses& uses, const std::vector<std::shared_ptr<Device>>& given, const Program& program,
                  std::span<const KernelLibrarySpec> libraries) {
  for (size_t number = 0; number < uses.devices.size(); ++number) {
    if (uses.devices[number].kernels.empty()) continue;
    const std::shared_ptr<Device> device = DeviceFor(program.devices[number], given);
    const bool has = device == nullptr || std::ranges::any_of(libraries, [&](const auto& library) {
                       return library.device == device->target().device;
                     });
    if (!has) return false;
  }
  return true;
}

// Why kernels that an entry launches may not run, in `trusted` the libraries that may; nullopt: they may.
std::optional<std::string> Refusal(const Uses& uses, const std::vector<std::shared_ptr<Device>>& given,
                                   const Program& program, Trust trust, const TrustedLibraries& trusted) {
  if (trust == Trust::kAny) return std::nullopt;
  if (!HasLibraries(uses, given, program, trusted.libraries)) return trusted.refused;
  if (trust != Trust::kSignedKernels) return std::nullopt;
  for (size_t number = 0; number < uses.devices.size(); ++number)
    for (const uint32_t id : uses.devices[number].kernels)
      if (program.kernels[id].contract.empty())
        return "no contract holds '" + program.kernels[id].name + "' on " +
               DeviceSpecName(program.devices[number]) + " within its buffers";
  return std::nullopt;
}

Status Untrusted(const Program& program, const Uses& uses, const std::string& why) {
  const std::set<uint32_t> kernels = KernelsOf(uses);
  return MakeError(Code::kInvalidProgram, "the program's kernels are refused: " + why + "; @" +
                                              program.function(program.entry).name + " runs " +
                                              std::to_string(kernels.size()) + " of them, the first is '" +
                                              program.kernels[*kernels.begin()].name + "'");
}

// Of the entries whose devices are all there, and whose kernels come out of trusted libraries, the one with
// the most devices: what is preferred to the CPU is what stands in front of it.
Status ChooseEntry(const std::vector<std::shared_ptr<Device>>& given, const TrustOptions& trust,
                   const TrustedLibraries& trusted, Binding* binding) {
  const Program& program = *binding->program;
  const auto is_cpu = [](const std::shared_ptr<Device>& device) {
    return IsOfClass(device, DeviceClass::kCpu);
  };
  const auto first_cpu = std::find_if(given.begin(), given.end(), is_cpu);
  const std::span preferred(given.begin(), first_cpu);
  const auto refusal = [&](FunctionId entry) {
    return Refusal(UsesOf(program, entry), given, program, trust.trust, trusted);
  };
  binding->entry = program.entry;
  size_t most = 0;
  for (const DeviceEntry& entry : program.device_entries) {
    const bool fits = std::ranges::all_of(entry.devices, [&](uint32_t number) {
      return number == kHostDevice || DeviceFor(program.devices[number], preferred) != nullptr;
    });
    if (!fits || entry.devices.size() <= most || refusal(entry.function)) continue;
    most = entry.devices.size();
    binding->entry = entry.function;
  }
  if (most > 0) return {};
  const std::optional<std::string> why = refusal(program.entry);
  return why ? Untrusted(program, UsesOf(program, program.entry), *why) : Status();
}

// Kernels for this device may be among those that are refused.
Error WithRefused(Error error, const TrustedLibraries& trusted) {
  if (!trusted.refused.empty()) error.message += "; other kernels are refused: " + trusted.refused;
  return error;
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
                                              std::vector<std::shared_ptr<Device>> devices, bool allow_native,
                                              const TrustOptions& trust) {
  if (!program) return MakeError(Code::kInvalidArgument, "no program given");
  auto binding = std::make_shared<Binding>();
  binding->program = std::move(program);
  TVMVM_CHECK_OK(CheckEntry(*binding->program));
  const TrustedLibraries trusted = LibrariesToTrust(*binding->program, trust);
  TVMVM_CHECK_OK(ChooseEntry(devices, trust, trusted, binding.get()));
  const Uses uses = UsesOf(*binding->program, binding->entry);
  if (!allow_native) TVMVM_CHECK_OK(RefuseKernels(*binding->program, uses));
  TVMVM_CHECK_OK(ChooseDevices(devices, uses, binding.get()));
  const auto count = static_cast<uint32_t>(binding->devices.size());
  for (uint32_t number = 0; number < count; ++number)
    if (Status bound = BindKernels(number, uses, trusted.libraries, binding.get()); !bound)
      return tl::unexpected(WithRefused(std::move(bound.error()), trusted));
  ScanCode(binding.get());
  BindConstants(binding.get());
  TVMVM_CHECK_OK(BindContracts(uses, binding.get()));
  for (uint32_t number = 0; number < count; ++number)
    TVMVM_CHECK_OK(UploadConstants(uses.devices[number].constants, number, binding.get()));
  const FunctionSpec& entry = binding->program->function(binding->entry);
  binding->inputs_stay.resize(entry.inputs.size());
  binding->outputs_stay.resize(entry.outputs.size());
  for (uint32_t input : entry.device_inputs) binding->inputs_stay[input] = true;
  for (uint32_t output : entry.device_outputs) binding->outputs_stay[output] = true;
  binding->donated.assign(entry.outputs.size(), Binding::kNotDonated);
  for (const Donation& donation : DonationsOf(entry)) binding->donated[donation.output] = donation.input;
  binding->signature = std::make_unique<Signature>(binding->program->main());
  return binding;
}

}  // namespace tvmvm
