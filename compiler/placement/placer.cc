#include "compiler/placement/placer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/codegen/gpu_codegen.h"
#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/loops/outline_loop.h"

namespace tvmvm::placement {
namespace {

using ir::Dim;
using ir::IsTensorOfNumbers;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

// Rough costs in nanoseconds; only their relations matter. A GPU is as far away as one behind a bus. Measured
// on an H200 behind a CPU of 16 cores: an empty call that uploads, launches once and reads back takes 20 us.
constexpr int64_t kCall = 20'000;       // of all that there is on the GPU in a call
constexpr int64_t kLaunch = 3'000;      // of a kernel on the GPU, behind others
constexpr int64_t kCopy = 10'000;       // one copy between the devices amid other work
constexpr int64_t kCopyAtEnd = 1'000;   // of an input or an output, together with others
constexpr int64_t kWait = 10'000;       // and the wait of the host for it
constexpr int64_t kPreference = 4'000;  // what a group outside of loops may cost more on the GPU
constexpr int64_t kLaunchOnCpu = 200;
constexpr int64_t kStepOnCpu = 40;  // of a loop in one kernel
constexpr int64_t kCpuFlops = 60, kCpuBytes = 15, kGpuFlops = 1'000, kGpuBytes = 200;  // per nanosecond
constexpr int64_t kCopyBytes = 10;
// A CPU has threads for what takes longer than it takes to wake them; how many is not known here.
constexpr int64_t kWakeThreads = 20'000, kAssumedThreads = 4;
// Nanoseconds of one work-item for an operation: a grid of few waits for each of them.
constexpr int64_t kItemFlop = 4;
constexpr int64_t kMostTimes = 100'000, kMostCost = MinCut::kForbidden / 64;

// What a symbol is taken for where nothing is known, and the steps of a loop that says nothing.
constexpr int64_t kAssumedSize = 128, kAssumedSteps = 64;

int64_t Times(int64_t cost, int64_t times) {
  int64_t product = 0;
  if (__builtin_mul_overflow(cost, times, &product)) return kMostCost;
  return std::min(product, kMostCost);
}

}  // namespace

int64_t TimeOnCpu(int64_t flops, int64_t bytes) {
  const int64_t alone = std::max(flops / kCpuFlops, bytes / kCpuBytes);
  return alone <= kWakeThreads ? alone : kWakeThreads + (alone - kWakeThreads) / kAssumedThreads;
}

bool MentionsAny(const ir::Dims& dims, const ir::SymbolSet& symbols) {
  return std::ranges::any_of(dims, [&](const Dim& dim) { return ir::MentionsAny(dim, symbols); });
}

std::string Described(const ir::Function& function, const Node& node) {
  if (node.op->kind != OpKind::kFused) return std::string(node.op->name);
  const std::vector<NodeId>& inner = function.region(node.regions[0]).nodes;
  std::string text;
  constexpr size_t kShown = 3;
  size_t shown = 0;
  for (NodeId id : inner) {
    if (function.node(id).op->kind == OpKind::kConstant) continue;
    if (shown == kShown) return text + "+...";
    text += (shown++ ? "+" : "") + std::string(function.node(id).op->name);
  }
  return text;
}

namespace {

using Schedule = std::shared_ptr<const tensor::GroupProgram>;

// The kernels of a group, all of which code can be made for.
Expected<Schedule> ScheduleForGpu(const ir::Function& function, NodeId id, const TargetInfo& gpu,
                                  tensor::ScheduleCache* schedules) {
  TVMVM_TRY(Schedule program, schedules->Schedule(function, id, gpu));
  for (const tensor::KernelCall& call : program->calls)
    TVMVM_CHECK_OK(codegen::CheckGpuKernel(call.kernel, gpu));
  return program;
}

int64_t CountLaunches(const ir::Function& function, ir::RegionId region) {
  int64_t count = 0;
  for (NodeId id : function.region(region).nodes) {
    const Node& node = function.node(id);
    if (ir::HasControlRegions(node)) {
      for (ir::RegionId inner : node.regions) count += CountLaunches(function, inner);
      continue;
    }
    const bool runs = node.op->kind != OpKind::kConstant && node.op->kind != OpKind::kRequire &&
                      !lowering::Views::IsView(function, node);
    count += runs;
  }
  return count;
}

}  // namespace

Placer::Placer(ir::Function* function, ir::RangeLookup ranges, const PlacementOptions& options,
               tensor::ScheduleCache* schedules)
    : function_(*function),
      ranges_(std::move(ranges)),
      options_(options),
      schedules_(*schedules),
      views_(*function) {}

void Placer::Run() {
  cpu_ = Fixed();
  const ir::Region& body = function_.region(function_.body);
  for (ValueId parameter : body.parameters) Define(parameter, cpu_, 1, true);
  for (NodeId id : std::vector<NodeId>(body.nodes)) {
    const int64_t before = time_;
    Visit(id, 1);
    body_.push_back({id, time_ - before});
  }
  AddCopies();
  std::vector<bool> on_cpu = cut_.Solve();
  const std::vector<bool> alone(on_cpu.size(), true);
  const bool is_free = !options_.strict && !options_.prefer_gpu;
  const bool stays = is_free && TimeOf(alone) <= TimeOf(on_cpu);
  Assign(stays ? alone : on_cpu, stays ? "the CPU alone is faster" : "small, copies would cost more");
  Divide();
}

void Placer::Divide() {
  DivideAmongGpus(&function_, body_, static_cast<uint32_t>(options_.gpu_names.size()), [&](const Type& type) {
    return IsTensorOfNumbers(type) ? Estimate(lowering::BytesOf(type.dtype, type.dims), 0) : 0;
  });
  for (PlacementRow& row : rows_)
    if (row.device != kHostDevice) row.device = ir::DeviceOf(function_, function_.node(row.node));
}

// Nanoseconds that a call takes, by the estimates, where each item is where it is said to be.
int64_t Placer::TimeOf(const std::vector<bool>& on_cpu) const {
  int64_t time = 0;
  bool calls = false;
  for (const Work& work : work_) {
    time = std::min(time + (on_cpu[work.item] ? work.on_cpu : work.on_gpu), kMostCost);
    calls = calls || !on_cpu[work.item];
  }
  if (!calls) return time;
  for (const auto& [value, root] : roots_) {
    if (!IsTensorOfNumbers(function_.type(value))) continue;
    const bool is_there = !on_cpu[root.item];
    const bool moves = std::ranges::any_of(root.users, [&](Item user) { return on_cpu[user] == is_there; });
    const int64_t copy =
        root.is_input ? CopyTime(value) - kCopy + kCopyAtEnd : CopyTime(value) + (is_there ? kWait : 0);
    if (moves) time = std::min(time + Times(copy, root.times), kMostCost);
  }
  for (ValueId result : function_.region(function_.body).results) {
    const auto found = roots_.find(views_.PlaceOf(result).root);
    if (found != roots_.end() && !on_cpu[found->second.item])
      time = std::min(time + CopyTime(result) - kCopy + kCopyAtEnd, kMostCost);
  }
  return time + kCall;
}

void Placer::AddWork(Item item, int64_t on_gpu, int64_t on_cpu) { work_.push_back({item, on_gpu, on_cpu}); }

// ---- items ----

Placer::Item Placer::Fixed() { return items_++, cut_.Add(MinCut::kForbidden, 0); }

Placer::Item Placer::ItemFor(const Type& type, bool may_move) {
  if (!may_move || !IsTensorOfNumbers(type)) return cpu_;
  ++items_;
  return Free();
}

void Placer::Tie(Item a, Item b) {
  cut_.AddEdge(a, b, MinCut::kForbidden);
  cut_.AddEdge(b, a, MinCut::kForbidden);
}

void Placer::Define(ValueId value, Item item, int64_t times, bool is_input) {
  if (value.valid()) roots_[value] = {item, times, is_input, {}};
}

void Placer::Use(ValueId value, Item by) {
  if (!value.valid()) return;
  if (auto found = roots_.find(views_.PlaceOf(value).root); found != roots_.end())
    found->second.users.push_back(by);
}

// A value is copied once, however many need it on the other device.
void Placer::AddCopies() {
  for (auto& [value, root] : roots_) {
    if (root.users.empty() || !IsTensorOfNumbers(function_.type(value))) continue;
    const int64_t in = root.is_input ? 0 : Times(CopyTime(value), root.times);
    const int64_t out = Times(CopyTime(value) + kWait, root.times);
    const Item wanted_on_gpu = Free(), wanted_on_cpu = Free();
    cut_.AddEdge(wanted_on_gpu, root.item, in);
    cut_.AddEdge(root.item, wanted_on_cpu, out);
    for (Item user : root.users) {
      cut_.AddEdge(user, wanted_on_gpu, MinCut::kForbidden);
      cut_.AddEdge(wanted_on_cpu, user, MinCut::kForbidden);
    }
  }
}

int64_t Placer::Estimate(const Dim& dim, int64_t otherwise) const {
  auto assume = [&](const ir::SymbolId& symbol) -> std::optional<int64_t> {
    const ir::DimRange range = ranges_(symbol);
    return std::clamp(kAssumedSize, std::max<int64_t>(range.low, 0), std::max<int64_t>(range.high, 0));
  };
  return std::max<int64_t>(ir::Evaluate(dim, assume).value_or(otherwise), 0);
}

int64_t Placer::CopyTime(ValueId value) const {
  const Type& type = function_.type(value);
  return kCopy + Estimate(lowering::BytesOf(type.dtype, type.dims), 0) / kCopyBytes;
}

// ---- nodes ----

void Placer::Region(ir::RegionId region, int64_t times) {
  for (NodeId id : std::vector<NodeId>(function_.region(region).nodes)) Visit(id, times);
}

void Placer::Visit(NodeId id, int64_t times) {
  const Node& node = function_.node(id);
  switch (node.op->kind) {
    case OpKind::kConstant:
    case OpKind::kRequire:
    case OpKind::kTransfer:
      return;
    case OpKind::kDefineDims:
      return Use(node.inputs[0], cpu_);
    case OpKind::kDimsTensor:
      return Define(node.outputs[0], cpu_, times);
    case OpKind::kHost:
      return OnCpu(id, times, "a function of the host library");
    case OpKind::kCheck:
      return VisitCheck(id, times);
    default:
      break;
  }
  if (lowering::Views::IsView(function_, node)) return;
  if (ir::IsIf(node)) return VisitIf(id, times);
  if (ir::IsLoop(node)) return VisitLoop(id, times);
  if (node.op->kind == OpKind::kCall) return OnCpu(id, times, "parameters of functions are on the CPU");
  VisitLaunch(id, times);
}

void Placer::OnCpu(NodeId id, int64_t times, std::string reason) {
  const Node& node = function_.node(id);
  for (ValueId value : ir::UsesOf(function_, node)) Use(value, cpu_);
  for (ValueId output : node.outputs) Define(output, cpu_, times);
  bound_.insert(id);
  obstacles_.push_back(fmt::format("{} ({}): {}", Described(function_, node), node.source, reason));
  AddRow(id, cpu_, std::move(reason));
}

Placer::KernelTimes Placer::TimesOf(const tensor::GroupProgram& program) const {
  KernelTimes times;
  for (const tensor::KernelCall& call : program.calls) {
    if (Estimate(call.when, 1) == 0) continue;  // sizes choose between kernels
    const int64_t flops = Estimate(call.kernel.flops, kMostTimes);
    const int64_t bytes = Estimate(call.kernel.bytes, kMostTimes);
    int64_t items = call.kernel.GroupItems();
    for (const Dim& size : call.kernel.grid_size)
      items = Times(items, std::max<int64_t>(Estimate(size, 1), 1));
    ++times.launches;
    times.on_gpu += std::max(flops / kGpuFlops + bytes / kGpuBytes, Times(flops, kItemFlop) / items);
    times.on_cpu += TimeOnCpu(flops, bytes) + kLaunchOnCpu;
  }
  return times;
}

// It runs where the indices are.
void Placer::VisitCheck(NodeId id, int64_t times) {
  const Node& node = function_.node(id);
  Expected<Schedule> program = ScheduleForGpu(function_, id, options_.gpu, &schedules_);
  if (!program) return OnCpu(id, times, "no kernel: " + program.error().message);
  const auto root = roots_.find(views_.PlaceOf(node.inputs[0]).root);
  const Item item = root == roots_.end() ? cpu_ : root->second.item;
  const KernelTimes cost = TimesOf(**program);
  time_ += cost.on_gpu + kLaunch * cost.launches;
  cut_.AddCost(item, Times(cost.on_gpu, times), Times(cost.on_cpu, times));
  AddWork(item, Times(cost.on_gpu + kLaunch * cost.launches, times), Times(cost.on_cpu, times));
  for (ValueId input : node.inputs) Use(input, item);
  AddRow(id, item, "");
}

void Placer::VisitLaunch(NodeId id, int64_t times) {
  const Node& node = function_.node(id);
  Expected<Schedule> program = ScheduleForGpu(function_, id, options_.gpu, &schedules_);
  if (!program) return OnCpu(id, times, "no kernel: " + program.error().message);
  const KernelTimes cost = TimesOf(**program);
  const int64_t launches = cost.launches;
  int64_t on_gpu = cost.on_gpu, on_cpu = cost.on_cpu;
  time_ += on_gpu + kLaunch * launches;
  if (times > 1)
    on_gpu += kLaunch * launches;
  else
    on_cpu += kPreference;
  if (options_.strict) on_gpu = 0, on_cpu = kMostCost;
  ++items_;
  const Item item = cut_.Add(Times(on_gpu, times), Times(on_cpu, times));
  AddWork(item, Times(cost.on_gpu + kLaunch * launches, times), Times(cost.on_cpu, times));
  for (ValueId input : node.inputs) Use(input, item);
  for (ValueId output : node.outputs) Define(output, item, times);
  AddRow(id, item, "");
}

void Placer::VisitIf(NodeId id, int64_t times) {
  const Node& node = function_.node(id);
  std::vector<Item> items;
  for (ValueId output : node.outputs) {
    items.push_back(ItemFor(function_.type(output), true));
    Define(output, items.back(), times);
  }
  for (ir::RegionId region : node.regions) {
    Region(region, times);
    const std::vector<ValueId>& results = function_.region(region).results;
    for (size_t i = 0; i < results.size(); ++i) Use(results[i], items[i]);
  }
}

void Placer::VisitLoop(NodeId id, int64_t times) {
  if (!options_.strict && VisitOutlined(id, times)) return;
  const Node& node = function_.node(id);
  const ir::Region& region = function_.region(node.regions[0]);
  const Dim& trip = ir::DimAttribute(node, "trip");
  const int64_t expected = node.decided.expected_steps;
  const bool unbounded = trip.is_constant() && trip.value() > kMostTimes;
  const int64_t steps = std::clamp<int64_t>(expected > 0 ? expected
                                            : unbounded  ? kAssumedSteps
                                                         : Estimate(trip, kAssumedSteps),
                                            1, kMostTimes);
  const int64_t inner = std::min(times * steps, kMostTimes);
  const size_t carried = ir::CarriedCount(node);
  const Item first = items_;
  std::vector<Item> items;
  const std::vector<ir::SymbolId> symbols = ir::RegionSymbols(node);
  const ir::SymbolSet own(symbols.begin(), symbols.end());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Type& type = function_.type(node.outputs[i]);
    const bool grows = ir::CollectsUnknownLength(function_, node, i);
    items.push_back(ItemFor(type, !grows));
    Define(node.outputs[i], items[i], times);
    if (i >= carried) continue;
    Use(node.inputs[i], items[i]);
    Define(region.parameters[i], items[i], inner);
    // What changes its size has other memory in each step, which the host asks for.
    if (!IsTensorOfNumbers(type) || !MentionsAny(function_.type(region.parameters[i]).dims, own)) continue;
    cut_.AddCost(items[i], Times(kCopy, inner), 0);
    AddWork(items[i], Times(kCopy, inner), 0);
  }
  const int64_t around = std::exchange(time_, 0);
  Region(node.regions[0], inner);
  const int64_t step_time = time_;
  time_ = around + Times(step_time, steps);
  for (size_t i = 0; i < items.size(); ++i) {
    Use(region.results[i], items[i]);
    const NodeId producer = function_.value(region.results[i]).producer;
    if (i >= carried || !producer.valid() || !function_.node(producer).decided.in_place) continue;
    // The result lies where the parameter lies.
    if (auto made = roots_.find(region.results[i]); made != roots_.end()) Tie(made->second.item, items[i]);
  }
  loops_.push_back({id, first, items_, step_time});
}

