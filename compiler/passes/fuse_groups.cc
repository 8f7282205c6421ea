// Fusion: which core nodes run as one unit.
//
// A group grows from a node towards its immediate post-dominator, the first node that all paths from it pass
// through, as long as everything between is fusable: so only one value leaves a group, and nothing is
// computed twice. Then groups of elementwise nodes take those in that read their values, though others read
// these too: one pass over memory makes all of them. Four kinds:
//   - one contraction, convolution or window, then elementwise nodes of the same dims (an epilogue);
//   - rows: reductions of the same axes of the same dims, elementwise nodes of the whole or of the reduced
//   dims;
//   - elementwise nodes of one dims, fed by pulls (slice, expand, ...), perhaps moved at the end (transpose,
//   slice). Which operators these are, their traits tell.
//   - attention: a contraction, arithmetic on its rows, a contraction with them.
// The post-dominator walk follows the published description of operator fusion in TVM (Chen et al., OSDI
// 2018).

#include "compiler/passes/fuse_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "compiler/graph/attention_group.h"
#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/tensor_elements.h"
#include "compiler/passes/group_builder.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Dims;
using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::RegionId;
using ir::ValueId;

constexpr size_t kMaxNodes = 64;
constexpr size_t kMaxInputs = 24;
constexpr int kExit = -1;  // the region's results, or a consumer that is never fused

Dims ReducedDims(const Dims& dims, const Dims& flags) {
  Dims reduced;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    reduced.push_back(flags[axis].IsConstant(1) ? ir::Dim(1) : dims[axis]);
  return reduced;
}

class Fusion {
 public:
  // `with_halves`: attention may have factors of f16, which GPUs have schedules for.
  Fusion(Function* function, RegionId region, bool with_halves)
      : function_(*function), region_(region), with_halves_(with_halves) {}
  void Run();

 private:
  void Index();
  void FindPostDominators();
  int CommonPostDominator(int a, int b) const;
  int Find(int position) {
    return parent_[position] == position ? position : parent_[position] = Find(parent_[position]);
  }
  bool TryMerge(int position);
  void Merge(std::vector<int> members, int tail);
  void MergeAttention(int result);
  bool TryJoinReader(int tail);
  bool MayLeaveTwice(int tail);
  bool StaysInOrder(const std::vector<int>& members, int tail);
  bool CollectPaths(int from, int to, std::set<int>* between) const;
  bool IsLegal(const std::vector<int>& members, int tail) const;
  bool StaysInside(int member, const std::vector<int>& members) const;
  bool LeavesOnlyByTail(const std::vector<int>& members, int tail) const;
  bool IsEpilogue(const std::vector<int>& members, int anchor) const;
  bool IsRows(const std::vector<int>& members) const;
  bool IsPointwise(const std::vector<int>& members, int tail) const;
  size_t CountInputs(const std::vector<int>& members) const;
  bool ReadsMember(const Node& node, const std::vector<int>& members) const;
  int ProducerOf(ValueId value) const;  // position, or kExit
  bool IsGrouped(int position);
  bool IsFreeAlone(int position);
  bool TakesCopies(int position);
  bool IsCopied(int position);
  void Rewrite();

  const Node& node(int position) const { return function_.node(nodes_[position]); }
  const Dims& dims(int position) const { return function_.type(node(position).outputs[0]).dims; }

  Function& function_;
  RegionId region_;
  bool with_halves_;
  std::vector<NodeId> nodes_;
  std::map<NodeId, int> position_;
  std::vector<std::vector<int>> consumers_;
  std::vector<int> post_dominator_, depth_;
  std::vector<int> parent_, tail_;  // union-find; tail_ by root: the last node whose value leaves the group
  std::vector<std::vector<int>> members_;  // by root, sorted
};

int Fusion::ProducerOf(ValueId value) const {
  if (!value.valid() || !function_.value(value).producer.valid()) return kExit;
  auto found = position_.find(function_.value(value).producer);
  return found == position_.end() ? kExit : found->second;
}

