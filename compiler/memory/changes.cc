#include "compiler/memory/changes.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/storage.h"
#include "fmt/format.h"

namespace tvmvm::memory {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::RegionId;
using ir::ValueId;

constexpr size_t kLongestChain = 16;
constexpr uint32_t kStartsBefore = 6;  // steps before the fullest one that chains may begin at
constexpr int64_t kParts[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 64};

bool RunsOnce(const Node& node) {
  switch (node.op->kind) {
    case OpKind::kFused:
    case OpKind::kElementwise:
    case OpKind::kMovement:
    case OpKind::kView:
    case OpKind::kReduce:
    case OpKind::kContraction:
    case OpKind::kConvolution:
    case OpKind::kWindow:
      return !node.decided.in_place && !lowering::IsJoin(node) && node.outputs.size() == 1;
    default:
      return false;
  }
}

bool IsCheap(const Function& function, const Node& node) {
  switch (node.op->kind) {
    case OpKind::kFused:
      return std::ranges::all_of(function.region(node.regions[0]).nodes, [&](NodeId inner) {
        return function.node(inner).op->kind == OpKind::kConstant || IsCheap(function, function.node(inner));
      });
    case OpKind::kElementwise:
    case OpKind::kMovement:
    case OpKind::kReduce:
      return true;
    default:
      return false;
  }
}

class Finder {
 public:
  Finder(const Function& function, const lowering::MemoryOutline& outline, const Measured& measured,
         int64_t target)
      : function_(function), outline_(outline), measured_(measured), target_(target) {
    for (RegionId region : ir::RunningRegions(function)) {
      const std::vector<NodeId>& nodes = function.region(region).nodes;
      for (uint32_t i = 0; i < nodes.size(); ++i) place_[nodes[i]] = {region, i};
    }
    for (size_t k = 0; k < outline.places.size(); ++k)
      for (ValueId value : outline.places[k].values) held_[value] = k;
  }

  std::vector<Change> Run() {
    const uint32_t position = measured_.Fullest();
    if (position >= outline_.nodes.size() || !outline_.nodes[position].valid()) return {};
    const auto here = place_.find(outline_.nodes[position]);
    if (here == place_.end()) return {};
    position_ = position;
    region_ = here->second.region;
    index_ = here->second.index;
    IndexUses();
    AddLater();
    std::set<NodeId> starts;
    for (uint32_t at = position - std::min(position, kStartsBefore); at <= position; ++at)
      if (NodeId node = outline_.nodes[at]; node.valid() && InRegion(node)) starts.insert(node);
    for (NodeId start : starts) AddChains(start);
    std::ranges::stable_sort(changes_, {}, [&](const Change& change) {
      const bool is_over = change.estimate > target_;
      return std::tuple(is_over, is_over ? change.estimate : 0, change.kind, change.parts, change.estimate);
    });
    return std::move(changes_);
  }

 private:
  struct PlaceInRegion {
    RegionId region;
    uint32_t index;
  };

  bool InRegion(NodeId node) const {
    auto found = place_.find(node);
    return found != place_.end() && found->second.region == region_;
  }

  void IndexUses() {
    const ir::Region& region = function_.region(region_);
    for (uint32_t i = 0; i < region.nodes.size(); ++i)
      for (ValueId value : ir::UsesOf(function_, function_.node(region.nodes[i]))) users_[value].push_back(i);
    for (ValueId value : region.results) users_[value].push_back(kAfter);
  }

  const std::vector<uint32_t>& UsersOf(ValueId value) const {
    static const std::vector<uint32_t> kNone;
    auto found = users_.find(value);
    return found == users_.end() ? kNone : found->second;
  }

  int64_t BytesHere(ValueId value) const {
    auto found = held_.find(value);
    if (found == held_.end()) return 0;
    const lowering::HeldPlace& place = outline_.places[found->second];
    return place.first <= position_ && position_ <= place.last ? measured_.sizes[found->second] : 0;
  }

