// The table of core operators is complete: every scalar operation has a row, every row has what its kind
// needs.
#include "compiler/graph/core_op.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

TEST(CoreOpTest, RowsHaveWhatTheirKindNeeds) {
  std::set<std::string_view> names;
  for (const CoreOp* op : CoreOps()) {
    SCOPED_TRACE(std::string(op->name));
    EXPECT_TRUE(names.insert(op->name).second) << "two rows of one name";
    EXPECT_EQ(FindCoreOp(op->name), op);
    EXPECT_FALSE(op->meaning.empty());
    EXPECT_TRUE(op->max_inputs == -1 || op->max_inputs >= op->min_inputs);
    bool is_pull = false;
    switch (op->kind) {
      case OpKind::kElementwise:
      case OpKind::kMovement:
      case OpKind::kView:
      case OpKind::kReduce:
      case OpKind::kContraction:
      case OpKind::kConvolution:
      case OpKind::kWindow:
        is_pull = true;
        break;
      default:
        break;
    }
    EXPECT_EQ(op->element != nullptr, is_pull);
    EXPECT_EQ(op->loops != nullptr, op->kind == OpKind::kProcedural);
    EXPECT_EQ(op->infer == nullptr, op->kind == OpKind::kControl || op->kind == OpKind::kHost);
  }
  EXPECT_EQ(FindCoreOp("nothing"), nullptr);
}

TEST(CoreOpTest, EveryScalarOperationHasARow) {
  for (int i = static_cast<int>(ExprOp::kAdd); i <= static_cast<int>(ExprOp::kFma); ++i) {
    auto op = static_cast<ExprOp>(i);
    bool has_own_row =
        op == ExprOp::kCast || op == ExprOp::kBitcast || op == ExprOp::kSelect;  // cast, bitcast, where
    const CoreOp* row = ElementwiseOp(op);
    EXPECT_EQ(row == nullptr, has_own_row) << i;
    if (row) {
      EXPECT_EQ(row->scalar, op);
    }
  }
  EXPECT_EQ(ElementwiseOp(ExprOp::kConstant), nullptr);
}

TEST(CoreOpTest, ReduceKindsRoundTrip) {
  for (int i = 0; i <= static_cast<int>(tensor::ReduceKind::kArgMax); ++i) {
    auto kind = static_cast<tensor::ReduceKind>(i);
    EXPECT_EQ(ReduceKindFromName(ReduceKindName(kind)), kind);
  }
  EXPECT_FALSE(ReduceKindFromName("mean"));
}

TEST(CoreOpTest, BroadcastingFollowsNumpy) {
  Dim n = Dim::Symbol("n"), m = Dim::Symbol("m");
  auto text = [](const Dims& a, const Dims& b) {
    Expected<Dims> dims = BroadcastDims(a, b);
    return dims ? ToString(*dims) : dims.error().message;
  };
  EXPECT_EQ(text({n, 1}, {4}), "[n, 4]");
  EXPECT_EQ(text({}, {n}), "[n]");
  EXPECT_EQ(text({n}, {4}), "[4]");
  EXPECT_EQ(text({n}, {m}), "[select(eq(n, 1), m, n)]");
  EXPECT_EQ(text({2, 3}, {2, 4}), "shapes [2, 3] and [2, 4] do not broadcast: 3 and 4 differ");
}

}  // namespace
}  // namespace tvmvm::ir
