// ai.onnx.ml.TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble: their attributes as forests.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/graph/tensor_elements.h"
#include "compiler/onnx/ops/ml/onnx_forest.h"
#include "compiler/onnx/ops/ml/onnx_ml.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

std::vector<double> NumbersIn(const TensorData& data) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < data.element_count(); ++i) {
    tensor::Scalar scalar = ReadElement(data, i);
    numbers.push_back(IsFloat(data.dtype) ? scalar.number : static_cast<double>(scalar.integer));
  }
  return numbers;
}

// A tensor attribute's numbers; none where it is absent.
std::vector<double> TensorNumbers(OnnxContext& c, const std::string& name) {
  const OnnxAttribute* attribute = c.Attr(name);
  if (attribute == nullptr) return {};
  if (attribute->tensor != nullptr && IsNumeric(attribute->tensor->dtype))
    return NumbersIn(*attribute->tensor);
  c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute '{}' is no tensor of numbers", name));
  return {};
}

// The attribute `name`, or the tensor `name`_as_tensor.
std::vector<double> Numbers(OnnxContext& c, const std::string& name) {
  return c.HasAttribute(name) ? c.Floats(name) : TensorNumbers(c, name + "_as_tensor");
}

// Records an error where the list is not of `count` elements.
bool HasLength(OnnxContext& c, std::string_view name, size_t length, size_t count) {
  if (length == count) return true;
  c.b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute '{}' has {} elements, wanted {}", name, length, count));
  return false;
}

// A list of integers that goes with `count` others.
std::vector<int64_t> Parallel(OnnxContext& c, std::string_view name, size_t count) {
  std::vector<int64_t> list = c.Ints(name);
  HasLength(c, name, list.size(), count);
  list.resize(count);
  return list;
}

// nodes_missing_value_tracks_true, which may be left out.
std::vector<int64_t> MissingTracksTrue(OnnxContext& c, size_t count) {
  constexpr std::string_view kName = "nodes_missing_value_tracks_true";
  return c.Ints(kName).empty() ? std::vector<int64_t>(count) : Parallel(c, kName, count);
}

// Computing in f64 where the trees or the features are of it.
ValueId TreeFeatures(OnnxContext& c) {
  ValueId x = ModelRows(c);
  for (const char* name : {"nodes_values_as_tensor", "nodes_splits"}) {
    const OnnxAttribute* values = c.Attr(name);
    if (values != nullptr && values->tensor != nullptr && values->tensor->dtype == DType::kF64)
      return c.b.Cast(x, DType::kF64);
  }
  return x;
}

// ---- TreeEnsembleClassifier and TreeEnsembleRegressor: nodes are named by tree and number ----

using NodeName = std::pair<int64_t, int64_t>;
using NodeIndex = std::map<NodeName, int64_t>;

std::optional<int64_t> FindNode(OnnxContext& c, const NodeIndex& index, NodeName name) {
  if (auto found = index.find(name); found != index.end()) return found->second;
  c.b.Fail(Code::kInvalidArgument, fmt::format("there is no node {} in tree {}", name.second, name.first));
  return std::nullopt;
}

// Nodes that no other leads to, one in each tree.
void FindRoots(OnnxContext& c, const std::vector<int64_t>& trees, Forest* forest) {
  std::vector<bool> is_child(forest->nodes.size());
  for (const TreeNode& node : forest->nodes) {
    if (node.is_leaf) continue;
    is_child[static_cast<size_t>(node.no)] = is_child[static_cast<size_t>(node.yes)] = true;
  }
  std::map<int64_t, int64_t> roots;
  for (size_t i = 0; i < forest->nodes.size(); ++i) {
    if (is_child[i]) continue;
    if (!roots.emplace(trees[i], static_cast<int64_t>(i)).second)
      c.b.Fail(Code::kInvalidArgument, fmt::format("tree {} has several roots", trees[i]));
  }
  for (int64_t tree : std::set<int64_t>(trees.begin(), trees.end()))
    if (!roots.contains(tree))
      c.b.Fail(Code::kInvalidArgument, fmt::format("the nodes of tree {} lead back to themselves", tree));
  for (auto [tree, root] : roots) forest->roots.push_back(root);
}