bool Placer::VisitOutlined(NodeId id, int64_t times) {
  const Node& node = function_.node(id);
  if (!node.decided.outline) return false;
  std::optional<lowering::OutlinedLoop> outlined =
      lowering::OutlineLoop(function_, id, views_, ranges_, options_.cpu, &schedules_);
  if (!outlined) return false;
  const int64_t flops = Estimate(outlined->kernels[0].flops, kMostTimes);
  const int64_t bytes = Estimate(outlined->kernels[0].bytes, kMostTimes);
  const int64_t step = std::max({flops / kCpuFlops, bytes / kCpuBytes, kStepOnCpu});
  if (step > CountLaunches(function_, node.regions[0]) * kLaunch) return false;
  for (ValueId value : ir::UsesOf(function_, node)) Use(value, cpu_);
  for (ValueId output : node.outputs) Define(output, cpu_, times);
  bound_.insert(id);
  AddRow(id, cpu_, "a loop of small steps is one kernel on the CPU");
  return true;
}

// ---- results ----

void Placer::AddRow(NodeId id, Item item, std::string reason) {
  const Node& node = function_.node(id);
  if (reason.empty()) decided_.push_back({item, rows_.size()});
  rows_.push_back(
      {function_.name, Described(function_, node), node.source, kHostDevice, std::move(reason), id});
}

