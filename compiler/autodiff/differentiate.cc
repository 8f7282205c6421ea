#include "compiler/autodiff/differentiate.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/autodiff/gradient_rule.h"
#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::autodiff {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::Type;

bool IsFloatTensor(const Type& type) {
  return type.kind == ir::TypeKind::kTensor && type.ranked && IsFloat(type.dtype);
}

// The nodes that y is made by, in execution order (a node is made after those that it uses). What makes a
// value of `ends` is left out.
std::set<NodeId> NodesBehind(const Function& function, ValueId y, const std::set<ValueId>& ends) {
  std::set<NodeId> nodes;
  std::vector<ValueId> open{y};
  while (!open.empty()) {
    ValueId value = open.back();
    open.pop_back();
    if (!value.valid() || ends.contains(value)) continue;
    NodeId producer = function.value(value).producer;
    if (!producer.valid() || !nodes.insert(producer).second) continue;
    for (ValueId used : UsesOf(function, function.node(producer))) open.push_back(used);
  }
  return nodes;
}

// Those of the nodes that depend on one of `sources`, in order; `reached` gets what they make.
std::vector<NodeId> Dependents(const Function& function, const std::set<NodeId>& nodes,
                               std::set<ValueId>* reached, bool floats_only) {
  std::vector<NodeId> dependents;
  for (NodeId id : nodes) {
    const Node& node = function.node(id);
    bool depends = false;
    for (ValueId used : UsesOf(function, node)) depends = depends || reached->contains(used);
    if (!depends) continue;
    bool reaches = false;
    for (ValueId output : node.outputs) {
      if (floats_only && !IsFloatTensor(function.type(output))) continue;
      reaches = reached->insert(output).second || reaches;
    }
    if (reaches) dependents.push_back(id);
  }
  return dependents;
}

class Reverse {
 public:
  Reverse(OpBuilder& b, const std::set<ValueId>& active) : b_(b), active_(active) {}

  void Add(ValueId value, ValueId gradient) {
    auto [place, is_first] = gradients_.emplace(value, gradient);
    if (!is_first) place->second = b_.Add(place->second, gradient);
  }
  ValueId Of(ValueId value) const {
    auto found = gradients_.find(value);
    return found == gradients_.end() ? ValueId() : found->second;
  }

  // From the gradients of the node's results to those of its inputs.
  void Through(NodeId id) {
    const Node node = b_.function().node(id);  // a copy: the rule adds nodes
    std::vector<ValueId> gradients;
    std::vector<bool> wanted;
    bool has_gradient = false;
    for (ValueId output : node.outputs) {
      gradients.push_back(Of(output));
      has_gradient = has_gradient || gradients.back().valid();
    }
    if (!has_gradient) return;
    for (ValueId input : node.inputs) wanted.push_back(input.valid() && active_.contains(input));
    RuleContext context(b_, node, std::move(gradients), std::move(wanted));
    const Rule rule = FindRule(*node.op);
    if (rule == nullptr) return context.Unsupported("");
    rule(context);
    for (size_t k = 0; k < node.inputs.size() && !b_.failed(); ++k)
      if (context.terms()[k].valid()) Add(node.inputs[k], context.terms()[k]);
  }

 private:
  OpBuilder& b_;
  const std::set<ValueId>& active_;  // what takes gradients
  std::map<ValueId, ValueId> gradients_;
};

// Shapes that are equal when the model runs: the value in the type of the other.
ValueId InTypeOf(OpBuilder& b, ValueId value, ValueId other) {
  if (b.failed()) return value;
  const Dims have = b.dims(value), want = b.dims(other);
  if (have.size() != want.size() || b.dtype(value) != b.dtype(other))
    return b.Fail(Code::kInvalidArgument, fmt::format("a value of type {} takes the place of one of type {}",
                                                      b.type(value).ToString(), b.type(other).ToString()));
  for (size_t axis = 0; axis < want.size(); ++axis)
    b.Require(Equal(have[axis], want[axis]),
              fmt::format("a value with size {{0}} of axis {} takes the place of one with size {{1}}", axis),
              {have[axis], want[axis]});
  return have == want || b.failed() ? value : b.Emit("expand", {value}, {{"dims", want}});
}

}  // namespace

