// Sequences, optionals and tuples in and out of programs.
#include "tvm-vm/value.h"

#include <gmock/gmock.h>

#include "tests/vm/host_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Value> RunValues(std::string_view signature, std::string_view body, std::vector<Value> inputs) {
  auto vm = VmFromText(HostProgram(signature, body));
  if (!vm) return {};
  std::vector<Value> outputs(vm->program().main().outputs.size());
  const Status status = vm->NewInvocation().Run(inputs, outputs);
  EXPECT_EQ(TextOf(status), "");
  return status ? outputs : std::vector<Value>();
}

std::string RunValuesError(std::string_view signature, std::string_view body, std::vector<Value> inputs,
                           std::vector<Value> outputs = {}) {
  auto vm = VmFromText(HostProgram(signature, body));
  if (!vm) return "no vm";
  outputs.resize(vm->program().main().outputs.size());
  return TextOf(vm->NewInvocation().Run(inputs, outputs));
}

TEST(Value, IsOneOfFourKinds) {
  EXPECT_TRUE(Value().is_none());
  EXPECT_TRUE(Value(Tensor()).is_none());
  EXPECT_TRUE(Value(Ints({1})).is_tensor());
  const Value sequence = Value::Sequence({Ints({1}), Value()});
  ASSERT_TRUE(sequence.is_sequence());
  EXPECT_EQ(sequence.elements().size(), 2u);
  EXPECT_EQ(sequence.elements()[1].kind_name(), "nothing");
  const Value tuple = Value::Tuple(3, {sequence});
  ASSERT_TRUE(tuple.is_tuple());
  EXPECT_EQ(tuple.tag(), 3);
  EXPECT_EQ(&tuple.elements()[0].elements(), &sequence.elements());  // shared
}

TEST(Value, AChainOfAMillionGoesWithoutRecursion) {
  Value chain;
  for (int i = 0; i < 1'000'000; ++i) {
    std::vector<Value> fields;
    fields.push_back(std::move(chain));
    chain = Value::Tuple(i, std::move(fields));
  }
  const Value copy = chain;
  chain = Value();
  EXPECT_EQ(copy.tag(), 999'999);
}

TEST(Values, ASequenceGoesInAndComesOut) {
  const Tensor first = Ints({1, 2});
  auto outputs =
      RunValues(R"(("s": sequence<i64[?]>, "x": i64[k]) -> ("t": sequence<i64[?]>, "n": i64[1]))", R"(
  i0 = const 0
  i1 = const 1
  [], [r2] = host sequence.insert, [i0, i1], [r0, r1]
  [i2], [] = host sequence.length, [], [r2]
  r3 = output 1, [i1]
  store r3, i0, i64, i2
  return [], [r2, r3])",
                {Value::Sequence({first, Ints({3})}), Ints({})});
  ASSERT_EQ(outputs.size(), 2u);
  ASSERT_TRUE(outputs[0].is_sequence());
  ASSERT_EQ(outputs[0].elements().size(), 3u);
  EXPECT_THAT(ToInts(outputs[0].elements()[0].tensor()), ElementsAre());
  EXPECT_THAT(ToInts(outputs[0].elements()[1].tensor()), ElementsAre(1, 2));
  EXPECT_THAT(ToInts(outputs[0].elements()[2].tensor()), ElementsAre(3));
  EXPECT_THAT(ToInts(outputs[1].tensor()), ElementsAre(3));
  // The caller's memory is the caller's.
  EXPECT_NE(outputs[0].elements()[1].tensor().data(), first.data());
}

TEST(Values, AnInputSequenceIsNeverChanged) {
  auto vm = VmFromText(HostProgram(R"(("s": sequence<i64[?]>) -> ("t": sequence<i64[?]>))",
                                   "i0 = const 0\n i1 = const 1\n"
                                   "[], [r1] = host sequence.erase, [i0, i1], [r0]\n return [], [r1]"));
  ASSERT_TRUE(vm);
  const Value input = Value::Sequence({Ints({1}), Ints({2})});
  Invocation invocation = vm->NewInvocation();
  for (int round = 0; round < 2; ++round) {
    std::array inputs{input};
    std::array<Value, 1> outputs;
    ASSERT_EQ(TextOf(invocation.Run(std::span<const Value>(inputs), std::span<Value>(outputs))), "");
    ASSERT_EQ(outputs[0].elements().size(), 1u);
    EXPECT_EQ(input.elements().size(), 2u);
  }
}

