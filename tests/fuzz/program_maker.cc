#include "tests/fuzz/program_maker.h"

#include <string>

#include "tests/fuzz/body_maker.h"

namespace tvmvm::fuzz {
namespace {

// Bytes of all constants: whatever they say is a number of every type but f6 and f4, of which many have
// rules.
alignas(64) constexpr std::byte kBytes[64] = {std::byte{1}, std::byte{0}, std::byte{0},
                                              std::byte{0}, std::byte{0}, std::byte{0},
                                              std::byte{0}, std::byte{0}, std::byte{2}};

TypeSpec MakeType(Choices& choices, int depth) {
  TypeSpec type;
  if (depth < 3 && choices.OneIn(4)) {
    type.kind = static_cast<ValueKind>(1 + choices.Below(3));
    const size_t count = type.kind == ValueKind::kTuple ? choices.Below(3) : choices.OneIn(6) ? 0 : 1;
    for (size_t i = 0; i < count; ++i) type.elements.push_back(MakeType(choices, depth + 1));
    return type;
  }
  static constexpr DType kTypes[] = {DType::kF32,    DType::kI64, DType::kU8,
                                     DType::kString, DType::kF16, DType::kBool};
  type.dtype = choices.OneIn(6) ? static_cast<DType>(1 + choices.Below(kDTypeCount - 1))
                                : kTypes[choices.Below(std::size(kTypes))];
  type.has_rank = !choices.OneIn(6);
  if (!type.has_rank) return type;
  type.dims.resize(choices.Below(4));
  for (DimSpec& dim : type.dims) {
    if (choices.OneIn(3)) {
      dim.value = choices.Below(4);
    } else if (choices.OneIn(2)) {
      dim.symbol = choices.OneIn(2) ? "n" : "n*2+m";
      dim.low = choices.Below(2);
      dim.high = choices.OneIn(2) ? 16 : INT64_MAX;
    }
  }
  return type;
}

FunctionSpec MakeSignature(Choices& choices, const std::string& name, bool is_entry) {
  FunctionSpec spec;
  spec.name = name;
  if (!is_entry) {
    spec.scalar_inputs = choices.Below(3);
    spec.scalar_outputs = choices.Below(3);
  }
  for (uint32_t i = choices.Below(4); i > 0; --i)
    spec.inputs.push_back({"x" + std::to_string(i), MakeType(choices, 0)});
  for (uint32_t i = choices.Below(3) + (is_entry ? 1 : 0); i > 0; --i)
    spec.outputs.push_back({"y" + std::to_string(i), MakeType(choices, 0)});
  return spec;
}

// Numbers of some of them, counting up.
std::vector<uint32_t> Some(Choices& choices, size_t count) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < count; ++i)
    if (choices.OneIn(2)) numbers.push_back(i);
  return numbers;
}

void MakeKernels(Choices& choices, Tables* tables) {
  for (uint32_t i = 1 + choices.Below(3); i > 0; --i) {
    KernelSpec kernel;
    kernel.name = kernel.symbol = "k" + std::to_string(i);
    if (tables->devices > 1 && choices.OneIn(2)) kernel.device = DeviceClass::kGpu;
    kernel.scalar_count = choices.Below(3);
    kernel.buffers.resize(choices.Below(4));
    for (Access& access : kernel.buffers) access = static_cast<Access>(choices.Below(4));
    if (choices.OneIn(2))
      for (size_t k = 0; k < kernel.buffers.size(); ++k)
        kernel.alignments.push_back(uint8_t(1) << choices.Below(5));
    kernel.scratch_bytes = choices.Below(4) * 100;
    if (kernel.device == DeviceClass::kCpu && choices.OneIn(3)) {
      const std::string number = kernel.scalar_count > 0 ? "s0" : "x";
      kernel.contract = "min(y, 100)";
      for (size_t k = 0; k < kernel.buffers.size(); ++k) kernel.contract += "; " + number + " * 4";
      kernel.contract += "; le(0, z)";
    }
    kernel.error_messages.assign(choices.Below(3), "found {}");
    tables->kernels.push_back(std::move(kernel));
  }
}

