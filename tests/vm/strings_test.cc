// String tensors through the machine.
#include <gmock/gmock.h>

#include "tests/vm/host_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = words, z = x (through a sequence), w = x itself.
constexpr std::string_view kStrings = R"---(
entry @main
constant c0 "words": string[2] strings ["alpha", "a string that is too long for the small buffer"]
func @main("x": string[k]) -> ("y": string[2], "z": string[k], "w": string[k]) frame 4, 4 {
  i0 = const 0
  i1 = dim r0, 0
  r1 = constant c0
  [], [r2] = host 1, [], [r0]
  [], [r2] = host 4, [i0], [r2]
  return [], [r1, r2, r0]
}
)---";

TEST(Strings, PassThrough) {
  auto vm = VmFromText(kStrings);
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array inputs{Tensor::FromStrings(Shape{3}, {"x", "", "yy"})};
  for (int round = 0; round < 2; ++round) {
    std::array<Tensor, 3> outputs;
    ASSERT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
    EXPECT_THAT(outputs[0].strings(), ElementsAre("alpha", "a string that is too long for the small buffer"));
    EXPECT_THAT(outputs[1].strings(), ElementsAre("x", "", "yy"));
    EXPECT_THAT(outputs[2].strings(), ElementsAre("x", "", "yy"));
    outputs[0].strings()[0] = "changed";
    outputs[2].strings()[0] = "changed";
    EXPECT_EQ(inputs[0].strings()[0], "x");
  }
}

TEST(Strings, GoIntoTheCallersTensors) {
  auto vm = VmFromText(kStrings);
  ASSERT_TRUE(vm);
  std::array inputs{Tensor::FromStrings(Shape{1}, {"x"})};
  std::array outputs{*Tensor::Allocate(DType::kString, Shape{2}), *Tensor::Allocate(DType::kString, Shape{1}),
                     *Tensor::Allocate(DType::kString, Shape{1})};
  const Tensor given = outputs[1];
  ASSERT_EQ(TextOf(vm->NewInvocation().Run(inputs, outputs)), "");
  EXPECT_THAT(outputs[0].strings(), ElementsAre("alpha", HasSubstr("long")));
  EXPECT_THAT(given.strings(), ElementsAre("x"));
  EXPECT_THAT(outputs[2].strings(), ElementsAre("x"));
}

}  // namespace
}  // namespace tvmvm
