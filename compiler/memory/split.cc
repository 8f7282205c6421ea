#include "compiler/memory/split.h"

#include <algorithm>
#include <map>

#include "compiler/graph/core_op.h"
#include "compiler/graph/storage.h"
#include "compiler/memory/rows.h"

namespace tvmvm::memory {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;
using Wanted = std::optional<Rows>;  // of a value; nothing: all of it

// One stretch of a chain.
class Stretch {
 public:
  Stretch(Function* function, const Chain& chain) : function_(*function), chain_(chain) {
    for (NodeId id : chain.nodes)
      for (ValueId output : function_.node(id).outputs) made_here_[output] = {};
  }

  // Finds what each node makes; nothing is changed.
  bool Plan(ValueId result, const Rows& rows) { return Plan(std::vector<ValueId>{result}, rows); }
  bool Plan(const std::vector<ValueId>& results, const Rows& rows) {
    for (ValueId result : results)
      if (!Want(result, rows)) return false;
    return std::ranges::all_of(std::vector<NodeId>(chain_.nodes.rbegin(), chain_.nodes.rend()),
                               [&](NodeId id) { return PlanNode(id); });
  }

  // The nodes as they are.
  void PlanWhole(ValueId result) { wanted_[result] = Wanted(); }

  // Makes the nodes; invalid: a type does not come out as planned.
  ValueId Build(ValueId result, std::vector<NodeId>* to) {
    return BuildAll(to) ? made_here_.at(result) : ValueId{};
  }
  bool BuildAll(std::vector<NodeId>* to) {
    return std::ranges::all_of(chain_.nodes, [&](NodeId id) { return BuildNode(id, to); });
  }
  ValueId Made(ValueId result) const { return made_here_.at(result); }

 private:
  // Notes that somebody reads `rows` of what the chain makes, or of a value within a group. All who read it
  // want the same.
  bool Want(ValueId value, const Wanted& rows) {
    auto [found, is_new] = wanted_.emplace(value, rows);
    return is_new || found->second == rows;
  }

  // Of what comes from outside each may read another part.
  bool WantOuter(NodeId node, size_t number, const Wanted& rows) {
    const ValueId value = function_.node(node).inputs[number];
    if (made_here_.contains(value)) return rows.has_value() && Want(value, rows);
    if (rows) outer_[{node, number}] = *rows;
    return true;
  }

