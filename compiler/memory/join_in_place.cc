#include "compiler/memory/join_in_place.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/storage.h"
#include "compiler/memory/measure.h"

namespace tvmvm::memory {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

constexpr int64_t kSizes[] = {8, 64, 512};  // of dims, as far as they may be so large
constexpr int kMostTried = 12;              // layouts of the memory

// A concat that may be joined, alone in its group.
struct Join {
  NodeId node;
  std::vector<ValueId> inputs;
  int64_t axis = 0;
};

bool IsPlainConcat(const Node& node) {
  return node.op->traits.axes == ir::AxisMap::kConcat && !node.decided.in_place && !lowering::IsJoin(node);
}

// The concat that the node is, with the inputs of the node. A group's may read what the group has copied.
std::optional<Join> ConcatOf(const Function& function, NodeId id) {
  const Node& node = function.node(id);
  if (IsPlainConcat(node)) return Join{id, node.inputs, node.Int("axis")};
  if (node.op->kind != OpKind::kFused) return std::nullopt;
  const ir::Region& group = function.region(node.regions[0]);
  if (group.nodes.size() != 1 || !IsPlainConcat(function.node(group.nodes[0]))) return std::nullopt;
  const Node& concat = function.node(group.nodes[0]);
  Join join{id, {}, concat.Int("axis")};
  for (ValueId input : concat.inputs) {
    const auto found = std::ranges::find(group.parameters, input);
    if (found == group.parameters.end()) return std::nullopt;
    join.inputs.push_back(node.inputs[static_cast<size_t>(found - group.parameters.begin())]);
  }
  return join;
}

// Whether the inputs are whole rows of the result's memory, of dims that are known to fit.
bool LieTogether(const Function& function, const Join& join) {
  const Type& whole = function.type(function.node(join.node).outputs[0]);
  if (!ir::IsTensorOfNumbers(whole) || DTypeBits(whole.dtype) < 8 || join.inputs.size() < 2) return false;
  const auto axis = static_cast<size_t>(join.axis);
  for (size_t outer = 0; outer < axis; ++outer)
    if (!whole.dims[outer].IsConstant(1)) return false;
  Dims dims = whole.dims;
  dims[axis] = 0;
  for (ValueId input : join.inputs) {
    const Type& part = function.type(input);
    if (!ir::IsTensorOfNumbers(part) || part.dtype != whole.dtype || part.dims.size() != dims.size())
      return false;
    for (size_t other = 0; other < dims.size(); ++other)
      if (other != axis && !(part.dims[other] == dims[other])) return false;
    dims[axis] = dims[axis] + part.dims[axis];
  }
  return dims[axis] == whole.dims[axis];
}

// Whether kernels write what the node gives, each time to where they are told.
bool IsMadeByKernels(const Function& function, const Node& node) {
  switch (node.op->kind) {
    case OpKind::kConstant:
    case OpKind::kRequire:
    case OpKind::kDefineDims:
    case OpKind::kDimsTensor:
    case OpKind::kTransfer:
    case OpKind::kHost:
    case OpKind::kIf:
    case OpKind::kLoop:
    case OpKind::kCall:
      return false;
    default:
      return !node.decided.in_place && !lowering::Views::IsView(function, node);
  }
}

class Finder {
 public:
  // `donates`: outputs may lie in the memory of inputs.
  Finder(const Function& function, bool donates) : function_(function), donates_(donates), views_(function) {
    for (RegionId region : ir::RunningRegions(function)) {
      for (ValueId result : function.region(region).results)
        (region == function.body ? outputs_ : results_).insert(views_.PlaceOf(result).root);
      for (NodeId id : function.region(region).nodes)
        for (ValueId use : ir::UsesOf(function, function.node(id)))
          if (use.valid()) used_.insert(use);
    }
  }

  std::vector<Join> Run() {
    Search(function_.body);
    return std::move(joins_);
  }

 private:
  void Search(RegionId region) {
    const std::vector<NodeId>& nodes = function_.region(region).nodes;
    for (NodeId id : nodes) {
      const Node& node = function_.node(id);
      // What becomes one kernel has its own memory.
      if (ir::HasControlRegions(node) && !node.decided.outline)
        for (RegionId inner : node.regions) Search(inner);
    }
    std::map<NodeId, size_t> places;
    for (size_t i = 0; i < nodes.size(); ++i) {
      places[nodes[i]] = i;
      std::optional<Join> join = ConcatOf(function_, nodes[i]);
      if (join && Consider(*join, nodes, places)) joins_.push_back(std::move(*join));
    }
  }

  // The value of which `value` is a view that covers it.
  ValueId WholeOf(ValueId value) const {
    const lowering::Place place = views_.PlaceOf(value);
    if (!place.byte_offset.IsConstant(0)) return {};
    const Type &root = function_.type(place.root), &type = function_.type(value);
    const bool is_whole = ir::IsTensorOfNumbers(root) && lowering::BytesOf(root.dtype, root.dims) ==
                                                             lowering::BytesOf(type.dtype, type.dims);
    return is_whole ? place.root : ValueId{};
  }

