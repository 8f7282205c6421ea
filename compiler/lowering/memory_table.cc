#include "compiler/lowering/memory_table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::lowering {
namespace {

using ir::Dim;
using ir::Node;
using ir::Region;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

ir::SymbolSet SetOf(const std::vector<ir::SymbolId>& symbols) { return {symbols.begin(), symbols.end()}; }

Dim BytesOf(const Type& type) { return lowering::BytesOf(type.dtype, type.dims); }

// 1 where any call that reads or writes the workspace is launched, else 0.
Dim IsUsed(const tensor::GroupProgram& program, uint32_t workspace) {
  Dim is_used = 0;
  for (const tensor::KernelCall& call : program.calls)
    if (std::ranges::any_of(call.arguments, [&](const tensor::KernelArgument& argument) {
          return argument.kind == tensor::ArgumentKind::kWorkspace && argument.index == workspace;
        }))
      is_used = call.when.IsConstant(1) ? Dim(1) : Or(is_used, NotEqual(call.when, 0));
  return is_used;
}

}  // namespace

int MemoryTable::Add(Memory memory) {
  memory_.push_back(std::move(memory));
  return static_cast<int>(memory_.size() - 1);
}

int MemoryTable::AddArena(const Dim& bytes, const Step& step, uint32_t device) {
  return Add(
      {.kind = MemoryKind::kArena, .device = device, .bytes = bytes, .first = step.first, .last = step.last});
}

int MemoryTable::AddArena(ValueId value, const Step& step) {
  return AddArena(BytesOf(function_.type(value)), step, function_.value(value).device);
}

int MemoryTable::AddObject(ValueId value, const Step& step) {
  return Add({.kind = MemoryKind::kObject,
              .device = function_.value(value).device,
              .first = step.first,
              .last = step.last,
              .region = region_});
}

int MemoryTable::Of(ValueId value) {
  ValueId root = views_.PlaceOf(value).root;
  if (auto found = of_.find(root); found != of_.end()) return found->second;
  return of_[root] = Add({.kind = MemoryKind::kConstant, .value = root});
}

bool MemoryTable::IsComputed(ValueId value) {
  MemoryKind kind = memory_[static_cast<size_t>(Of(value))].kind;
  return kind != MemoryKind::kInput && kind != MemoryKind::kConstant;
}

// No tensor of numbers, or of a size that depends on `unknown` symbols.
bool MemoryTable::NeedsObject(const Type& type, const ir::SymbolSet& unknown) const {
  if (type.kind != TypeKind::kTensor || !type.ranked || type.dtype == DType::kString) return true;
  return std::ranges::any_of(type.dims, [&](const Dim& dim) { return MentionsAny(dim, unknown); });
}

void MemoryTable::Assign(RegionSteps* body, bool shares) {
  const Region& region = function_.region(function_.body);
  for (size_t i = 0; i < region.parameters.size(); ++i)
    of_[region.parameters[i]] = Add({.kind = MemoryKind::kInput, .number = static_cast<uint32_t>(i)});
  for (ValueId parameter : region.parameters)
    for (const Dim& dim : function_.type(parameter).dims)
      if (dim.is_symbol()) symbol_stage_[dim.symbol()] = 0;
  AssignRegion(body);
  UseRegion(*body);
  AssignOutputs(*body);
  if (shares) {
    values_.resize(memory_.size());
    for (const auto& [value, number] : of_) values_[static_cast<size_t>(number)].push_back(value);
    ShareMemory(*body, true);
  }
  FindStandIns(*body);
  NumberStages(body, true);
  for (size_t i = 0; i < memory_.size(); ++i) {
    Memory& memory = memory_[i];
    if (memory.kind == MemoryKind::kArena) memory.stage = StageOf(memory.bytes);
    if (memory.kind == MemoryKind::kObject) objects_by_end_.emplace(memory.last, static_cast<int>(i));
  }
}

void MemoryTable::AssignRegion(RegionSteps* region) {
  ir::RegionId outer = std::exchange(region_, region->region);
  for (Step& step : region->steps) AssignStep(&step);
  region_ = outer;
}

// What is joined to others lies in the memory of all, which the first of them brings.
void MemoryTable::AssignMade(ValueId value, const Step& step) {
  const ValueId root = views_.IsJoined(value) ? views_.PlaceOf(value).root : value;
  if (root == value || of_.find(root) == of_.end()) of_[root] = AddArena(root, step);
}

