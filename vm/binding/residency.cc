#include "vm/binding/residency.h"

#include <optional>

#include "bytecode/encoding.h"

namespace tvmvm {
namespace {

class Scan {
 public:
  explicit Scan(const FunctionSpec& function)
      : on_host_(function.ref_registers),
        written_(function.ref_registers),
        output_of_(function.ref_registers) {
    for (size_t i = 0; i < function.inputs.size(); ++i) written_[i] = 1;
    ForEachInstruction(function.code, [this](const DecodedInstruction& instruction) { See(instruction); });
  }

  bool StaysInput(uint32_t reg) const { return !on_host_[reg] && written_[reg] == 1; }

  // Output `number` has one register that `output` made, and that is given as that output.
  bool StaysOutput(uint32_t number) const {
    std::optional<uint32_t> found;
    for (uint32_t reg = 0; reg < output_of_.size(); ++reg) {
      if (output_of_[reg] != number) continue;
      if (found) return false;
      found = reg;
    }
    return found && !on_host_[*found] && written_[*found] == 1;
  }

 private:
  void See(const DecodedInstruction& instruction) {
    const Opcode opcode = instruction.info->opcode;
    const bool is_return = opcode == Opcode::kReturn;
    const bool is_harmless = opcode == Opcode::kCopy || opcode == Opcode::kDim || opcode == Opcode::kLoad ||
                             opcode == Opcode::kRelease;
    for (const DecodedOperand& operand : instruction.operands()) {
      if (operand.kind == OperandKind::kRefDst) ++written_[static_cast<size_t>(operand.value)];
      if (operand.kind == OperandKind::kRefDstList)
        for (uint32_t reg : operand.list) ++written_[reg];
      if (is_harmless) continue;
      if (operand.kind == OperandKind::kRefSrc) on_host_[static_cast<size_t>(operand.value)] = true;
      if (operand.kind == OperandKind::kRefList)
        for (uint32_t i = 0; i < operand.list.size(); ++i) Give(operand.list[i], is_return, i);
      if (operand.kind == OperandKind::kBufferList)
        for (size_t i = 0; i < operand.list_size(); ++i)
          if (!operand.buffer(i).is_constant()) on_host_[operand.buffer(i).base] = true;
    }
    if (opcode == Opcode::kOutput)
      output_of_[static_cast<size_t>(instruction.operand(0).value)] =
          static_cast<uint32_t>(instruction.operand(1).value);
  }

  void Give(uint32_t reg, bool is_return, uint32_t number) {
    if (!is_return || output_of_[reg] != number) on_host_[reg] = true;
  }

  std::vector<bool> on_host_;
  std::vector<uint32_t> written_;
  std::vector<std::optional<uint32_t>> output_of_;
};

}  // namespace

Residency ResidencyOf(const FunctionSpec& function) {
  const Scan scan(function);
  Residency residency;
  for (uint32_t i = 0; i < function.inputs.size(); ++i) residency.inputs.push_back(scan.StaysInput(i));
  for (uint32_t k = 0; k < function.outputs.size(); ++k) residency.outputs.push_back(scan.StaysOutput(k));
  return residency;
}

}  // namespace tvmvm
