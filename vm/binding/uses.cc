#include "vm/binding/uses.h"

#include "bytecode/encoding.h"

namespace tvmvm {
namespace {

void AddUse(const DecodedInstruction& instruction, Uses* uses, std::vector<uint32_t>* open) {
  switch (instruction.info->opcode) {
    case Opcode::kCall: {
      const auto callee = static_cast<uint32_t>(instruction.operand(0).value);
      if (!uses->functions[callee]) open->push_back(callee);
      uses->functions[callee] = true;
      return;
    }
    case Opcode::kArenaOn:
    case Opcode::kAllocateOn:
      uses->devices[instruction.operand(1).value].is_used = true;
      return;
    case Opcode::kSlots:
    case Opcode::kSlotsAmong:
      uses->devices[instruction.operand(3).value].is_used = true;
      return;
    case Opcode::kLaunch:
      break;
    default:
      return;
  }
  const auto number = static_cast<uint32_t>(instruction.operand(1).value);
  DeviceUses& device = uses->devices[number];
  device.is_used = true;
  device.kernels.insert(static_cast<uint32_t>(instruction.operand(0).value));
  if (number == kHostDevice) return;
  const DecodedOperand& buffers = instruction.operand(4);
  for (size_t i = 0; i < buffers.list_size(); ++i)
    if (buffers.buffer(i).is_constant()) device.constants.insert(buffers.buffer(i).index());
}

}  // namespace

Uses UsesOf(const Program& program, FunctionId entry) {
  Uses uses;
  uses.functions.resize(program.functions.size());
  uses.devices.resize(program.devices.size());
  uses.devices[kHostDevice].is_used = true;
  uses.functions[entry.index] = true;
  std::vector<uint32_t> open{entry.index};
  while (!open.empty()) {
    const std::vector<uint32_t>& code = program.functions[open.back()].code;
    open.pop_back();
    ForEachInstruction(code,
                       [&](const DecodedInstruction& instruction) { AddUse(instruction, &uses, &open); });
  }
  return uses;
}

}  // namespace tvmvm