  // Values that lie over the fullest position, made before it and used behind it.
  void AddLater() {
    const ir::Region& region = function_.region(region_);
    for (uint32_t i = 0; i < index_; ++i) {
      const Node& node = function_.node(region.nodes[i]);
      if (!RunsOnce(node)) continue;
      const int64_t bytes = BytesHere(node.outputs[0]);
      if (bytes == 0) continue;
      const std::vector<uint32_t>& users = UsersOf(node.outputs[0]);
      if (std::ranges::find(users, index_) != users.end()) continue;
      const auto later = std::ranges::find_if(users, [&](uint32_t user) { return user > index_; });
      if (later == users.end() || *later == kAfter) continue;
      const bool moves = later == users.begin();
      if (!moves && (!IsCheap(function_, node) || users.back() == kAfter)) continue;
      changes_.push_back({.kind = moves ? ChangeKind::kMove : ChangeKind::kRecompute,
                          .chain = {region_, {region.nodes[i]}},
                          .after = *later,
                          .estimate = measured_.alive[position_] - bytes});
    }
  }

  void AddChains(NodeId start) {
    const ir::Region& region = function_.region(region_);
    std::set<uint32_t> members{place_.at(start).index};
    while (members.size() <= kLongestChain) {
      std::set<uint32_t> next, leaves;  // who reads what leaves, and who makes that
      for (uint32_t member : members) {
        const Node& node = function_.node(region.nodes[member]);
        if (!RunsOnce(node)) return;
        for (uint32_t user : UsersOf(node.outputs[0]))
          if (!members.contains(user)) next.insert(user), leaves.insert(member);
      }
      if (leaves.size() == 1 && *leaves.begin() == *members.rbegin()) {
        AddSplits(members);
        if (std::set<uint32_t> all = WithSources(members); all.size() > members.size()) AddSplits(all);
      }
      if (next.empty() || *next.begin() == kAfter) return;
      members.insert(*next.begin());
    }
  }

  // Together with what makes values for these nodes alone.
  std::set<uint32_t> WithSources(std::set<uint32_t> members) const {
    std::vector<uint32_t> pending(members.begin(), members.end());
    while (!pending.empty() && members.size() < kLongestChain) {
      const Node& node = function_.node(function_.region(region_).nodes[pending.back()]);
      pending.pop_back();
      for (ValueId input : node.inputs) {
        const NodeId source = input.valid() ? function_.value(input).producer : NodeId{};
        if (!source.valid() || !InRegion(source) || !RunsOnce(function_.node(source))) continue;
        const std::vector<uint32_t>& users = UsersOf(input);
        const bool is_alone =
            std::ranges::all_of(users, [&](uint32_t user) { return members.contains(user); });
        if (is_alone && members.insert(place_.at(source).index).second)
          pending.push_back(place_.at(source).index);
      }
    }
    return members;
  }

  // Of workspaces that the node's kernels have at the position.
  int64_t WorkspaceBytesHere(NodeId node) const {
    int64_t bytes = 0;
    for (size_t k = 0; k < outline_.places.size(); ++k) {
      const lowering::HeldPlace& place = outline_.places[k];
      if (place.values.empty() && place.first <= position_ && position_ <= place.last &&
          outline_.nodes[place.first] == node)
        bytes += measured_.sizes[k];
    }
    return bytes;
  }

