#include "compiler/onnx/ops/ml/onnx_forest.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "compiler/onnx/ops/ml/onnx_ml.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

constexpr int64_t kMostCells = int64_t{1} << 28;  // of a table of votes

auto Wrong(std::string message) { return MakeError(Code::kInvalidArgument, std::move(message)); }

Status CheckForest(const Forest& forest) {
  auto count = static_cast<int64_t>(forest.nodes.size());
  auto is_node = [&](int64_t node) { return node >= 0 && node < count; };
  if (forest.roots.empty()) return Wrong("there is no tree");
  if (count > (int64_t{1} << 30)) return Wrong(fmt::format("{} nodes", count));
  if (forest.targets < 1) return Wrong(fmt::format("{} targets or classes", forest.targets));
  for (int64_t i = 0; i < count; ++i) {
    const TreeNode& node = forest.nodes[static_cast<size_t>(i)];
    if (node.is_leaf) continue;
    if (!is_node(node.no) || !is_node(node.yes))
      return Wrong(fmt::format("node {} leads to {} and {} of {} nodes", i, node.no, node.yes, count));
    if (node.feature < 0 || node.feature > INT32_MAX)
      return Wrong(fmt::format("node {} looks at feature {}", i, node.feature));
  }
  for (int64_t root : forest.roots)
    if (!is_node(root)) return Wrong(fmt::format("a tree begins at {} of {} nodes", root, count));
  for (const Vote& vote : forest.votes) {
    if (!is_node(vote.leaf) || !forest.nodes[static_cast<size_t>(vote.leaf)].is_leaf)
      return Wrong(fmt::format("a vote of node {}, which is no leaf", vote.leaf));
    if (vote.target < 0 || vote.target >= forest.targets)
      return Wrong(fmt::format("a vote for {} of {} targets or classes", vote.target, forest.targets));
  }
  return {};
}

// The steps of the longest walk; nothing where nodes lead back to themselves. Nodes that nothing leads to any
// more are taken away until none is left.
std::optional<int64_t> LevelsOf(const std::vector<TreeNode>& nodes) {
  std::vector<int64_t> parents(nodes.size()), depth(nodes.size()), ready;
  for (const TreeNode& node : nodes) {
    if (node.is_leaf) continue;
    ++parents[static_cast<size_t>(node.no)];
    ++parents[static_cast<size_t>(node.yes)];
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (parents[i] == 0) ready.push_back(static_cast<int64_t>(i));
  size_t taken = 0;
  int64_t levels = 0;
  while (!ready.empty()) {
    auto at = static_cast<size_t>(ready.back());
    ready.pop_back();
    ++taken;
    levels = std::max(levels, depth[at]);
    if (nodes[at].is_leaf) continue;
    for (int64_t next : {nodes[at].no, nodes[at].yes}) {
      auto to = static_cast<size_t>(next);
      depth[to] = std::max(depth[to], depth[at] + 1);
      if (--parents[to] == 0) ready.push_back(next);
    }
  }
  if (taken < nodes.size()) return std::nullopt;
  return levels;
}

// New numbers of the nodes, leaves first, so that tables of leaves have no holes.
struct Numbering {
  std::vector<int64_t> of;
  int64_t leaves = 0;
};

Numbering LeavesFirst(const std::vector<TreeNode>& nodes) {
  Numbering numbering{std::vector<int64_t>(nodes.size())};
  for (const TreeNode& node : nodes) numbering.leaves += node.is_leaf ? 1 : 0;
  int64_t leaf = 0, branch = numbering.leaves;
  for (size_t i = 0; i < nodes.size(); ++i) numbering.of[i] = nodes[i].is_leaf ? leaf++ : branch++;
  return numbering;
}

ValueId Leaves(OpBuilder& b, ValueId x, const Forest& forest, const Numbering& numbering, int64_t levels) {
  auto count = static_cast<int64_t>(forest.nodes.size());
  std::vector<int32_t> fields(forest.nodes.size() * 4), roots;
  std::vector<double> thresholds(forest.nodes.size());
  int64_t most_feature = -1;
  auto number = [&](int64_t node) { return static_cast<int32_t>(numbering.of[static_cast<size_t>(node)]); };
  for (int64_t i = 0; i < count; ++i) {
    const TreeNode& node = forest.nodes[static_cast<size_t>(i)];
    auto at = static_cast<size_t>(number(i));
    thresholds[at] = node.threshold;
    fields[4 * at] = static_cast<int32_t>(node.feature);
    fields[4 * at + 1] = node.relations;
    fields[4 * at + 2] = node.is_leaf ? number(i) : number(node.no);
    fields[4 * at + 3] = node.is_leaf ? number(i) : number(node.yes);
    if (!node.is_leaf) most_feature = std::max(most_feature, node.feature);
  }
  for (int64_t root : forest.roots) roots.push_back(number(root));
  std::set<int64_t> relations;
  for (const TreeNode& node : forest.nodes)
    if (!node.is_leaf) relations.insert(node.relations);
  Dim features = b.dim(x, 1);
  b.Require(Less(most_feature, features), fmt::format("a node looks at feature {} of {{0}}", most_feature),
            {features});
  auto trees = static_cast<int64_t>(roots.size());
  return b.Emit("tree_leaves",
                {x, b.Constant(TensorData::FromVector(DType::kI32, {trees}, roots)),
                 b.Constant(TensorData::FromVector(DType::kI32, {count, 4}, fields)),
                 NumberConstant(b, thresholds, b.dtype(x))},
                {{"levels", levels},
                 {"leaves", numbering.leaves},
                 {"relations", relations.size() == 1 ? *relations.begin() : int64_t{-1}}});
}

double NoVote(Aggregate aggregate, DType dtype) {
  double most = dtype == DType::kF64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  return aggregate == Aggregate::kMin ? most : aggregate == Aggregate::kMax ? -most : 0;
}

ReduceKind KindOf(Aggregate aggregate) {
  if (aggregate == Aggregate::kMin) return ReduceKind::kMin;
  return aggregate == Aggregate::kMax ? ReduceKind::kMax : ReduceKind::kSum;
}

double Join(Aggregate aggregate, double a, double b) {
  if (aggregate == Aggregate::kMin) return std::min(a, b);
  return aggregate == Aggregate::kMax ? std::max(a, b) : a + b;
}

// Where each leaf votes for most targets: a table [leaves, targets].
ValueId CountInFull(OpBuilder& b, ValueId leaves, const Forest& forest, const Numbering& numbering,
                    Aggregate aggregate, DType dtype) {
  std::vector<double> table(static_cast<size_t>(numbering.leaves * forest.targets), NoVote(aggregate, dtype));
  for (const Vote& vote : forest.votes) {
    double& cell = table[static_cast<size_t>(numbering.of[static_cast<size_t>(vote.leaf)] * forest.targets +
                                             vote.target)];
    cell = Join(aggregate, cell, vote.weight);
  }
  ValueId votes = b.Gather(NumberConstant(b, table, dtype, {numbering.leaves, forest.targets}), leaves, 0);
  return b.Squeeze(b.Reduce(KindOf(aggregate), votes, {1}), {1});
}

// Where a leaf votes for few of many targets: at most `width` pairs of target and weight a leaf.
ValueId CountPairs(OpBuilder& b, ValueId leaves, const Forest& forest, const Numbering& numbering,
                   int64_t width, Aggregate aggregate, DType dtype) {
  auto cells = static_cast<size_t>(numbering.leaves * width);
  std::vector<int32_t> targets(cells, -1);
  std::vector<double> weights(cells, 0);
  std::vector<int64_t> used(static_cast<size_t>(numbering.leaves));
  for (const Vote& vote : forest.votes) {
    int64_t leaf = numbering.of[static_cast<size_t>(vote.leaf)];
    auto cell = static_cast<size_t>(leaf * width + used[static_cast<size_t>(leaf)]++);
    targets[cell] = static_cast<int32_t>(vote.target);
    weights[cell] = vote.weight;
  }
  ValueId target = b.Gather(
      b.Constant(TensorData::FromVector(DType::kI32, {numbering.leaves, width}, targets)), leaves, 0);
  ValueId weight = b.Gather(NumberConstant(b, weights, dtype, {numbering.leaves, width}), leaves, 0);
  ValueId counts =
      b.Binary(ExprOp::kEqual, b.Unsqueeze(target, {3}), b.Iota(DType::kI32, {forest.targets}, 0));
  ValueId votes = b.Where(counts, b.Unsqueeze(weight, {3}), b.Scalar(dtype, NoVote(aggregate, dtype)));
  return b.Squeeze(b.Reduce(KindOf(aggregate), votes, {1, 2}), {1, 2});
}

}  // namespace

