#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/scratch.h"

namespace tvmvm::cli {
namespace {

using ::testing::ElementsAre;

TEST(ParseDimTest, Forms) {
  auto one = ParseDim("n=4");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->first, "n");
  EXPECT_EQ(one->second.low, 4);
  EXPECT_EQ(one->second.high, 4);
  EXPECT_EQ(ParseDim("n=1..512")->second.high, 512);
  EXPECT_EQ(ParseDim("n=..512")->second.low, 0);
  EXPECT_EQ(ParseDim("n=2..")->second.high, INT64_MAX);
}

TEST(ParseDimTest, Refusals) {
  for (const char* text :
       {"n", "=4", "n=", "n=x", "n=-1", "n=5..4", "n=..", "n=1...2", "n=4 ", "n=99999999999999999999"})
    EXPECT_FALSE(ParseDim(text)) << text;
}

TEST(ParseInputTest, Forms) {
  EXPECT_EQ(ParseInput("x.npy")->path, "x.npy");
  EXPECT_EQ(ParseInput("x.npy")->name, "");
  EXPECT_EQ(ParseInput("a=x.npy")->name, "a");
  EXPECT_EQ(ParseInput("a=dir/b=c.npy")->path, "dir/b=c.npy");
  EXPECT_EQ(ParseInput("a=random")->path, "");
  EXPECT_FALSE(ParseInput("a=random")->dims);
  EXPECT_FALSE(ParseInput("a=random")->absent);
  EXPECT_TRUE(ParseInput("a=none")->absent);
  EXPECT_THAT(*ParseInput("a=random:4x128")->dims, ElementsAre(4, 128));
  EXPECT_THAT(*ParseInput("random:4")->dims, ElementsAre(4));
  EXPECT_THAT(*ParseInput("a=random:")->dims, ElementsAre());  // a scalar
}

TEST(ParseInputTest, Values) {
  EXPECT_EQ(ParseInput("n=5")->literal, "5");
  EXPECT_EQ(ParseInput("n=-1.5e3")->literal, "-1.5e3");
  EXPECT_EQ(ParseInput("x=[1,2,3]")->literal, "[1,2,3]");
  EXPECT_EQ(ParseInput("[1,2,3]")->literal, "[1,2,3]");
  EXPECT_EQ(ParseInput("s=\"a=b\"")->literal, "\"a=b\"");
  EXPECT_EQ(ParseInput("f=true")->literal, "true");
  EXPECT_EQ(ParseInput("f=nan")->literal, "nan");
  EXPECT_EQ(ParseInput("x=5.npy")->path, "5.npy");
  EXPECT_EQ(ParseInput("x=-")->path, "-");
  EXPECT_EQ(ParseInput("x=a.bin:2x3")->path, "a.bin");
  EXPECT_THAT(*ParseInput("x=a.bin:2x3")->dims, ElementsAre(2, 3));
  EXPECT_FALSE(ParseInput("x=a.bin")->dims);
}

TEST(ParseInputTest, Ranges) {
  auto both = ParseInput("ids=random:1x128:0..30522");
  ASSERT_TRUE(both);
  EXPECT_THAT(*both->dims, ElementsAre(1, 128));
  EXPECT_EQ(both->range->low, 0);
  EXPECT_EQ(both->range->high, 30522);
  auto range = ParseInput("x=random:-1.5..2");
  ASSERT_TRUE(range);
  EXPECT_FALSE(range->dims);
  EXPECT_EQ(range->range->low, -1.5);
  for (const char* text :
       {"x=random:4:5", "x=random:5..5", "x=random:..5", "x=random:4:nan..5", "x=random:1..2..3"})
    EXPECT_FALSE(ParseInput(text)) << text;
}

TEST(ParseInputTest, Refusals) {
  for (const char* text :
       {"", "a=", "a=random:4x", "a=random:x4", "a=random:4y5", "a=random:-1", "a=random:4xx5"})
    EXPECT_FALSE(ParseInput(text)) << text;
}

TEST(ParseInputTest, AnExistingFileIsAPathEvenWithAnEqualsSign) {
  ScratchFolder scratch;
  std::string path = scratch / "a=b.npy";
  EXPECT_NE(ParseInput(path)->name, "");
  WriteBytes(path, "");
  EXPECT_EQ(ParseInput(path)->path, path);
}

}  // namespace
}  // namespace tvmvm::cli
