// The host library's functions on strings, with results stated by the ONNX documentation's examples.
#include <gmock/gmock.h>

#include "tests/vm/host_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Strings = std::vector<std::string>;

TEST(StringTake, CountsThroughAllTensors) {
  auto outputs = RunHost(R"(("p": i64[*], "a": string[*], "b": string[*]) -> ("y": string[*]))",
                         "[], [r3] = host string.take, [], [r0, r1, r2]\n return [], [r3]",
                         {Shaped(Ints({3, 0, 1, 3}), Shape{2, 2}), Texts({"a", "b"}),
                          Shaped(Texts({"c", "a text that is too long for the small buffer"}), Shape{2, 1})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 2}));
  EXPECT_THAT(outputs[0].strings(), ElementsAre(HasSubstr("too long"), "a", "b", HasSubstr("too long")));
  for (int64_t position : {int64_t{4}, int64_t{-1}})
    EXPECT_THAT(
        RunHostError(R"(("p": i64[*], "a": string[*], "b": string[*]) -> ("y": string[*]))",
                     "[], [r3] = host string.take, [], [r0, r1, r2]\n return [], [r3]",
                     {Ints({position}), Texts({"a", "b"}), Texts({"c", "d"})}),
        HasSubstr("string.take: position " + std::to_string(position) + " of 4 strings (node /node)"));
  EXPECT_THAT(RunHostError(R"(("p": f32[*]) -> ("y": string[*]))",
                           "[], [r3] = host string.take, [], [r0]\n return [], [r3]", {Floats({0})}),
              HasSubstr("'positions' must be a tensor of i64, it is one of f32"));
}

