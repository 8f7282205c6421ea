#include "compiler/onnx/importer/elementwise_probe.h"

#include <algorithm>
#include <map>

#include "compiler/graph/core_op.h"

namespace tvmvm::ir {
namespace {

bool IsSingleNumber(const Node& node) {
  const TensorData* data = node.op->kind == OpKind::kConstant ? node.Data("data") : nullptr;
  return data != nullptr && data->dims.empty();
}

// One lowering, at one rank.
struct Probe {
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs, outputs;
};

bool SameAttribute(const Attribute& a, const Attribute& b) {
  const auto* x = std::get_if<std::shared_ptr<const TensorData>>(&a);
  const auto* y = std::get_if<std::shared_ptr<const TensorData>>(&b);
  if (x == nullptr || y == nullptr) return a == b;
  return (*x)->dtype == (*y)->dtype && (*x)->dims == (*y)->dims &&
         std::ranges::equal((*x)->bytes, (*y)->bytes);
}

bool SameAttributes(const Node& a, const Node& b) {
  return std::ranges::equal(a.attributes, b.attributes, [](const auto& x, const auto& y) {
    return x.first == y.first && SameAttribute(x.second, y.second);
  });
}

// Whether two lowerings apply the same operators to the same operands.
bool Same(const Function& function, const Probe& a, const Probe& b) {
  if (a.nodes.size() != b.nodes.size()) return false;
  std::map<ValueId, ValueId> pairs;
  for (size_t i = 0; i < a.inputs.size(); ++i) pairs[a.inputs[i]] = b.inputs[i];
  auto match = [&](ValueId x, ValueId y) {
    auto found = pairs.find(x);
    return (found == pairs.end() ? x : found->second) == y;
  };
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const Node &x = function.node(a.nodes[i]), &y = function.node(b.nodes[i]);
    if (x.op != y.op || x.outputs.size() != y.outputs.size() || !SameAttributes(x, y) ||
        !std::ranges::equal(x.inputs, y.inputs, match))
      return false;
    for (size_t k = 0; k < x.outputs.size(); ++k) pairs[x.outputs[k]] = y.outputs[k];
  }
  return std::ranges::equal(a.outputs, b.outputs, match);
}

class Prober {
 public:
  Prober(const std::function<void()>& lower, OnnxContext* context, FlatViews* flats)
      : lower_(lower), c_(*context), b_(context->b), flats_(*flats) {}

  bool Run() {
    uint32_t ranks = Type::kAnyRank;
    for (ValueId input : c_.inputs)
      if (input.valid() && IsUnranked(b_.type(input))) ranks &= b_.type(input).ranks;
    ranks |= 1u << 1;  // of the list of the elements
    std::optional<Probe> first;
    for (int rank = 0; rank < Type::kMostRanks; ++rank) {
      if ((ranks >> rank & 1) == 0) continue;
      std::optional<Probe> probe = At(rank);
      if (!probe || (first && !Same(b_.function(), *first, *probe))) return false;
      if (!first) first = std::move(probe);
    }
    return first.has_value();
  }

 private:
  std::optional<Probe> At(int rank) {
    const std::vector<ValueId> inputs = c_.inputs, outputs = c_.outputs;
    const Dims dims = flats_.ProbeDims(b_, rank);
    for (ValueId& input : c_.inputs)
      if (input.valid() && IsUnranked(b_.type(input)))
        input = b_.function().AddValue(Type::Tensor(b_.dtype(input), dims));
    const RegionId region = b_.function().AddRegion();
    b_.EnterRegion(region);
    lower_();
    b_.LeaveRegion();
    Probe probe{b_.function().region(region).nodes, c_.inputs, c_.outputs};
    c_.inputs = inputs;
    c_.outputs = outputs;
    if (b_.TakeError() || !AreElementwise(b_.function(), probe.nodes, dims)) return std::nullopt;
    for (size_t i = 0; i < probe.outputs.size(); ++i) {
      const ValueId output = probe.outputs[i];
      if (output.valid() ? !(b_.type(output) == Type::Tensor(b_.dtype(output), dims)) : c_.wants(i))
        return std::nullopt;
    }
    return probe;
  }

  const std::function<void()>& lower_;
  OnnxContext& c_;
  OpBuilder& b_;
  FlatViews& flats_;
};

}  // namespace

bool AreElementwise(const Function& function, const std::vector<NodeId>& nodes, const Dims& dims) {
  return std::ranges::all_of(nodes, [&](NodeId id) {
    const Node& node = function.node(id);
    if (IsSingleNumber(node)) return true;
    if (node.op->kind != OpKind::kElementwise) return false;
    return std::ranges::all_of(node.outputs, [&](ValueId output) {
      const Type& type = function.type(output);
      return type.dims.empty() || type.dims == dims;
    });
  });
}

bool IsElementwise(const std::function<void()>& lower, OnnxContext* context, FlatViews* flats) {
  return Prober(lower, context, flats).Run();
}

}  // namespace tvmvm::ir
