// Stages: a plan for each device, and its memory.
#include <algorithm>
#include <set>

#include "compiler/lowering/function_lowering.h"

namespace tvmvm::lowering {
namespace {

// Among more values than the planner looks through, each with all others, a stage has memory of its own.
constexpr size_t kMostAmong = 1000;

PlanSpec::Interval LifetimeOf(const Memory& memory) {
  return {memory.first, memory.last, memory.device == kHostDevice ? 64u : 256u};
}

}  // namespace

std::vector<BufferOperand> FunctionLowering::EarlierMemory(uint32_t device,
                                                           const std::vector<size_t>& members,
                                                           PlanSpec* plan) const {
  std::vector<BufferOperand> earlier;
  std::set<int> stages;
  for (const OpenRegion& region : open_)
    for (const StageArena& arena : region.arenas) {
      if (arena.device != device) continue;
      earlier.push_back({arena.ref.index});
      stages.insert(arena.stage);
    }
  if (earlier.empty()) return {};
  uint32_t first = UINT32_MAX, last = 0;
  for (size_t i : members) {
    first = std::min(first, memory_[static_cast<int>(i)].first);
    last = std::max(last, memory_[static_cast<int>(i)].last);
  }
  for (size_t i = 0; i < memory_.size(); ++i) {
    const Memory& memory = memory_[static_cast<int>(i)];
    if (memory.kind != MemoryKind::kArena || memory.device != device || !stages.contains(memory.stage) ||
        memory.first > last || memory.last < first)
      continue;
    plan->values.push_back(LifetimeOf(memory));
    earlier.push_back(SlotOperand(memory.slot.index));
  }
  if (plan->values.size() + members.size() <= kMostAmong) return earlier;
  plan->values.clear();
  return {};
}

void FunctionLowering::EmitStage(int stage) {
  for (uint32_t device = 0; device < device_count_; ++device) EmitStage(stage, device);
}

void FunctionLowering::EmitStage(int stage, uint32_t device) {
  std::vector<ScalarReg> sizes;
  std::vector<size_t> members;
  for (size_t i = 0; i < memory_.size(); ++i) {
    const Memory& memory = memory_[static_cast<int>(i)];
    if (memory.kind != MemoryKind::kArena || memory.stage != stage || memory.device != device) continue;
    sizes.push_back(dims_->Emit(memory.bytes));
    members.push_back(i);
  }
  if (members.empty()) return;
  PlanSpec plan;
  const std::vector<BufferOperand> earlier = EarlierMemory(device, members, &plan);
  for (size_t i : members) plan.values.push_back(LifetimeOf(memory_[static_cast<int>(i)]));
  RefReg arena;
  const PlanId id = builder_->AddPlan(std::move(plan));
  const SlotReg first = earlier.empty() ? f_->Slots(id, sizes, device, &arena)
                                        : f_->SlotsAmong(id, sizes, device, earlier, &arena);
  open_.back().arenas.push_back({arena, device, stage});
  for (size_t i = 0; i < members.size(); ++i)
    memory_[static_cast<int>(members[i])].slot = {first.index + static_cast<uint32_t>(i)};
  for (const StandIn& stand_in : memory_.stand_ins()) {
    const Memory& memory = memory_[stand_in.memory];
    if (memory.stage != stage || memory.device != device) continue;
    f_->Emit(stand_in.is_input ? Opcode::kSlotInput : Opcode::kSlotOutput,
             {{OperandKind::kSlotSrc, memory.slot.index}, {OperandKind::kIndex, stand_in.number}});
  }
}

}  // namespace tvmvm::lowering