TEST(StringTake, TextsCountAgainstTheBudget) {
  Limits limits;
  limits.max_bytes = 1'000'000;
  EXPECT_THAT(RunHostError(R"(("p": i64[*], "a": string[*]) -> ("y": string[*]))",
                           "[], [r3] = host string.take, [], [r0, r1]\n return [], [r3]",
                           {Ints(std::vector<int64_t>(100)), Texts({std::string(100'000, 'x')})}, limits),
              AllOf(StartsWith("out_of_memory"), HasSubstr("strings needs 10000100 bytes")));
}

TEST(StringIds, AreEqualForEqualTexts) {
  auto outputs = RunHost(R"(("a": string[*], "b": string[*]) -> ("x": i64[*], "y": i64[*]))",
                         "[], [r2, r3] = host string.ids, [], [r0, r1]\n return [], [r2, r3]",
                         {Texts({"x", "y", "x"}), Texts({"y", "z"})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(0, 1, 0));
  EXPECT_THAT(ToInts(outputs[1]), ElementsAre(1, 2));
}

TEST(StringConcat, JoinsElementByElement) {
  constexpr std::string_view kSignature = R"(("a": string[*], "b": string[*]) -> ("y": string[*]))";
  constexpr std::string_view kBody = "[], [r2] = host string.concat, [], [r0, r1]\n return [], [r2]";
  auto outputs = RunHost(kSignature, kBody, {Texts({"abc", "def"}), Texts({".com", ".net"})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(outputs[0].strings(), ElementsAre("abc.com", "def.net"));
  EXPECT_THAT(RunHostError(kSignature, kBody, {Texts({"a"}), Texts({"b", "c"})}),
              HasSubstr("shapes [1] and [2] differ"));
}

struct Split {
  std::vector<std::string> texts;
  std::string delimiter;
  int64_t most;
  Shape shape;
  std::vector<std::string> pieces;
  std::vector<int64_t> counts;
};

TEST(StringSplit, AsDocumented) {
  const Split cases[] = {
      {{"abc.com", "abc.net"}, ".", -1, {2, 2}, {"abc", "com", "abc", "net"}, {2, 2}},
      {{"a", "b c", " d  e f "}, "", -1, {3, 3}, {"a", "", "", "b", "c", "", "d", "e", "f"}, {1, 2, 3}},
      {{"o-n-n--x-", "o-n----nx"},
       "-",
       -1,
       {2, 6},
       {"o", "n", "n", "", "x", "", "o", "n", "", "", "", "nx"},
       {6, 6}},
      {{"hello world", "def.net"}, "", 1, {2, 2}, {"hello", "world", "def.net", ""}, {2, 1}},
      {{" a  b c "}, "", 1, {1, 2}, {"a", "b c "}, {2}},
      {{"a,b,c"}, ",", 0, {1, 1}, {"a,b,c"}, {1}},
      {{""}, ",", -1, {1, 1}, {""}, {1}},
      {{"", "  "}, "", -1, {2, 0}, {}, {0, 0}},
      {{}, "", -1, {0, 0}, {}, {}},
  };
  for (const Split& split : cases) {
    auto outputs = RunHost(R"(("x": string[*], "d": string[*]) -> ("y": string[*], "z": i64[*]))",
                           "i0 = const " + std::to_string(split.most) +
                               "\n i1 = const 1\n [], [r2, r3] = host string.split, [i0, i1], [r0, r1]\n"
                               " return [], [r2, r3]",
                           {Texts(split.texts), Shaped(Texts({split.delimiter}), Shape{})});
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_EQ(outputs[0].shape(), split.shape);
    EXPECT_THAT(outputs[0].strings(), ElementsAreArray(split.pieces));
    EXPECT_THAT(ToInts(outputs[1]), ElementsAreArray(split.counts));
  }
}

TEST(StringMatch, MatchesTheWholeText) {
  constexpr std::string_view kSignature = R"(("x": string[*], "p": string[*]) -> ("y": bool[*]))";
  constexpr std::string_view kBody = "[], [r2] = host string.match, [], [r0, r1]\n return [], [r2]";
  auto match = [&](Strings texts, std::string pattern) {
    auto outputs =
        RunHost(kSignature, kBody, {Texts(std::move(texts)), Shaped(Texts({std::move(pattern)}), Shape{})});
    if (outputs.empty()) return std::vector<int>{-1};
    auto* data = static_cast<const uint8_t*>(outputs[0].data());
    return std::vector<int>(data, data + outputs[0].element_count());
  };
  EXPECT_THAT(match({"www.google.com", "www.facebook.com", "www.bbc.co.uk"}, R"(www\.[\w.-]+\.\bcom\b)"),
              ElementsAre(1, 1, 0));
  EXPECT_THAT(match({"account@gmail.com", "not email", "account@yahoo.com"},
                    R"((\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$))"),
              ElementsAre(1, 0, 1));
  EXPECT_THAT(match({}, "a"), IsEmpty());
  EXPECT_THAT(match({"größe", "groesse"}, "gr.+e"), ElementsAre(1, 1));
  EXPECT_THAT(RunHostError(kSignature, kBody, {Texts({"a"}), Shaped(Texts({"(a"}), Shape{})}),
              HasSubstr("string.match: pattern '(a': missing ): (a (node /node)"));
}

TEST(StringNormalize, AsDocumented) {
  auto normalize = [](int change, int case_matters, Tensor texts, Strings stop_words) {
    auto outputs =
        RunHost(R"(("x": string[*], "s": string[*]) -> ("y": string[*]))",
                "i0 = const " + std::to_string(change) + "\n i1 = const " + std::to_string(case_matters) +
                    "\n [], [r2] = host string.normalize, [i0, i1], [r0, r1]\n return [], [r2]",
                {std::move(texts), Texts(std::move(stop_words))});
    return outputs.empty() ? Tensor() : outputs[0];
  };
  const Strings days = {"monday", "tuesday", "wednesday", "thursday"};
  EXPECT_THAT(normalize(0, 1, Texts(days), {"monday"}).strings(),
              ElementsAre("tuesday", "wednesday", "thursday"));
  EXPECT_THAT(normalize(1, 1, Texts({"Monday", "tuesday"}), {"monday"}).strings(),
              ElementsAre("monday", "tuesday"));
  EXPECT_THAT(normalize(2, 1, Texts(days), {"monday"}).strings(),
              ElementsAre("TUESDAY", "WEDNESDAY", "THURSDAY"));
  EXPECT_THAT(normalize(2, 0, Shaped(Texts({"Monday", "tuesday"}), Shape{1, 2}), {"monday"}).strings(),
              ElementsAre("TUESDAY"));
  const Tensor none = normalize(2, 1, Shaped(Texts({"monday", "monday"}), Shape{1, 2}), {"monday"});
  EXPECT_EQ(none.shape(), (Shape{1, 1}));
  EXPECT_THAT(none.strings(), ElementsAre(""));
  EXPECT_THAT(normalize(2, 1, Texts({"größe", "ελλάδα", "привет", "\xff\xc3", "ǆ", "straße"}), {}).strings(),
              ElementsAre("GRÖßE", "ΕΛΛΆΔΑ", "ПРИВЕТ", "\xff\xc3", "Ǆ", "STRAßE"));
  EXPECT_THAT(normalize(1, 1, Texts({"GRÖSSE", "ΕΛΛΆΔΑ", "Ａ"}), {}).strings(),
              ElementsAre("grösse", "ελλάδα", "ａ"));
  EXPECT_THAT(
      RunHostError(R"(("x": string[*]) -> ("y": string[*]))",
                   "i0 = const 0\n r1 = release\n [], [r2] = host string.normalize, [i0, i0], [r0, r1]\n"
                   " return [], [r2]",
                   {Shaped(Texts({"a", "b"}), Shape{2, 1})}),
      HasSubstr("'strings' must have shape [C] or [1, C], it has [2, 1]"));
}

std::vector<std::string> FromNumbers(Tensor numbers) {
  const std::string dtype(DTypeName(numbers.dtype()));
  auto outputs =
      RunHost("(\"x\": " + dtype + "[*]) -> (\"y\": string[*])",
              "[], [r1] = host string.from_numbers, [], [r0]\n return [], [r1]", {std::move(numbers)});
  return outputs.empty() ? Strings{} : outputs[0].strings();
}

TEST(StringFromNumbers, ShortestDigitsThatGiveTheNumberBack) {
  EXPECT_THAT(FromNumbers(Floats({0.1f, 1, -2.5f, 100, 0.00001f, 1e8f, 1e9f, 1234567.0f, 0.47892547f, 0,
                                  -0.0f, 1.0f / 3, 123.456f, 3.4028235e38f})),
              ElementsAre("0.1", "1", "-2.5", "100", "1e-05", "100000000", "1e+09", "1234567", "0.47892547",
                          "0", "-0", "0.33333334", "123.456", "3.4028235e+38"));
  EXPECT_THAT(FromNumbers(Floats({NAN, INFINITY, -INFINITY})), ElementsAre("NaN", "INF", "-INF"));
  EXPECT_THAT(FromNumbers(Ints({0, -5, INT64_MIN})), ElementsAre("0", "-5", "-9223372036854775808"));
  double wide[] = {0.1, 1e16, 1.0 / 3};
  EXPECT_THAT(FromNumbers(Tensor::Borrow(DType::kF64, Shape{3}, wide)),
              ElementsAre("0.1", "10000000000000000", "0.3333333333333333"));
  uint64_t large[] = {UINT64_MAX};
  EXPECT_THAT(FromNumbers(Tensor::Borrow(DType::kU64, Shape{1}, large)), ElementsAre("18446744073709551615"));
}

// The result, or the error as a text.
template <class T>
std::vector<T> ToNumbers(DType dtype, Strings texts, std::string* error = nullptr) {
  const std::string signature = "(\"x\": string[*]) -> (\"y\": " + std::string(DTypeName(dtype)) + "[*])";
  const std::string body = "i0 = const " + std::to_string(static_cast<int>(dtype)) +
                           "\n [], [r1] = host string.to_numbers, [i0], [r0]\n return [], [r1]";
  if (error != nullptr) {
    *error = RunHostError(signature, body, {Texts(std::move(texts))});
    return {};
  }
  auto outputs = RunHost(signature, body, {Texts(std::move(texts))});
  if (outputs.empty()) return {};
  auto* data = static_cast<const T*>(outputs[0].data());
  return {data, data + outputs[0].element_count()};
}

TEST(StringToNumbers, PlainAndScientific) {
  EXPECT_THAT(
      ToNumbers<float>(DType::kF32, {"3.14", "1000", "1e-5", "1E8", " +2 ", "INF", "+INF", "-INF", "-0.5",
                                     "1e99", "-1e-99"}),
      ElementsAre(3.14f, 1000, 1e-5f, 1e8f, 2, INFINITY, INFINITY, -INFINITY, -0.5f, INFINITY, -0.0f));
  EXPECT_TRUE(std::isnan(ToNumbers<float>(DType::kF32, {"NaN"}).at(0)));
  EXPECT_THAT(ToNumbers<int64_t>(DType::kI64, {"100.5", "-7", "1E2", "9223372036854775807"}),
              ElementsAre(100, -7, 100, INT64_MAX));
  EXPECT_THAT(ToNumbers<uint64_t>(DType::kU64, {"18446744073709551615"}), ElementsAre(UINT64_MAX));
  EXPECT_THAT(ToNumbers<uint8_t>(DType::kBool, {"1", "0", "True", "false", "0.5"}),
              ElementsAre(1, 0, 1, 0, 1));
  EXPECT_THAT(ToNumbers<uint16_t>(DType::kF16, {"1", "-2"}), ElementsAre(0x3c00, 0xc000));
}

TEST(StringToNumbers, WhatIsNoNumberIsAnError) {
  std::string error;
  for (const char* text : {"", "abc", "1x", "--1", "+-1", "0x10", "1e", "1 2"}) {
    ToNumbers<float>(DType::kF32, {"1", text}, &error);
    EXPECT_THAT(error,
                HasSubstr("string.to_numbers: element 1, '" + std::string(text) + "', is no number of f32"));
  }
  for (const char* text : {"128", "-129", "1e9", "NaN", "INF"}) {
    ToNumbers<int8_t>(DType::kI8, {text}, &error);
    EXPECT_THAT(error, HasSubstr("is no number of i8"));
  }
  ToNumbers<int64_t>(DType::kI64, {"9223372036854775808"}, &error);
  EXPECT_THAT(error, HasSubstr("is no number of i64"));
}

}  // namespace
}  // namespace tvmvm
