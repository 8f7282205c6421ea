// Which convolutions are made with fewer multiplications.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/graph/core_op.h"
#include "compiler/graph/parser.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

struct Convolution {
  int64_t channels = 32, outputs = 32, taps = 3, stride = 1, dilation = 1, size = 12;
};

bool IsMarked(const Convolution& c) {
  std::string numbers = "1";
  for (int64_t i = 1; i < c.outputs * c.channels * c.taps * c.taps; ++i)
    numbers += fmt::format(", {}", i % 7);
  const int64_t result = (c.size - c.dilation * (c.taps - 1) - 1) / c.stride + 1;
  const std::string type = fmt::format("f32,[{},{},{},{}]", c.outputs, c.channels, c.taps, c.taps);
  const std::string text = fmt::format(
      "func @main {{\n  input \"x\" = %0: tensor<f32,[1,{0},{1},{1}]>\n"
      "  %1: tensor<{2}> = constant() {{data = dense<{2}>[{3}]}}\n"
      "  %2: tensor<f32,[1,{4},{5},{5}]> = conv(%0, %1) {{dilations = [{6}, {6}], groups = 1, "
      "high = dims[0, 0], low = dims[0, 0], strides = [{7}, {7}]}}\n  output \"y\" = %2\n}}\n",
      c.channels, c.size, type, numbers, c.outputs, result, c.dilation, c.stride);
  Expected<ir::Module> module = ir::ParseModule(text);
  EXPECT_TRUE(module) << module.error().message;
  if (!module) return false;
  EXPECT_TRUE(ChooseWinograd(*module, {}));
  const ir::Function& function = module->main();
  for (ir::NodeId id : function.region(function.body).nodes)
    if (function.node(id).op->kind == ir::OpKind::kConvolution) return function.node(id).Int("tile", 0) == 2;
  return false;
}

TEST(ChooseWinograd, TakesThreeTapsOfManyChannels) {
  EXPECT_TRUE(IsMarked({}));
  EXPECT_TRUE(IsMarked({.channels = 48, .outputs = 80}));
  EXPECT_TRUE(IsMarked({.dilation = 2, .size = 16})) << "12 results in tiles of 4";
}

TEST(ChooseWinograd, LeavesWhatDoesNotPay) {
  EXPECT_FALSE(IsMarked({.channels = 16}));
  EXPECT_FALSE(IsMarked({.outputs = 40}));
  EXPECT_FALSE(IsMarked({.taps = 5}));
  EXPECT_FALSE(IsMarked({.stride = 2}));
  EXPECT_FALSE(IsMarked({.dilation = 2, .size = 13})) << "9 results an axis in 3 tiles of 4";
  EXPECT_FALSE(IsMarked({.size = 6})) << "16 results";
}

}  // namespace
}  // namespace tvmvm::passes
