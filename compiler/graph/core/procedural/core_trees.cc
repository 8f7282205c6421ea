// Walks through decision trees.
//
//   tree_leaves(x, roots, nodes, thresholds) {levels}: x is [rows, features] of f32 or f64, roots i32[trees],
//   nodes i32[count, 4], thresholds [count] of x's type. A node is (feature, relations, where to go when none
//   of the relations holds, where to go otherwise). Relations of the feature to the threshold are bits: 1
//   below, 2 equal, 4 above, 8 the feature is NaN. A leaf leads to itself. The result i32[rows, trees] is the
//   node that each walk is at after `levels` steps. Features and nodes out of range are clamped.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/core_values.h"
#include "compiler/graph/core/procedural/loop_access.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Variable;

Expected<std::vector<Type>> InferTreeLeaves(const InferContext& context) {
  TVMVM_TRY(Type x, RankedTensor(context, 0));
  TVMVM_TRY(Type roots, RankedTensor(context, 1));
  TVMVM_TRY(Type nodes, RankedTensor(context, 2));
  TVMVM_TRY(Type thresholds, RankedTensor(context, 3));
  bool fits = x.rank() == 2 && (x.dtype == DType::kF32 || x.dtype == DType::kF64) && roots.rank() == 1 &&
              roots.dtype == DType::kI32 && nodes.rank() == 2 && nodes.dtype == DType::kI32 &&
              nodes.dims[1].IsConstant(4) && thresholds.rank() == 1 && thresholds.dtype == x.dtype &&
              thresholds.dims[0] == nodes.dims[0];
  if (!fits)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("features {}, roots {}, nodes {}, thresholds {} are no trees", x.ToString(),
                                 roots.ToString(), nodes.ToString(), thresholds.ToString()));
  if (context.node.Int("levels", -1) < 0)
    return MakeError(Code::kInvalidArgument, "the attribute 'levels' is no number of steps");
  return One(DType::kI32, {x.dims[0], roots.dims[0]});
}

// Which bit of the relations holds: 0 below, 1 equal (or not ordered), 2 above, 3 the feature is NaN. Sums of
// truth values, for no branch foretells where walks go.
Expr RelationOf(const Expr& feature, const Expr& threshold) {
  auto one_if = [](Expr holds) { return Cast(DType::kI32, std::move(holds)); };
  Expr is_nan = one_if(Unary(ExprOp::kIsNan, feature));
  return IntConstant(1, DType::kI32) - one_if(Less(feature, threshold)) + one_if(Less(threshold, feature)) +
         is_nan + is_nan;
}

Expr Clamped(const Expr& index, const Dim& size) {
  return ClampIndex(Cast(DType::kI64, index), DimValue(size));
}

// Walks through several trees at once: each step waits for a node, its feature and its threshold, one after
// another.
constexpr int64_t kWalks = 8;

// The trees of one row. The last walks may be through the last tree, again.
Expected<tensor::StmtPtr> TreeLeavesLoops(LoopContext& context) {
  const Dims &x = context.input_type(0).dims, &nodes = context.input_type(2).dims;
  const Dim& trees = context.input_type(1).dims[0];
  const int64_t walks = std::clamp<int64_t>(trees.constant().value_or(kWalks), 1, kWalks);
  Expr zero = IntConstant(0);
  tensor::Nest nest(&context.kernel());
  Expr row = Variable(nest.Grid(0, "row", x[0]));
  Expr first = Variable(nest.Open("tree", zero, DimValue(trees), tensor::LoopKind::kSerial, walks));
  uint32_t node = nest.Local("node", DType::kI32, tensor::Memory::kRegisters, walks);
  auto each_walk = [&](const std::function<void(const Expr& walk, const Expr& tree)>& build) {
    Expr walk = Variable(nest.Open("walk", zero, IntConstant(walks), tensor::LoopKind::kUnrolled));
    build(walk, Min(first + walk, DimValue(trees) - IntConstant(1)));
    nest.Close();
  };
  auto field = [&](const Expr& at, const Expr& k) { return context.Load(2, std::array{at, k}); };
  each_walk([&](const Expr& walk, const Expr& tree) {
    nest.Add(tensor::Store(node, walk, context.Load(1, std::array{tree})));
  });
  nest.OpenIf(And(Less(zero, DimValue(x[1])), Less(zero, DimValue(nodes[0]))));
  nest.Open("level", zero, IntConstant(context.node().Int("levels")));
  each_walk([&](const Expr& walk, const Expr&) {
    Expr at = nest.Let("at", Clamped(tensor::Load(node, DType::kI32, walk), nodes[0]));
    Expr feature = context.Load(0, std::array{row, Clamped(field(at, zero), x[1])});
    Expr relation = RelationOf(nest.Let("feature", feature), context.Load(3, std::array{at}));
    Expr holds = tensor::Binary(ExprOp::kShiftRight, field(at, IntConstant(1)), relation);
    Expr yes = Cast(DType::kI64, tensor::Binary(ExprOp::kAnd, holds, IntConstant(1, DType::kI32)));
    nest.Add(tensor::Store(node, walk, field(at, yes + IntConstant(2))));
  });
  nest.Close();
  nest.Close();
  each_walk([&](const Expr& walk, const Expr& tree) {
    nest.Add(context.Store(0, std::array{row, tree}, tensor::Load(node, DType::kI32, walk)));
  });
  return nest.Finish();
}

// A leaf leads to itself: all walks are of one length.
std::vector<Work> TreeLeavesWork(const WorkContext& context) {
  const int64_t levels = std::min<int64_t>(context.node.Int("levels"), 1 << 20);
  return {{ElementsOf(context.outputs[0]) * Dim((levels + 1) * kScalarStep), BytesOnce(context)}};
}

constexpr CoreOp kRows[] = {
    {.name = "tree_leaves",
     .kind = OpKind::kProcedural,
     .min_inputs = 4,
     .max_inputs = 4,
     .infer = InferTreeLeaves,
     .loops = TreeLeavesLoops,
     .work = TreeLeavesWork,
     .meaning = "the node of each decision tree that a row of features comes to after `levels` steps",
     .attributes = "levels"},
};

}  // namespace

std::span<const CoreOp> TreeFamily() { return kRows; }

}  // namespace tvmvm::ir