  bool PlanNode(NodeId id) {
    const Node& node = function_.node(id);
    auto found = wanted_.find(node.outputs.empty() ? ValueId{} : node.outputs[0]);
    if (found == wanted_.end() || !found->second || node.outputs.size() != 1) return false;
    if (node.op->kind == ir::OpKind::kFused) return PlanGroup(id, *found->second);
    std::optional<PartOfNode> part = TakeRows(function_, node, *found->second);
    if (!part) return false;
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k].valid() && !WantOuter(id, k, part->inputs[k])) return false;
    parts_.emplace(id, std::move(part->node));
    return true;
  }

  bool PlanGroup(NodeId id, const Rows& rows) {
    const Node& group = function_.node(id);
    const ir::Region& region = function_.region(group.regions[0]);
    if (!Want(region.results[0], rows)) return false;
    for (size_t i = region.nodes.size(); i-- > 0;)
      if (!PlanMember(region.nodes[i])) return false;
    for (size_t k = 0; k < region.parameters.size(); ++k) {
      auto found = wanted_.find(region.parameters[k]);
      if (found != wanted_.end() && !WantOuter(id, k, found->second)) return false;
    }
    return true;
  }

  bool PlanMember(NodeId id) {
    const Node& node = function_.node(id);
    if (node.outputs.size() != 1) return false;
    auto found = wanted_.find(node.outputs[0]);
    if (found == wanted_.end()) return true;  // nobody reads it
    const Wanted rows = found->second;
    std::vector<Wanted> inputs(node.inputs.size());
    if (rows) {
      std::optional<PartOfNode> part = TakeRows(function_, node, *rows);
      if (!part) return false;
      inputs = part->inputs;
      parts_.emplace(id, std::move(part->node));
    }
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k].valid() && !Want(node.inputs[k], inputs[k])) return false;
    return true;
  }

  // ---- making them ----

  ValueId CopyValue(ValueId value, Type type) {
    const uint32_t device = function_.value(value).device;
    const ValueId copy = function_.AddValue(std::move(type), function_.value(value).name);
    function_.value(copy).device = device;
    return copy;
  }

  static Type PartOf(const Type& type, const Wanted& rows) {
    Type part = type;
    if (rows) part.dims[static_cast<size_t>(rows->axis)] = rows->size;
    return part;
  }

  ValueId Slice(ValueId value, const Rows& rows, std::string source, std::vector<NodeId>* to) {
    const Type type = function_.type(value);
    const auto axis = static_cast<size_t>(rows.axis);
    if (rows.start.IsConstant(0) && rows.size == type.dims[axis]) return value;
    Dims starts(type.dims.size(), Dim(0)), steps(type.dims.size(), Dim(1));
    starts[axis] = rows.start;
    Type part = PartOf(type, rows);
    if (const ValueId constant = SliceConstant(value, rows, source, to); constant.valid()) return constant;
    Node slice;
    slice.op = &ir::GetCoreOp("slice");
    slice.inputs = {value};
    slice.attributes = {{"starts", starts}, {"steps", steps}, {"dims", part.dims}};
    slice.source = std::move(source);
    slice.outputs = {CopyValue(value, std::move(part))};
    to->push_back(function_.AddNode(slice));
    return slice.outputs[0];
  }

  // Rows of a constant are constants.
  ValueId SliceConstant(ValueId value, const Rows& rows, const std::string& source, std::vector<NodeId>* to) {
    const ir::TensorData* data = function_.ConstantOf(value);
    if (data == nullptr || !rows.start.is_constant() || !rows.size.is_constant()) return {};
    if (DTypeBits(data->dtype) < 8 || data->dtype == DType::kString) return {};
    const auto axis = static_cast<size_t>(rows.axis);
    int64_t outer = 1, inner = DTypeBits(data->dtype) / 8;
    for (size_t k = 0; k < data->dims.size(); ++k)
      (k < axis ? outer : inner) *= k == axis ? 1 : data->dims[k];
    const int64_t from = rows.start.value() * inner, bytes = rows.size.value() * inner;
    std::vector<std::byte> part;
    part.reserve(static_cast<size_t>(outer * bytes));
    for (int64_t k = 0; k < outer; ++k) {
      const auto begin = data->bytes.begin() + k * data->dims[axis] * inner + from;
      part.insert(part.end(), begin, begin + bytes);
    }
    std::vector<int64_t> dims = data->dims;
    dims[axis] = rows.size.value();
    Node constant;
    constant.op = &ir::GetCoreOp("constant");
    constant.attributes = {{"data", std::make_shared<const ir::TensorData>(ir::TensorData::Owned(
                                        data->dtype, std::move(dims), std::move(part)))}};
    constant.source = source;
    constant.outputs = {CopyValue(value, PartOf(function_.type(value), rows))};
    to->push_back(function_.AddNode(constant));
    return constant.outputs[0];
  }

  // Types follow from the rules; they have to be those that were planned.
  bool AddResult(Node* node, ValueId old, const Wanted& rows) {
    ir::InferContext context{*node, {}};
    for (ValueId input : node->inputs)
      context.inputs.push_back(input.valid() ? function_.type(input) : Type());
    Expected<std::vector<Type>> types = node->op->infer(context);
    if (!types || types->size() != 1 || !((*types)[0] == PartOf(function_.type(old), rows))) return false;
    node->outputs = {CopyValue(old, std::move((*types)[0]))};
    return true;
  }

  bool BuildNode(NodeId id, std::vector<NodeId>* to) {
    Node copy = parts_.contains(id) ? parts_.at(id) : function_.node(id);
    for (size_t k = 0; k < copy.inputs.size(); ++k) {
      ValueId& input = copy.inputs[k];
      if (auto here = made_here_.find(input); here != made_here_.end()) {
        input = here->second;
      } else if (auto found = outer_.find({id, k}); found != outer_.end()) {
        input = Slice(input, found->second, copy.source, to);
      }
    }
    const ValueId old = function_.node(id).outputs[0];
    if (copy.op->kind == ir::OpKind::kFused) {
      const RegionId region = BuildRegion(copy);
      if (!region.valid()) return false;
      copy.regions = {region};
      copy.outputs = {CopyValue(old, function_.type(function_.region(region).results[0]))};
    } else if (!AddResult(&copy, old, wanted_.at(old))) {
      return false;
    }
    made_here_[old] = copy.outputs[0];
    to->push_back(function_.AddNode(std::move(copy)));
    return true;
  }

  RegionId BuildRegion(const Node& group) {
    const ir::Region old = function_.region(group.regions[0]);
    const RegionId id = function_.AddRegion();
    std::map<ValueId, ValueId> inner;
    for (size_t k = 0; k < old.parameters.size(); ++k) {
      const ValueId parameter = CopyValue(old.parameters[k], function_.type(group.inputs[k]));
      if (function_.type(parameter) == function_.type(old.parameters[k]))
        function_.value(parameter).elements = function_.value(old.parameters[k]).elements;
      inner[old.parameters[k]] = parameter;
      function_.region(id).parameters.push_back(parameter);
    }
    for (NodeId member : old.nodes) {
      Node copy = parts_.contains(member) ? parts_.at(member) : function_.node(member);
      const ValueId result = function_.node(member).outputs[0];
      for (ValueId& input : copy.inputs)
        if (input.valid()) input = inner.at(input);
      auto found = wanted_.find(result);
      if (!AddResult(&copy, result, found == wanted_.end() ? Wanted() : found->second)) return {};
      inner[result] = copy.outputs[0];
      if (!parts_.contains(member))
        function_.value(copy.outputs[0]).elements = function_.value(result).elements;
      function_.region(id).nodes.push_back(function_.AddNode(std::move(copy)));
    }
    function_.region(id).results = {inner.at(old.results[0])};
    return id;
  }

  Function& function_;
  const Chain& chain_;
  std::map<ValueId, ValueId> made_here_;  // what the chain makes, and what stands for it
  std::map<ValueId, Wanted> wanted_;
  std::map<std::pair<NodeId, size_t>, Rows> outer_;
  std::map<NodeId, Node> parts_;
};