void MemoryTable::AssignStep(Step* step) {
  const Node& node = function_.node(step->node);
  switch (step->kind) {
    case StepKind::kIf:
      return AssignIf(step);
    case StepKind::kLoop:
      return AssignLoop(step);
    case StepKind::kOutlinedLoop:
      return AssignOutlinedLoop(step);
    case StepKind::kHost:
    case StepKind::kCall:
      for (ValueId output : node.outputs)
        if (output.valid()) of_[output] = AddObject(output, *step);
      return;
    case StepKind::kDefineDims:
      return;
    case StepKind::kDimsTensor:
    case StepKind::kTransfer:
    case StepKind::kJoin:
    case StepKind::kLaunch:
      break;
  }
  for (ValueId output : node.outputs)
    if (output.valid()) AssignMade(output, *step);
  if (step->programs.empty()) return;
  const tensor::GroupProgram& program = *step->programs[0];
  for (uint32_t k = 0; k < program.workspaces.size(); ++k) {
    const Dim bytes = lowering::BytesOf(program.workspaces[k].dtype, {program.workspaces[k].elements});
    step->workspaces.push_back(AddArena(IsUsed(program, k) * bytes, *step, step->device));
  }
}

// ---- results of regions ----

// The value is made in `destination`, when it is the whole of what a step of the region makes.
void MemoryTable::PlaceResult(const RegionSteps& region, ValueId result, int destination) {
  Place place = views_.PlaceOf(result);
  auto found = of_.find(place.root);
  if (found == of_.end() || destination < 0) return;
  const Memory& own = memory_[static_cast<size_t>(found->second)];
  const Memory& wanted = memory_[static_cast<size_t>(destination)];
  if (own.device != wanted.device) return;
  if (own.kind != MemoryKind::kArena || !place.byte_offset.IsConstant(0)) return;
  const Type &whole = function_.type(place.root), &part = function_.type(result);
  if (!(BytesOf(whole) == BytesOf(part))) return;
  // An object's dims are those of the value that fills it.
  if (wanted.kind == MemoryKind::kObject && !(place.root == result)) return;
  ir::NodeId producer = function_.value(place.root).producer;
  bool made_here = std::any_of(region.steps.begin(), region.steps.end(), [&](const Step& step) {
    return step.node == producer && (step.kind == StepKind::kLaunch || step.kind == StepKind::kTransfer ||
                                     step.kind == StepKind::kDimsTensor);
  });
  if (!made_here) return;
  found->second = destination;
}

void MemoryTable::AssignIf(Step* step) {
  const Node& node = function_.node(step->node);
  const ir::SymbolSet unknown = SetOf(ir::DefinedSymbols(function_, node));
  for (ValueId output : node.outputs) {
    const Type& type = function_.type(output);
    of_[output] = NeedsObject(type, unknown) ? AddObject(output, *step) : AddArena(output, *step);
  }
  for (RegionSteps& branch : step->regions) {
    AssignRegion(&branch);
    const std::vector<ValueId>& results = function_.region(branch.region).results;
    for (size_t i = 0; i < results.size(); ++i) PlaceResult(branch, results[i], of_[node.outputs[i]]);
  }
}

void MemoryTable::AssignCarried(const Step& step, size_t number, const ir::SymbolSet& unknown) {
  const Node& node = function_.node(step.node);
  ValueId parameter = function_.region(node.regions[0]).parameters[number];
  const Type& type = function_.type(parameter);
  const uint32_t device = function_.value(parameter).device;
  int current, next;
  if (NeedsObject(type, unknown)) {
    // The object after the last step is another memory: the steps' own may be changed where it lies.
    Memory object{.kind = MemoryKind::kObject, .device = device, .first = step.first, .last = step.first};
    current = Add(object);
    next = Add(object);
    of_[node.outputs[number]] = AddObject(node.outputs[number], step);
  } else {
    current = next = AddArena(parameter, step);
    ValueId result = function_.region(node.regions[0]).results[number];
    ir::NodeId producer = function_.value(result).producer;
    bool in_place = producer.valid() && function_.node(producer).decided.in_place;
    if (!in_place) next = AddArena(parameter, step);
    for (auto [one, other] : {std::pair(current, next), std::pair(next, current)}) {
      memory_[static_cast<size_t>(one)].carried = true;
      if (one != other) memory_[static_cast<size_t>(one)].twin = other;
    }
    of_[node.outputs[number]] = current;
  }
  of_[parameter] = current;
  next_of_[parameter] = next;
}

void MemoryTable::AssignCollected(const Step& step, size_t number, const ir::SymbolSet& unknown) {
  const Node& node = function_.node(step.node);
  ValueId output = node.outputs[number];
  const Type& type = function_.type(output);
  int element = -1;
  if (NeedsObject(type, unknown)) {
    of_[output] = AddObject(output, step);
  } else {
    AssignMade(output, step);
    element = Add({.kind = MemoryKind::kPart,
                   .device = function_.value(output).device,
                   .first = step.first,
                   .last = step.last,
                   .whole = Of(output)});
  }
  element_of_[output] = element;
}