void Fusion::Index() {
  nodes_ = function_.region(region_).nodes;
  int count = static_cast<int>(nodes_.size());
  for (int i = 0; i < count; ++i) position_[nodes_[i]] = i;
  consumers_.resize(count);
  for (int i = 0; i < count; ++i)
    for (ValueId input : ir::UsesOf(function_, node(i)))
      if (int producer = ProducerOf(input); producer != kExit) consumers_[producer].push_back(i);
  for (ValueId result : function_.region(region_).results)
    if (int producer = ProducerOf(result); producer != kExit) consumers_[producer].push_back(kExit);
  parent_.resize(count);
  std::iota(parent_.begin(), parent_.end(), 0);
  tail_ = parent_;
  members_.resize(count);
  for (int i = 0; i < count; ++i) members_[i] = {i};
}

int Fusion::CommonPostDominator(int a, int b) const {
  while (a != b) {
    if (a == kExit || b == kExit) return kExit;
    if (depth_[a] >= depth_[b])
      a = post_dominator_[a];
    else
      b = post_dominator_[b];
  }
  return a;
}

// Nodes are in topological order, so one backward sweep finds each node's immediate post-dominator.
void Fusion::FindPostDominators() {
  int count = static_cast<int>(nodes_.size());
  post_dominator_.assign(count, kExit);
  depth_.assign(count, 1);
  for (int i = count - 1; i >= 0; --i) {
    if (consumers_[i].empty()) continue;
    int common = consumers_[i][0];
    for (int consumer : consumers_[i]) common = CommonPostDominator(common, consumer);
    post_dominator_[i] = common;
    depth_[i] = common == kExit ? 1 : depth_[common] + 1;
  }
}

bool Fusion::CollectPaths(int from, int to, std::set<int>* between) const {
  std::vector<int> pending{from};
  while (!pending.empty()) {
    int position = pending.back();
    pending.pop_back();
    for (int consumer : consumers_[position]) {
      if (consumer == kExit || !IsLaunched(node(consumer))) return false;
      if (!between->insert(consumer).second || consumer == to) continue;
      if (between->size() > kMaxNodes) return false;
      pending.push_back(consumer);
    }
  }
  return true;
}

// Joins the group of `position` with everything up to the post-dominator of its tail.
bool Fusion::TryMerge(int position) {
  int tail = tail_[Find(position)];
  int target = post_dominator_[tail];
  if (target == kExit || !IsLaunched(node(target))) return false;
  std::set<int> between;
  if (!CollectPaths(tail, target, &between)) return false;
  std::set<int> roots{Find(position)};
  for (int member : between) roots.insert(Find(member));
  std::vector<int> members;
  for (int root : roots) members.insert(members.end(), members_[root].begin(), members_[root].end());
  std::sort(members.begin(), members.end());
  int new_tail = tail_[Find(target)];
  if (members.size() > kMaxNodes || CountInputs(members) > kMaxInputs || !IsLegal(members, new_tail))
    return false;
  Merge(std::move(members), new_tail);
  return true;
}

// Makes one group of `members`, which are sorted.
void Fusion::Merge(std::vector<int> members, int tail) {
  const int merged = Find(members.front());
  for (int member : members) parent_[Find(member)] = merged;
  members_[merged] = std::move(members);
  tail_[merged] = tail;
}

