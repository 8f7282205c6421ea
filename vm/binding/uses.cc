#include "vm/binding/uses.h"

#include "bytecode/encoding.h"

namespace tvmvm {
namespace {

void AddUse(const Program& program, const DecodedInstruction& instruction, Uses* uses,
            std::vector<uint32_t>* open) {
  switch (instruction.info->opcode) {
    case Opcode::kCall: {
      const auto callee = static_cast<uint32_t>(instruction.operand(0).value);
      if (!uses->functions[callee]) open->push_back(callee);
      uses->functions[callee] = true;
      return;
    }
    case Opcode::kArenaOn:
    case Opcode::kAllocateOn:
      uses->classes[instruction.operand(1).value] = true;
      return;
    case Opcode::kSlots:
      uses->classes[instruction.operand(3).value] = true;
      return;
    case Opcode::kLaunch:
      break;
    default:
      return;
  }
  const auto kernel = static_cast<uint32_t>(instruction.operand(0).value);
  uses->kernels[kernel] = true;
  uses->classes[static_cast<size_t>(program.kernels[kernel].device)] = true;
  if (program.kernels[kernel].device == DeviceClass::kCpu) return;
  const DecodedOperand& buffers = instruction.operand(4);
  for (size_t i = 0; i < buffers.list_size(); ++i)
    if (buffers.buffer(i).is_constant()) uses->gpu_constants.insert(buffers.buffer(i).index());
}

}  // namespace

Uses UsesOf(const Program& program, FunctionId entry) {
  Uses uses;
  uses.functions.resize(program.functions.size());
  uses.kernels.resize(program.kernels.size());
  uses.functions[entry.index] = true;
  std::vector<uint32_t> open{entry.index};
  while (!open.empty()) {
    const std::vector<uint32_t>& code = program.functions[open.back()].code;
    open.pop_back();
    ForEachInstruction(
        code, [&](const DecodedInstruction& instruction) { AddUse(program, instruction, &uses, &open); });
  }
  return uses;
}

std::vector<uint32_t> KernelsOf(const Program& program, const Uses& uses, DeviceClass wanted) {
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < program.kernels.size(); ++id)
    if (uses.kernels[id] && program.kernels[id].device == wanted) ids.push_back(id);
  return ids;
}

}  // namespace tvmvm
