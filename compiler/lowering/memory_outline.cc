#include "compiler/lowering/memory_outline.h"

#include <algorithm>

#include "compiler/graph/storage.h"
#include "compiler/lowering/memory_table.h"
#include "compiler/lowering/steps.h"

namespace tvmvm::lowering {
namespace {

void AddSteps(const RegionSteps& region, MemoryOutline* outline) {
  for (const Step& step : region.steps) {
    for (uint32_t position = step.first; position <= step.last; ++position) {
      if (outline->nodes.size() <= position) outline->nodes.resize(position + 1);
      outline->nodes[position] = step.node;
    }
    if (!step.programs.empty())
      for (const tensor::KernelCall& call : step.programs[0]->calls)
        outline->work.push_back({call.when, call.kernel.flops, call.kernel.bytes});
    for (const RegionSteps& inner : step.regions) AddSteps(inner, outline);
  }
}

}  // namespace

Expected<MemoryOutline> OutlineMemory(const ir::Module& module, const ir::Function& function,
                                      const LoweringOptions& options, tensor::ScheduleCache* schedules) {
  KernelTable kernels(&options);
  TVMVM_TRY(RegionSteps body, ScheduleSteps(function, module.Ranges(), options, &kernels, schedules));
  const Views views(function);
  MemoryTable table(function, views);
  table.Assign(&body, options.share_memory);
  MemoryOutline outline;
  AddSteps(body, &outline);
  std::vector<std::vector<ir::ValueId>> values(table.size());
  for (const auto& [value, number] : table.places()) values[static_cast<size_t>(number)].push_back(value);
  for (size_t i = 0; i < table.size(); ++i) {
    const Memory& memory = table[static_cast<int>(i)];
    if (memory.kind == MemoryKind::kArena && memory.device == kHostDevice)
      outline.places.push_back({memory.bytes, memory.first, memory.last, memory.stage, values[i]});
    if (memory.kind != MemoryKind::kObject) continue;
    for (ir::ValueId value : values[i]) {
      const ir::Type& type = function.type(value);
      if (ir::IsTensorOfNumbers(type))
        outline.tensors.push_back(BytesOf(type.dtype, type.dims));
      else
        outline.unknown.push_back(value);
    }
  }
  for (ir::ValueId result : function.region(function.body).results) {
    const ir::Type& type = function.type(result);
    const bool is_object = table[table.Of(result)].kind == MemoryKind::kObject;
    if (ir::IsTensorOfNumbers(type) && !is_object) outline.tensors.push_back(BytesOf(type.dtype, type.dims));
  }
  return outline;
}

}  // namespace tvmvm::lowering