  void AddSplits(const std::set<uint32_t>& members) {
    const ir::Region& region = function_.region(region_);
    Change change{.chain = {region_, {}}};
    int64_t within = 0;
    std::set<size_t> seen;  // places: several values may lie in one
    for (uint32_t member : members) {
      change.chain.nodes.push_back(region.nodes[member]);
      within += WorkspaceBytesHere(region.nodes[member]);
      const ValueId made = function_.node(region.nodes[member]).outputs[0];
      auto found = held_.find(made);
      if (member != *members.rbegin() && found != held_.end() && seen.insert(found->second).second)
        within += BytesHere(made);
    }
    if (within == 0) return;
    const ValueId result = function_.node(change.chain.nodes.back()).outputs[0];
    int64_t result_bytes = 0;
    if (auto found = held_.find(result); found != held_.end() && BytesHere(result) == 0)
      result_bytes = measured_.sizes[found->second];
    const int64_t rest = measured_.alive[position_] - within + result_bytes;
    constexpr int64_t kMost = 16;  // parts of what does not come to the target
    int tried = 0;
    for (int64_t parts : kParts) {
      change.parts = parts;
      change.estimate = rest + within / parts;
      if (change.estimate > target_ && parts != kMost) continue;
      changes_.push_back(change);
      if (++tried == 3) return;
    }
  }

  static constexpr uint32_t kAfter = UINT32_MAX;

  const Function& function_;
  const lowering::MemoryOutline& outline_;
  const Measured& measured_;
  const int64_t target_;
  std::map<NodeId, PlaceInRegion> place_;
  std::map<ValueId, size_t> held_;
  std::map<ValueId, std::vector<uint32_t>> users_;  // in the region, in order
  RegionId region_;
  uint32_t position_ = 0, index_ = 0;
  std::vector<Change> changes_;
};

void MoveLater(const Change& change, Function* function) {
  std::vector<NodeId>& nodes = function->region(change.chain.region).nodes;
  const auto from = std::ranges::find(nodes, change.chain.nodes[0]);
  std::rotate(from, from + 1, nodes.begin() + change.after);
}

// The value of `from` in all that the node and its regions read.
void Replace(Function* function, NodeId id, ValueId from, ValueId to) {
  std::ranges::replace(function->node(id).inputs, from, to);
  for (RegionId region : std::vector<RegionId>(function->node(id).regions)) {
    std::ranges::replace(function->region(region).results, from, to);
    for (NodeId inner : std::vector<NodeId>(function->region(region).nodes))
      Replace(function, inner, from, to);
  }
}

bool ComputeAgain(const Change& change, Function* function) {
  const std::vector<NodeId> nodes = function->region(change.chain.region).nodes;
  const ValueId value = function->node(change.chain.nodes[0]).outputs[0];
  const NodeId again = CopyNode(function, change.chain.nodes[0]);
  if (!again.valid()) return false;
  for (size_t i = change.after; i < nodes.size(); ++i)
    Replace(function, nodes[i], value, function->node(again).outputs[0]);
  std::vector<NodeId>& body = function->region(change.chain.region).nodes;
  body.insert(body.begin() + change.after, again);
  return true;
}

}  // namespace

std::vector<Change> FindChanges(const Function& function, const lowering::MemoryOutline& outline,
                                const Measured& measured, int64_t target) {
  return Finder(function, outline, measured, target).Run();
}

bool Apply(const Change& change, Function* function) {
  switch (change.kind) {
    case ChangeKind::kMove:
      MoveLater(change, function);
      return true;
    case ChangeKind::kRecompute:
      return ComputeAgain(change, function);
    case ChangeKind::kSplit:
      return SplitChain(function, change.chain, change.parts);
  }
  return false;
}

std::string TextOf(const Change& change, const Function& function) {
  auto name = [&](NodeId id) {
    const std::string& source = function.node(id).source;
    return source.empty() ? std::string(function.node(id).op->name) : source.substr(0, source.find(", "));
  };
  const std::string first = name(change.chain.nodes.front());
  switch (change.kind) {
    case ChangeKind::kMove:
      return first + " runs later";
    case ChangeKind::kRecompute:
      return first + " is computed a second time";
    case ChangeKind::kSplit:
      break;
  }
  return fmt::format("{} to {} in {} parts", first, name(change.chain.nodes.back()), change.parts);
}

}  // namespace tvmvm::memory
