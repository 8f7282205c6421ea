#include "compiler/onnx/importer/rank_region.h"

#include <algorithm>
#include <utility>

#include "compiler/onnx/importer/elementwise_probe.h"

namespace tvmvm::ir {
namespace {

constexpr int kMostBroughtForward = 64;  // nodes that an input hangs on, one behind the other

}  // namespace

NodeNames::NodeNames(const std::vector<OnnxNode>& nodes, std::set<std::string> results)
    : results_(std::move(results)) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : nodes[i].inputs)
      if (!input.empty()) readers_[input].push_back(i);
    for (const std::string& output : nodes[i].outputs)
      if (!output.empty()) makers_.emplace(output, i);
    for (const auto& [name, attribute] : nodes[i].attributes) {
      if (attribute.graph != nullptr) AddGraph(*attribute.graph, i);
    }
  }
}

// Names of its own are counted, too: a name too many is only kept for nothing.
void NodeNames::AddGraph(const OnnxGraph& graph, size_t reader) {
  for (const OnnxNode& node : graph.nodes) {
    for (const std::string& input : node.inputs) readers_[input].push_back(reader);
    for (const auto& [name, attribute] : node.attributes)
      if (attribute.graph != nullptr) AddGraph(*attribute.graph, reader);
  }
  for (const OnnxValueInfo& output : graph.outputs) readers_[output.name].push_back(reader);
}