void MemoryTable::AssignLoop(Step* step) {
  const Node& node = function_.node(step->node);
  size_t carried = ir::CarriedCount(node);
  const ir::SymbolSet in_region = SetOf(ir::RegionSymbols(node));
  const ir::SymbolSet after = SetOf(ir::DefinedSymbols(function_, node));
  for (size_t i = 0; i < carried; ++i) AssignCarried(*step, i, in_region);
  for (size_t i = carried; i < node.outputs.size(); ++i) AssignCollected(*step, i, after);
  RegionSteps& body = step->regions[0];
  AssignRegion(&body);
  const Region& region = function_.region(body.region);
  for (size_t i = 0; i < carried; ++i) PlaceResult(body, region.results[i], next_of_[region.parameters[i]]);
  for (size_t i = carried; i < node.outputs.size(); ++i)
    PlaceResult(body, region.results[i], element_of_[node.outputs[i]]);
}

// The kernel keeps carried values where the results are.
void MemoryTable::AssignOutlinedLoop(Step* step) {
  const Node& node = function_.node(step->node);
  const Region& region = function_.region(node.regions[0]);
  const ir::SymbolSet unknown = SetOf(ir::DefinedSymbols(function_, node));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    bool is_carried = i < ir::CarriedCount(node);
    const Type& type = function_.type(is_carried ? region.parameters[i] : node.outputs[i]);
    of_[node.outputs[i]] = !is_carried && NeedsObject(type, unknown)
                               ? AddObject(node.outputs[i], *step)
                               : AddArena(BytesOf(type), *step, kHostDevice);
  }
  int64_t state = step->outlined->state_elements;
  if (state > 0) step->workspaces.push_back(AddArena(state * 8, *step, kHostDevice));
}

// ---- lifetimes ----

void MemoryTable::Extend(int number, uint32_t position) {
  Memory& memory = memory_[static_cast<size_t>(number)];
  // What was made before a loop and is used in it is used by every step.
  for (const LoopRange& loop : loops_)
    if (memory.first < loop.first) {
      position = std::max(position, loop.last);
      break;
    }
  memory.last = std::max(memory.last, position);
  // After the loop either half may hold the value.
  if (memory.twin >= 0) memory_[static_cast<size_t>(memory.twin)].last = memory.last;
  if (memory.whole >= 0) Extend(memory.whole, position);
}

void MemoryTable::Use(ValueId value, uint32_t position) {
  if (!value.valid()) return;
  if (auto found = of_.find(views_.PlaceOf(value).root); found != of_.end()) Extend(found->second, position);
}

void MemoryTable::UseRegion(const RegionSteps& region) {
  for (const Step& step : region.steps) {
    const Node& node = function_.node(step.node);
    // A loop's initial values are copied at its beginning.
    uint32_t position = step.kind == StepKind::kLoop ? step.first : step.last;
    for (ValueId input : node.inputs) Use(input, position);
    if (step.outlined)
      for (const LoopArgument& argument : step.outlined->arguments)
        if (argument.kind == LoopArgumentKind::kOutside) Use(argument.value, step.last);
    if (step.kind == StepKind::kLoop) loops_.push_back({step.first, step.last});
    for (const RegionSteps& inner : step.regions) UseRegion(inner);
    if (step.kind == StepKind::kLoop) loops_.pop_back();
  }
  for (ValueId result : function_.region(region.region).results) Use(result, region.end);
}

bool MemoryTable::IsLastUse(ValueId value, const Step& step) const {
  auto found = of_.find(value);
  if (found == of_.end() || !(views_.PlaceOf(value).root == value)) return false;
  const Memory& memory = memory_[static_cast<size_t>(found->second)];
  return memory.kind == MemoryKind::kObject && memory.last == step.last;
}

std::vector<int> MemoryTable::DeadAfter(ir::RegionId region, uint32_t first, uint32_t last) const {
  std::vector<int> dead;
  for (auto at = objects_by_end_.lower_bound(first); at != objects_by_end_.end() && at->first <= last; ++at) {
    const Memory& memory = memory_[static_cast<size_t>(at->second)];
    if (memory.first <= last && memory.region == region) dead.push_back(at->second);
  }
  std::sort(dead.begin(), dead.end());
  return dead;
}

