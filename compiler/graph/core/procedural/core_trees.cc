// Walks through decision trees.
//
//   tree_leaves(x, roots, nodes, thresholds) {levels}: x is [rows, features] of f32 or f64, roots i32[trees],
//   nodes i32[count, 4], thresholds [count] of x's type. A node is (feature, relations, where to go when none
//   of the relations holds, where to go otherwise). Relations of the feature to the threshold are bits: 1
//   below, 2 equal, 4 above, 8 the feature is NaN. A leaf leads to itself. The result i32[rows, trees] is the
//   node that each walk is at after `levels` steps. Features and nodes out of range are clamped.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/core/core_families.h"
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

// Which bit of the relations holds.
Expr RelationOf(const Expr& feature, const Expr& threshold) {
  auto bit = [](int64_t value) { return IntConstant(value, DType::kI32); };
  Expr ordered = Select(Less(feature, threshold), bit(1), Select(Less(threshold, feature), bit(4), bit(2)));
  return Select(Unary(ExprOp::kIsNan, feature), bit(8), ordered);
}

// The trees of one row, one after another.
Expected<tensor::StmtPtr> TreeLeavesLoops(LoopContext& context) {
  const Dims &x = context.input_type(0).dims, &nodes = context.input_type(2).dims;
  Expr zero = IntConstant(0);
  tensor::Nest nest(&context.kernel());
  Expr row = Variable(nest.Grid(0, "row", x[0]));
  Expr tree = Variable(nest.Open("tree", zero, DimValue(context.input_type(1).dims[0])));
  uint32_t node = nest.Local("node", DType::kI32, tensor::Memory::kRegisters, 1);
  auto here = [&] { return WrapIndex(tensor::Load(node, DType::kI32, zero), nodes[0]); };
  auto field = [&](const Expr& at, int64_t k) { return context.Load(2, std::array{at, IntConstant(k)}); };
  nest.Add(tensor::Store(node, zero, context.Load(1, std::array{tree})));
  nest.OpenIf(And(Less(zero, DimValue(x[1])), Less(zero, DimValue(nodes[0]))));
  nest.Open("level", zero, IntConstant(context.node().Int("levels")));
  Expr at = nest.Let("at", here());
  Expr feature = nest.Let("feature", context.Load(0, std::array{row, WrapIndex(field(at, 0), x[1])}));
  Expr relation = RelationOf(feature, context.Load(3, std::array{at}));
  Expr holds = tensor::Binary(ExprOp::kAnd, relation, field(at, 1));
  Expr side = Select(Equal(holds, IntConstant(0, DType::kI32)), IntConstant(2), IntConstant(3));
  nest.Add(tensor::Store(node, zero, context.Load(2, std::array{at, side})));
  nest.Close();
  nest.Close();
  nest.Add(context.Store(0, std::array{row, tree}, tensor::Load(node, DType::kI32, zero)));
  return nest.Finish();
}

// A node's fields, the feature and the threshold are waited for one after another. A leaf leads to itself:
// all walks are of one length.
std::vector<Work> TreeLeavesWork(const WorkContext& context) {
  const int64_t levels = std::min<int64_t>(context.node.Int("levels"), 1 << 20);
  return {{ElementsOf(context.outputs[0]) * Dim((levels + 1) * 4 * kScalarStep), BytesOnce(context)}};
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
