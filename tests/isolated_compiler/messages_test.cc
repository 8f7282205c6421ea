// Whatever options and results hold crosses to the other process and back, and no bytes harm who reads them.
#include "isolated_compiler/messages.h"

#include <gmock/gmock.h>

#include <random>

#include "isolated_compiler/answer_stream.h"
#include "isolated_compiler/members.h"
#include "serializer/protobuf_writer.h"

namespace tvmvm::isolated {
namespace {

using ::testing::HasSubstr;

template <class T>
concept HasMembers = requires(T& value) {
  Members(value);
};

// Makes it another one than a new object has.
void Change(bool& value) { value = !value; }
template <class T>
requires std::integral<T> || std::is_enum_v<T>
void Change(T& value) { value = static_cast<T>(static_cast<uint64_t>(value) + 1); }
void Change(double& value) { value -= 1.0 / 3; }
void Change(std::string& value) { value += std::string("\0\xff text", 7); }
template <class... Arguments>
void Change(std::function<void(Arguments...)>& value) {
  value = [](Arguments...) {};
}
template <class First, class Second>
void Change(std::pair<First, Second>& value);
template <class T>
void Change(std::vector<T>& value);
template <class T>
void Change(std::map<std::string, T>& value);
template <HasMembers T>
void Change(T& value) {
  std::apply([](auto&... member) { (Change(member), ...); }, Members(value));
}
template <class First, class Second>
void Change(std::pair<First, Second>& value) {
  Change(value.first);
  Change(value.second);
}
template <class T>
void Change(std::vector<T>& value) {
  value.assign(2, T());
  Change(value.back());
}
template <class T>
void Change(std::map<std::string, T>& value) {
  Change(value["symbol"]);
  value[""];
}

template <class T>
bool Same(const T& a, const T& b) {
  return a == b;
}
template <class... Arguments>
bool Same(const std::function<void(Arguments...)>& a, const std::function<void(Arguments...)>& b) {
  return (a == nullptr) == (b == nullptr);
}
template <HasMembers T>
bool Same(const T& a, const T& b);
template <HasMembers T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return Same(x, y); });
}
template <HasMembers T>
bool Same(const std::map<std::string, T>& a, const std::map<std::string, T>& b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return x.first == y.first && Same(x.second, y.second); });
}

// As bits, whose n-th says whether member n is the same in both.
template <HasMembers T>
std::vector<bool> SameMembers(const T& a, const T& b) {
  auto of_a = Members(const_cast<T&>(a)), of_b = Members(const_cast<T&>(b));
  return [&]<size_t... kAt>(std::index_sequence<kAt...>) {
    return std::vector<bool>{Same(std::get<kAt>(of_a), std::get<kAt>(of_b))...};
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(of_a)>>());
}
template <HasMembers T>
bool Same(const T& a, const T& b) {
  for (const bool same : SameMembers(a, b))
    if (!same) return false;
  return true;
}

// Each member by itself: it arrives changed, and the others as they were.
template <class T, class RoundTrip>
void CheckEachMember(RoundTrip round_trip) {
  constexpr size_t kCount = std::tuple_size_v<decltype(Members(std::declval<T&>()))>;
  [&]<size_t... kAt>(std::index_sequence<kAt...>) {
    const auto check = [&](size_t at, auto change) {
      T sent;
      change(sent);
      const T received = round_trip(sent);
      EXPECT_EQ(SameMembers(sent, received), std::vector<bool>(kCount, true)) << at;
      std::vector<bool> as_new(kCount, true);
      as_new[at] = false;
      EXPECT_EQ(SameMembers(received, T()), as_new) << at;
    };
    (check(kAt, [](T& sent) { Change(std::get<kAt>(Members(sent))); }), ...);
  }
  (std::make_index_sequence<kCount>());
}

TEST(IsolatedMessages, EveryOptionArrives) {
  CheckEachMember<CompileOptions>([](const CompileOptions& options) {
    auto request = DecodeRequest(Encode(Request{.options = options}));
    EXPECT_TRUE(request) << request.error().message;
    return request->options;
  });
}

TEST(IsolatedMessages, EveryPartOfAResultArrives) {
  CheckEachMember<CompileResult>([](const CompileResult& result) {
    auto answer = DecodeAnswer(Encode(Answer{.kind = AnswerKind::kResult, .result = result}));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer->result;
  });
}

TEST(IsolatedMessages, ListsThatAreEmptyArriveEmpty) {
  CompileOptions options;
  options.devices.clear();
  options.schedules_name.clear();
  auto request = DecodeRequest(Encode(Request{.path = "m.onnx", .max_bytes = 7, .options = options}));
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->options.devices.empty());
  EXPECT_TRUE(request->options.schedules_name.empty());
  EXPECT_EQ(request->path, "m.onnx");
  EXPECT_EQ(request->max_bytes, 7);
}

TEST(IsolatedMessages, OtherVersionsKindsAndCodesAreRefused) {
  EXPECT_THAT(DecodeAnswer("").error().message, HasSubstr("version 0.0.0"));
  EXPECT_THAT(DecodeAnswer(Encode(Answer{.version = 1})).error().message, HasSubstr("version 0.0.1"));
  for (const int kind : {0, 5, -1})
    EXPECT_FALSE(DecodeAnswer(Encode(Answer{.kind = static_cast<AnswerKind>(kind)}))) << kind;
  for (const int code : {0, 11, 200})
    EXPECT_FALSE(DecodeAnswer(Encode(Answer{.code = static_cast<Code>(code)}))) << code;
}

TEST(IsolatedMessages, AnyBytesGiveAnAnswerOrAnError) {
  Answer answer{.kind = AnswerKind::kResult, .text = "text", .fraction = 0.5};
  Change(answer.result);
  const std::string good = Encode(answer);
  for (size_t size = 0; size < good.size(); ++size) (void)DecodeAnswer(good.substr(0, size));
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    (void)DecodeAnswer(bytes);
  }
}

// An element takes two bytes there, and much more here.
TEST(IsolatedMessages, SmallFieldsDoNotBecomeMuchMemory) {
  std::string result, one_warning("\x0a\x00", 2);
  for (int i = 0; i < (1 << 20) + 1; ++i) result += one_warning;
  std::string bytes = Encode(Answer{.kind = AnswerKind::kResult});
  protozero::pbf_writer(bytes).add_bytes(6, result);
  EXPECT_FALSE(DecodeAnswer(bytes));
}

TEST(IsolatedMessages, StreamsAreCutIntoAnswers) {
  AnswerStream stream;
  const std::string frame = Framed({.kind = AnswerKind::kPrint, .text = "a"});
  const std::string both = frame + Framed({.kind = AnswerKind::kPrint, .text = "b"});
  std::string texts;
  for (const char c : both) {
    stream.Add({&c, 1});
    auto answer = stream.Next();
    ASSERT_TRUE(answer);
    if (*answer) texts += (*answer)->text;
  }
  EXPECT_EQ(texts, "ab");
  stream.Add("\xff\xff\xff\xff");
  EXPECT_THAT(stream.Next().error().message, HasSubstr("an answer of 4294967295 bytes"));
}

}  // namespace
}  // namespace tvmvm::isolated
