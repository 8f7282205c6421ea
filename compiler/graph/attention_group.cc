#include "compiler/graph/attention_group.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "compiler/graph/core_op.h"

namespace tvmvm::ir {
namespace {

class AttentionFinder {
 public:
  AttentionFinder(const Function& function, NodeId result, const std::map<NodeId, int>& positions,
                  bool with_halves)
      : function_(function), positions_(positions), with_halves_(with_halves) {
    group_.result = result;
  }

  std::optional<AttentionGroup> Find() {
    const Node& result = function_.node(group_.result);
    if (result.op->kind != OpKind::kContraction) return std::nullopt;
    group_.weights = result.inputs[0];
    whole_ = dims(group_.weights);
    if (const std::vector<int64_t>& summed = result.Ints("rhs_contract"); summed.size() == 1)
      keys_ = dims(result.inputs[1])[static_cast<size_t>(summed[0])];
    if (whole_.empty() || !DependsOnScores(group_.weights)) return std::nullopt;
    while (IsView(group_.weights)) group_.weights = Producer(group_.weights)->inputs[0];
    if (!group_.scores.valid() || !HasFittingAxes(function_.node(group_.scores), result)) return std::nullopt;
    Collect();
    if (!AllAreF32() || !CanReplaceRows()) return std::nullopt;
    return group_;
  }

 private:
  const Dims& dims(ValueId value) const { return function_.type(value).dims; }

  bool HasLeading(const Dims& dims) const {
    auto leading = [](const Dims& all) { return Product(Dims(all.begin(), all.end() - 1)); };
    return !dims.empty() && leading(dims) == leading(whole_);
  }
  bool IsWhole(const Dims& dims) const {
    return dims == whole_ || (HasLeading(dims) && (dims.back() == whole_.back() || dims.back() == keys_));
  }
  bool IsRow(const Dims& dims) const { return HasLeading(dims) && dims.back().IsConstant(1); }

  bool IsView(ValueId value) const {
    const Node* node = Producer(value);
    return node != nullptr && node->op->kind == OpKind::kView && !node->inputs.empty() &&
           IsWhole(dims(value)) && IsWhole(dims(node->inputs[0]));
  }

  const Node* Producer(ValueId value) const {
    if (!value.valid()) return nullptr;
    NodeId id = function_.value(value).producer;
    return id.valid() && positions_.contains(id) ? &function_.node(id) : nullptr;
  }

  // Whether arithmetic on rows makes the value from one contraction's result, which becomes `scores`. All
  // nodes on the way are remembered.
  bool DependsOnScores(ValueId value) {
    const Node* node = Producer(value);
    if (node == nullptr || node->outputs.size() != 1) return false;
    NodeId id = function_.value(value).producer;
    if (auto found = depends_.find(id); found != depends_.end()) return found->second;
    depends_[id] = false;
    if (node->op->kind == OpKind::kContraction && IsWhole(dims(value))) {
      if (group_.scores.valid()) return false;
      group_.scores = id;
      return depends_[id] = true;
    }
    const bool is_elementwise =
        node->op->kind == OpKind::kElementwise && (IsWhole(dims(value)) || IsRow(dims(value)));
    if (!is_elementwise && !ReducesRows(*node) && !IsView(value)) return false;
    if (IsView(value)) return depends_[id] = DependsOnScores(node->inputs[0]);
    bool depends = false;
    for (ValueId input : node->inputs) depends = DependsOnScores(input) || depends;
    return depends_[id] = depends;
  }

  bool ReducesRows(const Node& node) const {
    if (node.op->kind != OpKind::kReduce || !IsWhole(dims(node.inputs[0]))) return false;
    if (node.String("kind") != "sum" && node.String("kind") != "max") return false;
    const Dims& flags = node.DimList("flags");
    for (size_t axis = 0; axis < flags.size(); ++axis)
      if (!flags[axis].IsConstant(axis + 1 == flags.size() ? 1 : 0)) return false;
    return true;
  }

  // The scores are [batch..., queries..., keys], and the result sums over the keys.
  bool HasFittingAxes(const Node& scores, const Node& result) const {
    auto batch = [&](const Node& node) {
      Dims sizes;
      for (int64_t axis : node.Ints("lhs_batch"))
        sizes.push_back(dims(node.inputs[0])[static_cast<size_t>(axis)]);
      return sizes;
    };
    const auto last = static_cast<int64_t>(dims(result.inputs[0]).size()) - 1;
    std::vector<int64_t> leading(batch(result).size());
    std::iota(leading.begin(), leading.end(), 0);
    const size_t keys =
        dims(scores.inputs[1]).size() - batch(scores).size() - scores.Ints("rhs_contract").size();
    return keys == 1 && result.Ints("lhs_contract") == std::vector<int64_t>{last} &&
           result.Ints("lhs_batch") == leading && Product(batch(scores)) == Product(batch(result));
  }

  void Collect() {
    for (auto [id, depends] : depends_)
      if (depends) group_.members.push_back(id);
    std::ranges::sort(group_.members, {}, [&](NodeId id) { return positions_.at(id); });
    for (NodeId id : group_.members) {
      const Node& node = function_.node(id);
      const bool is_row = node.op->kind == OpKind::kReduce ||
                          (node.op->kind == OpKind::kElementwise && !IsWhole(dims(node.outputs[0])));
      if (is_row) group_.row_nodes.push_back(id);
    }
    group_.members.push_back(group_.result);
  }

