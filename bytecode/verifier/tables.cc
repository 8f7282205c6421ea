// Checks of everything outside code.
#include <bit>
#include <unordered_set>

#include "bytecode/blob.h"
#include "bytecode/device_kinds.h"
#include "bytecode/dim_expression.h"
#include "bytecode/format_text.h"
#include "bytecode/launch_contract.h"
#include "bytecode/verifier.h"
#include "bytecode/verifier/checks.h"
#include "tvm-vm/shape.h"

namespace tvmvm::verifier {
namespace {

bool IsValid(DType dtype) { return dtype > DType::kInvalid && static_cast<int>(dtype) < kDTypeCount; }
bool IsValid(DeviceKind kind) { return InfoOf(kind) != nullptr; }
bool IsValid(DeviceClass device) { return static_cast<uint32_t>(device) < kDeviceClassCount; }
bool IsValid(KernelForm form) { return InfoOf(form) != nullptr; }
bool IsValid(Access access) { return access <= Access::kReadAligned; }

// Finds the first name that occurs twice.
class UniqueNames {
 public:
  bool Add(std::string_view name) { return seen_.insert(name).second; }

 private:
  std::unordered_set<std::string_view> seen_;
};

Status VerifyDim(const DimSpec& dim, const std::string& place) {
  if (dim.value < -1) return Refuse("{}: a dimension is {}", place, dim.value);
  if (dim.value >= 0 && !dim.symbol.empty())
    return Refuse("{}: a dimension is {} and '{}' at once", place, dim.value, dim.symbol);
  if (dim.low < 0 || dim.low > dim.high)
    return Refuse("{}: bounds {}..{} of dimension '{}' are no range", place, dim.low, dim.high, dim.symbol);
  if (dim.symbol.empty()) return {};
  SymbolTable symbols;
  if (auto parsed = DimExpression::Parse(dim.symbol, &symbols); !parsed)
    return Refuse("{}: {}", place, parsed.error().message);
  return {};
}

Status VerifyTensorType(const TypeSpec& type, const std::string& place) {
  if (!IsValid(type.dtype)) return Refuse("{}: unknown dtype {}", place, static_cast<int>(type.dtype));
  if (!type.elements.empty()) return Refuse("{}: a tensor has no element types", place);
  if (!type.has_rank && !type.dims.empty()) return Refuse("{}: dimensions without a rank", place);
  if (type.dims.size() > kMaxRank)
    return Refuse("{}: rank {}, at most {}", place, type.dims.size(), kMaxRank);
  for (const DimSpec& dim : type.dims) TVMVM_CHECK_OK(VerifyDim(dim, place));
  return {};
}

Status VerifyType(const TypeSpec& type, const std::string& place, int depth) {
  if (depth > kMaxTypeDepth) return Refuse("{}: types nested more than {} deep", place, kMaxTypeDepth);
  switch (type.kind) {
    case ValueKind::kTensor:
      return VerifyTensorType(type, place);
    case ValueKind::kSequence:
    case ValueKind::kOptional:
      if (type.elements.size() > 1)
        return Refuse("{}: a sequence or optional of {} types, at most one", place, type.elements.size());
      break;
    case ValueKind::kTuple:
      break;
    default:
      return Refuse("{}: unknown kind of type {}", place, static_cast<int>(type.kind));
  }
  if (type.dtype != DType::kInvalid || !type.dims.empty())
    return Refuse("{}: only a tensor has a dtype and dimensions", place);
  for (const TypeSpec& element : type.elements) TVMVM_CHECK_OK(VerifyType(element, place, depth + 1));
  return {};
}

Status VerifyParameters(const FunctionSpec& function, const std::vector<ParameterSpec>& parameters,
                        std::string_view role) {
  UniqueNames names;
  for (const ParameterSpec& parameter : parameters) {
    std::string place = FormatText("@{} {} '{}'", function.name, role, parameter.name);
    if (!parameter.name.empty() && !names.Add(parameter.name))
      return Refuse("{}: the name is used twice", place);
    TVMVM_CHECK_OK(VerifyType(parameter.type, place, 0));
  }
  return {};
}

Status VerifySignatures(const Program& program) {
  UniqueNames names;
  for (const FunctionSpec& function : program.functions) {
    if (function.name.empty()) return Refuse("a function has no name");
    if (!names.Add(function.name)) return Refuse("@{}: two functions have this name", function.name);
    TVMVM_CHECK_OK(VerifyParameters(function, function.inputs, "input"));
    TVMVM_CHECK_OK(VerifyParameters(function, function.outputs, "output"));
  }
  if (program.entry.index >= program.functions.size())
    return Refuse("entry function {} does not exist, the program has {}", program.entry.index,
                  program.functions.size());
  const FunctionSpec& main = program.main();
  if (main.scalar_inputs != 0 || main.scalar_outputs != 0)
    return Refuse("@{}: the entry function takes {} and returns {} scalars, wanted none", main.name,
                  main.scalar_inputs, main.scalar_outputs);
  return {};
}

Status VerifyDevices(const Program& program) {
  if (program.devices.empty() || program.devices[kHostDevice] != DeviceSpec())
    return Refuse("the first device of the program is not the host's CPU");
  if (program.devices.size() > kMaxDevices)
    return Refuse("{} devices, at most {}", program.devices.size(), kMaxDevices);
  for (size_t i = 0; i < program.devices.size(); ++i) {
    const DeviceSpec& device = program.devices[i];
    if (!IsValid(device.device_class))
      return Refuse("device {}: unknown class {}", i, static_cast<int>(device.device_class));
    for (size_t other = 0; other < i; ++other)
      if (program.devices[other] == device)
        return Refuse("devices {} and {} are both {}", other, i, DeviceSpecName(device));
  }
  return {};
}

// An entry for devices stands in for the entry: whoever calls sees no difference.
Status VerifyEntry(const Program& program, const DeviceEntry& entry) {
  if (entry.function.index >= program.functions.size())
    return Refuse("entry function {} does not exist, the program has {}", entry.function.index,
                  program.functions.size());
  const FunctionSpec &function = program.function(entry.function), &main = program.main();
  if (function.inputs != main.inputs || function.outputs != main.outputs ||
      function.scalar_inputs != main.scalar_inputs || function.scalar_outputs != main.scalar_outputs)
    return Refuse("@{}: the entry function has another signature than @{}", function.name, main.name);
  std::unordered_set<uint32_t> seen;
  for (uint32_t device : entry.devices) {
    if (device >= program.devices.size())
      return Refuse("@{}: an entry for device {}, the program has {}", function.name, device,
                    program.devices.size());
    if (!seen.insert(device).second)
      return Refuse("@{}: an entry for device {} twice", function.name, device);
  }
  return {};
}

Status VerifyKernelNumbers(const KernelSpec& kernel) {
  if (!kernel.alignments.empty() && kernel.alignments.size() != kernel.buffers.size())
    return Refuse("kernel '{}': alignments of {} buffers, it has {}", kernel.name, kernel.alignments.size(),
                  kernel.buffers.size());
  for (uint8_t alignment : kernel.alignments)
    if (!std::has_single_bit(alignment) || alignment > kArgumentAlignment)
      return Refuse("kernel '{}': alignment {}, wanted a power of two up to {}", kernel.name, alignment,
                    kArgumentAlignment);
  if (kernel.scratch_bytes < 0 || kernel.flops < 0 || kernel.bytes < 0)
    return Refuse("kernel '{}': {} bytes of scratch, {} operations, {} bytes: none may be negative",
                  kernel.name, kernel.scratch_bytes, kernel.flops, kernel.bytes);
  if (!kernel.contract.empty()) TVMVM_CHECK_OK(LaunchContract::Parse(kernel));
  return {};
}

Status VerifyKernels(const Program& program) {
  UniqueNames names;
  for (const KernelSpec& kernel : program.kernels) {
    if (kernel.name.empty()) return Refuse("a kernel has no name");
    if (!names.Add(kernel.name)) return Refuse("kernel '{}': two kernels have this name", kernel.name);
    if (kernel.symbol.empty()) return Refuse("kernel '{}': no symbol", kernel.name);
    if (!IsValid(kernel.device))
      return Refuse("kernel '{}': unknown device {}", kernel.name, static_cast<int>(kernel.device));
    for (Access access : kernel.buffers)
      if (!IsValid(access))
        return Refuse("kernel '{}': unknown access {}", kernel.name, static_cast<int>(access));
    TVMVM_CHECK_OK(VerifyKernelNumbers(kernel));
  }
  return {};
}

Status VerifyLibraries(const Program& program) {
  for (const KernelLibrarySpec& library : program.libraries) {
    if (!IsValid(library.device))
      return Refuse("kernel library '{}': unknown device {}", library.target,
                    static_cast<int>(library.device));
    if (!IsValid(library.form))
      return Refuse("kernel library '{}': unknown form {}", library.target, static_cast<int>(library.form));
  }
  return {};
}

// Whether so many elements stand at the constant's place in `packed`, each of them one of those there.
// Doubles are right up to 2^53, more than memory holds; what is more stays more.
bool StandsIn(const ConstantSpec& packed, const ConstantSpec& constant, int64_t count) {
  const PanelPlace& place = constant.place;
  if (packed.dtype != constant.dtype || packed.dtype == DType::kString || IsSubByte(packed.dtype))
    return false;
  if (!constant.bytes.empty()) return false;
  const auto all =
      static_cast<double>(static_cast<int64_t>(packed.bytes.size()) / DTypeBytes(packed.dtype, 1));
  double extents = 1, first = 0, column = 0;
  for (size_t k = 0; k < place.axes(); ++k) {
    const PanelPlace::Axis axis = place.axis(k);
    if (axis.extent < 1 || axis.step < 0) return false;
    extents *= static_cast<double>(axis.extent);
    (axis.is_columns ? column : first) +=
        static_cast<double>(axis.extent - 1) * static_cast<double>(axis.step);
  }
  if (extents > all || column >= all || place.panel < 0) return false;
  const auto last_column = static_cast<int64_t>(column);
  const double last =
      first + static_cast<double>(last_column % PanelPlace::kColumns) +
      static_cast<double>(last_column / PanelPlace::kColumns) * static_cast<double>(place.panel);
  return static_cast<int64_t>(extents) == count && last < all;
}

Status VerifyPlace(const Program& program, const ConstantSpec& constant, int64_t count,
                   const std::string& place) {
  const uint32_t packed = constant.place.constant.index;
  const size_t constants = program.constants.size();
  if (packed >= constants)
    return Refuse("{}: constant {} does not exist, the program has {}", place, packed, constants);
  if (StandsIn(program.constants[packed], constant, count)) return {};
  return Refuse("{}: its place in constant c{} is none", place, packed);
}

Status VerifyConstantData(const Program& program, const ConstantSpec& constant, const std::string& place) {
  std::optional<int64_t> count = Shape(constant.dims).ElementCount();
  if (!count) return Refuse("{}: dims {} have no element count", place, Shape(constant.dims).ToString());
  if (constant.has_place()) return VerifyPlace(program, constant, *count, place);
  if (constant.dtype == DType::kString) {
    if (!constant.bytes.empty() || static_cast<int64_t>(constant.strings.size()) != *count)
      return Refuse("{}: {} strings and {} bytes, wanted {} strings", place, constant.strings.size(),
                    constant.bytes.size(), *count);
    return {};
  }
  if (!constant.strings.empty()) return Refuse("{}: strings in a constant of another dtype", place);
  auto bytes = static_cast<int64_t>(constant.bytes.size());
  if (DTypeBytes(constant.dtype, *count) != bytes)
    return Refuse("{}: {} bytes for {} elements of {}", place, bytes, *count, DTypeName(constant.dtype));
  if (!IsBlobAligned(constant.bytes.data())) return Refuse("{}: its bytes are not 64-byte aligned", place);
  return {};
}

Status VerifyConstants(const Program& program) {
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const ConstantSpec& constant = program.constants[i];
    std::string place = FormatText("constant c{} '{}'", i, constant.name);
    if (!IsValid(constant.dtype))
      return Refuse("{}: unknown dtype {}", place, static_cast<int>(constant.dtype));
    if (constant.dims.size() > kMaxRank)
      return Refuse("{}: rank {}, at most {}", place, constant.dims.size(), kMaxRank);
    TVMVM_CHECK_OK(VerifyConstantData(program, constant, place));
  }
  return {};
}

Status VerifyPlans(const Program& program) {
  for (size_t i = 0; i < program.plans.size(); ++i) {
    const PlanSpec& plan = program.plans[i];
    if (plan.values.size() > kMaxPlanValues)
      return Refuse("plan p{}: {} values, at most {}", i, plan.values.size(), kMaxPlanValues);
    for (size_t k = 0; k < plan.values.size(); ++k) {
      const PlanSpec::Interval& value = plan.values[k];
      if (value.first > value.last)
        return Refuse("plan p{}: value {} is alive from {} to {}", i, k, value.first, value.last);
      if (!std::has_single_bit(value.alignment) || value.alignment > kMaxPlanAlignment)
        return Refuse("plan p{}: value {} has alignment {}, wanted a power of two up to {}", i, k,
                      value.alignment, kMaxPlanAlignment);
    }
  }
  return {};
}

}  // namespace

Status VerifyTables(const Program& program) {
  TVMVM_CHECK_OK(VerifySignatures(program));
  TVMVM_CHECK_OK(VerifyDevices(program));
  for (const DeviceEntry& entry : program.device_entries) TVMVM_CHECK_OK(VerifyEntry(program, entry));
  TVMVM_CHECK_OK(VerifyKernels(program));
  TVMVM_CHECK_OK(VerifyLibraries(program));
  TVMVM_CHECK_OK(VerifyConstants(program));
  return VerifyPlans(program);
}

}  // namespace tvmvm::verifier
