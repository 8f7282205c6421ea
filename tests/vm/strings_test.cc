// String tensors through the machine, and the host library.
#include <gmock/gmock.h>

#include "tests/vm/text_program.h"
#include "vm/host/host_library.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = words, z = x (copied by the host library), w = x itself.
constexpr std::string_view kStrings = R"---(
entry @main
constant c0 "words": string[2] strings ["alpha", "a string that is too long for the small buffer"]
func @main("x": string[k]) -> ("y": string[2], "z": string[k], "w": string[k]) frame 4, 4 {
  i0 = const 0
  i1 = dim r0, 0
  r1 = constant c0
  r2 = output 1, [i1]
  node "/copy (Identity)"
  [], [] = host 0, [i0, i0, i1], [r2, r0]
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

TEST(HostLibrary, NamesAreUniqueAndReasonsGiven) {
  std::vector<std::string> names;
  for (const HostFunction& function : HostFunctions()) {
    names.emplace_back(function.name);
    EXPECT_NE(function.run, nullptr);
    EXPECT_FALSE(function.reason.empty());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

TEST(HostLibrary, ErrorsNameFunctionAndNode) {
  std::string text(kStrings);
  text.replace(text.find("[i0, i0, i1]"), 12, "[i1, i0, i1]");
  auto vm = VmFromText(text);
  ASSERT_TRUE(vm);
  std::array inputs{Tensor::FromStrings(Shape{1}, {"x"})};
  std::array<Tensor, 3> outputs;
  EXPECT_THAT(TextOf(vm->NewInvocation().Run(inputs, outputs)),
              HasSubstr("host: string.copy: 1 strings at index 1 of a tensor of 1 (node /copy (Identity))"));
}

TEST(HostLibrary, CallsAreCheckedWhenTheProgramIsBound) {
  for (auto [from, to, message] :
       {std::tuple{"host 0", "host 99", "host: function 99 of the host library, which has"},
        std::tuple{"[i0, i0, i1]", "[i0, i1]",
                   "host: 2 scalars given, 'string.copy' takes 3 (node /copy (Identity))"},
        std::tuple{"[r2, r0]", "[r2]", "host: 1 references given, 'string.copy' takes 2"},
        std::tuple{"[], [] = host", "[i2], [] = host",
                   "host: 1 scalar results given, 'string.copy' takes 0"}}) {
    std::string text(kStrings);
    text.replace(text.find(from), std::string(from).size(), to);
    auto program = Assemble(text);
    ASSERT_TRUE(program) << program.error().message;
    auto vm = Vm::Create(*program);
    ASSERT_FALSE(vm);
    EXPECT_EQ(vm.error().code, Code::kInvalidProgram);
    EXPECT_THAT(vm.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace tvmvm