  bool AllAreF32() const {
    for (NodeId id : group_.members) {
      const Node& node = function_.node(id);
      // What compares in between has no place of its own.
      if (node.op->kind != OpKind::kElementwise && function_.type(node.outputs[0]).dtype != DType::kF32)
        return false;
    }
    const Node &scores = function_.node(group_.scores), &result = function_.node(group_.result);
    for (ValueId value : {scores.inputs[0], scores.inputs[1], result.inputs[0], result.inputs[1]})
      if (const DType dtype = function_.type(value).dtype;
          dtype != DType::kF32 && !(with_halves_ && dtype == DType::kF16))
        return false;
    return true;
  }

  // Follows the row arithmetic as it is computed in place: `held` is what lies where the scores were.
  bool CanReplaceRows() {
    ValueId held;
    known_.clear();
    for (NodeId id : group_.row_nodes) {
      const Node& node = function_.node(id);
      if (node.op->kind == OpKind::kReduce) {
        ValueId input = node.inputs[0];
        if (!held.valid()) {
          group_.first = input;
        } else if (input != held && !IsMadeOf(input, held)) {
          return false;
        }
        if (function_.type(input).dtype != DType::kF32) return false;
        held = input;
      } else if (!held.valid() || !IsMadeOf(node.outputs[0], held)) {
        return false;
      }
      known_.insert(node.outputs[0]);
    }
    return held.valid() && IsMadeOf(group_.first, function_.node(group_.scores).outputs[0]) &&
           IsMadeOf(group_.weights, held);
  }

  // Elementwise from `held`, from row values that are known, and from outside.
  bool IsMadeOf(ValueId value, ValueId held) const {
    if (value == held || known_.contains(value)) return true;
    const Node* node = Producer(value);
    if (node == nullptr) return true;
    auto found = depends_.find(function_.value(value).producer);
    if (found == depends_.end() || !found->second) return true;
    if (node->op->kind != OpKind::kElementwise && !IsView(value)) return false;
    return std::all_of(node->inputs.begin(), node->inputs.end(),
                       [&](ValueId input) { return IsMadeOf(input, held); });
  }

  const Function& function_;
  const std::map<NodeId, int>& positions_;
  bool with_halves_;
  Dims whole_;  // of the weights
  // What the result sums over. It is the size of their rows: that of masks, as far as types tell, may be another.
  Dim keys_;
  std::map<NodeId, bool> depends_;
  std::set<ValueId> known_;
  AttentionGroup group_;
};

}  // namespace

std::optional<AttentionGroup> FindAttention(const Function& function, NodeId result,
                                            const std::map<NodeId, int>& positions, bool with_halves) {
  return AttentionFinder(function, result, positions, with_halves).Find();
}

std::optional<OnlineSoftmax> FindOnlineSoftmax(const Function& function, const AttentionGroup& group) {
  auto made_by = [&](ValueId value, tensor::ExprOp scalar) -> const Node* {
    const NodeId id = value.valid() ? function.value(value).producer : NodeId{};
    if (!id.valid() || std::ranges::find(group.members, id) == group.members.end()) return nullptr;
    const Node& node = function.node(id);
    return node.op->kind == OpKind::kElementwise && node.op->scalar == scalar ? &node : nullptr;
  };
  auto is_row = [&](ValueId value) {
    const Dims& dims = function.type(value).dims;
    return dims.size() == function.type(group.weights).dims.size() && dims.back().IsConstant(1);
  };
  OnlineSoftmax softmax;
  for (NodeId id : group.row_nodes) {
    const Node& node = function.node(id);
    if (node.op->kind != OpKind::kReduce) continue;
    const bool is_max = node.String("kind") == "max";
    if (softmax.sum.valid() || is_max == softmax.maximum.valid()) return std::nullopt;
    if (is_max && node.inputs[0] != group.first) return std::nullopt;
    if (!is_max) softmax.exponentials = node.inputs[0];
    (is_max ? softmax.maximum : softmax.sum) = node.outputs[0];
  }
  if (!softmax.sum.valid()) return std::nullopt;
  const Node* exponential = made_by(softmax.exponentials, tensor::ExprOp::kExp);
  const Node* difference = exponential ? made_by(exponential->inputs[0], tensor::ExprOp::kSub) : nullptr;
  if (difference == nullptr || difference->inputs[0] != group.first || !is_row(difference->inputs[1]))
    return std::nullopt;
  softmax.shift = difference->inputs[1];
  const ValueId e = softmax.exponentials;
  const Node* rounded = made_by(group.weights, tensor::ExprOp::kCast);
  softmax.weights = rounded ? rounded->inputs[0] : group.weights;
  const Node* product = made_by(softmax.weights, tensor::ExprOp::kMul);
  const Node* quotient = made_by(softmax.weights, tensor::ExprOp::kDiv);
  const bool is_linear = (product && product->inputs[0] == e && is_row(product->inputs[1])) ||
                         (product && product->inputs[1] == e && is_row(product->inputs[0])) ||
                         (quotient && quotient->inputs[0] == e && is_row(quotient->inputs[1]));
  return is_linear ? std::optional(softmax) : std::nullopt;
}

}  // namespace tvmvm::ir