TEST(Values, OptionalsAreNothingOrTheElement) {
  constexpr std::string_view kSignature =
      R"(("o": optional<i64[?]>) -> ("has": i64[1], "p": optional<i64[?]>, "none": optional<i64[?]>))";
  constexpr std::string_view kBody = R"(
  i0 = const 0
  i1 = const 1
  [i2], [] = host optional.has, [], [r0]
  r1 = output 0, [i1]
  store r1, i0, i64, i2
  r2 = release
  return [], [r1, r0, r2])";
  auto with = RunValues(kSignature, kBody, {Value(Ints({4}))});
  ASSERT_EQ(with.size(), 3u);
  EXPECT_THAT(ToInts(with[0].tensor()), ElementsAre(1));
  EXPECT_THAT(ToInts(with[1].tensor()), ElementsAre(4));
  EXPECT_TRUE(with[2].is_none());
  auto without = RunValues(kSignature, kBody, {Value()});
  ASSERT_EQ(without.size(), 3u);
  EXPECT_THAT(ToInts(without[0].tensor()), ElementsAre(0));
  EXPECT_TRUE(without[1].is_none());
  // Empty handles among tensors say the same.
  auto tensors = RunHost(kSignature, kBody, {Tensor()});
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_THAT(ToInts(tensors[0]), ElementsAre(0));
  EXPECT_TRUE(tensors[1].empty_handle());
}

TEST(Values, TuplesOfAnyDepthGoInAndComeOut) {
  constexpr std::string_view kSignature = R"(("t": tuple<>) -> ("u": tuple<>))";
  constexpr int kDepth = 100'000;
  Value chain = Value::Tuple(0, {});
  for (int i = 1; i <= kDepth; ++i) chain = Value::Tuple(i, {Ints({i}), std::move(chain)});
  auto outputs = RunValues(kSignature, "return [], [r0]", {chain});
  ASSERT_EQ(outputs.size(), 1u);
  Value at = outputs[0];
  for (int i = kDepth; i > 0; --i) {
    ASSERT_EQ(at.tag(), i);
    ASSERT_EQ(ToInts(at.elements()[0].tensor()).at(0), i);
    at = Value(at.elements()[1]);
  }
  EXPECT_EQ(at.tag(), 0);
}

// A tree of 2^60 leaves that is 60 objects.
TEST(Values, WhatIsSharedStaysShared) {
  Value tree = Value::Tuple(0, {Ints({1})});
  for (int i = 1; i < 60; ++i) tree = Value::Tuple(i, {tree, tree});
  auto outputs = RunValues(R"(("t": tuple<>) -> ("u": tuple<>))", "return [], [r0]", {tree});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(&outputs[0].elements()[0].elements(), &outputs[0].elements()[1].elements());
}

TEST(Values, StringsInSequences) {
  auto outputs = RunValues(R"(("s": sequence<string[?]>) -> ("t": sequence<string[?]>, "u": string[2]))", R"(
  i0 = const 0
  [], [r1] = host sequence.concat, [i0, i0], [r0]
  [], [r2] = host sequence.construct, [], [r1, r1]
  return [], [r2, r1])",
                           {Value::Sequence({Texts({"a"}), Texts({"b"})})});
  ASSERT_EQ(outputs.size(), 2u);
  for (const Value& element : outputs[0].elements())
    EXPECT_THAT(element.tensor().strings(), ElementsAre("a", "b"));
  EXPECT_THAT(outputs[1].tensor().strings(), ElementsAre("a", "b"));
}

// Memory given for a tensor is written; what lies at the place of a sequence is replaced.
TEST(Values, OutputsThatLieThere) {
  auto vm = VmFromText(HostProgram(R"(("x": i64[1]) -> ("s": sequence<i64[?]>, "y": i64[1]))",
                                   "[], [r1] = host sequence.construct, [], [r0, r0]\n return [], [r1, r0]"));
  ASSERT_TRUE(vm);
  std::array<Value, 1> inputs{Value(Ints({7}))};
  Tensor given = Ints({0});
  std::array<Value, 2> outputs{Value::Sequence({}), Value(given)};
  ASSERT_EQ(TextOf(vm->NewInvocation().Run(std::span<const Value>(inputs), std::span<Value>(outputs))), "");
  EXPECT_THAT(ToInts(given), ElementsAre(7));
  EXPECT_EQ(outputs[1].tensor().data(), given.data());
  EXPECT_EQ(outputs[0].elements().size(), 2u);
}