void Fusion::MergeAttention(int result) {
  auto group = ir::FindAttention(function_, nodes_[result], position_, with_halves_);
  if (!group) return;
  const Node &scores = function_.node(group->scores), &last = node(result);
  for (ValueId input : {scores.inputs[0], scores.inputs[1], last.inputs[1]})
    if (NodeId producer = function_.value(input).producer;
        producer.valid() && DecodesConstants(function_, function_.node(producer)))
      return;  // it would be a part of the group, and is no place to read from
  std::vector<int> members;
  for (NodeId id : group->members) members.push_back(position_.at(id));
  // What rounds the result goes with it.
  int tail = result;
  if (with_halves_ && consumers_[result].size() == 1 && consumers_[result][0] != kExit &&
      node(consumers_[result][0]).op->scalar == tensor::ExprOp::kCast)
    members.push_back(tail = consumers_[result][0]);
  const bool on_one_device = std::ranges::all_of(members, [&](int member) {
    return ir::DeviceOf(function_, node(member)) == ir::DeviceOf(function_, node(result));
  });
  if (on_one_device && members.size() <= kMaxNodes && CountInputs(members) <= kMaxInputs &&
      LeavesOnlyByTail(members, tail))
    Merge(std::move(members), tail);
}

size_t Fusion::CountInputs(const std::vector<int>& members) const {
  std::set<ValueId> inputs;
  for (int member : members)
    for (ValueId input : node(member).inputs)
      if (input.valid() && !std::binary_search(members.begin(), members.end(), ProducerOf(input)))
        inputs.insert(input);
  return inputs.size();
}

bool Fusion::StaysInside(int member, const std::vector<int>& members) const {
  return std::ranges::all_of(consumers_[member],
                             [&](int consumer) { return std::ranges::binary_search(members, consumer); });
}

bool Fusion::LeavesOnlyByTail(const std::vector<int>& members, int tail) const {
  return std::ranges::all_of(members,
                             [&](int member) { return member == tail || StaysInside(member, members); });
}

bool Fusion::IsLegal(const std::vector<int>& members, int tail) const {
  int anchors = 0, reductions = 0, anchor = kExit;
  for (int member : members) {
    const Node& candidate = node(member);
    if (candidate.outputs.size() != 1 || DTypeBits(function_.type(candidate.outputs[0]).dtype) < 8)
      return false;
    if (ir::DeviceOf(function_, candidate) != ir::DeviceOf(function_, node(tail))) return false;
    if (IsAnchor(candidate)) ++anchors, anchor = member;
    if (candidate.op->kind == OpKind::kReduce) ++reductions;
  }
  if (!LeavesOnlyByTail(members, tail)) return false;
  if (anchors > 0) return anchors == 1 && reductions == 0 && IsEpilogue(members, anchor);
  return reductions > 0 ? IsRows(members) : IsPointwise(members, tail);
}

bool Fusion::IsEpilogue(const std::vector<int>& members, int anchor) const {
  if (ReadsMember(node(anchor), members)) return false;
  for (int member : members)
    if (member != anchor &&
        (node(member).op->kind != OpKind::kElementwise || !(dims(member) == dims(anchor))))
      return false;
  return true;
}

bool Fusion::IsRows(const std::vector<int>& members) const {
  const Dims* whole = nullptr;
  const Dims* flags = nullptr;
  for (int member : members) {
    const Node& reduction = node(member);
    if (reduction.op->kind != OpKind::kReduce) continue;
    const Dims& input = function_.type(reduction.inputs[0]).dims;
    const Dims& reduced = reduction.DimList("flags");
    if (whole != nullptr && (!(*whole == input) || !(*flags == reduced))) return false;
    whole = &input;
    flags = &reduced;
    for (const ir::Dim& flag : reduced)
      if (!flag.is_constant()) return false;
    if (reduction.String("kind") == "argmin" || reduction.String("kind") == "argmax")
      return members.size() == 1;
  }
  Dims row = ReducedDims(*whole, *flags);
  for (int member : members) {
    if (node(member).op->kind == OpKind::kReduce) continue;
    if (node(member).op->kind != OpKind::kElementwise) return false;
    if (!(dims(member) == *whole) && !(dims(member) == row)) return false;
  }
  return true;
}

