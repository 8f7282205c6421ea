// Sequences, optionals and tuples as the host library makes and changes them.
#include <gmock/gmock.h>

#include "tests/vm/host_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Three inputs, i0 = 0, i1 = 1, r3 = the sequence of the inputs.
constexpr std::string_view kThree = R"(("a": i64[k], "b": i64[k], "c": i64[k]) -> ("y": i64[m]))";
std::string OfThree(std::string_view body) {
  return "i0 = const 0\n i1 = const 1\n [], [r3] = host sequence.construct, [], [r0, r1, r2]\n" +
         std::string(body);
}
std::vector<Tensor> ThreeInputs() { return {Ints({1, 2}), Ints({3, 4}), Ints({5, 6})}; }

// The sequence that `body` leaves in r3, joined.
std::vector<int64_t> Joined(std::string_view body) {
  auto outputs =
      RunHost(kThree, OfThree(body) + "\n [], [r9] = host sequence.concat, [i0, i0], [r3]\n return [], [r9]",
              ThreeInputs());
  return outputs.empty() ? std::vector<int64_t>() : ToInts(outputs[0]);
}

TEST(Sequences, AreMadeAndJoined) { EXPECT_THAT(Joined(""), ElementsAre(1, 2, 3, 4, 5, 6)); }

TEST(Sequences, InsertBeforeAPositionThatMayCountFromTheEnd) {
  EXPECT_THAT(Joined("[], [r3] = host sequence.insert, [i0, i1], [r3, r2]"),
              ElementsAre(5, 6, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Joined("i2 = const 3\n [], [r3] = host sequence.insert, [i2, i1], [r3, r0]"),
              ElementsAre(1, 2, 3, 4, 5, 6, 1, 2));
  EXPECT_THAT(Joined("i2 = const -1\n [], [r3] = host sequence.insert, [i2, i0], [r3, r0]"),
              ElementsAre(1, 2, 3, 4, 1, 2, 5, 6));
}

TEST(Sequences, EraseAtAPosition) {
  EXPECT_THAT(Joined("[], [r3] = host sequence.erase, [i1, i1], [r3]"), ElementsAre(1, 2, 5, 6));
  EXPECT_THAT(Joined("i2 = const -3\n [], [r3] = host sequence.erase, [i2, i0], [r3]"),
              ElementsAre(3, 4, 5, 6));
}

// Whoever else holds the sequence never sees the change.
TEST(Sequences, ASharedSequenceIsCopiedAlsoWhenTaken) {
  EXPECT_THAT(
      Joined(
          "r4 = move.ref r3\n [], [r5] = host sequence.insert, [i0, i1], [r4, r2]\n"
          "[], [r6] = host sequence.erase, [i0, i1], [r5]\n [], [r6] = host sequence.erase, [i0, i1], [r6]"),
      ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Joined("[], [r5] = host sequence.insert, [i0, i0], [r3, r2]"), ElementsAre(1, 2, 3, 4, 5, 6));
  // A sequence of sequences that holds the one that is changed.
  EXPECT_THAT(
      Joined("[], [r5] = host sequence.construct, [], [r3]\n"
             "[], [r6] = host sequence.erase, [i0, i1], [r3]\n [], [r3] = host sequence.at, [i0], [r5]"),
      ElementsAre(1, 2, 3, 4, 5, 6));
}

// Not even into itself: the result would hold itself and never go.
TEST(Sequences, ASequenceIsNeverPutIntoItself) {
  auto outputs = RunHost(kThree,
                         OfThree("[], [r4] = host sequence.construct, [], []\n"
                                 "[], [r4] = host sequence.insert, [i0, i1], [r4, r4]\n"
                                 "[], [r4] = host sequence.at, [i0], [r4]\n"
                                 "[i2], [] = host sequence.length, [], [r4]\n"
                                 "r9 = output 0, [i1]\n store r9, i0, i64, i2\n return [], [r9]"),
                         ThreeInputs());
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(0));
}

TEST(Sequences, TakenAndUnsharedMovesOutOfItsRegister) {
  EXPECT_THAT(RunHostError(kThree,
                           OfThree("[], [r4] = host sequence.insert, [i0, i1], [r3, r2]\n"
                                   "[i2], [] = host sequence.length, [], [r3]\n return [], [r0]"),
                           ThreeInputs()),
              HasSubstr("sequence.length: 'sequence' must be a sequence, it is nothing (node /node)"));
}

