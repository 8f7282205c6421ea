#include <algorithm>
#include <unordered_map>

#include "bytecode/device_kinds.h"
#include "bytecode/digest.h"
#include "bytecode/encoding.h"
#include "bytecode/format_text.h"
#include "bytecode/host_functions.h"
#include "bytecode/text/lexer.h"
#include "bytecode/text/names.h"
#include "tvm-vm/assembler.h"

namespace tvmvm {
namespace {

using text::IsBareWord;
using text::NameIn;
using text::Quoted;

constexpr size_t kBytesAlwaysShown = 64;
constexpr size_t kBytesShownOnRequest = 64 << 10;

std::string Name(std::string_view name) { return IsBareWord(name) ? std::string(name) : Quoted(name); }

// "[a, b]" of what `print` makes of each element.
template <class Elements, class Print>
std::string Listed(const Elements& elements, Print print) {
  std::string list = "[";
  for (const auto& element : elements) {
    if (list.size() > 1) list += ", ";
    list += print(element);
  }
  return list + "]";
}

std::string PrintDim(const DimSpec& dim) {
  std::string text = dim.value >= 0 ? std::to_string(dim.value) : dim.symbol.empty() ? "?" : Name(dim.symbol);
  if (dim.low == 0 && dim.high == INT64_MAX) return text;
  text += FormatText(" in {}..", dim.low);
  return dim.high == INT64_MAX ? text : text + std::to_string(dim.high);
}

std::string PrintType(const TypeSpec& type) {
  if (type.kind == ValueKind::kTensor)
    return std::string(DTypeName(type.dtype)) + (type.has_rank ? Listed(type.dims, PrintDim) : "[*]");
  std::string elements;
  for (const TypeSpec& element : type.elements)
    elements += (elements.empty() ? "" : ", ") + PrintType(element);
  return FormatText("{}<{}>", NameIn(text::kValueKindNames, type.kind), elements);
}

std::string PrintParameters(const std::vector<ParameterSpec>& parameters) {
  std::string text;
  for (const ParameterSpec& parameter : parameters)
    text +=
        FormatText("{}{}: {}", text.empty() ? "" : ", ", Quoted(parameter.name), PrintType(parameter.type));
  return "(" + text + ")";
}

std::string PrintNumbers(const std::vector<uint32_t>& numbers) {
  return Listed(numbers, [](uint32_t number) { return std::to_string(number); });
}

std::string PrintHex(std::span<const std::byte> bytes) {
  std::string text;
  for (std::byte byte : bytes) text += FormatText("{:02x}", static_cast<unsigned>(byte));
  return text;
}

class Printer {
 public:
  Printer(const Program& program, const DisassembleOptions& options) : program_(program), options_(options) {}