void Placer::Assign(const std::vector<bool>& on_cpu, const std::string& why_cpu) {
  auto device = [&](Item item) { return on_cpu[item] ? kHostDevice : ir::kFirstGpu; };
  for (const auto& [value, root] : roots_) {
    if (!IsTensorOfNumbers(function_.type(value))) continue;
    if (!root.is_input) function_.value(value).device = device(root.item);
  }
  for (size_t i = 0; i < function_.values.size(); ++i) {
    const ValueId value{static_cast<uint32_t>(i)};
    if (ValueId root = views_.PlaceOf(value).root; !(root == value))
      function_.value(value).device = function_.value(root).device;
  }
  for (const Row& row : decided_) {
    rows_[row.row].device = device(row.item);
    rows_[row.row].reason = on_cpu[row.item] ? why_cpu : "has a kernel";
  }
  // A loop of which something runs on the GPU is no kernel of the CPU.
  for (const OpenLoop& loop : loops_) {
    bool mixed = false;
    for (Item item = loop.first; item < loop.last; ++item) mixed = mixed || !on_cpu[item];
    if (mixed) function_.node(loop.node).decided.outline = false;
  }
}

// ---- loops that wait ----

namespace {

// Whether the region, but for loops in it, copies from the GPU.
bool CopiesOut(const ir::Function& function, ir::RegionId region) {
  return std::ranges::any_of(function.region(region).nodes, [&](NodeId id) {
    const Node& node = function.node(id);
    if (node.op->kind == OpKind::kTransfer) return function.value(node.outputs[0]).device == kHostDevice;
    return ir::IsIf(node) && std::ranges::any_of(node.regions, [&](ir::RegionId branch) {
             return CopiesOut(function, branch);
           });
  });
}

// Whether scalar bytecode reads in each step what the step computes.
bool ReadsNumbers(const ir::Function& function, const Node& loop) {
  return std::ranges::any_of(function.region(loop.regions[0]).nodes,
                             [&](NodeId id) { return function.node(id).op->kind == OpKind::kDefineDims; });
}

}  // namespace

