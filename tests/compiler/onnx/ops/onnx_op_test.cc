#include "compiler/onnx/ops/onnx_op.h"

#include <gtest/gtest.h>

#include <string>

namespace tvmvm::ir {
namespace {

TEST(OnnxOps, RowsAreCompleteAndDoNotOverlap) {
  ASSERT_GT(OnnxOps().size(), 150u);
  for (const OnnxOp* row : OnnxOps()) {
    SCOPED_TRACE(std::string(row->name) + " " + std::to_string(row->since));
    EXPECT_NE(row->lower, nullptr);
    EXPECT_FALSE(row->types.set.empty());
    EXPECT_TRUE(row->strings != StringUse::kMoved || row->types.set.contains(DType::kString));
    EXPECT_GE(row->since, 1);
    EXPECT_LE(row->since, row->until);
    EXPECT_TRUE(row->max_inputs < 0 || row->max_inputs >= row->min_inputs);
    for (const OnnxOp* other : OnnxOps()) {
      if (other == row || other->name != row->name || other->domain != row->domain) continue;
      EXPECT_TRUE(other->until < row->since || row->until < other->since)
          << "overlaps since " << other->since;
    }
  }
}

TEST(OnnxOps, AttributeNamesAreSeparatedBySingleSpaces) {
  for (const OnnxOp* row : OnnxOps()) {
    std::string names(row->attributes);
    SCOPED_TRACE(row->name);
    EXPECT_EQ(names.find("  "), std::string::npos);
    if (names.empty()) continue;
    EXPECT_NE(names.front(), ' ');
    EXPECT_NE(names.back(), ' ');
  }
}

TEST(OnnxOps, VersionsAreFound) {
  EXPECT_EQ(FindOnnxOp("", "Nonsense", 13), nullptr);
  EXPECT_EQ(FindOnnxOp("other", "Add", 13), nullptr);
  EXPECT_EQ(FindOnnxOp("", "Upsample", 10), nullptr);
  ASSERT_NE(FindOnnxOp("", "Slice", 9), nullptr);
  EXPECT_EQ(FindOnnxOp("", "Slice", 9)->min_inputs, 1);
  EXPECT_EQ(FindOnnxOp("", "Slice", 10)->min_inputs, 3);
}

}  // namespace
}  // namespace tvmvm::ir