bool Fusion::ReadsMember(const Node& node, const std::vector<int>& members) const {
  for (ValueId input : node.inputs)
    if (std::binary_search(members.begin(), members.end(), ProducerOf(input))) return true;
  return false;
}

bool Fusion::IsPointwise(const std::vector<int>& members, int tail) const {
  const Dims* common = nullptr;
  for (int member : members) {
    if (node(member).op->kind != OpKind::kElementwise) continue;
    if (common != nullptr && !(*common == dims(member))) return false;
    common = &dims(member);
  }
  if (common == nullptr) return members.size() == 1;
  for (int member : members) {
    const Node& candidate = node(member);
    if (candidate.op->kind == OpKind::kElementwise) continue;
    bool feeds = member != tail && candidate.op->traits.pull && dims(member) == *common &&
                 !ReadsMember(candidate, members);
    bool ends = member == tail && candidate.op->traits.final_move &&
                function_.type(candidate.inputs[0]).dims == *common;
    if (!feeds && !ends) return false;
  }
  return true;
}

// Joins the group whose last value is that of `tail` with one that reads it, though others read it, too.
bool Fusion::TryJoinReader(const int tail) {
  if (!MayLeaveTwice(tail)) return false;
  for (int consumer : std::vector<int>(consumers_[tail])) {
    if (consumer == kExit || Find(consumer) == Find(tail)) continue;
    const int last = tail_[Find(consumer)];
    if (!MayLeaveTwice(last) || ir::DeviceOf(function_, node(last)) != ir::DeviceOf(function_, node(tail)))
      continue;
    std::vector<int> members;
    std::ranges::merge(members_[Find(tail)], members_[Find(last)], std::back_inserter(members));
    if (members.size() > kMaxNodes || CountInputs(members) > kMaxInputs || !IsPointwise(members, last) ||
        !StaysInOrder(members, last))
      continue;
    Merge(std::move(members), last);
    return true;
  }
  return false;
}

// Whether the group is one of elementwise nodes, with what feeds them, that ends with one of them.
bool Fusion::MayLeaveTwice(int tail) {
  if (!IsGrouped(tail) || IsFreeAlone(tail) || node(tail).op->kind != OpKind::kElementwise) return false;
  if (DTypeBits(function_.type(node(tail).outputs[0]).dtype) < 8) return false;
  return std::ranges::all_of(members_[Find(tail)], [&](int member) {
    const Node& candidate = node(member);
    return candidate.op->kind == OpKind::kElementwise || candidate.op->traits.pull;
  });
}

// Whether all that reads the group's values from outside may run behind `tail`.
bool Fusion::StaysInOrder(const std::vector<int>& members, int tail) {
  for (int member : members)
    for (int consumer : consumers_[member])
      if (consumer != kExit && !std::ranges::binary_search(members, consumer) &&
          (consumer < tail || tail_[Find(consumer)] < tail))
        return false;
  return true;
}

bool Fusion::IsGrouped(int position) {
  if (members_[Find(position)].size() > 1) return true;
  // What stands alone may be left to the lowering, or to those who read it.
  const bool is_left =
      node(position).op->view_offset != nullptr || DecodesConstants(function_, node(position));
  return IsLaunched(node(position)) && !is_left;
}

bool Fusion::IsFreeAlone(int position) {
  return IsGrouped(position) && IsFree(node(position)) && members_[Find(position)].size() == 1;
}

// Groups of pulls take copies of what is free.
bool Fusion::TakesCopies(int position) {
  const std::vector<int>& members = members_[Find(position)];
  return std::all_of(members.begin(), members.end(), [&](int member) {
    return node(member).op->kind == OpKind::kElementwise || node(member).op->kind == OpKind::kMovement;
  });
}

// Whether all that read the value have copies of what makes it.
bool Fusion::IsCopied(int position) {
  return std::all_of(consumers_[position].begin(), consumers_[position].end(), [&](int consumer) {
    return consumer != kExit && IsGrouped(consumer) && TakesCopies(consumer) &&
           ir::DeviceOf(function_, node(consumer)) == ir::DeviceOf(function_, node(position));
  });
}