void MakeConstants(Choices& choices, Tables* tables) {
  for (uint32_t i = 1 + choices.Below(3); i > 0; --i) {
    ConstantSpec constant;
    constant.name = "c" + std::to_string(i);
    constant.dtype = static_cast<DType>(1 + choices.Below(kDTypeCount - 1));
    int64_t count = choices.Below(5);
    constant.dims = {count};
    if (choices.OneIn(3)) constant.dims.push_back(1);
    if (constant.dtype == DType::kString)
      constant.strings.assign(static_cast<size_t>(count), choices.OneIn(2) ? "a.*" : "");
    else
      constant.bytes = std::span(kBytes).first(static_cast<size_t>(DTypeBytes(constant.dtype, count)));
    tables->constants.push_back(std::move(constant));
  }
}

void MakePlans(Choices& choices, Builder* builder, Tables* tables) {
  for (uint32_t i = 1 + choices.Below(2); i > 0; --i) {
    PlanSpec plan;
    plan.values.resize(1 + choices.Below(4));
    for (PlanSpec::Interval& value : plan.values) {
      value.first = choices.Below(6);
      value.last = value.first + choices.Below(4);
      value.alignment = 1u << choices.Below(13);
    }
    tables->plan_values.push_back(static_cast<uint32_t>(plan.values.size()));
    builder->AddPlan(std::move(plan));
  }
}

// The entry for the CPU, with some functions that it calls; the same for devices.
void MakeSignatures(Choices& choices, Tables* tables) {
  const auto add = [&](FunctionSpec spec, bool uses_devices) {
    if (choices.OneIn(2)) spec.device_inputs = Some(choices, spec.inputs.size());
    if (choices.OneIn(2)) spec.device_outputs = Some(choices, spec.outputs.size());
    tables->functions.push_back(std::move(spec));
    tables->uses_devices.push_back(uses_devices);
  };
  add(MakeSignature(choices, "main", true), false);
  for (uint32_t i = choices.Below(3); i > 0; --i)
    add(MakeSignature(choices, "f" + std::to_string(i), false), false);
  if (tables->devices == 1) return;
  FunctionSpec entry = tables->functions[0];
  entry.name = "devices";
  entry.device_inputs.clear(), entry.device_outputs.clear();
  add(std::move(entry), true);
  for (uint32_t i = choices.Below(2); i > 0; --i)
    add(MakeSignature(choices, "g" + std::to_string(i), false), true);
}

void AddLibraries(Builder* builder, const Tables& tables) {
  builder->AddLibrary({DeviceKind::kCpu, KernelForm::kBitcode, "host", std::span(kBytes).first(16)});
  if (tables.devices > 1)
    builder->AddLibrary({DeviceKind::kNull, KernelForm::kOpenClC, "", std::span(kBytes).first(16)});
}

}  // namespace

Expected<std::shared_ptr<const Program>> MakeProgram(Choices& choices) {
  Builder builder;
  Tables tables;
  tables.devices = choices.OneIn(3) ? 2 + choices.Below(2) : 1;
  if (tables.devices == 3)
    builder.SetDevices({{DeviceClass::kCpu, 0}, {DeviceClass::kGpu, 0}, {DeviceClass::kGpu, 1}});
  MakeKernels(choices, &tables);
  MakeConstants(choices, &tables);
  MakePlans(choices, &builder, &tables);
  MakeSignatures(choices, &tables);
  for (const KernelSpec& kernel : tables.kernels) builder.AddKernel(kernel);
  for (const ConstantSpec& constant : tables.constants) builder.AddConstant(constant);
  AddLibraries(&builder, tables);
  for (uint32_t i = 0; i < tables.functions.size(); ++i) {
    FunctionBuilder& body = builder.AddFunction(tables.functions[i]);
    BodyMaker(tables, i, body, choices).Make();
    if (tables.functions[i].name == "devices") {
      DeviceEntry entry{body.id(), {}};
      for (uint32_t device = 1; device < tables.devices; ++device) entry.devices.push_back(device);
      entry.devices.push_back(kHostDevice);
      builder.AddEntry(std::move(entry));
    }
  }
  builder.SetEntry(FunctionId{0});
  return builder.Finish();
}

}  // namespace tvmvm::fuzz
