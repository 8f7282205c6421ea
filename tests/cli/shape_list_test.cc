#include "cli/shape_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;

TEST(ParseShapesTest, EachLineIsAShape) {
  InputArguments base;
  base.dims["seq"] = {7, 7};
  auto shapes = ParseShapes("# head\nbatch=1 seq=128\n\n batch=2 x=random:2x3  # remark\nx=5\n", base,
                            {"batch", "seq"});
  ASSERT_TRUE(shapes) << shapes.error().message;
  ASSERT_EQ(shapes->size(), 3u);
  EXPECT_EQ((*shapes)[0].text, "batch=1 seq=128");
  EXPECT_EQ((*shapes)[0].inputs.dims.at("seq").low, 128);
  EXPECT_EQ((*shapes)[1].inputs.dims.at("seq").low, 7);
  ASSERT_EQ((*shapes)[1].inputs.inputs.size(), 1u);
  EXPECT_EQ((*shapes)[1].inputs.inputs[0].name, "x");
  EXPECT_EQ((*shapes)[2].inputs.inputs[0].literal, "5");
}

TEST(ParseShapesTest, SaysWhichLineIsWrong) {
  EXPECT_THAT(ParseShapes("batch=1\nbatch=1..2\n", {}, {"batch"}).error().message,
              HasSubstr("line 2: 'batch=1..2'"));
  EXPECT_THAT(ParseShapes("batch=1\n\nx=random:4y\n", {}, {"batch"}).error().message, HasSubstr("line 3: "));
  EXPECT_THAT(ParseShapes("# nothing\n", {}, {}).error().message, HasSubstr("no line with a shape"));
}

}  // namespace
}  // namespace tvmvm::cli
