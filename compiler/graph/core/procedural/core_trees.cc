// Walks through decision trees.
//
//   tree_leaves(x, roots, nodes, thresholds) {levels, leaves, relations}: x is [rows, features] of f32 or
//   f64, roots i32[trees], nodes i32[count, 4], thresholds [count] of x's type. A node is (feature,
//   relations, where to go when none of the relations holds, where to go otherwise). Relations of the feature
//   to the threshold are bits: 1 below, 2 equal, 4 above, 8 the feature is NaN. A leaf leads to itself. The
//   result i32[rows, trees] is the node that each walk is at after `levels` steps. Features and nodes out of
//   range are clamped. Nodes below `leaves` are leaves, and all others have the given relations, where these
//   are not negative.
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

// Whether one of the relations, which are the same for all nodes, holds. Nothing compares to NaN.
Expr Holds(int64_t relations, const Expr& x, const Expr& threshold) {
  constexpr int64_t kBelow = 1, kEqual = 2, kAbove = 4, kMissing = 8;
  switch (relations) {
    case kBelow:
      return Less(x, threshold);
    case kBelow | kEqual:
      return LessEqual(x, threshold);
    case kAbove:
      return Less(threshold, x);
    case kAbove | kEqual:
      return LessEqual(threshold, x);
    case kBelow | kMissing:
      return Unary(ExprOp::kNot, LessEqual(threshold, x));
    case kBelow | kEqual | kMissing:
      return Unary(ExprOp::kNot, Less(threshold, x));
    case kAbove | kMissing:
      return Unary(ExprOp::kNot, LessEqual(x, threshold));
    case kAbove | kEqual | kMissing:
      return Unary(ExprOp::kNot, Less(x, threshold));
    default:
      return {};
  }
}

// So many walks at once: each step waits for a node, its feature and its threshold, one after another. After
// so many steps it is looked whether all have come to a leaf.
constexpr int64_t kWalks = 8, kSteps = 4;
constexpr int64_t kBlockRows = 32;  // of a grid point

// Many rows walk through a tree, then through the next one; few walk through several trees at once. The last
// walks may be those of the last row or the last tree again.
class TreeWalks {
 public:
  explicit TreeWalks(LoopContext& context)
      : context_(context),
        x_(context.input_type(0).dims),
        nodes_(context.input_type(2).dims[0]),
        trees_(context.input_type(1).dims[0]),
        nest_(&context.kernel()) {}

  Expected<tensor::StmtPtr> Build() {
    const Expr zero = IntConstant(0), one = IntConstant(1), walks = IntConstant(kWalks);
    const Expr block = Variable(nest_.Grid(0, "row_block", CeilDiv(x_[0], kBlockRows)));
    const Expr first = nest_.Let("first", block * IntConstant(kBlockRows));
    const Expr end = nest_.Let("end", Min(first + IntConstant(kBlockRows), DimValue(x_[0])));
    const Expr count = end - first;
    node_ = nest_.Local("node", DType::kI32, tensor::Memory::kRegisters, kWalks);
    // Rows of which a whole block of walks is left.
    const Expr many = nest_.Let("many", Select(Less(count, walks), zero, count));
    Expr tree = Variable(nest_.Open("tree", zero, DimValue(trees_)));
    Expr row = Variable(nest_.Open("row", zero, many, tensor::LoopKind::kSerial, kWalks));
    Walk([&](const Expr& walk) { return Place{Min(first + row + walk, end - one), tree}; });
    nest_.Close();
    nest_.Close();
    row = Variable(nest_.Open("row", first + many, end));
    tree = Variable(nest_.Open("tree", zero, DimValue(trees_), tensor::LoopKind::kSerial, kWalks));
    Walk([&](const Expr& walk) { return Place{row, Min(tree + walk, DimValue(trees_) - one)}; });
    return nest_.Finish();
  }

 private:
  struct Place {
    Expr row, tree;
  };

  void Walk(const std::function<Place(const Expr& walk)>& place) {
    const Expr zero = IntConstant(0);
    EachWalk([&](const Expr& walk) {
      nest_.Add(tensor::Store(node_, walk, context_.Load(1, std::array{place(walk).tree})));
    });
    nest_.OpenIf(And(Less(zero, DimValue(x_[1])), Less(zero, DimValue(nodes_))));
    const int64_t levels = context_.node().Int("levels"), leaves = context_.node().Int("leaves", 0);
    Expr steps = IntConstant(levels);
    const bool looks = leaves > 0 && levels > kSteps;
    if (looks) {
      Expr done = Variable(nest_.Open("levels", zero, steps, tensor::LoopKind::kSerial, kSteps));
      steps = Min(IntConstant(kSteps), steps - done);
      Expr is_on_its_way = tensor::BoolConstant(false);
      for (int64_t walk = 0; walk < kWalks; ++walk)
        is_on_its_way = Or(is_on_its_way, LessEqual(IntConstant(leaves, DType::kI32),
                                                    tensor::Load(node_, DType::kI32, IntConstant(walk))));
      nest_.OpenIf(is_on_its_way);
    }
    nest_.Open("level", zero, steps);
    EachWalk([&](const Expr& walk) { Step(walk, place(walk).row); });
    for (int i = 0; i < (looks ? 4 : 2); ++i) nest_.Close();
    EachWalk([&](const Expr& walk) {
      const Place at = place(walk);
      nest_.Add(context_.Store(0, std::array{at.row, at.tree}, tensor::Load(node_, DType::kI32, walk)));
    });
  }

  void EachWalk(const std::function<void(const Expr& walk)>& build) {
    build(Variable(nest_.Open("walk", IntConstant(0), IntConstant(kWalks), tensor::LoopKind::kUnrolled)));
    nest_.Close();
  }

  void Step(const Expr& walk, const Expr& row) {
    const Expr at = nest_.Let("at", Clamped(tensor::Load(node_, DType::kI32, walk), nodes_));
    auto field = [&](const Expr& k) { return context_.Load(2, std::array{at, k}); };
    const Expr feature =
        nest_.Let("feature", context_.Load(0, std::array{row, Clamped(field(IntConstant(0)), x_[1])}));
    const Expr threshold = context_.Load(3, std::array{at});
    Expr yes = Holds(context_.node().Int("relations", -1), feature, threshold);
    if (!yes.valid()) {
      Expr holds = tensor::Binary(ExprOp::kShiftRight, field(IntConstant(1)), RelationOf(feature, threshold));
      yes = tensor::Binary(ExprOp::kAnd, holds, IntConstant(1, DType::kI32));
    }
    nest_.Add(tensor::Store(node_, walk, field(Cast(DType::kI64, yes) + IntConstant(2))));
  }

  LoopContext& context_;
  const Dims& x_;
  const Dim nodes_, trees_;
  tensor::Nest nest_;
  uint32_t node_ = 0;
};

Expected<tensor::StmtPtr> TreeLeavesLoops(LoopContext& context) { return TreeWalks(context).Build(); }

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
     .attributes = "levels leaves relations"},
};

}  // namespace

std::span<const CoreOp> TreeFamily() { return kRows; }

}  // namespace tvmvm::ir