// Puts `made` where the last node of the chain is, and takes the chain's nodes out.
void Replace(const Chain& chain, const std::vector<NodeId>& made, Function* function) {
  std::vector<NodeId> body;
  for (NodeId id : function->region(chain.region).nodes) {
    if (id == chain.nodes.back()) body.insert(body.end(), made.begin(), made.end());
    if (std::ranges::find(chain.nodes, id) == chain.nodes.end()) body.push_back(id);
  }
  function->region(chain.region).nodes = std::move(body);
}

// A concat whose parts are made where they lie in the result.
NodeId Join(std::vector<ValueId> parts, ValueId result, int axis, const std::string& source,
            Function* function) {
  Node join;
  join.op = &ir::GetCoreOp("concat");
  join.inputs = std::move(parts);
  join.attributes = {{"axis", int64_t{axis}}, {"joined", int64_t{1}}};
  join.outputs = {result};
  join.source = source;
  return function->AddNode(std::move(join));
}

// The first axis of more than one element: stretches of it lie together. -1: there is none.
int SplitAxis(const Dims& dims) {
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (!dims[axis].IsConstant(1)) return static_cast<int>(axis);
  return -1;
}

}  // namespace

bool SplitChain(Function* function, const Chain& chain, int64_t parts) {
  const Node last = function->node(chain.nodes.back());
  const ValueId result = last.outputs[0];
  const Type type = function->type(result);
  const int axis = SplitAxis(type.dims);
  if (axis < 0 || DTypeBits(type.dtype) < 8) return false;
  const Dim extent = type.dims[static_cast<size_t>(axis)], size = FloorDiv(extent, Dim(parts));
  std::vector<NodeId> made;
  std::vector<ValueId> parts_made;
  for (int64_t part = 0; part < parts; ++part) {
    const Dim start = size * Dim(part);
    Stretch stretch(function, chain);
    if (!stretch.Plan(result, {axis, start, part + 1 < parts ? size : extent - start})) return false;
    const ValueId rows = stretch.Build(result, &made);
    // A view of something else is not made anywhere.
    if (!rows.valid() || lowering::Views::IsView(*function, function->node(made.back()))) return false;
    parts_made.push_back(rows);
  }
  made.push_back(Join(std::move(parts_made), result, axis, last.source, function));
  Replace(chain, made, function);
  return true;
}