void Fusion::Rewrite() {
  const int count = static_cast<int>(nodes_.size());
  std::vector<NodeId> groups(static_cast<size_t>(count));
  auto build = [&](int position) {
    const std::vector<int>& members = members_[Find(position)];
    std::vector<NodeId> ids, leaving;
    for (int member : members) {
      ids.push_back(nodes_[member]);
      if (member == position || !StaysInside(member, members)) leaving.push_back(nodes_[member]);
    }
    return BuildGroup(&function_, std::move(ids), leaving, TakesCopies(position));
  };
  // What is free stays as it is until those that read it have their copies.
  for (int i = 0; i < count; ++i)
    if (IsGrouped(i) && tail_[Find(i)] == i && !IsFreeAlone(i)) groups[i] = build(i);
  for (int i = count; i-- > 0;)
    if (IsFreeAlone(i) && !IsCopied(i)) groups[i] = build(i);
  std::vector<NodeId> body;
  for (int i = 0; i < count; ++i) {
    if (!IsGrouped(i)) body.push_back(nodes_[i]);
    if (groups[i].valid()) body.push_back(groups[i]);
  }
  function_.region(region_).nodes = std::move(body);
}

void Fusion::Run() {
  Index();
  FindPostDominators();
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
    if (node(i).op->kind == OpKind::kContraction) MergeAttention(i);
  auto grow = [&](auto&& wanted) {
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
      if (wanted(node(i)))
        while (TryMerge(i)) {
        }
  };
  grow([](const Node& node) { return IsAnchor(node); });
  grow([](const Node& node) { return node.op->kind == OpKind::kReduce; });
  grow([](const Node& node) { return node.op->kind == OpKind::kElementwise; });
  grow([](const Node& node) { return node.op->traits.pull; });
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
    while (tail_[Find(i)] == i && TryJoinReader(i)) {
    }
  Rewrite();
}

// The nodes of a group as nodes of the region around it, with the values of that.
void TakeApart(Function* function, const Node& group, std::vector<NodeId>* to) {
  const ir::Region& region = function->region(group.regions[0]);
  const uint32_t device = ir::DeviceOf(*function, group);
  std::map<ValueId, ValueId> outside;
  for (size_t i = 0; i < region.parameters.size(); ++i) outside[region.parameters[i]] = group.inputs[i];
  for (size_t i = 0; i < region.results.size(); ++i) outside[region.results[i]] = group.outputs[i];
  auto rename = [&](ValueId& value) {
    if (auto found = outside.find(value); found != outside.end()) value = found->second;
  };
  for (NodeId id : region.nodes) {
    Node& node = function->node(id);
    std::ranges::for_each(node.inputs, rename);
    std::ranges::for_each(node.outputs, rename);
    for (ValueId output : node.outputs) {
      function->value(output).producer = id;
      function->value(output).device = device;
    }
    to->push_back(id);
  }
}

}  // namespace

Status FuseGroups(ir::Module& module, const PassContext& context) {
  for (Function& function : module.functions)
    for (RegionId region : ir::RunningRegions(function))
      Fusion(&function, region, context.half_factors).Run();
  return {};
}

void FuseRegion(Function* function, RegionId region) { Fusion(function, region, false).Run(); }

void TakeGroupsApart(Function* function, RegionId region) {
  std::vector<NodeId> nodes;
  for (NodeId id : std::vector<NodeId>(function->region(region).nodes)) {
    const Node node = function->node(id);
    if (node.op->kind == ir::OpKind::kFused) {
      TakeApart(function, node, &nodes);
      continue;
    }
    for (RegionId inner : node.regions) TakeGroupsApart(function, inner);
    nodes.push_back(id);
  }
  function->region(region).nodes = std::move(nodes);
}

}  // namespace tvmvm::passes