TEST(Values, ErrorsNameTheInputAndThePosition) {
  constexpr std::string_view kSignature =
      R"(("x": i64[n], "seq": sequence<i64[?, 2]>, "o": optional<sequence<f32[*]>>, "t": tuple<f32[], i64[1]>,)"
      R"( "e": sequence<>) -> ("y": i64[n]))";
  auto good = [] {
    const Tensor scalar = Shaped(Floats({1}), Shape{});
    return std::vector<Value>{Ints({1}), Value::Sequence({Shaped(Ints({1, 2}), Shape{1, 2})}), Value(),
                              Value::Tuple(0, {scalar, Ints({1})}), Value::Sequence({})};
  };
  EXPECT_EQ(RunValuesError(kSignature, "return [], [r0]", good()), "");
  auto error = [&](size_t input, Value value) {
    std::vector<Value> inputs = good();
    inputs[input] = std::move(value);
    return RunValuesError(kSignature, "return [], [r0]", inputs);
  };
  EXPECT_EQ(error(0, Value::Sequence({})), "invalid_argument: input 'x': a sequence given, wanted i64[n]");
  EXPECT_EQ(error(0, Value()), "invalid_argument: input 'x': no tensor given, wanted i64[n]");
  EXPECT_EQ(error(1, Ints({1})), "invalid_argument: input 'seq': a tensor given, wanted sequence<i64[?, 2]>");
  EXPECT_EQ(error(1, Value::Sequence({Shaped(Ints({1, 2}), Shape{1, 2}), Floats({1})})),
            "invalid_argument: input 'seq', element 1: element type f32 given, wanted i64");
  EXPECT_EQ(error(1, Value::Sequence({Ints({1})})),
            "invalid_argument: input 'seq', element 0: rank 1 given (shape [1]), wanted 2 (i64[?, 2])");
  EXPECT_EQ(error(1, Value::Sequence({Shaped(Ints({1, 2, 3}), Shape{1, 3})})),
            "invalid_argument: input 'seq', element 0: dimension 1 must be 2, given 3 (shape [1, 3], wanted "
            "i64[?, 2])");
  EXPECT_EQ(error(1, Value::Sequence({Value()})),
            "invalid_argument: input 'seq', element 0: no tensor given, wanted i64[?, 2]");
  EXPECT_EQ(error(2, Value::Sequence({Floats({1}), Ints({1})})),
            "invalid_argument: input 'o', element 1: element type i64 given, wanted f32");
  EXPECT_EQ(error(3, Value::Tuple(0, {Ints({1})})),
            "invalid_argument: input 't': 1 fields given, wanted 2 (tuple<f32[], i64[1]>)");
  EXPECT_EQ(
      error(3, Value::Tuple(0, {Shaped(Floats({1}), Shape{}), Ints({1, 2})})),
      "invalid_argument: input 't', field 1: dimension 0 must be 1, given 2 (shape [2], wanted i64[1])");
  EXPECT_EQ(error(4, Value::Sequence({Ints({1})})),
            "invalid_argument: input 'e': 1 elements given, the sequence never has one");
}

// Tuples whose type names no fields are looked at all the same.
TEST(Values, TensorsInTuplesOfAnyFieldsHaveMemory) {
  EXPECT_EQ(RunValuesError(R"(("t": tuple<>) -> ("u": tuple<>))", "return [], [r0]",
                           {Value::Tuple(0, {Tensor::Borrow(DType::kF32, Shape{2}, nullptr)})}),
            "invalid_argument: its data is null");
}

TEST(Values, ResultsAreWhatTheSignatureSays) {
  EXPECT_THAT(RunValuesError(R"(("x": i64[1]) -> ("s": sequence<i64[?]>))", "return [], [r0]", {Ints({1})}),
              HasSubstr("output 0 's': the program gave a tensor of i64, its signature says otherwise"));
  EXPECT_THAT(RunValuesError(R"(("x": i64[1]) -> ("s": sequence<f32[?]>))",
                             "[], [r1] = host sequence.construct, [], [r0]\n return [], [r1]", {Ints({1})}),
              HasSubstr("output 0 's': the program gave a tensor of i64, its signature says otherwise"));
  // A tuple that two fields share is what both of them say.
  EXPECT_THAT(RunValuesError(R"(("x": i64[1]) -> ("t": tuple<tuple<i64[1]>, tuple<f32[1]>>))",
                             "i0 = const 0\n [], [r1] = host tuple.make, [i0], [r0]\n"
                             "[], [r1] = host tuple.make, [i0], [r1, r1]\n return [], [r1]",
                             {Ints({1})}),
              HasSubstr("output 0 't': the program gave a tensor of i64, its signature says otherwise"));
  EXPECT_THAT(
      RunValuesError(R"(("x": i64[1]) -> ("y": i64[1]))", "r1 = release\n return [], [r1]", {Ints({1})}),
      HasSubstr("output 0 'y': the program gave nothing"));
  EXPECT_THAT(RunHostError(R"(("x": i64[1]) -> ("s": sequence<i64[?]>))", "return [], [r0]", {Ints({1})}),
              HasSubstr("output 0 's' is no tensor: run the program with values"));
}

TEST(Values, SequencesCountAgainstTheBudget) {
  auto vm =
      VmFromText(HostProgram(R"(("s": sequence<i64[?]>) -> ("t": sequence<i64[?]>))", "return [], [r0]"));
  ASSERT_TRUE(vm);
  Invocation invocation = vm->NewInvocation();
  Limits limits;
  limits.max_bytes = 10'000;
  invocation.SetLimits(limits);
  std::array inputs{Value::Sequence(std::vector<Value>(100, Ints({1})))};
  std::array<Value, 1> outputs;
  EXPECT_THAT(TextOf(invocation.Run(std::span<const Value>(inputs), std::span<Value>(outputs))),
              HasSubstr("sequence needs"));
  inputs[0] = Value::Sequence({Ints({1})});
  EXPECT_EQ(TextOf(invocation.Run(std::span<const Value>(inputs), std::span<Value>(outputs))), "");
}

}  // namespace
}  // namespace tvmvm