void ReadNodes(OnnxContext& c, Forest* forest, NodeIndex* index) {
  const OnnxAttribute* modes = c.Attr("nodes_modes");
  size_t count = modes ? modes->texts.size() : 0;
  std::vector<int64_t> trees = Parallel(c, "nodes_treeids", count), ids = Parallel(c, "nodes_nodeids", count);
  std::vector<int64_t> features = Parallel(c, "nodes_featureids", count);
  std::vector<int64_t> yes = Parallel(c, "nodes_truenodeids", count);
  std::vector<int64_t> no = Parallel(c, "nodes_falsenodeids", count);
  std::vector<int64_t> missing = MissingTracksTrue(c, count);
  std::vector<double> values = Numbers(c, "nodes_values");
  if (!HasLength(c, "nodes_values", values.size(), count) || c.b.failed()) return;
  for (size_t i = 0; i < count; ++i) {
    if (index->emplace(NodeName{trees[i], ids[i]}, static_cast<int64_t>(i)).second) continue;
    c.b.Fail(Code::kInvalidArgument, fmt::format("node {} of tree {} is there twice", ids[i], trees[i]));
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    TreeNode node;
    node.is_leaf = modes->texts[i] == "LEAF";
    if (!node.is_leaf) {
      auto to_no = FindNode(c, *index, {trees[i], no[i]}), to_yes = FindNode(c, *index, {trees[i], yes[i]});
      int relations = RelationsOf(BranchMode(modes->texts[i]), values[i], missing[i] != 0);
      if (relations < 0)
        c.b.Fail(Code::kInvalidArgument, fmt::format("a node of mode '{}'", modes->texts[i]));
      if (c.b.failed()) return;
      node = {false, features[i], relations, values[i], *to_no, *to_yes};
    }
    forest->nodes.push_back(node);
  }
  FindRoots(c, trees, forest);
}

// The votes "<prefix>_treeids", "<prefix>_nodeids", "<prefix>_ids" and "<prefix>_weights".
void ReadVotes(OnnxContext& c, const std::string& prefix, const NodeIndex& index, Forest* forest) {
  std::vector<double> weights = Numbers(c, prefix + "_weights");
  std::vector<int64_t> trees = Parallel(c, prefix + "_treeids", weights.size());
  std::vector<int64_t> nodes = Parallel(c, prefix + "_nodeids", weights.size());
  std::vector<int64_t> targets = Parallel(c, prefix + "_ids", weights.size());
  for (size_t i = 0; i < weights.size() && !c.b.failed(); ++i)
    if (auto leaf = FindNode(c, index, {trees[i], nodes[i]}))
      forest->votes.push_back({*leaf, targets[i], weights[i]});
}

Forest NamedForest(OnnxContext& c, const std::string& prefix, int64_t targets) {
  Forest forest;
  forest.targets = targets;
  NodeIndex index;
  ReadNodes(c, &forest, &index);
  if (!c.b.failed()) ReadVotes(c, prefix, index, &forest);
  return forest;
}

// With the base values, one for each column, or one for all.
ValueId AddBase(OnnxContext& c, ValueId scores, int64_t columns) {
  std::vector<double> base = Numbers(c, "base_values");
  if (base.empty() || c.b.failed()) return scores;
  if (base.size() != 1 && !HasLength(c, "base_values", base.size(), static_cast<size_t>(columns)))
    return scores;
  return c.b.Add(scores, NumberConstant(c.b, base, c.b.dtype(scores)));
}

std::optional<Aggregate> AggregateOf(OnnxContext& c) {
  constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const OnnxAttribute* attribute = c.Attr("aggregate_function");
  int64_t number = 1;
  if (attribute != nullptr && attribute->kind == OnnxAttribute::Kind::kInt)
    number = attribute->integer;
  else if (attribute != nullptr)
    number = std::find(std::begin(kNames), std::end(kNames), c.Text("aggregate_function", "")) -
             std::begin(kNames);
  if (number >= 0 && number < static_cast<int64_t>(std::size(kNames))) return static_cast<Aggregate>(number);
  c.b.Fail(Code::kInvalidArgument, "the attribute 'aggregate_function' is none of AVERAGE, SUM, MIN and MAX");
  return std::nullopt;
}

void TreeEnsembleRegressor(OnnxContext& c) {
  auto aggregate = AggregateOf(c);
  auto transform = PostTransformOf(c);
  if (!aggregate || !transform) return;
  int64_t targets = c.Int("n_targets", 1);
  Forest forest = NamedForest(c, "target", targets);
  ValueId scores = AddBase(c, Evaluate(c.b, TreeFeatures(c), forest, *aggregate), targets);
  c.Out(0, c.b.Cast(Transform(c.b, *transform, scores), DType::kF32));
}