std::vector<WaitingLoop> Placer::FindWaitingLoops() const {
  std::vector<WaitingLoop> waiting;
  for (const OpenLoop& loop : loops_) {
    const Node& node = function_.node(loop.node);
    if (!node.decided.polls && ReadsNumbers(function_, node) && CopiesOut(function_, node.regions[0]) &&
        CouldMove(node.regions[0]))
      waiting.push_back({0, loop.node, StepsWorthAWait(loop)});
  }
  return waiting;
}

// Whether nothing that the region runs is bound to the CPU.
bool Placer::CouldMove(ir::RegionId region) const {
  return std::ranges::all_of(function_.region(region).nodes, [&](NodeId id) {
    const Node& node = function_.node(id);
    if (bound_.contains(id)) return false;
    for (size_t i = 0; ir::IsLoop(node) && i < node.outputs.size(); ++i)
      if (ir::CollectsUnknownLength(function_, node, i)) return false;
    return !ir::HasControlRegions(node) ||
           std::ranges::all_of(node.regions, [&](ir::RegionId inner) { return CouldMove(inner); });
  });
}

// With a wait once in k of N steps, N / k waits are paid and k / 2 steps too many are made, on average: least
// at k = sqrt(2 N wait / step). What is carried is read and written once more in each step.
int64_t Placer::StepsWorthAWait(const OpenLoop& loop) const {
  constexpr int64_t kMostSteps = 16;
  const Node& node = function_.node(loop.node);
  int64_t held = 0;
  for (ValueId parameter : function_.region(node.regions[0]).parameters)
    if (const Type& type = function_.type(parameter); IsTensorOfNumbers(type))
      held += 2 * Estimate(lowering::BytesOf(type.dtype, type.dims), 0) / kGpuBytes;
  if (held > (kCopy + kWait) / 2) return 1;
  const double step = static_cast<double>(std::max<int64_t>(loop.step_time + held, 1));
  const double steps = std::sqrt(2.0 * kAssumedSteps * static_cast<double>(kCopy + kWait) / step);
  return std::clamp(static_cast<int64_t>(steps), int64_t{1}, kMostSteps);
}

}  // namespace tvmvm::placement
