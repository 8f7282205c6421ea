#include "vm/binding/extents.h"

#include <algorithm>

#include "bytecode/encoding.h"

namespace tvmvm {
namespace {

// How often each register of a function is written; parameters are written by the call.
struct Writes {
  std::vector<uint32_t> scalars, refs;

  explicit Writes(const FunctionSpec& function)
      : scalars(function.scalar_registers), refs(function.ref_registers) {
    std::fill_n(scalars.begin(), function.scalar_inputs, 1);
    std::fill_n(refs.begin(), function.inputs.size(), 1);
  }

  void Count(const DecodedInstruction& instruction) {
    for (const DecodedOperand& operand : instruction.operands()) {
      if (operand.kind == OperandKind::kScalarDst) ++scalars[static_cast<size_t>(operand.value)];
      if (operand.kind == OperandKind::kRefDst) ++refs[static_cast<size_t>(operand.value)];
      if (operand.kind == OperandKind::kScalarDstList)
        for (uint32_t reg : operand.list) ++scalars[reg];
      if (operand.kind == OperandKind::kRefDstList)
        for (uint32_t reg : operand.list) ++refs[reg];
    }
  }
};

}  // namespace

std::vector<Extent> ExtentsOf(const FunctionSpec& function) {
  Writes writes(function);
  ForEachInstruction(function.code,
                     [&](const DecodedInstruction& instruction) { writes.Count(instruction); });

  // By the scalar register of a plan's total: the arena on the GPU that is made with it.
  std::vector<uint32_t> arenas(function.scalar_registers, Extent::kUnknown);
  ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
    if (instruction.info->opcode != Opcode::kArenaOn || instruction.operand(1).value == 0) return;
    const auto arena = static_cast<uint32_t>(instruction.operand(0).value);
    const auto total = static_cast<size_t>(instruction.operand(2).value);
    if (writes.refs[arena] == 1 && writes.scalars[total] == 1) arenas[total] = arena;
  });

  std::vector<Extent> extents(function.scalar_registers);
  ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
    if (instruction.info->opcode != Opcode::kPlan) return;
    const std::span<const uint32_t> sizes = instruction.operand(1).list,
                                    offsets = instruction.operand(3).list;
    const uint32_t arena = arenas[static_cast<size_t>(instruction.operand(2).value)];
    if (arena == Extent::kUnknown) return;
    for (size_t k = 0; k < sizes.size(); ++k)
      if (writes.scalars[sizes[k]] == 1 && writes.scalars[offsets[k]] == 1)
        extents[offsets[k]] = {arena, sizes[k]};
  });
  return extents;
}

}  // namespace tvmvm