std::optional<size_t> NodeNames::MakerOf(const std::string& name) const {
  auto found = makers_.find(name);
  return found == makers_.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<size_t>& NodeNames::ReadersOf(const std::string& name) const {
  static const std::vector<size_t> kNone;
  auto found = readers_.find(name);
  return found == readers_.end() ? kNone : found->second;
}

RankRegion::RankRegion(const std::vector<OnnxNode>& nodes, const NodeNames& names, OpBuilder* b,
                       FlatViews* flats, RankRegionImporter importer, std::vector<bool>* done)
    : nodes_(nodes), names_(names), b_(*b), flats_(*flats), importer_(std::move(importer)), done_(*done) {}

bool RankRegion::Import(size_t first) {
  if (!Open(first)) return false;
  std::set<size_t> candidates{first};
  while (!candidates.empty()) {
    const size_t index = *candidates.begin();
    candidates.erase(candidates.begin());
    if (done_[index] || std::ranges::find(members_, index) != members_.end() || !TryJoin(index)) {
      if (members_.empty()) return false;
      continue;
    }
    Grow(nodes_[index], &candidates);
  }
  if (needs_rank_)
    Close();
  else
    ImportOneByOne();
  return done_[first];
}

void RankRegion::ImportOneByOne() {
  importer_.abandon();
  for (size_t member : members_)
    if (!importer_.import_before(member)) return;
}

// Finds the value whose rank decides, with a branch for each rank that it may have.
bool RankRegion::Open(size_t first) {
  if (!importer_.may_join(nodes_[first])) return false;
  for (const std::string& input : nodes_[first].inputs)
    if (!decided_.valid() && IsUnrankedOutside(input)) decided_ = *importer_.find(input);
  if (!decided_.valid() || b_.dtype(decided_) == DType::kString) return false;
  std::vector<int> ranks;
  for (int rank = 0; rank < Type::kMostRanks; ++rank)
    if ((b_.type(decided_).ranks >> rank & 1) != 0) ranks.push_back(rank);
  branches_.emplace(&b_, ranks);
  values_.resize(ranks.size());
  ranked_.resize(ranks.size());
  dims_.resize(ranks.size());
  for (size_t branch = 0; branch < ranks.size(); ++branch) {
    Type type = Type::Tensor(b_.dtype(decided_), {});
    for (int axis = 0; axis < ranks[branch]; ++axis) type.dims.push_back(b_.module().FreshSymbol());
    // tensor.ranked fails where the rank is another one.
    branches_->Build(branch, [&] {
      ranked_[branch][decided_] = b_.Host(HostFunctionId::kTensorRanked, {decided_}, {type})[0];
    });
    dims_[branch] = type.dims;
  }
  return true;
}

bool RankRegion::IsUnrankedOutside(const std::string& name) const {
  if (name.empty() || IsInside(name)) return false;
  const std::optional<ValueId> value = importer_.find(name);
  return value && value->valid() && IsUnranked(b_.type(*value));
}

// ---- growing ----

// What may join now that the node is in: readers of what it made, and of the values of unknown rank that it
// read.
void RankRegion::Grow(const OnnxNode& node, std::set<size_t>* candidates) const {
  auto add = [&](const std::string& name) {
    for (size_t reader : names_.ReadersOf(name)) candidates->insert(reader);
  };
  for (const std::string& output : node.outputs)
    if (!output.empty() && NeedsRank(output)) add(output);
  for (const std::string& input : node.inputs)
    if (IsUnrankedOutside(input)) add(input);
}

// Whether its rank differs between the branches, or is unknown in one.
bool RankRegion::NeedsRank(const std::string& name) const {
  const Type& first = b_.type(values_[0].at(name));
  return std::ranges::any_of(values_, [&](const Values& values) {
    const Type& type = b_.type(values.at(name));
    return type.kind == TypeKind::kTensor && (!type.ranked || !first.ranked || type.rank() != first.rank());
  });
}

// Whether everything that the node reads can be had in every branch, with a known rank.
bool RankRegion::CanRead(size_t index) {
  const OnnxNode& node = nodes_[index];
  if (!importer_.may_join(node)) return false;
  bool touches = false;
  for (const std::string& input : node.inputs) {
    if (input.empty()) continue;
    if (IsInside(input)) {
      touches = true;
      for (const Values& values : values_)
        if (const Type& type = b_.type(values.at(input)); type.kind != TypeKind::kTensor || !type.ranked)
          return false;
      continue;
    }
    if (!importer_.find(input) && !BringForward(input, 0)) return false;
    const std::optional<ValueId> value = importer_.find(input);
    if (!value || !value->valid() || b_.type(*value).kind != TypeKind::kTensor) return false;
    if (b_.type(*value).ranked) continue;
    if (!flats_.SameShape(*value, decided_) || b_.dtype(*value) == DType::kString) return false;
    touches = true;
    if (!(*value == decided_)) flats_.Flat(b_, *value);  // here: all branches see it
  }
  return touches;
}

// Imports the node that makes the value, and what it needs, before the region: where the region is not among
// that.
bool RankRegion::BringForward(const std::string& name, int depth) {
  const std::optional<size_t> maker = names_.MakerOf(name);
  if (!maker || done_[*maker] || depth > kMostBroughtForward) return false;
  const OnnxNode& node = nodes_[*maker];
  if (!importer_.may_join(node)) return false;
  for (const std::string& input : node.inputs) {
    if (input.empty()) continue;
    if (IsInside(input)) return false;
    if (!importer_.find(input) && !BringForward(input, depth + 1)) return false;
    if (IsUnrankedOutside(input)) return false;
  }
  return importer_.import_before(*maker);
}

bool RankRegion::TryJoin(size_t index) {
  if (!CanRead(index)) return false;
  const OnnxNode& node = nodes_[index];
  std::vector<size_t> taken;
  std::vector<std::vector<ValueId>> outputs(branches_->size());
  for (size_t branch = 0; branch < branches_->size(); ++branch)
    if (LowerIn(branch, node, &outputs[branch])) taken.push_back(branch);
  if (taken.empty()) return false;
  bool is_elementwise = true;
  for (size_t branch : taken)
    is_elementwise = is_elementwise && AreElementwise(b_.function(), branches_->Added(branch), dims_[branch]);
  needs_rank_ = needs_rank_ || !is_elementwise;
  auto keep = [&](auto& list) {
    auto all = std::exchange(list, {});
    for (size_t branch : taken) list.push_back(std::move(all[branch]));
  };
  branches_->Keep(taken);
  keep(values_), keep(ranked_), keep(dims_), keep(outputs);
  for (size_t branch = 0; branch < values_.size(); ++branch)
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (!node.outputs[i].empty()) values_[branch][node.outputs[i]] = outputs[branch][i];
  for (const std::string& output : node.outputs)
    if (!output.empty()) names_inside_.insert(output);
  members_.push_back(index);
  importer_.joined(node);
  return true;
}

// False: the operator does not take the rank.
bool RankRegion::LowerIn(size_t branch, const OnnxNode& node, std::vector<ValueId>* outputs) {
  const std::map<ValueId, ValueId> before = ranked_[branch];
  bool works = false;
  const std::optional<Error> error = branches_->Build(branch, [&] {
    std::vector<ValueId> inputs;
    for (const std::string& input : node.inputs) inputs.push_back(InputIn(branch, input));
    auto made = importer_.lower(node, inputs);
    works = made.has_value();
    if (works) *outputs = *std::move(made);
  });
  if (works && !error) return true;
  if (!error) branches_->Undo(branch);
  ranked_[branch] = before;
  return false;
}

ValueId RankRegion::InputIn(size_t branch, const std::string& name) {
  if (name.empty()) return {};
  if (IsInside(name)) return values_[branch].at(name);
  const ValueId value = *importer_.find(name);
  return b_.type(value).ranked ? value : Ranked(branch, value);
}

// A value of the shape of the one that decides, with the sizes of that.
ValueId RankRegion::Ranked(size_t branch, ValueId value) {
  auto [place, is_new] = ranked_[branch].try_emplace(value);
  if (is_new) place->second = b_.Reshape(flats_.Flat(b_, value), dims_[branch]);
  return place->second;
}

// ---- the end ----

std::vector<std::string> RankRegion::Exported() const {
  auto is_read_outside = [&](const std::string& name) {
    return importer_.keep_all_values || names_.IsResult(name) ||
           std::ranges::any_of(names_.ReadersOf(name), [&](size_t reader) {
             return std::ranges::find(members_, reader) == members_.end();
           });
  };
  std::vector<std::string> exported;
  for (size_t member : members_)
    for (const std::string& output : nodes_[member].outputs)
      if (!output.empty() && is_read_outside(output)) exported.push_back(output);
  return exported;
}

void RankRegion::Close() {
  const std::vector<std::string> names = Exported();
  std::vector<std::vector<ValueId>> results(branches_->size());
  std::vector<bool> same_shape(names.size(), true);
  for (size_t branch = 0; branch < results.size(); ++branch)
    for (size_t i = 0; i < names.size(); ++i) {
      const ValueId value = values_[branch].at(names[i]);
      results[branch].push_back(value);
      const Type& type = b_.type(value);
      same_shape[i] =
          same_shape[i] && type.kind == TypeKind::kTensor && type.ranked && type.dims == dims_[branch];
    }
  b_.SetSource(nodes_[members_[0]].name.empty() ? nodes_[members_[0]].op_type : nodes_[members_[0]].name);
  const std::vector<ValueId> joined = branches_->Join(RankOf(b_, decided_), results);
  for (size_t i = 0; i < names.size() && i < joined.size(); ++i) {
    if (same_shape[i] && IsUnranked(b_.type(joined[i]))) flats_.SetSameShape(joined[i], decided_);
    importer_.define(names[i], joined[i]);
  }
  for (size_t member : members_) done_[member] = true;
}

}  // namespace tvmvm::ir
