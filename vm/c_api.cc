#include "tvm-vm/c_api.h"

#include <cstddef>
#include <vector>

#include "tvm-vm/vmexe.h"
#include "vm/c/objects.h"
#include "vm/c/pool.h"
#include "vm/c/sized.h"
#include "vm/c/trust.h"

using tvmvm::Code;
using tvmvm::MakeError;
using tvmvm::Status;
using tvmvm::c::Guarded;
using tvmvm::c::NullArgument;
using tvmvm::c::ReadSized;

namespace {

static_assert(TVMVM_INTERNAL == static_cast<int>(Code::kInternal));
static_assert(TVMVM_IO == static_cast<int>(Code::kIo));
static_assert(TVMVM_TUPLE == static_cast<int>(tvmvm::ValueKind::kTuple));

using Parameters = std::vector<tvmvm::ParameterSpec>;

const Parameters& Inputs(const tvmvm_program* program) { return program->program->main().inputs; }
const Parameters& Outputs(const tvmvm_program* program) { return program->program->main().outputs; }

// Null where there is none.
const tvmvm::ParameterSpec* Find(const tvmvm_program* program,
                                 const Parameters& (*list)(const tvmvm_program*), size_t index) {
  return program != nullptr && index < list(program).size() ? &list(program)[index] : nullptr;
}
const tvmvm::ParameterSpec* Input(const tvmvm_program* program, size_t index) {
  return Find(program, Inputs, index);
}
const tvmvm::ParameterSpec* Output(const tvmvm_program* program, size_t index) {
  return Find(program, Outputs, index);
}
// The tensors in a sequence or optional.
const tvmvm::TypeSpec& ElementType(const tvmvm::ParameterSpec& parameter) {
  const tvmvm::TypeSpec* type = &parameter.type;
  while (type->kind != tvmvm::ValueKind::kTensor && type->elements.size() == 1) type = type->elements.data();
  return *type;
}
tvmvm_kind KindOf(const tvmvm::ParameterSpec* parameter) {
  return parameter != nullptr ? static_cast<tvmvm_kind>(parameter->type.kind) : TVMVM_NOTHING;
}
const char* NameOf(const tvmvm::ParameterSpec* parameter) {
  return parameter != nullptr ? parameter->name.c_str() : "";
}
tvmvm_dtype DTypeOf(const tvmvm::ParameterSpec* parameter) {
  return parameter != nullptr ? static_cast<tvmvm_dtype>(ElementType(*parameter).dtype) : TVMVM_INVALID;
}
int RankOf(const tvmvm::ParameterSpec* parameter) {
  if (parameter == nullptr) return -1;
  const tvmvm::TypeSpec& type = ElementType(*parameter);
  return type.has_rank ? static_cast<int>(type.dims.size()) : -1;
}
const tvmvm::DimSpec& DimOf(const tvmvm::ParameterSpec* parameter, int axis) {
  static const tvmvm::DimSpec none;
  return axis >= 0 && axis < RankOf(parameter) ? ElementType(*parameter).dims[static_cast<size_t>(axis)]
                                               : none;
}

tvmvm::Expected<std::vector<tvmvm::Value>> ValuesFrom(const tvmvm_value* const* values, size_t count) {
  if (values == nullptr && count > 0) return NullArgument("values");
  std::vector<tvmvm::Value> result(count);
  for (size_t i = 0; i < count; ++i)
    if (values[i] != nullptr) result[i] = values[i]->value;
  return result;
}

tvmvm::Expected<tvmvm::VmOptions> OptionsFrom(const tvmvm_vm_options& options) {
  TVMVM_TRY(const tvmvm_vm_options read, ReadSized(options, offsetof(tvmvm_vm_options, devices), "options"));
  TVMVM_CHECK_OK(tvmvm::c::CheckNotNegative({{read.threads, "options.threads"}}));
  tvmvm::VmOptions chosen;
  chosen.threads = read.threads;
  chosen.allow_native = read.no_native == 0;
  if (read.devices == nullptr && read.device_count > 0) return NullArgument("options.devices");
  for (size_t i = 0; i < read.device_count; ++i) {
    if (read.devices[i] == nullptr) return NullArgument("a device");
    chosen.devices.push_back(read.devices[i]->device);
  }
  TVMVM_TRY(chosen.pool, tvmvm::c::PoolFrom(read.pool));
  if (read.memory != nullptr) chosen.memory = read.memory->pool;
  TVMVM_CHECK_OK(tvmvm::c::TrustFrom(read, &chosen));
  return chosen;
}

}  // namespace