std::vector<ValueId> Gradients(OpBuilder& b, ValueId y, const std::vector<ValueId>& xs,
                               const std::vector<ValueId>& constants) {
  if (b.failed()) return std::vector<ValueId>(xs.size(), y);
  Function& function = b.function();
  for (ValueId value : xs)
    if (!IsFloatTensor(b.type(value)))
      b.Fail(Code::kInvalidArgument,
             fmt::format("a gradient with respect to a value of type {}, wanted floats",
                         b.type(value).ToString()));
  if (!IsFloatTensor(b.type(y)))
    b.Fail(Code::kInvalidArgument,
           fmt::format("the gradient of a value of type {}, wanted floats", b.type(y).ToString()));
  if (b.failed()) return std::vector<ValueId>(xs.size(), y);

  std::set<ValueId> active(xs.begin(), xs.end()), ends = active;
  ends.insert(constants.begin(), constants.end());
  std::vector<NodeId> path = Dependents(function, NodesBehind(function, y, ends), &active, true);
  for (ValueId constant : constants) active.erase(constant);
  Reverse reverse(b, active);
  reverse.Add(y, b.Expand(b.Scalar(b.dtype(y), 1), b.dims(y)));
  for (size_t i = path.size(); i-- > 0 && !b.failed();) reverse.Through(path[i]);

  std::vector<ValueId> gradients;
  for (ValueId x : xs) {
    ValueId gradient = reverse.Of(x);
    gradients.push_back(gradient.valid() ? gradient : Zeros(b, b.dtype(x), b.dims(x)));
  }
  return gradients;
}

ValueId Independent(OpBuilder& b, ValueId value) {
  // An expansion to its own shape, made past the builder, which would leave it out or fold it.
  Function& function = b.function();
  Node node;
  node.op = &ir::GetCoreOp("expand");
  node.inputs = {value};
  node.attributes["dims"] = b.dims(value);
  node.source = b.source();
  ValueId copy = function.AddValue(b.type(value));
  node.outputs = {copy};
  function.region(b.region()).nodes.push_back(function.AddNode(std::move(node)));
  return copy;
}

ValueId Recompute(OpBuilder& b, ValueId y, const std::vector<ValueId>& originals,
                  const std::vector<ValueId>& values) {
  Function& function = b.function();
  std::map<ValueId, ValueId> replaced;
  std::set<ValueId> affected;
  for (size_t k = 0; k < originals.size() && !b.failed(); ++k) {
    if (values[k] == originals[k]) continue;
    if (!IsFloatTensor(b.type(originals[k]))) {
      b.Fail(Code::kUnsupported,
             fmt::format("another value in the place of one of type {}", b.type(originals[k]).ToString()));
    }
    replaced[originals[k]] = InTypeOf(b, values[k], originals[k]);
    affected.insert(originals[k]);
  }
  if (b.failed() || affected.empty()) return y;
  std::set<ValueId> ends(originals.begin(), originals.end());
  std::vector<NodeId> path = Dependents(function, NodesBehind(function, y, ends), &affected, false);
  for (size_t i = 0; i < function.nodes.size(); ++i) {
    const Node& node = function.nodes[i];
    if (node.op->kind == ir::OpKind::kDefineDims && affected.contains(node.inputs[0]))
      return b.Fail(Code::kUnsupported, fmt::format("sizes depend on a value that another takes the place of "
                                                    "(node '{}')",
                                                    node.source));
  }
  for (NodeId id : path) {
    const Node node = function.node(id);
    if (!node.regions.empty() || node.op->kind == ir::OpKind::kHost)
      return b.Fail(Code::kUnsupported,
                    fmt::format("core operator {} on a value that another takes the place of "
                                "(node '{}')",
                                node.op->name, node.source));
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) {
      auto found = replaced.find(input);
      inputs.push_back(found == replaced.end() ? input : found->second);
    }
    std::vector<ValueId> outputs = b.EmitMulti(node.op->name, std::move(inputs), node.attributes);
    if (b.failed()) return y;
    for (size_t k = 0; k < outputs.size(); ++k) replaced[node.outputs[k]] = outputs[k];
  }
  auto found = replaced.find(y);
  return found == replaced.end() ? y : found->second;
}

}  // namespace tvmvm::autodiff