bool SplitIntoLoop(ir::Module* module, Function* function, const Samples& samples) {
  std::vector<NodeId> made, body, joins;
  Stretch first(function, samples.chain), turn(function, samples.chain);
  const bool has_first = !samples.together.IsConstant(0);
  // A view of something else is not made anywhere.
  const auto is_view = [&](ValueId result) {
    return lowering::Views::IsView(*function, function->node(function->value(result).producer));
  };
  if (has_first && std::ranges::any_of(samples.results, is_view)) return false;
  if (has_first && !(first.Plan(samples.results, {0, 0, samples.together}) && first.BuildAll(&made)))
    return false;
  const Dim index = module->FreshSymbol({.range = {0, INT64_MAX - 1}});
  const Rows rows{0, samples.together + index * samples.size, samples.size};
  if (!turn.Plan(samples.results, rows) || !turn.BuildAll(&body)) return false;

  Node loop;
  loop.op = &ir::GetCoreOp("loop");
  loop.source = function->node(samples.chain.nodes.front()).source;
  loop.attributes = {{"trip", samples.turns},
                     {"start", Dim(1)},
                     {"continue", Dim(1)},
                     {"index", index.symbol()},
                     {"count", ir::SymbolId()},
                     {"symbols", std::vector<ir::SymbolId>()},
                     {"finals", std::vector<ir::SymbolId>()},
                     {"initial", Dims()},
                     {"next", Dims()}};
  loop.regions = {function->AddRegion()};
  function->region(loop.regions[0]).nodes = std::move(body);
  for (ValueId result : samples.results) {
    const std::string& source = function->node(function->value(result).producer).source;
    Type collected = function->type(result);
    collected.dims[0] = samples.turns;
    Type sample = collected;
    sample.dims.erase(sample.dims.begin());
    Node flat;
    flat.op = &ir::GetCoreOp("reshape");
    flat.inputs = {turn.Made(result)};
    flat.attributes = {{"dims", sample.dims}};
    flat.source = source;
    flat.outputs = {function->AddValue(std::move(sample))};
    function->region(loop.regions[0]).results.push_back(flat.outputs[0]);
    function->region(loop.regions[0]).nodes.push_back(function->AddNode(std::move(flat)));
    loop.outputs.push_back(has_first ? function->AddValue(std::move(collected)) : result);
    if (has_first)
      joins.push_back(Join({first.Made(result), loop.outputs.back()}, result, 0, source, function));
  }
  made.push_back(function->AddNode(std::move(loop)));
  made.insert(made.end(), joins.begin(), joins.end());
  Replace(samples.chain, made, function);
  return true;
}

bool MakesSamples(Function* function, NodeId node) {
  const Chain chain{{}, {node}};
  const ValueId result = function->node(node).outputs[0];
  return Stretch(function, chain).Plan(result, {0, Dim(0), Dim(1)});
}

NodeId CopyNode(Function* function, NodeId node) {
  const Chain chain{{}, {node}};
  const ValueId result = function->node(node).outputs[0];
  Stretch whole(function, chain);
  whole.PlanWhole(result);
  std::vector<NodeId> made;
  return whole.Build(result, &made).valid() ? made.back() : NodeId{};
}

}  // namespace tvmvm::memory