// A caller's sequence may begin with an optional that has no element.
TEST(Sequences, OptionalsWithoutElementAreOfNoKind) {
  auto vm = VmFromText(
      HostProgram(R"(("s": sequence<optional<i64[k]>>, "x": i64[k], "f": f32[k]) -> ("n": i64[1]))",
                  "i0 = const 0\n i1 = const 1\n r3 = output 0, [i1]\n"
                  "[], [r4] = host sequence.insert, [i0, i0], [r0, r1]\n"
                  "[i2], [] = host sequence.length, [], [r4]\n store r3, i0, i64, i2\n"
                  "[], [r4] = host sequence.insert, [i1, i0], [r0, r2]\n return [], [r3]"));
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::vector<Value> inputs{Value::Sequence({Value()}), Ints({1}), Floats({1})}, outputs(1);
  EXPECT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_THAT(ToInts(outputs[0].tensor()), ElementsAre(2));
  inputs[0] = Value::Sequence({Value(), Value(Ints({2}))});
  EXPECT_THAT(TextOf(invocation.Run(inputs, outputs)),
              HasSubstr("a tensor of f32 put into a sequence whose elements are each a tensor of i64"));
}

TEST(Sequences, PositionsAreChecked) {
  auto error = [](std::string_view body) {
    return RunHostError(
        kThree,
        OfThree("i2 = const 7\n i3 = const -4\n i4 = const 3\n" + std::string(body) + "\n return [], [r0]"),
        ThreeInputs());
  };
  EXPECT_THAT(error("[], [r4] = host sequence.at, [i2], [r3]"),
              AllOf(StartsWith("invalid_argument: @main:"),
                    HasSubstr("host: sequence.at: position 7 of a sequence of 3 (node /node)")));
  EXPECT_THAT(error("[], [r4] = host sequence.at, [i4], [r3]"), HasSubstr("position 3 of a sequence of 3"));
  EXPECT_THAT(error("[], [r4] = host sequence.at, [i3], [r3]"), HasSubstr("position -4 of a sequence of 3"));
  EXPECT_THAT(error("[], [r4] = host sequence.erase, [i4, i1], [r3]"),
              HasSubstr("position 3 of a sequence of 3"));
  EXPECT_THAT(error("[], [r4] = host sequence.insert, [i2, i1], [r3, r0]"), HasSubstr("position 7 of a"));
  EXPECT_THAT(error("[], [r4] = host sequence.insert, [i3, i1], [r3, r0]"), HasSubstr("position -4 of a"));
}

TEST(Sequences, OperandsAreChecked) {
  auto error = [](std::string_view body) {
    return RunHostError(R"(("a": i64[k], "w": f32[k], "n": f32[]) -> ("y": i64[m]))",
                        "i0 = const 0\n i1 = const 1\n r5 = release\n"
                        "[], [r3] = host sequence.construct, [], [r0]\n" +
                            std::string(body) + "\n return [], [r0]",
                        {Ints({1}), Floats({1}), Shaped(Floats({1}), Shape{})});
  };
  EXPECT_THAT(error("[], [r4] = host sequence.at, [i0], [r0]"),
              HasSubstr("'sequence' must be a sequence, it is a tensor"));
  EXPECT_THAT(error("[], [r4] = host sequence.insert, [i0, i0], [r3, r1]"),
              HasSubstr("a tensor of f32 put into a sequence whose elements are each a tensor of i64"));
  EXPECT_THAT(error("[], [r4] = host sequence.insert, [i0, i0], [r3, r5]"), HasSubstr("there is no element"));
  EXPECT_THAT(error("r6 = arena i1\n [], [r4] = host sequence.construct, [], [r6]"),
              HasSubstr("a buffer cannot be an element"));
  EXPECT_THAT(error("[], [r4] = host sequence.split, [i1, i1], [r0, r5]"),
              HasSubstr("axis 1 of a tensor of rank 1"));
  EXPECT_THAT(error("[], [r4] = host sequence.split, [i0, i1], [r2, r5]"),
              HasSubstr("axis 0 of a tensor of rank 0"));
  EXPECT_THAT(error("[], [r4] = host sequence.split, [i0, i1], [r0, r1]"),
              HasSubstr("'sizes' must be a number or a list of i64 or i32, it is f32[1]"));
  EXPECT_THAT(
      error("[], [r4] = host sequence.construct, [], []\n [], [r4] = host sequence.concat, [i0, i0], [r4]"),
      HasSubstr("the sequence has no elements to join"));
}