  std::string Print() {
    PrintProvenance();
    if (program_.devices != Program().devices) PrintDevices();
    Line("entry @{}", Name(program_.main().name));
    for (const DeviceEntry& entry : program_.device_entries)
      Line("entry {} @{}", PrintNumbers(entry.devices), Name(program_.function(entry.function).name));
    for (const KernelSpec& kernel : program_.kernels) PrintKernel(kernel);
    for (const KernelLibrarySpec& library : program_.libraries) PrintLibrary(library);
    for (size_t i = 0; i < program_.constants.size(); ++i) PrintConstant(i, program_.constants[i]);
    for (size_t i = 0; i < program_.plans.size(); ++i) PrintPlan(i, program_.plans[i]);
    for (const FunctionSpec& function : program_.functions) PrintFunction(function);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void Line(TextFormat<sizeof...(Args)> format, const Args&... args) {
    AppendText(&out_, format, args...);
    out_ += '\n';
  }

  void PrintProvenance() {
    const Provenance& from = program_.provenance;
    if (from.producer.empty() && from.source.empty() && from.source_digest.empty() && from.options.empty())
      return;
    Line("provenance {} source {} digest {} options {}", Quoted(from.producer), Quoted(from.source),
         Quoted(from.source_digest), Quoted(from.options));
  }

  void PrintDevices() {
    Line("devices {}", Listed(program_.devices, [](const DeviceSpec& device) {
           return FormatText("{} {}", NameIn(kDeviceClassNames, device.device_class), device.ordinal);
         }));
  }

  void PrintKernel(const KernelSpec& kernel) {
    std::string text = FormatText("kernel @{} {} symbol {} scalars {} buffers {}", Name(kernel.name),
                                  NameIn(kDeviceClassNames, kernel.device), Quoted(kernel.symbol),
                                  kernel.scalar_count, Listed(kernel.buffers, [](Access access) {
                                    return std::string(NameIn(text::kAccessNames, access));
                                  }));
    if (!kernel.alignments.empty())
      text += " aligned " +
              Listed(kernel.alignments, [](uint8_t alignment) { return std::to_string(alignment); });
    if (kernel.scratch_bytes != 0 || kernel.flops != 0 || kernel.bytes != 0)
      text += FormatText(" cost [{}, {}, {}]", kernel.scratch_bytes, kernel.flops, kernel.bytes);
    if (!kernel.contract.empty()) text += " contract " + Quoted(kernel.contract);
    if (!kernel.error_messages.empty()) text += " errors " + Listed(kernel.error_messages, Quoted);
    if (!kernel.source_node.empty()) text += " node " + Quoted(kernel.source_node);
    Line("{}", text);
  }

  void PrintLibrary(const KernelLibrarySpec& library) {
    const KernelFormInfo* form = InfoOf(library.form);
    Line("; library {} {} {} {} bytes digest {}", DeviceKindName(library.device),
         form != nullptr ? form->name : "unknown", Quoted(library.target), library.bytes.size(),
         DigestOf(library.bytes).Hex());
  }

  void PrintConstant(size_t index, const ConstantSpec& constant) {
    std::string head =
        FormatText("constant c{} {}: {}{}", index, Quoted(constant.name), DTypeName(constant.dtype),
                   Listed(constant.dims, [](int64_t dim) { return std::to_string(dim); }));
    size_t shown = options_.constant_bytes ? kBytesShownOnRequest : kBytesAlwaysShown;
    if (constant.has_place())
      Line("{} in c{} panel {} axes {}", head, constant.place.constant.index, constant.place.panel,
           Listed(constant.place.numbers, [](int64_t number) { return std::to_string(number); }));
    else if (constant.dtype == DType::kString)
      Line("{} strings {}", head, Listed(constant.strings, Quoted));
    else if (constant.bytes.size() <= shown)
      Line("{} hex \"{}\"", head, PrintHex(constant.bytes));
    else
      Line("{} digest \"{}\"", head, DigestOf(constant.bytes).Hex());
  }

  void PrintPlan(size_t index, const PlanSpec& plan) {
    Line("plan p{} {}", index, Listed(plan.values, [](const PlanSpec::Interval& value) {
           return FormatText("{}..{} align {}", value.first, value.last, value.alignment);
         }));
  }

  void PrintFunction(const FunctionSpec& function) {
    std::string scalars;
    if (function.scalar_inputs != 0 || function.scalar_outputs != 0)
      scalars = FormatText(" scalars {} -> {}", function.scalar_inputs, function.scalar_outputs);
    out_ += '\n';
    std::string slots = function.slots == 0 ? "" : FormatText(", {}", function.slots);
    std::string on_device;
    if (!function.device_inputs.empty() || !function.device_outputs.empty())
      on_device = FormatText(" device {} -> {}", PrintNumbers(function.device_inputs),
                             PrintNumbers(function.device_outputs));
    Line("func @{}{} -> {}{} frame {}, {}{}{} {{", Name(function.name), PrintParameters(function.inputs),
         PrintParameters(function.outputs), scalars, function.scalar_registers, function.ref_registers, slots,
         on_device);
    PrintCode(function);
    Line("}}");
  }

  void PrintCode(const FunctionSpec& function) {
    NumberLabels(function);
    auto line = function.lines.begin();
    ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
      if (auto label = labels_.find(instruction.word); label != labels_.end()) Line("L{}:", label->second);
      if (line != function.lines.end() && line->word == instruction.word) {
        if (options_.source_nodes) Line("  node {}", Quoted(program_.strings[line->node.index]));
        ++line;
      }
      Line("  {}", PrintInstruction(instruction));
    });
  }