// Of two classes of which only one gets votes, the votes are those of the second: the raw scores are (-s, s),
// or (1 - s, s) where no vote is negative, for then s is a probability.
ValueId PairOfScores(OnnxContext& c, ValueId votes, const Forest& forest, PostTransform transform) {
  int64_t voted = forest.votes[0].target;
  std::vector<double> base = Numbers(c, "base_values");
  if (base.size() > 1 && !HasLength(c, "base_values", base.size(), 2)) return votes;
  ValueId score = c.b.SliceAxis(votes, 1, voted, 1);
  if (!base.empty())
    score =
        c.b.Add(score, c.b.Scalar(c.b.dtype(score), base[base.size() == 1 ? 0 : static_cast<size_t>(voted)]));
  bool all_positive = std::all_of(forest.votes.begin(), forest.votes.end(),
                                  [](const Vote& vote) { return vote.weight >= 0; });
  bool is_probability =
      transform == PostTransform::kProbit || (transform == PostTransform::kNone && all_positive);
  return BothClasses(c.b, score, is_probability);
}

void TreeEnsembleClassifier(OnnxContext& c) {
  auto transform = PostTransformOf(c);
  auto labels = ClassLabels(c, "classlabels_int64s", "classlabels_strings");
  if (!transform || !labels) return;
  int64_t classes = labels->dims[0];
  Forest forest = NamedForest(c, "class", classes);
  ValueId scores = Evaluate(c.b, TreeFeatures(c), forest, Aggregate::kSum);
  if (c.b.failed()) return;
  bool one_is_voted = !forest.votes.empty() &&
                      std::all_of(forest.votes.begin(), forest.votes.end(),
                                  [&](const Vote& vote) { return vote.target == forest.votes[0].target; });
  scores = classes == 2 && one_is_voted ? PairOfScores(c, scores, forest, *transform)
                                        : AddBase(c, scores, classes);
  c.Out(0, BestLabels(c.b, scores, *labels));
  c.Out(1, c.b.Cast(Transform(c.b, *transform, scores), DType::kF32));
}

// ---- TreeEnsemble: nodes and leaves are numbered through all trees ----

// Whether x is one of `members`, which are sorted: a search by halves. The node that begins it.
int64_t AddSearch(std::span<const double> members, const TreeNode& like, bool missing_is_yes,
                  Forest* forest) {
  TreeNode node = like;
  if (members.size() < 2) {
    node.threshold = members.empty() ? NAN : members[0];
    node.relations = RelationsOf(BranchMode("BRANCH_EQ"), node.threshold, missing_is_yes);
  } else {
    size_t half = members.size() / 2;
    node.threshold = members[half];
    node.relations = RelationsOf(BranchMode("BRANCH_LT"), node.threshold, missing_is_yes);
    node.yes = AddSearch(members.first(half), like, missing_is_yes, forest);
    node.no = AddSearch(members.subspan(half), like, missing_is_yes, forest);
  }
  forest->nodes.push_back(node);
  return static_cast<int64_t>(forest->nodes.size()) - 1;
}

// The sets of the nodes of mode BRANCH_MEMBER, in the order of the nodes; each ends with NaN.
std::vector<std::vector<double>> MemberSets(OnnxContext& c) {
  std::vector<std::vector<double>> sets(1);
  for (double member : TensorNumbers(c, "membership_values")) {
    if (std::isnan(member))
      sets.emplace_back();
    else
      sets.back().push_back(member);
  }
  if (!sets.back().empty())
    c.b.Fail(Code::kInvalidArgument, "the last set of 'membership_values' does not end");
  sets.pop_back();
  for (std::vector<double>& set : sets) {
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }
  return sets;
}

// The branches come first, as many as there are modes, then the leaves, then what searches in sets add.
struct Children {
  std::vector<int64_t> ids, are_leaves;
  int64_t branches = 0, leaves = 0;

  std::optional<int64_t> Of(OnnxContext& c, size_t node) const {
    int64_t count = are_leaves[node] != 0 ? leaves : branches;
    if (ids[node] >= 0 && ids[node] < count) return ids[node] + (are_leaves[node] != 0 ? branches : 0);
    c.b.Fail(Code::kInvalidArgument, fmt::format("node {} leads to {} {} of {}", node,
                                                 are_leaves[node] != 0 ? "leaf" : "node", ids[node], count));
    return std::nullopt;
  }
};

void ReadLeaves(OnnxContext& c, Forest* forest) {
  std::vector<double> weights = TensorNumbers(c, "leaf_weights");
  std::vector<int64_t> targets = Parallel(c, "leaf_targetids", weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    forest->votes.push_back({static_cast<int64_t>(forest->nodes.size()), targets[i], weights[i]});
    forest->nodes.emplace_back();
  }
}

