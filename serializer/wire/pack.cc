// Program -> FlatBuffers.
#include "bytecode/encoding.h"
#include "bytecode/format_text.h"
#include "serializer/program_generated.h"
#include "serializer/wire/metadata.h"

namespace tvmvm::wire {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Vector;

// FlatBuffers count in signed 32 bits; text is what can grow, the tables around it fit the other half.
constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;

// Calls `pack` for each element and stores the offsets as a vector.
template <class Table, class Elements, class Pack>
Offset<Vector<Offset<Table>>> PackEach(FlatBufferBuilder& builder, const Elements& elements, Pack pack) {
  std::vector<Offset<Table>> offsets;
  offsets.reserve(elements.size());
  for (const auto& element : elements) offsets.push_back(pack(builder, element));
  return builder.CreateVector(offsets);
}

Offset<schema::Text> PackText(FlatBufferBuilder& builder, const std::string& text) {
  return schema::CreateText(builder, builder.CreateString(text));
}

Offset<Vector<Offset<schema::Text>>> PackTexts(FlatBufferBuilder& builder,
                                               const std::vector<std::string>& strings) {
  return PackEach<schema::Text>(builder, strings, PackText);
}

Offset<schema::Dim> PackDim(FlatBufferBuilder& builder, const DimSpec& dim) {
  return schema::CreateDim(builder, dim.value, builder.CreateString(dim.symbol), dim.low, dim.high);
}

Offset<schema::Type> PackType(FlatBufferBuilder& builder, const TypeSpec& type) {
  auto dims = PackEach<schema::Dim>(builder, type.dims, PackDim);
  auto elements = PackEach<schema::Type>(builder, type.elements, PackType);
  return schema::CreateType(builder, static_cast<uint8_t>(type.kind), static_cast<uint8_t>(type.dtype),
                            type.has_rank, dims, elements);
}

Offset<schema::Parameter> PackParameter(FlatBufferBuilder& builder, const ParameterSpec& parameter) {
  auto name = builder.CreateString(parameter.name);
  return schema::CreateParameter(builder, name, PackType(builder, parameter.type));
}

Offset<schema::Function> PackFunction(FlatBufferBuilder& builder, const FunctionSpec& function,
                                      uint64_t code_begin) {
  auto name = builder.CreateString(function.name);
  auto inputs = PackEach<schema::Parameter>(builder, function.inputs, PackParameter);
  auto outputs = PackEach<schema::Parameter>(builder, function.outputs, PackParameter);
  auto device_inputs = builder.CreateVector(function.device_inputs);
  auto device_outputs = builder.CreateVector(function.device_outputs);
  return schema::CreateFunction(builder, name, inputs, outputs, function.scalar_inputs,
                                function.scalar_outputs, function.scalar_registers, function.ref_registers,
                                code_begin, function.code.size(), function.slots, device_inputs,
                                device_outputs);
}

Offset<schema::Kernel> PackKernel(FlatBufferBuilder& builder, const KernelSpec& kernel) {
  auto name = builder.CreateString(kernel.name);
  auto symbol = builder.CreateString(kernel.symbol);
  std::vector<uint8_t> buffers;
  for (Access access : kernel.buffers) buffers.push_back(static_cast<uint8_t>(access));
  auto buffer_vector = builder.CreateVector(buffers);
  auto messages = PackTexts(builder, kernel.error_messages);
  auto node = builder.CreateString(kernel.source_node);
  auto alignments = builder.CreateVector(kernel.alignments);
  // Absent where there is none: such files are as they were.
  Offset<flatbuffers::String> contract;
  if (!kernel.contract.empty()) contract = builder.CreateString(kernel.contract);
  return schema::CreateKernel(builder, name, symbol, static_cast<uint8_t>(kernel.device), kernel.scalar_count,
                              buffer_vector, messages, node, alignments, kernel.scratch_bytes, kernel.flops,
                              kernel.bytes, contract);
}

Offset<schema::KernelLibrary> PackLibrary(FlatBufferBuilder& builder, const KernelLibrarySpec& library,
                                          const std::string& section) {
  auto target = builder.CreateString(library.target);
  return schema::CreateKernelLibrary(builder, static_cast<uint8_t>(library.device),
                                     static_cast<uint8_t>(library.form), target,
                                     builder.CreateString(section));
}

Offset<schema::Constant> PackConstant(FlatBufferBuilder& builder, const ConstantSpec& constant,
                                      uint64_t offset) {
  auto name = builder.CreateString(constant.name);
  auto dims = builder.CreateVector(constant.dims);
  auto strings = PackTexts(builder, constant.strings);
  Offset<Vector<int64_t>> place = 0;
  if (constant.has_place()) {
    std::vector<int64_t> numbers = constant.place.numbers;
    numbers.push_back(constant.place.panel);
    numbers.push_back(constant.place.constant.index);
    place = builder.CreateVector(numbers);
  }
  return schema::CreateConstant(builder, name, static_cast<uint8_t>(constant.dtype), dims, offset,
                                constant.bytes.size(), strings, place);
}

Offset<schema::Plan> PackPlan(FlatBufferBuilder& builder, const PlanSpec& plan) {
  std::vector<schema::Interval> values;
  for (const PlanSpec::Interval& value : plan.values)
    values.emplace_back(value.first, value.last, value.alignment);
  return schema::CreatePlan(builder, builder.CreateVectorOfStructs(values));
}

Offset<schema::DeviceEntry> PackEntry(FlatBufferBuilder& builder, const DeviceEntry& entry) {
  return schema::CreateDeviceEntry(builder, entry.function.index, builder.CreateVector(entry.devices));
}

Offset<schema::Provenance> PackProvenance(FlatBufferBuilder& builder, const Provenance& provenance) {
  auto producer = builder.CreateString(provenance.producer);
  auto source = builder.CreateString(provenance.source);
  auto digest = builder.CreateString(provenance.source_digest);
  auto options = builder.CreateString(provenance.options);
  return schema::CreateProvenance(builder, producer, source, digest, options);
}

Offset<schema::FunctionLines> PackLines(FlatBufferBuilder& builder, const FunctionSpec& function) {
  std::vector<schema::Line> lines;
  for (const LineEntry& line : function.lines) lines.emplace_back(line.word, line.node.index);
  return schema::CreateFunctionLines(builder, builder.CreateVectorOfStructs(lines));
}

// The strings that line tables use and instructions do not.
std::vector<bool> DebugStrings(const Program& program) {
  std::vector<bool> is_debug(program.strings.size(), false);
  for (const FunctionSpec& function : program.functions)
    for (const LineEntry& line : function.lines) is_debug[line.node.index] = true;
  for (const FunctionSpec& function : program.functions) {
    ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
      for (const DecodedOperand& operand : instruction.operands())
        if (operand.kind == OperandKind::kString) is_debug[operand.value] = false;
    });
  }
  return is_debug;
}