int RelationsOf(int64_t mode, double threshold, bool missing_is_yes) {
  constexpr int kRelations[] = {kBelow | kEqual, kBelow, kAbove | kEqual,
                                kAbove,          kEqual, kBelow | kAbove | kMissing};
  if (mode < 0 || mode >= static_cast<int64_t>(std::size(kRelations))) return -1;
  int relations = kRelations[mode] | (missing_is_yes ? kMissing : 0);
  if (!std::isnan(threshold)) return relations;
  // Nothing compares to NaN, but everything differs from it.
  bool differs = mode == static_cast<int64_t>(std::size(kRelations)) - 1;
  return differs ? kBelow | kEqual | kAbove | kMissing : relations & kMissing;
}

int64_t BranchMode(std::string_view name) {
  constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<int64_t>(i);
  return -1;
}

ValueId Evaluate(OpBuilder& b, ValueId x, const Forest& forest, Aggregate aggregate) {
  if (b.failed()) return x;
  if (Status status = CheckForest(forest); !status)
    return b.Fail(status.error().code, status.error().message);
  auto levels = LevelsOf(forest.nodes);
  if (!levels) return b.Fail(Code::kInvalidArgument, "the nodes of a tree lead back to themselves");
  Numbering numbering = LeavesFirst(forest.nodes);
  std::vector<int64_t> used(forest.nodes.size());
  int64_t width = 1;  // most votes of a leaf
  for (const Vote& vote : forest.votes) width = std::max(width, ++used[static_cast<size_t>(vote.leaf)]);
  if (width > kMostCells / std::max<int64_t>(numbering.leaves, 1))
    return b.Fail(Code::kUnsupported, fmt::format("{} leaves with up to {} votes", numbering.leaves, width));
  DType dtype = b.dtype(x);
  ValueId leaves = Leaves(b, x, forest, numbering, *levels);
  ValueId counted = 2 * width > forest.targets
                        ? CountInFull(b, leaves, forest, numbering, aggregate, dtype)
                        : CountPairs(b, leaves, forest, numbering, width, aggregate, dtype);
  if (aggregate != Aggregate::kAverage) return counted;
  return b.Div(counted, b.Scalar(dtype, static_cast<double>(forest.roots.size())));
}

}  // namespace tvmvm::ir