  // Labels count up in the order of the code.
  void NumberLabels(const FunctionSpec& function) {
    std::vector<uint32_t> targets;
    ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
      for (const DecodedOperand& operand : instruction.operands())
        if (operand.kind == OperandKind::kTarget) targets.push_back(static_cast<uint32_t>(operand.value));
    });
    std::sort(targets.begin(), targets.end());
    labels_.clear();
    for (uint32_t target : targets) labels_.try_emplace(target, static_cast<uint32_t>(labels_.size()));
  }

  // "i2, [i3, i4] = plan p0, [i0, i1]": destinations in front, everything else behind the mnemonic.
  std::string PrintInstruction(const DecodedInstruction& instruction) const {
    std::string destinations;
    std::string rest;
    for (const DecodedOperand& operand : instruction.operands()) {
      std::string& side = IsDestination(operand.kind) ? destinations : rest;
      if (!side.empty()) side += ", ";
      side += PrintOperand(operand);
    }
    std::string text;
    if (!destinations.empty()) text = destinations + " = ";
    text += instruction.info->mnemonic;
    if (!rest.empty()) text += " " + rest;
    if (instruction.info->opcode == Opcode::kHostCall)
      text += FormatText("  ; {}", HostSignatures()[instruction.operands()[0].value].name);
    return text;
  }

  std::string PrintOperand(const DecodedOperand& operand) const {
    auto scalar = [](uint32_t reg) { return FormatText("i{}", reg); };
    auto reference = [](uint32_t reg) { return FormatText("r{}", reg); };
    switch (operand.kind) {
      case OperandKind::kScalarDst:
      case OperandKind::kScalarSrc:
        return FormatText("i{}", operand.value);
      case OperandKind::kRefDst:
      case OperandKind::kRefSrc:
        return FormatText("r{}", operand.value);
      case OperandKind::kSlotDst:
      case OperandKind::kSlotSrc:
        return FormatText("s{}", operand.value);
      case OperandKind::kImmediate:
      case OperandKind::kIndex:
        return std::to_string(operand.value);
      case OperandKind::kTarget:
        return FormatText("L{}", labels_.at(static_cast<uint32_t>(operand.value)));
      case OperandKind::kFunction:
        return "@" + Name(program_.functions[operand.value].name);
      case OperandKind::kKernel:
        return "@" + Name(program_.kernels[operand.value].name);
      case OperandKind::kConstant:
        return FormatText("c{}", operand.value);
      case OperandKind::kPlan:
        return FormatText("p{}", operand.value);
      case OperandKind::kString:
        return Quoted(program_.strings[operand.value]);
      case OperandKind::kDType:
        return std::string(DTypeName(static_cast<DType>(operand.value)));
      case OperandKind::kScalarList:
      case OperandKind::kScalarDstList:
        return Listed(operand.list, scalar);
      case OperandKind::kRefList:
      case OperandKind::kRefDstList:
        return Listed(operand.list, reference);
      case OperandKind::kBufferList:
        return PrintBuffers(operand);
    }
    return {};
  }

  static std::string PrintBuffers(const DecodedOperand& operand) {
    std::vector<BufferOperand> buffers;
    for (size_t i = 0; i < operand.list_size(); ++i) buffers.push_back(operand.buffer(i));
    return Listed(buffers, [](BufferOperand buffer) {
      const char letter = buffer.is_constant() ? 'c' : buffer.is_slot() ? 's' : 'r';
      std::string text = FormatText("{}{}", letter, buffer.index());
      return buffer.offset == BufferOperand::kNoOffset ? text : text + FormatText("+i{}", buffer.offset);
    });
  }

  const Program& program_;
  const DisassembleOptions& options_;
  std::unordered_map<uint32_t, uint32_t> labels_;  // word -> number, of the function being printed
  std::string out_;
};

}  // namespace

std::string Disassemble(const Program& program, const DisassembleOptions& options) {
  return Printer(program, options).Print();
}

}  // namespace tvmvm