// An output gets its own memory as the root of a value where it covers the root exactly; else it is copied.
void MemoryTable::AssignOutputs(const RegionSteps& body) {
  const std::vector<ValueId>& results = function_.region(body.region).results;
  output_sources_.assign(results.size(), -1);
  for (size_t i = 0; i < results.size(); ++i) {
    Place place = views_.PlaceOf(results[i]);
    auto found = of_.find(place.root);
    if (found == of_.end()) continue;
    Memory& memory = memory_[static_cast<size_t>(found->second)];
    if (memory.kind != MemoryKind::kArena || memory.carried || !place.byte_offset.IsConstant(0)) continue;
    if (memory.device != kHostDevice) continue;
    if (!(BytesOf(function_.type(place.root)) == BytesOf(function_.type(results[i])))) continue;
    if (DonatedTo(i) >= 0 && !MayWriteOver(body, DonatedTo(i), place.root)) continue;
    memory.kind = MemoryKind::kOutput;
    memory.number = static_cast<uint32_t>(i);
    output_sources_[i] = found->second;
  }
}

int MemoryTable::WholeOf(ValueId value) const {
  const Place place = views_.PlaceOf(value);
  auto found = of_.find(place.root);
  if (found == of_.end() || !place.byte_offset.IsConstant(0)) return -1;
  return BytesOf(function_.type(place.root)) == BytesOf(function_.type(value)) ? found->second : -1;
}

void MemoryTable::FindStandIns(const RegionSteps& body) {
  std::map<int, int> values;  // in each place
  for (const auto& [value, memory] : of_) ++values[memory];
  std::set<int> taken;
  auto on_gpu = [&](int number) -> const Memory* {
    if (number < 0) return nullptr;
    const Memory& memory = memory_[static_cast<size_t>(number)];
    const bool is = memory.kind == MemoryKind::kArena && memory.device != kHostDevice && !memory.carried;
    return is && !taken.contains(number) ? &memory : nullptr;
  };
  auto stands_in = [&](int number, bool is_input, uint32_t parameter) {
    taken.insert(number);
    stand_ins_.push_back({number, is_input, parameter});
  };
  std::map<int, ValueId> copied;  // what fills an output's memory
  for (const Step& step : body.steps) {
    if (step.kind != StepKind::kTransfer) continue;
    const Node& node = function_.node(step.node);
    const int from = WholeOf(node.inputs[0]), to = WholeOf(node.outputs[0]);
    if (to >= 0 && memory_[static_cast<size_t>(to)].kind == MemoryKind::kOutput) copied[to] = node.inputs[0];
    if (from < 0 || on_gpu(to) == nullptr || values[to] != 1) continue;
    const Memory& source = memory_[static_cast<size_t>(from)];
    if (source.kind == MemoryKind::kInput) stands_in(to, true, source.number);
  }
  const std::vector<ValueId>& results = function_.region(body.region).results;
  for (uint32_t i = 0; i < results.size(); ++i) {
    auto found = output_sources_[i] >= 0 ? copied.find(output_sources_[i]) : copied.end();
    const int number = WholeOf(found == copied.end() ? results[i] : found->second);
    if (on_gpu(number) != nullptr) stands_in(number, false, i);
  }
}

// ---- stages ----

int MemoryTable::StageOf(const Dim& dim) const {
  int stage = 0;
  AnySymbol(dim, [&](const ir::SymbolId& symbol) {
    if (auto found = symbol_stage_.find(symbol); found != symbol_stage_.end())
      stage = std::max(stage, found->second);
    return false;
  });
  return stage;
}

// Stage 0 begins with the function; others where symbols become known, numbered in program order, so that the
// highest stage of a size's symbols is the first that knows them all.
void MemoryTable::NumberStages(RegionSteps* region, bool is_body) {
  for (Step& step : region->steps) {
    const Node& node = function_.node(step.node);
    if (step.kind == StepKind::kLoop) {
      step.regions[0].stage = ++stages_;
      for (const ir::SymbolId& symbol : ir::RegionSymbols(node)) symbol_stage_[symbol] = stages_;
    }
    for (RegionSteps& inner : step.regions) NumberStages(&inner, false);
    std::vector<ir::SymbolId> symbols = ir::DefinedSymbols(function_, node);
    std::erase_if(symbols, [&](const ir::SymbolId& symbol) { return symbol_stage_.contains(symbol); });
    if (symbols.empty()) continue;
    // Contents of inputs are read at the entry.
    bool at_entry = step.kind == StepKind::kDefineDims && is_body && !IsComputed(node.inputs[0]);
    if (!at_entry) step.stage = ++stages_;
    for (const ir::SymbolId& symbol : symbols) symbol_stage_[symbol] = at_entry ? 0 : stages_;
  }
}

}  // namespace tvmvm::lowering
