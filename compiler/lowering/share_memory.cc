// Values in the memory of others: where one is made from another, element by element, that nobody reads
// afterwards, both have one place.
#include <algorithm>

#include "compiler/graph/core_op.h"
#include "compiler/lowering/memory_table.h"
#include "compiler/schedules/take_over.h"

namespace tvmvm::lowering {

using ir::Dim;
using ir::Node;
using ir::ValueId;

bool MemoryTable::CanTakeOver(const Step& step, int read, ValueId written) const {
  const Node& node = function_.node(step.node);
  std::vector<bool> reads;
  for (ValueId input : node.inputs) {
    auto found = input.valid() ? of_.find(views_.PlaceOf(input).root) : of_.end();
    reads.push_back(found != of_.end() && found->second == read);
    // A part of it, or another view, has its elements elsewhere.
    if (reads.back() && WholeOf(input) != read) return false;
  }
  if (step.kind == StepKind::kJoin) return reads[0] && std::ranges::count(reads, true) == 1;
  if (step.kind != StepKind::kLaunch) return false;
  const auto output = static_cast<uint32_t>(std::ranges::find(node.outputs, written) - node.outputs.begin());
  const tensor::GroupView group(function_, step.node);
  return output < node.outputs.size() && std::ranges::all_of(step.programs, [&](const auto& program) {
           return tensor::CanTakeOver(group, *program, reads, output);
         });
}

bool MemoryTable::MayWriteOver(const RegionSteps& body, int input, ValueId result) const {
  const ValueId parameter = function_.region(function_.body).parameters[static_cast<size_t>(input)];
  const int read = of_.at(parameter);
  const Memory &from = memory_[static_cast<size_t>(read)], &to = memory_[static_cast<size_t>(of_.at(result))];
  if (from.last < to.first) return true;
  const auto step = std::ranges::find(body.steps, to.first, &Step::first);
  return step != body.steps.end() && from.last <= step->last && CanTakeOver(*step, read, result);
}

bool MemoryTable::IsKnownAtEntry(const ir::Type& type) const {
  return std::ranges::all_of(type.dims, [&](const Dim& dim) {
    return !AnySymbol(dim, [&](const ir::SymbolId& symbol) { return !symbol_stage_.contains(symbol); });
  });
}

// An arena's place that nobody needs after the step.
bool MemoryTable::MayBeTaken(const Step& step, int number, const Dim& bytes) const {
  const Memory& memory = memory_[static_cast<size_t>(number)];
  return memory.kind == MemoryKind::kArena && memory.device == kHostDevice && !memory.carried &&
         memory.twin < 0 && memory.last == step.last && memory.first < step.first && memory.bytes == bytes;
}

void MemoryTable::Merge(int from, int into) {
  Memory &gone = memory_[static_cast<size_t>(from)], &kept = memory_[static_cast<size_t>(into)];
  kept.first = std::min(kept.first, gone.first);
  kept.last = std::max(kept.last, gone.last);
  gone.kind = MemoryKind::kShared;
  // What a loop's steps collect has parts.
  for (Memory& memory : memory_)
    if (memory.whole == from) memory.whole = into;
  std::vector<ValueId>& values = values_[static_cast<size_t>(from)];
  for (ValueId value : values) of_[value] = into;
  std::vector<ValueId>& all = values_[static_cast<size_t>(into)];
  all.insert(all.end(), values.begin(), values.end());
  values.clear();
}

void MemoryTable::ShareMemory(const Step& step, bool is_body) {
  const Node& node = function_.node(step.node);
  if (step.kind != StepKind::kLaunch || step.device != kHostDevice) return;
  std::vector<int> taken;
  for (ValueId output : node.outputs) {
    if (!output.valid() || of_.find(output) == of_.end()) continue;
    const int number = of_[output];
    const Memory& memory = memory_[static_cast<size_t>(number)];
    const bool is_own = (memory.kind == MemoryKind::kArena || memory.kind == MemoryKind::kOutput) &&
                        memory.first == step.first && !memory.carried && memory.twin < 0;
    if (!is_own) continue;
    const bool is_output = memory.kind == MemoryKind::kOutput;
    // What else is made in an output's memory is made where the output's dims are known, and no donated input
    // may lie there any longer.
    if (is_output && (!is_body || DonatedTo(memory.number) >= 0 || !IsKnownAtEntry(function_.type(output))))
      continue;
    const Dim bytes = lowering::BytesOf(function_.type(output).dtype, function_.type(output).dims);
    for (ValueId input : node.inputs) {
      const int read = input.valid() ? WholeOf(input) : -1;
      if (read < 0 || read == number || std::ranges::count(taken, read) > 0) continue;
      if (!MayBeTaken(step, read, bytes) || !CanTakeOver(step, read, output)) continue;
      taken.push_back(is_output ? number : read);
      is_output ? Merge(read, number) : Merge(number, read);
      break;
    }
  }
}

void MemoryTable::ShareMemory(const RegionSteps& region, bool is_body) {
  for (const Step& step : region.steps) {
    ShareMemory(step, is_body);
    for (const RegionSteps& inner : step.regions) ShareMemory(inner, false);
  }
}

}  // namespace tvmvm::lowering