// What a loop of inserts at the end costs does not depend on how long the sequence is: the program is given
// steps for exactly as many, and the sequence is never copied (a copy of 100,000 would take 10^10 steps'
// time).
constexpr std::string_view kManyInserts = R"(
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  [], [r1] = host sequence.construct, [], []
loop:
  [i3], [] = host sequence.length, [], [r1]
  [], [r1] = host sequence.insert, [i3, i1], [r1, r0]
  i2 = sub i2, i1
  branch.if i2, loop
  [i3], [] = host sequence.length, [], [r1]
  r2 = output 0, [i1]
  store r2, i0, i64, i3
  return [], [r2])";

TEST(Sequences, AHundredThousandInserts) {
  auto vm = VmFromText(HostProgram(R"(("n": i64[1]) -> ("y": i64[1]))", kManyInserts));
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array inputs{Ints({100'000})};
  std::array<Tensor, 1> outputs;
  ASSERT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(100'000));
  // A copy for each insert would hold two sequences at once; growing by doubling holds one.
  EXPECT_LT(invocation.peak_bytes(), 2 * 100'000 * 400);
}

TEST(Sequences, CountAgainstTheBudget) {
  Limits limits;
  limits.max_bytes = 1'000'000;
  EXPECT_THAT(RunHostError(R"(("n": i64[1]) -> ("y": i64[1]))", kManyInserts, {Ints({100'000})}, limits),
              AllOf(StartsWith("out_of_memory"), HasSubstr("sequence needs")));
}

// An element whose memory is the arena's is copied: the next turn of the loop writes there again.
TEST(Sequences, ElementsInTheArenaAreCopied) {
  auto outputs = RunHost(R"(("n": i64[1]) -> ("y": i64[m]))", R"(
  i0 = const 0
  i1 = const 1
  i4 = const 8
  i2 = load r0, i0, i64
  [], [r1] = host sequence.construct, [], []
  r2 = arena i4
loop:
  r3 = view r2, i0, i64, [i1]
  store r3, i0, i64, i2
  [], [r1] = host sequence.insert, [i0, i1], [r1, r3]
  i2 = sub i2, i1
  branch.if i2, loop
  [], [r4] = host sequence.concat, [i0, i0], [r1]
  return [], [r4])",
                         {Ints({3})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(1, 2, 3));
}

TEST(Sequences, SplitWithSizesAndJoinAgain) {
  const std::string body = R"(
  i0 = const 0
  i1 = const 1
  [], [r2] = host sequence.split, [i1, i0], [r0, r1]
  [], [r3] = host sequence.at, [i1], [r2]
  [i2], [] = host sequence.length, [], [r2]
  return [], [r3])";
  const Tensor x = Shaped(Ints({1, 2, 3, 4, 5, 6}), Shape{2, 3});
  for (auto [sizes, shape, values] :
       {std::tuple{Shaped(Ints({2}), Shape{}), Shape{2, 1}, std::vector<int64_t>{3, 6}},
        std::tuple{Shaped(Ints({1}), Shape{}), Shape{2, 1}, std::vector<int64_t>{2, 5}},
        std::tuple{Ints({1, 2}), Shape{2, 2}, std::vector<int64_t>{2, 3, 5, 6}},
        std::tuple{Ints({3, 0}), Shape{2, 0}, std::vector<int64_t>{}}}) {
    auto outputs = RunHost(R"(("x": i64[a, b], "sizes": i64[*]) -> ("y": i64[*]))", body, {x, sizes});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].shape(), shape);
    EXPECT_EQ(ToInts(outputs[0]), values);
  }
  auto error = [&](const Tensor& sizes) {
    return RunHostError(R"(("x": i64[a, b], "sizes": i64[*]) -> ("y": i64[*]))", body, {x, sizes});
  };
  EXPECT_THAT(error(Ints({1, 1})), HasSubstr("the parts have 2 elements together, the axis 3"));
  EXPECT_THAT(error(Ints({2, 2})), HasSubstr("part 1 of 2 elements, where 1 of 3 are left"));
  EXPECT_THAT(error(Ints({-1, 4})), HasSubstr("part 0 of -1 elements, where 3 of 3 are left"));
  EXPECT_THAT(error(Shaped(Ints({0}), Shape{})), HasSubstr("parts of 0 elements"));
}

TEST(Sequences, SplitWithoutSizesMayDropTheAxisAndStackBringsItBack) {
  const Tensor x =
      Shaped(Texts({"a", "b", "a text too long for the small buffer", "d", "e", "f"}), Shape{2, 3});
  auto outputs = RunHost(R"(("x": string[a, b]) -> ("y": string[*], "z": string[*]))", R"(
  i0 = const 0
  i1 = const 1
  i2 = const -1
  r1 = release
  [], [r2] = host sequence.split, [i2, i0], [r0, r1]
  [], [r3] = host sequence.concat, [i2, i1], [r2]
  [], [r4] = host sequence.split, [i1, i1], [r0, r1]
  [], [r4] = host sequence.at, [i0], [r4]
  return [], [r3, r4])",
                         {x});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(outputs[0].strings(), x.strings());
  EXPECT_EQ(outputs[1].shape(), (Shape{2, 1}));
  EXPECT_THAT(outputs[1].strings(), ElementsAre("a", "d"));
}

TEST(Sequences, JoiningChecksShapes) {
  auto error = [](std::string_view body, Tensor a, Tensor b) {
    return RunHostError(
        R"(("a": i64[*], "b": i64[*]) -> ("y": i64[*]))",
        "i0 = const 0\n i1 = const 1\n i2 = const 2\n [], [r2] = host sequence.construct, [], [r0, r1]\n" +
            std::string(body) + "\n return [], [r3]",
        {std::move(a), std::move(b)});
  };
  const Tensor row = Shaped(Ints({1, 2}), Shape{1, 2}), column = Shaped(Ints({1, 2}), Shape{2, 1});
  EXPECT_THAT(error("[], [r3] = host sequence.concat, [i0, i0], [r2]", row, column),
              HasSubstr("element 1 has shape [2, 1], element 0 [1, 2]; they may differ in axis 0"));
  EXPECT_THAT(error("[], [r3] = host sequence.concat, [i0, i1], [r2]", row, column),
              HasSubstr("element 1 has shape [2, 1], element 0 [1, 2]"));
  EXPECT_THAT(error("[], [r3] = host sequence.concat, [i2, i0], [r2]", row, row),
              HasSubstr("axis 2 of a tensor of rank 2"));
  EXPECT_EQ(error("[], [r3] = host sequence.concat, [i2, i1], [r2]", row, row), "");
}

TEST(Optionals, AreNullOrTheElement) {
  auto outputs = RunHost(R"(("x": i64[1]) -> ("y": i64[1], "z": i64[1]))", R"(
  i0 = const 0
  i1 = const 1
  r1 = release
  [i2], [] = host optional.has, [], [r0]
  [i3], [] = host optional.has, [], [r1]
  i4 = const 10
  i2 = mul i2, i4
  i2 = add i2, i3
  r2 = output 0, [i1]
  store r2, i0, i64, i2
  [], [r3] = host optional.get, [], [r0]
  return [], [r2, r3])",
                         {Ints({5})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(10));
  EXPECT_THAT(ToInts(outputs[1]), ElementsAre(5));
  EXPECT_THAT(
      RunHostError(R"(("x": i64[1]) -> ("y": i64[1]))",
                   "r1 = release\n [], [r2] = host optional.get, [], [r1]\n return [], [r2]", {Ints({5})}),
      HasSubstr("optional.get: the optional has no element (node /node)"));
}

TEST(Tuples, HoldFieldsAndATag) {
  constexpr std::string_view kSignature = R"(("a": i64[1], "b": i64[2]) -> ("y": i64[1], "z": i64[2]))";
  auto outputs = RunHost(kSignature, R"(
  i0 = const 0
  i1 = const 1
  i2 = const 7
  r2 = release
  [], [r3] = host tuple.make, [i2], [r0, r1, r2]
  [i3], [] = host tuple.tag, [], [r3]
  r4 = output 0, [i1]
  store r4, i0, i64, i3
  [], [r5] = host tuple.get, [i1], [r3]
  return [], [r4, r5])",
                         {Ints({1}), Ints({2, 3})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(7));
  EXPECT_THAT(ToInts(outputs[1]), ElementsAre(2, 3));
  EXPECT_THAT(RunHostError(kSignature,
                           "i0 = const 7\n [], [r3] = host tuple.make, [i0], [r0]\n"
                           "[], [r3] = host tuple.get, [i0], [r3]\n return [], [r0, r1]",
                           {Ints({1}), Ints({2, 3})}),
              HasSubstr("tuple.get: field 7 of a tuple of 1 (tag 7)"));
  EXPECT_THAT(RunHostError(kSignature, "[i0], [] = host tuple.tag, [], [r0]\n return [], [r0, r1]",
                           {Ints({1}), Ints({2, 3})}),
              HasSubstr("'tuple' must be a tuple, it is a tensor"));
}

// A list of 100,000 nodes, each holding the next, goes without a stack frame for each.
TEST(Tuples, ALongChainIsReleased) {
  auto outputs = RunHost(R"(("n": i64[1]) -> ("y": i64[1]))", R"(
  i0 = const 0
  i1 = const 1
  i2 = load r0, i0, i64
  r1 = release
loop:
  [], [r1] = host tuple.make, [i0], [r0, r1]
  i2 = sub i2, i1
  branch.if i2, loop
  [], [r2] = host tuple.get, [i1], [r1]
  return [], [r0])",
                         {Ints({100'000})});
  ASSERT_EQ(outputs.size(), 1u);
}

TEST(Tuples, CountAgainstTheBudget) {
  Limits limits;
  limits.max_bytes = 100'000;
  EXPECT_THAT(
      RunHostError(R"(("n": i64[1]) -> ("y": i64[1]))",
                   "i0 = const 0\n r1 = release\nloop:\n [], [r1] = host tuple.make, [i0], [r1]\n jump loop",
                   {Ints({1})}, limits),
      AllOf(StartsWith("out_of_memory"), HasSubstr("tuple needs")));
}

constexpr std::string_view kGrow = R"(
  i0 = const 0
  i1 = const 8
  i2 = const 1
  i3 = load r0, i0, i64
  i4 = const 0
  r1 = release
loop:
  i5 = add i4, i1
  [], [r1] = host buffer.grow, [i5], [r1]
  store r1, i4, i64, i3
  i4 = move i5
  i3 = sub i3, i2
  branch.if i3, loop
  i6 = floordiv i4, i1
  r2 = view r1, i0, i64, [i6]
  return [], [r2])";

TEST(Buffers, GrowAndKeepTheirContents) {
  auto vm = VmFromText(HostProgram(R"(("n": i64[1]) -> ("y": i64[m]))", kGrow));
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  std::array inputs{Ints({10'000})};
  std::array<Tensor, 1> outputs;
  ASSERT_EQ(TextOf(invocation.Run(inputs, outputs)), "");
  const std::vector<int64_t> values = ToInts(outputs[0]);
  ASSERT_EQ(values.size(), 10'000u);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 10'000 - static_cast<int64_t>(i));
  // Twice the size at most, and the old one while it is copied.
  EXPECT_LE(invocation.peak_bytes(), 3 * 80'000);
}

TEST(Buffers, GrowWithinTheBudget) {
  Limits limits;
  limits.max_bytes = 100'000;
  EXPECT_EQ(RunHostError(R"(("n": i64[1]) -> ("y": i64[m]))", kGrow, {Ints({5'000})}, limits), "");
  EXPECT_THAT(RunHostError(R"(("n": i64[1]) -> ("y": i64[m]))", kGrow, {Ints({50'000})}, limits),
              AllOf(StartsWith("out_of_memory"), HasSubstr("buffer.grow: buffer needs")));
  EXPECT_THAT(
      RunHostError(R"(("n": i64[1]) -> ("y": i64[1]))",
                   "i0 = const -1\n r1 = release\n [], [r1] = host buffer.grow, [i0], [r1]\n return [], [r0]",
                   {Ints({1})}),
      HasSubstr("buffer.grow: a buffer of -1 bytes"));
}

}  // namespace
}  // namespace tvmvm
