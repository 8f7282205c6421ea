#include "compiler/schedules/loops/describe_loop.h"

#include <algorithm>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/requirements.h"
#include "compiler/loops/loop_rewrite.h"
#include "fmt/format.h"

namespace tvmvm::lowering {
namespace {

using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;
using tensor::BodyStep;
using tensor::BodyStepKind;
using tensor::BufferPart;
using tensor::GroupProgram;
using tensor::KernelCall;

constexpr int64_t kMostStatements = 4000;    // of the kernels in a body
constexpr uint32_t kValueBit = 0x80000000u;  // numbers of buffers that live for a step, while describing

bool IsNumbers(const Type& type) {
  bool computes = IsFloat(type.dtype) || IsInteger(type.dtype) || type.dtype == DType::kBool;
  return type.kind == ir::TypeKind::kTensor && type.ranked && computes && DTypeBits(type.dtype) >= 8;
}

Dim ElementsOf(const Type& type) { return ir::Product(type.dims); }

// The result lies where the first input lies.
bool IsInPlace(const Node& node) { return node.decided.in_place; }

int64_t CountStatements(const tensor::LoopKernel& kernel) {
  int64_t count = 0;
  tensor::VisitStatements(kernel.body, [&](const tensor::Stmt&) { ++count; });
  return count;
}

}  // namespace

LoopDescriber::LoopDescriber(const ir::Function& function, NodeId loop, const Views& views,
                             const ir::RangeLookup& ranges, const TargetInfo& target,
                             tensor::ScheduleCache* schedules)
    : function_(function),
      loop_(function.node(loop)),
      region_(function.region(loop_.regions[0])),
      views_(views),
      ranges_(ranges),
      target_(target),
      schedules_(*schedules) {
  body_.name = "loop";
  body_.index = loop_.Symbol("index");
  body_.symbols = loop_.Symbols("symbols");
  body_.next = loop_.DimList("next");
  body_.go_on = ir::DimAttribute(loop_, "continue");
  body_.begin = ir::SymbolId("$begin");
  body_.end = ir::SymbolId("$end");
  body_.vector_bits = target.vector_bits;
  for (const ir::SymbolId& symbol : ir::RegionSymbols(loop_)) inner_symbols_.insert(symbol);
  facts_ = {LessEqual(0, Dim::Symbol(body_.begin)),
            LessEqual(Dim::Symbol(body_.end), ir::DimAttribute(loop_, "trip"))};
}

bool LoopDescriber::Run() {
  for (ValueId output : loop_.outputs)
    if (!output.valid() || !IsNumbers(function_.type(output))) return false;
  NumberNodes();
  if (!AddCarried() || !PlaceResults()) return false;
  if (!Region(loop_.regions[0], &body_.steps) || !AddResults(&body_.steps)) return false;
  if (statements_ > kMostStatements) return false;
  // Numbers of buffers become final: arguments, then what lives for a step.
  auto arguments = static_cast<uint32_t>(body_.buffers.size());
  std::function<void(Steps&)> renumber = [&](Steps& steps) {
    for (BodyStep& step : steps) {
      for (BufferPart& part : step.parts)
        if (part.buffer & kValueBit) part.buffer = (part.buffer & ~kValueBit) + arguments;
      renumber(step.then);
      renumber(step.otherwise);
    }
  };
  renumber(body_.steps);
  body_.buffers.insert(body_.buffers.end(), values_.begin(), values_.end());
  if (body_.has_state()) {
    arguments_.push_back({LoopArgumentKind::kState, {}, 0});
    bytes_.push_back(8 * body_.state_elements());
  }
  return true;
}

// ---- uses ----

void LoopDescriber::Read(ValueId value, int position) {
  if (!value.valid()) return;
  int& last = last_read_.try_emplace(views_.PlaceOf(value).root, position).first->second;
  last = std::max(last, position);
}

void LoopDescriber::ReadAll(const Node& node, int position) {
  for (ValueId input : node.inputs) Read(input, position);
  for (const ir::SymbolId& symbol : ir::DefinedSymbols(function_, node)) inner_symbols_.insert(symbol);
  if (ir::IsLoop(node))
    for (const ir::SymbolId& symbol : ir::RegionSymbols(node)) inner_symbols_.insert(symbol);
  for (ValueId output : node.outputs) inside_.insert(output);
  if (!ir::HasControlRegions(node)) return;
  for (ir::RegionId region : node.regions) {
    for (NodeId inner : function_.region(region).nodes) ReadAll(function_.node(inner), position);
    for (ValueId result : function_.region(region).results) Read(result, position);
  }
}

void LoopDescriber::NumberNodes() {
  for (size_t i = 0; i < region_.nodes.size(); ++i) {
    const Node& node = function_.node(region_.nodes[i]);
    if (!Views::IsView(function_, node)) ReadAll(node, static_cast<int>(i));
    for (ValueId output : node.outputs) {
      made_at_[output] = static_cast<int>(i);
      made_by_[output] = region_.nodes[i];
      inside_.insert(output);
    }
  }
}

bool LoopDescriber::IsInner(const Dim& dim) const { return MentionsAny(dim, inner_symbols_); }

// Kernels write out what changes from step to step, named expressions too.
bool LoopDescriber::HasLargeDims(const Node& node) const {
  return std::ranges::any_of(node.attributes, [&](const auto& attribute) {
    const auto* dim = std::get_if<Dim>(&attribute.second);
    const auto* dims = std::get_if<ir::Dims>(&attribute.second);
    auto is_large = [&](const Dim& each) { return each.depth() > Dim::kMaxWritten && IsInner(each); };
    return (dim && is_large(*dim)) || (dims && std::ranges::any_of(*dims, is_large));
  });
}

// ---- buffers ----

uint32_t LoopDescriber::AddArgument(std::string name, DType dtype, Access access, LoopArgument argument,
                                    const Dim& elements) {
  arguments_.push_back(argument);
  bytes_.push_back(elements * Dim(DTypeBits(dtype) / 8));
  body_.buffers.push_back({std::move(name), dtype, true, access, 0});
  return static_cast<uint32_t>(body_.buffers.size() - 1);
}

BufferPart LoopDescriber::AddValue(const std::string& name, DType dtype, const Dim& elements) {
  values_.push_back({name, dtype, false, Access::kReadWrite, elements});
  return {static_cast<uint32_t>(values_.size() - 1) | kValueBit, 0};
}

std::optional<BufferPart> LoopDescriber::PartOf(ValueId value) {
  if (!IsNumbers(function_.type(value))) return std::nullopt;
  Place place = views_.PlaceOf(value);
  auto found = places_.find(place.root);
  if (found == places_.end()) {
    const Type& type = function_.type(place.root);
    bool is_constant = function_.ConstantOf(place.root) != nullptr;
    if (!IsNumbers(type) || (inside_.contains(place.root) && !is_constant)) return std::nullopt;
    uint32_t buffer = AddArgument(fmt::format("outside{}", arguments_.size()), type.dtype, Access::kRead,
                                  {LoopArgumentKind::kOutside, place.root, 0}, ElementsOf(type));
    found = places_.emplace(place.root, BufferPart{buffer, 0}).first;
  }
  if (function_.type(place.root).dtype != function_.type(value).dtype) return std::nullopt;
  Dim size = DTypeBits(function_.type(value).dtype) / 8;
  return BufferPart{found->second.buffer, found->second.offset + FloorDiv(place.byte_offset, size)};
}

bool LoopDescriber::IsWhole(ValueId value) const {
  Place place = views_.PlaceOf(value);
  return place.byte_offset.IsConstant(0) &&
         ElementsOf(function_.type(place.root)) == ElementsOf(function_.type(value)) &&
         function_.type(place.root).dtype == function_.type(value).dtype;
}

bool LoopDescriber::AddCarried() {
  for (size_t k = 0; k < region_.parameters.size(); ++k) {
    const Type& type = function_.type(region_.parameters[k]);
    if (!IsNumbers(type) || IsInner(ElementsOf(type))) return false;
    uint32_t buffer =
        AddArgument(fmt::format("carried{}", k), type.dtype, Access::kReadWrite,
                    {LoopArgumentKind::kResult, {}, static_cast<uint32_t>(k)}, ElementsOf(type));
    places_[region_.parameters[k]] = {buffer, 0};
  }
  return true;
}

// A result of the body is made where it belongs when nothing still needs what is there.
bool LoopDescriber::PlaceResults() {
  is_direct_.assign(region_.results.size(), false);
  size_t carried = region_.parameters.size();
  for (size_t i = 0; i < region_.results.size(); ++i) {
    ValueId result = region_.results[i];
    if (!IsNumbers(function_.type(result))) return false;
    ValueId root = views_.PlaceOf(result).root;
    if (IsInner(ElementsOf(function_.type(result)))) return false;
    if (i >= carried || !IsNew(root) || !IsWhole(result) || !CanReplace(i, root)) continue;
    places_[root] = places_.at(region_.parameters[i]);
    is_direct_[i] = true;
  }
  for (size_t i = carried; i < region_.results.size(); ++i) {
    ValueId result = region_.results[i];
    const Type& type = function_.type(result);
    uint32_t buffer = AddArgument(fmt::format("collected{}", i - carried), type.dtype, Access::kReadWrite,
                                  {LoopArgumentKind::kResult, {}, static_cast<uint32_t>(i)},
                                  Dim::Symbol(body_.end) * ElementsOf(type));
    BufferPart place{buffer, Dim::Symbol(body_.index) * ElementsOf(type)};
    ValueId root = views_.PlaceOf(result).root;
    is_direct_[i] = IsNew(root) && IsWhole(result) && !IsInPlace(function_.node(made_by_.at(root)));
    if (is_direct_[i]) {
      places_[root] = place;
    } else {
      places_[loop_.outputs[i]] = place;
    }
  }
  return true;
}

// Made by a node of the body itself, and without a place yet.
bool LoopDescriber::IsNew(ValueId root) const {
  return made_at_.contains(root) && !places_.contains(root) && function_.ConstantOf(root) == nullptr;
}

// Whether `root`, made in the body, may be made in the memory of the carried value.
bool LoopDescriber::CanReplace(size_t carried, ValueId root) {
  ValueId parameter = region_.parameters[carried];
  for (size_t i = 0; i < region_.results.size(); ++i)
    if (views_.PlaceOf(region_.results[i]).root == parameter) return false;
  auto last = last_read_.find(parameter);
  int made = made_at_.at(root);
  if (last == last_read_.end() || last->second < made) return true;
  return last->second == made && UpdatesInPlace(made_by_.at(root), parameter, root);
}

bool LoopDescriber::UpdatesInPlace(NodeId producer, ValueId read, ValueId written) {
  const Node& node = function_.node(producer);
  if (ir::HasControlRegions(node)) return false;
  const GroupProgram* program = Schedule(producer);
  if (program == nullptr || program->calls.size() != 1) return false;
  const KernelCall& call = program->calls[0];
  for (uint32_t a = 0; a < call.arguments.size(); ++a) {
    const tensor::KernelArgument& argument = call.arguments[a];
    if (argument.kind != tensor::ArgumentKind::kInput) continue;
    ValueId input = node.inputs[argument.index];
    if (views_.PlaceOf(input).root != read) continue;
    if (!IsWhole(input)) return false;
    for (uint32_t b = 0; b < call.arguments.size(); ++b) {
      const tensor::KernelArgument& other = call.arguments[b];
      if (other.kind == tensor::ArgumentKind::kOutput && node.outputs[other.index] == written &&
          !tensor::CanUpdateInPlace(call.kernel, a, b))
        return false;
    }
  }
  return true;
}

// ---- steps ----

const GroupProgram* LoopDescriber::Schedule(NodeId id) {
  if (auto found = programs_.find(id); found != programs_.end()) return found->second.get();
  auto program = schedules_.Schedule(function_, id, target_);
  return program ? programs_.emplace(id, *std::move(program)).first->second.get() : nullptr;
}

bool LoopDescriber::Region(ir::RegionId region, Steps* steps) {
  for (NodeId id : function_.region(region).nodes)
    if (!AddNode(id, steps)) return false;
  return true;
}

bool LoopDescriber::MakeOutputs(const Node& node) {
  if (IsInPlace(node)) {
    std::optional<BufferPart> part = PartOf(node.inputs[0]);
    if (!part) return false;
    BufferPart place = places_.try_emplace(node.outputs[0], *part).first->second;
    if (place.buffer != part->buffer || !(place.offset == part->offset)) return false;
  }
  for (ValueId output : node.outputs) {
    if (!output.valid() || places_.contains(output)) continue;
    const Type& type = function_.type(output);
    if (!IsNumbers(type) || IsInner(ElementsOf(type))) return false;
    places_[output] = AddValue(fmt::format("value{}", values_.size()), type.dtype, ElementsOf(type));
  }
  return true;
}

bool LoopDescriber::AddNode(NodeId id, Steps* steps) {
  const Node& node = function_.node(id);
  if (node.op->kind == OpKind::kConstant) return true;
  if (HasLargeDims(node)) return false;
  AddRequirements(node, steps);
  if (node.op->kind == OpKind::kRequire || Views::IsView(function_, node)) return true;
  switch (node.op->kind) {
    case OpKind::kHost:
    case OpKind::kTransfer:
      return false;
    case OpKind::kDefineDims: {
      std::optional<BufferPart> part = PartOf(node.inputs[0]);
      if (!part || IsFloat(function_.type(node.inputs[0]).dtype)) return false;
      BodyStep step;
      step.kind = BodyStepKind::kDefine;
      step.parts = {*part};
      step.symbols = node.Symbols("symbols");
      steps->push_back(std::move(step));
      return true;
    }
    case OpKind::kDimsTensor: {
      if (!MakeOutputs(node)) return false;
      BodyStep step;
      step.kind = BodyStepKind::kStore;
      step.parts = {places_.at(node.outputs[0])};
      step.values = node.DimList("elements");
      steps->push_back(std::move(step));
      return true;
    }
    case OpKind::kIf:
      return AddBranch(id, steps);
    case OpKind::kLoop:
    case OpKind::kCall:
      return false;
    default:
      return AddGroup(id, steps);
  }
}

bool LoopDescriber::AddGroup(NodeId id, Steps* steps) {
  const Node& node = function_.node(id);
  const GroupProgram* program = Schedule(id);
  if (program == nullptr || !MakeOutputs(node)) return false;
  std::vector<BufferPart> workspaces;
  for (const tensor::Workspace& space : program->workspaces) {
    if (IsInner(space.elements)) return false;
    workspaces.push_back(AddValue("workspace", space.dtype, space.elements));
  }
  auto first_packed = static_cast<uint32_t>(packed_.size());
  for (const tensor::PackConstant& packed : program->packed)
    packed_.push_back({packed, tensor::ConstantsOf(function_, id)});
  std::map<uint32_t, BufferPart> panels;
  for (const KernelCall& call : program->calls) {
    if (call.when.IsConstant(0)) continue;
    BodyStep step;
    auto kernel = std::make_shared<tensor::LoopKernel>(call.kernel);
    // The loop's kernel has many nodes.
    for (std::string& message : kernel->error_messages)
      if (!node.source.empty()) message = fmt::format("node {}: {}", node.source, message);
    step.kernel = std::move(kernel);
    step.condition = call.when;
    for (uint32_t a = 0; a < call.arguments.size(); ++a) {
      const tensor::KernelArgument& argument = call.arguments[a];
      std::optional<BufferPart> part;
      if (argument.kind == tensor::ArgumentKind::kInput) part = PartOf(node.inputs[argument.index]);
      if (argument.kind == tensor::ArgumentKind::kOutput) part = places_.at(node.outputs[argument.index]);
      if (argument.kind == tensor::ArgumentKind::kWorkspace) part = workspaces[argument.index];
      if (argument.kind == tensor::ArgumentKind::kPacked) {
        auto [found, is_new] = panels.try_emplace(argument.index);
        if (is_new)
          found->second.buffer =
              AddArgument("packed", call.kernel.buffers[a].dtype, Access::kRead,
                          {LoopArgumentKind::kPacked, {}, first_packed + argument.index}, 0);
        part = found->second;
      }
      if (!part) return false;
      step.parts.push_back(*part);
    }
    statements_ += CountStatements(call.kernel);
    steps->push_back(std::move(step));
  }
  return true;
}

bool LoopDescriber::AddBranch(NodeId id, Steps* steps) {
  const Node& node = function_.node(id);
  if (!MakeOutputs(node)) return false;
  BodyStep step;
  step.kind = BodyStepKind::kIf;
  step.condition = ir::DimAttribute(node, "condition");
  step.symbols = node.Symbols("symbols");
  step.then_values = node.DimList("then_values");
  step.else_values = node.DimList("else_values");
  ++branches_;
  if (!BranchResults(node, node.regions[0], &step.then) ||
      !BranchResults(node, node.regions[1], &step.otherwise))
    return false;
  --branches_;
  steps->push_back(std::move(step));
  return true;
}

// The branch's results are made in the places of the node's results, or copied there.
bool LoopDescriber::BranchResults(const Node& node, ir::RegionId id, Steps* steps) {
  const ir::Region& region = function_.region(id);
  std::vector<bool> is_made(region.results.size(), false);
  for (size_t i = 0; i < region.results.size(); ++i) {
    ValueId root = views_.PlaceOf(region.results[i]).root;
    NodeId producer = function_.value(root).producer;
    bool is_own = std::find(region.nodes.begin(), region.nodes.end(), producer) != region.nodes.end();
    if (!is_own || places_.contains(root) || !IsWhole(region.results[i]) ||
        function_.ConstantOf(root) != nullptr || IsInPlace(function_.node(producer)))
      continue;
    places_[root] = places_.at(node.outputs[i]);
    is_made[i] = true;
  }
  if (!Region(id, steps)) return false;
  for (size_t i = 0; i < region.results.size(); ++i) {
    if (is_made[i]) continue;
    std::optional<BufferPart> from = PartOf(region.results[i]);
    if (!from) return false;
    Copy(*from, places_.at(node.outputs[i]), function_.type(region.results[i]), steps);
  }
  return true;
}

// Those of the body in terms of outer symbols only are checked before the loop.
void LoopDescriber::AddRequirements(const Node& node, Steps* steps) {
  if (ir::HasControlRegions(node)) return;
  for (ir::Requirement& requirement : ir::RequirementsOf(function_, node)) {
    if (branches_ == 0 && !IsInner(requirement.condition)) {
      facts_.push_back(requirement.condition);
      continue;
    }
    Dim left = ir::SimplifyInLoop(requirement.condition, loop_, ranges_);
    if (left.is_constant() && left.value() != 0) continue;
    BodyStep step;
    step.kind = BodyStepKind::kRequire;
    step.condition = requirement.condition;
    step.message = std::move(requirement.message);
    for (size_t k = 0; k < requirement.values.size(); ++k) {
      std::string place = fmt::format("{{{}}}", k);
      for (size_t at = step.message.find(place); at != std::string::npos; at = step.message.find(place, at))
        step.message.replace(at, place.size(), requirement.values[k].ToString());
    }
    if (!node.source.empty()) step.message = fmt::format("node {}: {}", node.source, step.message);
    steps->push_back(std::move(step));
  }
}

void LoopDescriber::Copy(const BufferPart& from, const BufferPart& to, const Type& type, Steps* steps) {
  BodyStep step;
  step.kind = BodyStepKind::kCopy;
  step.parts = {from, to};
  step.elements = ElementsOf(type);
  steps->push_back(std::move(step));
}

// What was not made where it belongs is copied: collected values first, then carried ones, by way of another
// place where they come from a carried value.
bool LoopDescriber::AddResults(Steps* steps) {
  size_t carried = region_.parameters.size();
  Steps last;
  for (size_t n = 0; n < region_.results.size(); ++n) {
    size_t i = (n + carried) % region_.results.size();
    ValueId result = region_.results[i];
    if (is_direct_[i] || (i < carried && result == region_.parameters[i])) continue;
    const Type& type = function_.type(result);
    std::optional<BufferPart> from = PartOf(result);
    if (!from) return false;
    if (i < carried && from->buffer == i && from->offset.IsConstant(0)) continue;  // there already
    if (i >= carried) {
      Copy(*from, places_.at(loop_.outputs[i]), type, steps);
      continue;
    }
    ValueId root = views_.PlaceOf(result).root;
    if (std::find(region_.parameters.begin(), region_.parameters.end(), root) != region_.parameters.end()) {
      BufferPart between = AddValue("next", type.dtype, ElementsOf(type));
      Copy(*from, between, type, steps);
      from = between;
    }
    Copy(*from, places_.at(region_.parameters[i]), type, &last);
  }
  for (BodyStep& step : last) steps->push_back(std::move(step));
  return true;
}

}  // namespace tvmvm::lowering