uint64_t TextBytes(const Program& program) {
  uint64_t bytes = 0;
  for (const std::string& text : program.strings) bytes += text.size();
  for (const ConstantSpec& constant : program.constants)
    for (const std::string& text : constant.strings) bytes += text.size() + 8;
  return bytes;
}

std::vector<std::byte> BytesOf(const FlatBufferBuilder& builder) {
  auto begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

}  // namespace

Expected<std::vector<std::byte>> PackMetadata(const Program& program, const Placement& placement) {
  if (uint64_t text = TextBytes(program); text > kMaxTextBytes)
    return MakeError(Code::kUnsupported, FormatText("{} bytes of strings exceed the {} that a file can hold",
                                                    text, kMaxTextBytes));
  FlatBufferBuilder builder;
  std::vector<Offset<schema::Function>> functions;
  uint64_t code_begin = 0;
  for (const FunctionSpec& function : program.functions) {
    functions.push_back(PackFunction(builder, function, code_begin));
    code_begin += function.code.size();
  }
  std::vector<Offset<schema::Constant>> constants;
  for (size_t i = 0; i < program.constants.size(); ++i)
    constants.push_back(PackConstant(builder, program.constants[i], placement.constant_offsets[i]));
  std::vector<bool> is_debug = DebugStrings(program);
  std::vector<Offset<schema::Text>> strings;
  for (size_t i = 0; i < program.strings.size(); ++i)
    strings.push_back(PackText(builder, is_debug[i] ? std::string() : program.strings[i]));

  auto function_vector = builder.CreateVector(functions);
  auto constant_vector = builder.CreateVector(constants);
  auto plans = PackEach<schema::Plan>(builder, program.plans, PackPlan);
  auto string_vector = builder.CreateVector(strings);
  auto provenance = PackProvenance(builder, program.provenance);
  std::vector<schema::Device> devices;
  for (const DeviceSpec& device : program.devices)
    devices.emplace_back(static_cast<uint8_t>(device.device_class), device.ordinal);
  auto device_vector = builder.CreateVectorOfStructs(devices);
  auto entries = PackEach<schema::DeviceEntry>(builder, program.device_entries, PackEntry);
  builder.Finish(schema::CreateProgram(builder, function_vector, program.entry.index, 0, 0, constant_vector,
                                       plans, string_vector, provenance, -1, device_vector, entries));
  return BytesOf(builder);
}

std::vector<std::byte> PackKernelRows(const Program& program, const Placement& placement) {
  FlatBufferBuilder builder;
  auto kernels = PackEach<schema::Kernel>(builder, program.kernels, PackKernel);
  std::vector<Offset<schema::KernelLibrary>> libraries;
  for (size_t i = 0; i < program.libraries.size(); ++i)
    libraries.push_back(PackLibrary(builder, program.libraries[i], placement.library_sections[i]));
  builder.Finish(schema::CreateKernelRows(builder, kernels, builder.CreateVector(libraries)));
  return BytesOf(builder);
}

Expected<std::vector<std::byte>> PackDebug(const Program& program) {
  FlatBufferBuilder builder;
  std::vector<bool> is_debug = DebugStrings(program);
  std::vector<Offset<schema::DebugString>> strings;
  for (uint32_t i = 0; i < program.strings.size(); ++i)
    if (is_debug[i])
      strings.push_back(schema::CreateDebugString(builder, i, builder.CreateString(program.strings[i])));
  auto functions = PackEach<schema::FunctionLines>(builder, program.functions, PackLines);
  builder.Finish(schema::CreateDebug(builder, functions, builder.CreateVector(strings)));
  return BytesOf(builder);
}

}  // namespace tvmvm::wire
