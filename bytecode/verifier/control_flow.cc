#include "bytecode/verifier/control_flow.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tvmvm::verifier {
namespace {

// How control leaves an instruction.
struct Exit {
  std::optional<uint32_t> target;  // word
  bool falls_through = true;
  bool ends_block() const { return target.has_value() || !falls_through; }
};

Exit ExitOf(const DecodedInstruction& instruction) {
  Exit exit;
  for (const DecodedOperand& operand : instruction.operands())
    if (operand.kind == OperandKind::kTarget) exit.target = static_cast<uint32_t>(operand.value);
  Opcode opcode = instruction.info->opcode;
  exit.falls_through = opcode != Opcode::kJump && opcode != Opcode::kReturn;
  return exit;
}

}  // namespace

ControlFlow::ControlFlow(const FunctionContext& context) {
  auto count = static_cast<uint32_t>(context.starts.size());
  auto position_of = [&](uint32_t word) {
    auto it = std::lower_bound(context.starts.begin(), context.starts.end(), word);
    return static_cast<uint32_t>(it - context.starts.begin());
  };

  std::vector<Exit> exits(count);
  std::vector<bool> leads(count + 1, false);
  leads[0] = leads[count] = true;
  for (uint32_t i = 0; i < count; ++i) {
    exits[i] = ExitOf(context.At(i));
    if (exits[i].target) leads[position_of(*exits[i].target)] = true;
    if (exits[i].ends_block()) leads[i + 1] = true;
  }

  std::vector<uint32_t> block_of(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (leads[i]) blocks_.push_back({i, i});
    blocks_.back().end = i + 1;
    block_of[i] = static_cast<uint32_t>(blocks_.size() - 1);
  }

  std::vector<std::pair<uint32_t, uint32_t>> edges;  // to, from
  for (uint32_t block = 0; block < blocks_.size(); ++block) {
    const Exit& exit = exits[blocks_[block].end - 1];
    if (exit.target) edges.emplace_back(block_of[position_of(*exit.target)], block);
    if (exit.falls_through) edges.emplace_back(block + 1, block);
  }
  std::sort(edges.begin(), edges.end());
  first_predecessor_.assign(blocks_.size() + 1, 0);
  for (auto [to, from] : edges) {
    ++first_predecessor_[to + 1];
    predecessors_.push_back(from);
  }
  for (size_t i = 1; i < first_predecessor_.size(); ++i) first_predecessor_[i] += first_predecessor_[i - 1];
}

}  // namespace tvmvm::verifier