void ReadBranches(OnnxContext& c, const std::vector<double>& modes, Forest* forest) {
  constexpr double kMember = 6;
  size_t count = modes.size();
  auto leaves = static_cast<int64_t>(c.Ints("leaf_targetids").size());
  std::vector<int64_t> features = Parallel(c, "nodes_featureids", count),
                       missing = MissingTracksTrue(c, count);
  Children yes{Parallel(c, "nodes_truenodeids", count), Parallel(c, "nodes_trueleafs", count),
               static_cast<int64_t>(count), leaves};
  Children no{Parallel(c, "nodes_falsenodeids", count), Parallel(c, "nodes_falseleafs", count),
              static_cast<int64_t>(count), leaves};
  std::vector<double> splits = TensorNumbers(c, "nodes_splits");
  std::vector<std::vector<double>> sets = MemberSets(c);
  auto wanted = static_cast<size_t>(std::count(modes.begin(), modes.end(), kMember));
  if (sets.size() != wanted)
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("{} sets in 'membership_values' for {} nodes of mode BRANCH_MEMBER", sets.size(),
                         wanted));
  if (!HasLength(c, "nodes_splits", splits.size(), count) || c.b.failed()) return;
  size_t set = 0;
  for (size_t i = 0; i < count; ++i) {
    auto to_yes = yes.Of(c, i), to_no = no.Of(c, i);
    if (c.b.failed()) return;
    TreeNode node{false, features[i], 0, splits[i], *to_no, *to_yes};
    if (modes[i] == kMember) {
      AddSearch(sets[set++], node, missing[i] != 0, forest);
      node = forest->nodes.back();
      forest->nodes.pop_back();
    } else {
      node.relations = RelationsOf(static_cast<int64_t>(modes[i]), splits[i], missing[i] != 0);
      if (node.relations < 0) c.b.Fail(Code::kInvalidArgument, fmt::format("a node of mode {}", modes[i]));
    }
    forest->nodes[i] = node;
  }
}

void TreeEnsemble(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto aggregate = AggregateOf(c);
  auto transform = PostTransformOf(c);
  std::vector<double> modes = TensorNumbers(c, "nodes_modes");
  if (!aggregate || !transform || b.failed()) return;
  Forest forest;
  std::vector<int64_t> targets = c.Ints("leaf_targetids");
  int64_t most = targets.empty() ? 0 : *std::max_element(targets.begin(), targets.end());
  forest.targets = c.Int("n_targets", most < INT64_MAX ? most + 1 : most);
  forest.roots = c.Ints("tree_roots");
  forest.nodes.resize(modes.size());
  ReadLeaves(c, &forest);
  ReadBranches(c, modes, &forest);
  ValueId scores = Evaluate(b, TreeFeatures(c), forest, *aggregate);
  c.Out(0, b.Cast(Transform(b, *transform, scores), b.dtype(c.in(0))));
}

#define NODE_ATTRIBUTES                                                                             \
  "nodes_falsenodeids nodes_featureids nodes_hitrates nodes_missing_value_tracks_true nodes_modes " \
  "nodes_nodeids nodes_treeids nodes_truenodeids nodes_values base_values post_transform "
#define NODE_TENSORS "nodes_hitrates_as_tensor nodes_values_as_tensor base_values_as_tensor "
#define CLASS_ATTRIBUTES \
  "class_ids class_nodeids class_treeids class_weights classlabels_int64s classlabels_strings"
#define TARGET_ATTRIBUTES \
  "aggregate_function n_targets target_ids target_nodeids target_treeids target_weights"

constexpr OnnxOp kRows[] = {
    {"ai.onnx.ml", "TreeEnsembleClassifier", 1, 2, 1, 1, NODE_ATTRIBUTES CLASS_ATTRIBUTES,
     TreeEnsembleClassifier, kNumbers},
    {"ai.onnx.ml", "TreeEnsembleClassifier", 3, kLatest, 1, 1,
     NODE_ATTRIBUTES NODE_TENSORS CLASS_ATTRIBUTES " class_weights_as_tensor", TreeEnsembleClassifier,
     kNumbers},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 1, 2, 1, 1, NODE_ATTRIBUTES TARGET_ATTRIBUTES,
     TreeEnsembleRegressor, kNumbers},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 3, kLatest, 1, 1,
     NODE_ATTRIBUTES NODE_TENSORS TARGET_ATTRIBUTES " target_weights_as_tensor", TreeEnsembleRegressor,
     kNumbers},
    {"ai.onnx.ml", "TreeEnsemble", 5, kLatest, 1, 1,
     "aggregate_function leaf_targetids leaf_weights membership_values n_targets nodes_falseleafs "
     "nodes_falsenodeids nodes_featureids nodes_hitrates nodes_missing_value_tracks_true nodes_modes "
     "nodes_splits nodes_trueleafs nodes_truenodeids post_transform tree_roots",
     TreeEnsemble, kFloats},
};

#undef NODE_ATTRIBUTES
#undef NODE_TENSORS
#undef CLASS_ATTRIBUTES
#undef TARGET_ATTRIBUTES

}  // namespace

std::span<const OnnxOp> OnnxTreeRows() { return kRows; }

}  // namespace tvmvm::ir