  bool Consider(const Join& join, const std::vector<NodeId>& nodes, const std::map<NodeId, size_t>& places) {
    const ValueId result = function_.node(join.node).outputs[0];
    // A region's result is made where it belongs, and may lie in a donated input.
    if (results_.contains(result) || (donates_ && outputs_.contains(result))) return false;
    if (!outputs_.contains(result) && !used_.contains(result)) return false;
    if (!LieTogether(function_, join)) return false;
    std::set<ValueId> parts;
    size_t first = places.at(join.node);
    for (ValueId input : join.inputs) {
      const ValueId part = WholeOf(input);
      const NodeId producer = part.valid() ? function_.value(part).producer : NodeId{};
      const auto place = places.find(producer);
      if (!producer.valid() || place == places.end()) return false;
      if (!IsMadeByKernels(function_, function_.node(producer))) return false;
      if (outputs_.contains(part) || results_.contains(part) || taken_.contains(part)) return false;
      if (function_.value(part).device != function_.value(result).device) return false;
      if (!parts.insert(part).second) return false;
      const auto begun = begins_.find(part);
      first = std::min(first, begun == begins_.end() ? place->second : begun->second);
    }
    if (!IsKnownAt(join, nodes, first, places.at(join.node))) return false;
    taken_.insert(parts.begin(), parts.end());
    begins_[result] = first;
    return true;
  }

  // Whether no dims are defined between the nodes that the parts' sizes depend on.
  bool IsKnownAt(const Join& join, const std::vector<NodeId>& nodes, size_t first, size_t last) const {
    ir::SymbolSet defined;
    for (size_t i = first; i < last; ++i)
      for (const ir::SymbolId& symbol : ir::DefinedSymbols(function_, function_.node(nodes[i])))
        defined.insert(symbol);
    if (defined.empty()) return true;
    const auto is_known = [&](ValueId value) {
      return std::ranges::none_of(function_.type(value).dims,
                                  [&](const Dim& dim) { return MentionsAny(dim, defined); });
    };
    return is_known(function_.node(join.node).outputs[0]) && std::ranges::all_of(join.inputs, is_known);
  }

  const Function& function_;
  const bool donates_;
  const lowering::Views views_;
  std::set<ValueId> outputs_, results_;  // roots of the body's results, and of those of other regions
  std::set<ValueId> used_;
  std::set<ValueId> taken_;           // roots of what is joined
  std::map<ValueId, size_t> begins_;  // results of joins: where the first part may be made
  std::vector<Join> joins_;
};

void Apply(std::span<const Join> joins, Function* function) {
  for (const Join& join : joins) {
    Node& node = function->node(join.node);
    node.op = &ir::GetCoreOp("concat");
    node.inputs = join.inputs;
    node.attributes = {{"axis", join.axis}, {"joined", int64_t{1}}};
    node.regions.clear();
  }
}

// What a function holds and moves at each of the sizes.
using Costs = std::vector<Measured>;

class Joiner {
 public:
  Joiner(const lowering::LoweringOptions& options, tensor::ScheduleCache* schedules, ir::Module* module)
      : options_(options), schedules_(*schedules), module_(*module), function_(module->main()) {}

  void Run() {
    const std::vector<Join> joins = Finder(function_, !options_.donate.empty()).Run();
    if (joins.empty()) return;
    std::optional<Costs> costs = CostsOf(function_);
    if (!costs) return;  // lowering says why
    costs_ = std::move(*costs);
    Take(joins);
  }

 private:
  std::optional<Costs> CostsOf(const Function& function) {
    auto outline = lowering::OutlineMemory(module_, function, options_, &schedules_);
    if (!outline) return std::nullopt;
    Costs costs;
    for (int64_t size : kSizes) {
      auto measured = MeasureAt(size, module_, function, *outline);
      if (!measured) return std::nullopt;
      costs.push_back(std::move(*measured));
    }
    return costs;
  }

  // All of them, or halves, as far as that is better.
  void Take(std::span<const Join> joins) {
    if (joins.empty() || tried_ == kMostTried) return;
    ++tried_;
    Function changed = function_;
    Apply(joins, &changed);
    std::optional<Costs> costs = CostsOf(changed);
    if (costs && IsBetter(*costs)) {
      function_ = std::move(changed);
      costs_ = std::move(*costs);
    } else if (joins.size() > 1) {
      Take(joins.first(joins.size() / 2));
      Take(joins.subspan(joins.size() / 2));
    }
  }

  bool IsBetter(const Costs& costs) const {
    bool is_less = false;
    for (size_t i = 0; i < costs.size(); ++i) {
      if (costs[i].peak_bytes > costs_[i].peak_bytes || costs[i].bytes > costs_[i].bytes) return false;
      is_less = is_less || costs[i].bytes < costs_[i].bytes;
    }
    return is_less;
  }

  const lowering::LoweringOptions& options_;
  tensor::ScheduleCache& schedules_;
  ir::Module& module_;
  Function& function_;
  Costs costs_;
  int tried_ = 0;
};

}  // namespace

void JoinInPlace(const lowering::LoweringOptions& options, tensor::ScheduleCache* schedules,
                 ir::Module* module) {
  Joiner(options, schedules, module).Run();
}

}  // namespace tvmvm::memory
