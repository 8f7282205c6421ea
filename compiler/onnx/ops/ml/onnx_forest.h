// Decision trees as ai.onnx.ml's operators give them, and what becomes of them: tables for the core operator
// tree_leaves, and a table of the leaves' votes.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

// What decides whether a walk takes the `yes` side; bits of tree_leaves' relations.
inline constexpr int kBelow = 1, kEqual = 2, kAbove = 4, kMissing = 8;

struct TreeNode {
  bool is_leaf = true;
  int64_t feature = 0;
  int relations = 0;
  double threshold = 0;
  int64_t no = 0, yes = 0;  // nodes
};

struct Vote {
  int64_t leaf = 0;  // a node
  int64_t target = 0;
  double weight = 0;
};

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;
  std::vector<Vote> votes;
  int64_t targets = 0;
};

enum class Aggregate : uint8_t { kAverage, kSum, kMin, kMax };

// "BRANCH_LEQ" and the like as TreeEnsemble numbers them; -1: none.
int64_t BranchMode(std::string_view name);
// The relations of a mode; -1 where there is none of this number. A feature that is NaN goes the `yes` side
// where `missing_is_yes`, or where the mode is BRANCH_NEQ.
int RelationsOf(int64_t mode, double threshold, bool missing_is_yes);

// The votes of all trees, [rows, targets] in the type of x, which is [rows, features] of f32 or f64. Records
// an error where the trees are none: ids out of range, cycles, votes of what is no leaf.
ValueId Evaluate(OpBuilder& b, ValueId x, const Forest& forest, Aggregate aggregate);

}  // namespace tvmvm::ir