extern "C" {

uint32_t tvmvm_version(void) { return tvmvm::Version(); }

tvmvm_code tvmvm_status_code(const tvmvm_status* status) {
  return status != nullptr ? static_cast<tvmvm_code>(status->error.code) : TVMVM_OK;
}
const char* tvmvm_status_message(const tvmvm_status* status) {
  return status != nullptr ? status->error.message.c_str() : "";
}
void tvmvm_status_free(tvmvm_status* status) {
  if (status != nullptr && !status->is_lasting) delete status;
}

tvmvm_status* tvmvm_program_load(const char* path, tvmvm_program** program) {
  return Guarded([&]() -> Status {
    if (path == nullptr || program == nullptr) return NullArgument("path or program");
    TVMVM_TRY(auto loaded, tvmvm::LoadProgram(path));
    *program = new tvmvm_program{std::move(loaded)};
    return {};
  });
}
tvmvm_status* tvmvm_program_load_from_memory(const void* bytes, size_t size, tvmvm_program** program) {
  return Guarded([&]() -> Status {
    if (bytes == nullptr || program == nullptr) return NullArgument("bytes or program");
    TVMVM_TRY(auto loaded, tvmvm::LoadProgramFromMemory({static_cast<const std::byte*>(bytes), size}));
    *program = new tvmvm_program{std::move(loaded)};
    return {};
  });
}
void tvmvm_program_free(tvmvm_program* program) { delete program; }
size_t tvmvm_program_input_count(const tvmvm_program* program) {
  return program != nullptr ? Inputs(program).size() : 0;
}
size_t tvmvm_program_output_count(const tvmvm_program* program) {
  return program != nullptr ? Outputs(program).size() : 0;
}
const char* tvmvm_program_input_name(const tvmvm_program* program, size_t index) {
  return NameOf(Input(program, index));
}
const char* tvmvm_program_output_name(const tvmvm_program* program, size_t index) {
  return NameOf(Output(program, index));
}
tvmvm_kind tvmvm_program_input_kind(const tvmvm_program* program, size_t index) {
  return KindOf(Input(program, index));
}
tvmvm_kind tvmvm_program_output_kind(const tvmvm_program* program, size_t index) {
  return KindOf(Output(program, index));
}
tvmvm_dtype tvmvm_program_input_dtype(const tvmvm_program* program, size_t index) {
  return DTypeOf(Input(program, index));
}
tvmvm_dtype tvmvm_program_output_dtype(const tvmvm_program* program, size_t index) {
  return DTypeOf(Output(program, index));
}
int tvmvm_program_input_rank(const tvmvm_program* program, size_t index) {
  return RankOf(Input(program, index));
}
int tvmvm_program_output_rank(const tvmvm_program* program, size_t index) {
  return RankOf(Output(program, index));
}
int64_t tvmvm_program_input_dim(const tvmvm_program* program, size_t index, int axis) {
  return DimOf(Input(program, index), axis).value;
}
int64_t tvmvm_program_output_dim(const tvmvm_program* program, size_t index, int axis) {
  return DimOf(Output(program, index), axis).value;
}
const char* tvmvm_program_input_symbol(const tvmvm_program* program, size_t index, int axis) {
  return DimOf(Input(program, index), axis).symbol.c_str();
}
const char* tvmvm_program_output_symbol(const tvmvm_program* program, size_t index, int axis) {
  return DimOf(Output(program, index), axis).symbol.c_str();
}

tvmvm_status* tvmvm_vm_create(const tvmvm_program* program, const tvmvm_vm_options* options, tvmvm_vm** vm) {
  return Guarded([&]() -> Status {
    if (program == nullptr || vm == nullptr) return NullArgument("program or vm");
    tvmvm::VmOptions chosen;
    if (options != nullptr) {
      TVMVM_TRY(chosen, OptionsFrom(*options));
    }
    TVMVM_TRY(auto created, tvmvm::Vm::Create(program->program, chosen));
    std::vector<tvmvm::DeviceUse> devices = created->Devices();
    std::vector<tvmvm::Donation> donations = created->Donations();
    *vm = new tvmvm_vm{program->program, std::move(created), std::move(devices), std::move(donations)};
    return {};
  });
}
void tvmvm_vm_free(tvmvm_vm* vm) { delete vm; }
size_t tvmvm_vm_device_count(const tvmvm_vm* vm) { return vm != nullptr ? vm->devices.size() : 0; }
const char* tvmvm_vm_device_name(const tvmvm_vm* vm, size_t index) {
  return index < tvmvm_vm_device_count(vm) ? vm->devices[index].name.c_str() : "";
}
size_t tvmvm_vm_device_kernel_count(const tvmvm_vm* vm, size_t index) {
  return index < tvmvm_vm_device_count(vm) ? vm->devices[index].kernels : 0;
}
int64_t tvmvm_vm_donated_input(const tvmvm_vm* vm, size_t output) {
  if (vm == nullptr) return -1;
  for (const tvmvm::Donation& donation : vm->donations)
    if (donation.output == output) return donation.input;
  return -1;
}

tvmvm_status* tvmvm_value_from_tensor(const tvmvm_tensor* tensor, tvmvm_value** value) {
  return Guarded([&]() -> Status {
    if (tensor == nullptr || value == nullptr) return NullArgument("tensor or value");
    *value = new tvmvm_value{tvmvm::Value(tensor->tensor)};
    return {};
  });
}
tvmvm_status* tvmvm_value_from_elements(const tvmvm_value* const* elements, size_t count,
                                        tvmvm_value** sequence) {
  return Guarded([&]() -> Status {
    if (sequence == nullptr) return NullArgument("sequence");
    TVMVM_TRY(std::vector<tvmvm::Value> values, ValuesFrom(elements, count));
    *sequence = new tvmvm_value{tvmvm::Value::Sequence(std::move(values))};
    return {};
  });
}
tvmvm_status* tvmvm_value_from_fields(int64_t tag, const tvmvm_value* const* fields, size_t count,
                                      tvmvm_value** tuple) {
  return Guarded([&]() -> Status {
    if (tuple == nullptr) return NullArgument("tuple");
    TVMVM_TRY(std::vector<tvmvm::Value> values, ValuesFrom(fields, count));
    *tuple = new tvmvm_value{tvmvm::Value::Tuple(tag, std::move(values))};
    return {};
  });
}
void tvmvm_value_free(tvmvm_value* value) { delete value; }
tvmvm_kind tvmvm_value_kind(const tvmvm_value* value) {
  if (value == nullptr || value->value.is_none()) return TVMVM_NOTHING;
  if (value->value.is_tensor()) return TVMVM_TENSOR;
  return value->value.is_sequence() ? TVMVM_SEQUENCE : TVMVM_TUPLE;
}
tvmvm_status* tvmvm_value_tensor(const tvmvm_value* value, tvmvm_tensor** tensor) {
  return Guarded([&]() -> Status {
    if (value == nullptr || tensor == nullptr) return NullArgument("value or tensor");
    if (!value->value.is_tensor())
      return MakeError(Code::kInvalidArgument,
                       "a " + std::string(value->value.kind_name()) + " is no tensor");
    *tensor = new tvmvm_tensor{value->value.tensor()};
    return {};
  });
}
size_t tvmvm_value_size(const tvmvm_value* value) {
  const tvmvm_kind kind = tvmvm_value_kind(value);
  return kind == TVMVM_SEQUENCE || kind == TVMVM_TUPLE ? value->value.elements().size() : 0;
}
tvmvm_status* tvmvm_value_element(const tvmvm_value* value, size_t index, tvmvm_value** element) {
  return Guarded([&]() -> Status {
    if (value == nullptr || element == nullptr) return NullArgument("value or element");
    if (index >= tvmvm_value_size(value))
      return MakeError(Code::kInvalidArgument, "element " + std::to_string(index) + " of a " +
                                                   std::string(value->value.kind_name()) + " of " +
                                                   std::to_string(tvmvm_value_size(value)));
    *element = new tvmvm_value{value->value.elements()[index]};
    return {};
  });
}
int64_t tvmvm_value_tag(const tvmvm_value* value) { return value != nullptr ? value->value.tag() : 0; }

}  // extern "C"
