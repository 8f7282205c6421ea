// Checks of a function's frame, its line table and how instructions tile its code.
#include <algorithm>

#include "bytecode/format_text.h"
#include "bytecode/verifier.h"
#include "bytecode/verifier/checks.h"

namespace tvmvm::verifier {
namespace {

// Control never goes on to the next instruction.
bool EndsPath(const DecodedInstruction& instruction) {
  return instruction.info->opcode == Opcode::kJump || instruction.info->opcode == Opcode::kReturn;
}

Status VerifyRegisterFile(const FunctionSpec& function, std::string_view file, uint32_t registers,
                          uint64_t parameters) {
  if (registers > kMaxRegisters)
    return Refuse("@{}: {} {} registers, at most {}", function.name, registers, file, kMaxRegisters);
  if (parameters > registers)
    return Refuse("@{}: {} {} parameters in {} registers", function.name, parameters, file, registers);
  return {};
}

Status VerifyDeviceParameters(const FunctionSpec& function, std::string_view role,
                              const std::vector<uint32_t>& numbers, size_t parameters) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= parameters)
      return Refuse("@{}: {} {} may stay on a device, the function has {}", function.name, role, numbers[i],
                    parameters);
    if (i > 0 && numbers[i] <= numbers[i - 1])
      return Refuse("@{}: {} {} that may stay on a device follows {}", function.name, role, numbers[i],
                    numbers[i - 1]);
  }
  return {};
}

Status VerifyTargets(const FunctionContext& context, const DecodedInstruction& instruction) {
  for (const DecodedOperand& operand : instruction.operands()) {
    if (operand.kind != OperandKind::kTarget) continue;
    if (!std::binary_search(context.starts.begin(), context.starts.end(),
                            static_cast<uint32_t>(operand.value)))
      return context.Fail(instruction,
                          FormatText("target {} is not the start of an instruction", operand.value));
  }
  return {};
}

// A register that nothing sets cannot be read, so a frame has no use for more registers than there are
// parameters and destinations. Without this rule a file of a few bytes could ask for frames of any size.
Status VerifyFrameSize(const FunctionContext& context) {
  const FunctionSpec& function = context.function;
  uint64_t scalars = function.scalar_inputs, references = function.inputs.size(), slots = 0;
  for (size_t i = 0; i < context.starts.size(); ++i) {
    const DecodedInstruction instruction = context.At(i);
    for (const DecodedOperand& operand : instruction.operands()) {
      if (!IsDestination(operand.kind)) continue;
      if (operand.kind == OperandKind::kSlotDst) {
        slots += SlotsSet(instruction);
        continue;
      }
      const bool is_list =
          operand.kind == OperandKind::kScalarDstList || operand.kind == OperandKind::kRefDstList;
      const bool is_scalar =
          operand.kind == OperandKind::kScalarDst || operand.kind == OperandKind::kScalarDstList;
      (is_scalar ? scalars : references) += is_list ? operand.list.size() : 1;
    }
  }
  auto verify = [&](std::string_view file, uint32_t registers, uint64_t settable) -> Status {
    if (registers <= std::max<uint64_t>(settable, kFreeRegisters)) return {};
    return Refuse("@{}: {} {} registers, but only {} can be set; at most {} may be declared", function.name,
                  registers, file, settable, std::max<uint64_t>(settable, kFreeRegisters));
  };
  TVMVM_CHECK_OK(verify("slot", function.slots, slots));
  TVMVM_CHECK_OK(verify("scalar", function.scalar_registers, scalars));
  return verify("reference", function.ref_registers, references);
}

Status VerifyLines(const FunctionContext& context) {
  const std::vector<LineEntry>& lines = context.function.lines;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0 && lines[i].word <= lines[i - 1].word)
      return Refuse("@{}: line table entry {} at word {} follows word {}", context.function.name, i,
                    lines[i].word, lines[i - 1].word);
    if (lines[i].node.index >= context.program.strings.size())
      return Refuse("@{}: line table entry {} names string {}, the program has {}", context.function.name, i,
                    lines[i].node.index, context.program.strings.size());
  }
  return {};
}

Status VerifyLinePositions(const FunctionContext& context) {
  for (const LineEntry& line : context.function.lines)
    if (!std::binary_search(context.starts.begin(), context.starts.end(), line.word))
      return Refuse("@{}: line table word {} is not the start of an instruction", context.function.name,
                    line.word);
  return {};
}

}  // namespace

Status VerifyFrame(const FunctionContext& context) {
  const FunctionSpec& function = context.function;
  TVMVM_CHECK_OK(VerifyRegisterFile(function, "scalar", function.scalar_registers, function.scalar_inputs));
  TVMVM_CHECK_OK(VerifyRegisterFile(function, "reference", function.ref_registers, function.inputs.size()));
  if (function.slots > kMaxRegisters)
    return Refuse("@{}: {} slots, at most {}", function.name, function.slots, kMaxRegisters);
  TVMVM_CHECK_OK(VerifyDeviceParameters(function, "input", function.device_inputs, function.inputs.size()));
  TVMVM_CHECK_OK(
      VerifyDeviceParameters(function, "output", function.device_outputs, function.outputs.size()));
  return VerifyLines(context);
}

Status VerifyLayout(FunctionContext* context) {
  const FunctionSpec& function = context->function;
  if (function.code.empty()) return Refuse("@{}: no instructions", function.name);
  if (function.code.size() > kMaxCodeWords)
    return Refuse("@{}: {} words of code, at most {}", function.name, function.code.size(), kMaxCodeWords);
  bool ends_path = false;
  for (uint32_t word = 0; word < function.code.size();) {
    Expected<DecodedInstruction> instruction = DecodeInstruction(function.code, word);
    if (!instruction) return Refuse("@{}:{} {}", function.name, word, instruction.error().message);
    ends_path = EndsPath(*instruction);
    context->starts.push_back(word);
    word += instruction->words;
  }
  if (!ends_path) return Refuse("@{}: the last instruction falls off the end", function.name);
  for (size_t i = 0; i < context->starts.size(); ++i) TVMVM_CHECK_OK(VerifyTargets(*context, context->At(i)));
  TVMVM_CHECK_OK(VerifyFrameSize(*context));
  return VerifyLinePositions(*context);
}

}  // namespace tvmvm::verifier
