#include "vm/forecast/block_graph.h"

#include <algorithm>

#include "bytecode/encoding.h"

namespace tvmvm::forecast {
namespace {

// The word that an instruction may continue at besides the next; Block::kNone: none.
uint32_t TargetOf(const DecodedInstruction& instruction) {
  switch (instruction.info->opcode) {
    case Opcode::kJump:
      return static_cast<uint32_t>(instruction.operand(0).value);
    case Opcode::kBranchIf:
    case Opcode::kBranchIfNot:
      return static_cast<uint32_t>(instruction.operand(1).value);
    default:
      return Block::kNone;
  }
}

bool EndsBlock(Opcode opcode) {
  return opcode == Opcode::kJump || opcode == Opcode::kBranchIf || opcode == Opcode::kBranchIfNot ||
         opcode == Opcode::kReturn;
}

}  // namespace

std::vector<Block> BlocksOf(const FunctionSpec& function) {
  std::vector<uint32_t> leaders = {0};
  ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
    if (const uint32_t target = TargetOf(instruction); target != Block::kNone) leaders.push_back(target);
    if (EndsBlock(instruction.info->opcode)) leaders.push_back(instruction.word + instruction.words);
  });
  std::sort(leaders.begin(), leaders.end());
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());

  const auto size = static_cast<uint32_t>(function.code.size());
  auto block_at = [&](uint32_t word) {
    return static_cast<uint32_t>(std::lower_bound(leaders.begin(), leaders.end(), word) - leaders.begin());
  };
  std::vector<Block> blocks;
  for (size_t i = 0; i < leaders.size() && leaders[i] < size; ++i)
    blocks.push_back({leaders[i], i + 1 < leaders.size() ? std::min(leaders[i + 1], size) : size});
  ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
    const uint32_t end = instruction.word + instruction.words;
    const uint32_t number = block_at(instruction.word + 1) - 1;
    Block& block = blocks[number];
    if (block.end != end) return;
    const Opcode opcode = instruction.info->opcode;
    if (const uint32_t target = TargetOf(instruction); target != Block::kNone) {
      block.target = block_at(target);
      blocks[block.target].from.emplace_back(number, true);
      blocks[block.target].is_loop_head = blocks[block.target].is_loop_head || block.target <= number;
    }
    if (opcode == Opcode::kJump || opcode == Opcode::kReturn || end >= size) return;
    block.next = block_at(end);
    blocks[block.next].from.emplace_back(number, false);
  });
  return blocks;
}

}  // namespace tvmvm::forecast
