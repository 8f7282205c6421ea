#include "cli/spelling.h"

#include <gtest/gtest.h>

namespace tvmvm::cli {
namespace {

TEST(DidYouMeanTest, FindsWhatIsNear) {
  const std::vector<std::string> names = {"compile", "run", "bench", "--output-dir"};
  EXPECT_EQ(DidYouMean("comple", names), " (did you mean 'compile'?)");
  EXPECT_EQ(DidYouMean("rnu", names), " (did you mean 'run'?)");
  EXPECT_EQ(DidYouMean("--output", names), " (did you mean '--output-dir'?)");
  EXPECT_EQ(DidYouMean("serve", names), "");
  EXPECT_EQ(DidYouMean("", names), "");
  EXPECT_EQ(DidYouMean("x", {"y"}), "");
}

}  // namespace
}  // namespace tvmvm::cli
