// What takes long asks whether the run is to end, often enough, and does nothing more once it is.
#include <gmock/gmock.h>

#include <chrono>
#include <numeric>

#include "tests/vm/test_kernels.h"
#include "tests/vm/text_program.h"
#include "vm/host/host_library.h"
#include "vm/objects/copy_bytes.h"

namespace tvmvm {
namespace {

using namespace std::chrono_literals;

struct Counter final : CancelToken {
  bool cancelled() const override { return ++asked >= last; }
  mutable int64_t asked = 0;
  int64_t last = INT64_MAX;  // the question that is answered with yes
};

// Calls of host functions on objects of its own.
class Host {
 public:
  ~Host() {
    for (Object* object : owned_) pool_.Release(object);
  }

  TensorObject* Texts(const std::vector<std::string>& texts) {
    TensorObject* tensor =
        *pool_.AllocateTensor(DType::kString, Shape{static_cast<int64_t>(texts.size())}, "");
    *tensor->buffer->strings = texts;
    owned_.push_back(tensor);
    return tensor;
  }
  template <class T>
  TensorObject* Numbers(DType dtype, const std::vector<T>& numbers, Shape shape = {}) {
    if (shape.rank() == 0) shape.push_back(static_cast<int64_t>(numbers.size()));
    TensorObject* tensor = *pool_.AllocateTensor(dtype, shape, "");
    std::copy(numbers.begin(), numbers.end(), reinterpret_cast<T*>(tensor->data));
    owned_.push_back(tensor);
    return tensor;
  }

  Status Call(Status (*function)(HostCall&), std::vector<int64_t> scalars, std::vector<Object*> refs) {
    int64_t numbers[4] = {};
    Object* results[4] = {};
    HostCall call{scalars, refs, numbers, results, pool_, cancel, deadline_ns};
    Status status = function(call);
    for (Object* result : results) pool_.Release(result);
    return status;
  }

  Counter cancel;
  int64_t deadline_ns = 0;
  Budget budget;

 private:
  ObjectPool pool_{nullptr, &budget};
  std::vector<Object*> owned_;
};

struct LongCall {
  const char* name;
  int64_t asks;  // at least
  Status (*run)(Host&);
};

std::string Repeated(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}
template <class T>
std::vector<T> Counted(int64_t count) {
  std::vector<T> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), T(0));
  return numbers;
}

// None of which overlaps another one.
std::vector<float> BoxesApart(int count) {
  std::vector<float> boxes;
  for (int i = 0; i < count; ++i)
    boxes.insert(boxes.end(), {2.0f * static_cast<float>(i), 0, 2.0f * static_cast<float>(i) + 1, 1});
  return boxes;
}

constexpr LongCall kLongCalls[] = {
    {"one text split by a delimiter", 40,
     [](Host& h) {
       return h.Call(HostStringSplit, {-1, 1}, {h.Texts({Repeated("a,", 500'000)}), h.Texts({","})});
     }},
    {"one text split into words", 40,
     [](Host& h) {
       return h.Call(HostStringSplit, {-1, 0}, {h.Texts({Repeated("a ", 500'000)}), nullptr});
     }},
    {"one text of spaces", 20,
     [](Host& h) {
       return h.Call(HostStringSplit, {-1, 0}, {h.Texts({Repeated(" ", 1'000'000)}), nullptr});
     }},
    {"one word", 40,
     [](Host& h) {
       return h.Call(HostStringSplit, {-1, 0}, {h.Texts({Repeated("a", 4'000'000)}), nullptr});
     }},
    {"a long delimiter that nearly occurs", 1000,
     [](Host& h) {
       return h.Call(HostStringSplit, {-1, 1},
                     {h.Texts({Repeated("a", 40'000)}), h.Texts({Repeated("a", 20'000) + "b"})});
     }},
    {"one text in small letters", 40,
     [](Host& h) {
       return h.Call(HostStringNormalize, {1, 1}, {h.Texts({Repeated("A", 1'000'000)}), nullptr});
     }},
    {"one text compared with stop words", 40,
     [](Host& h) {
       return h.Call(HostStringNormalize, {0, 0}, {h.Texts({Repeated("A", 1'000'000)}), h.Texts({"b"})});
     }},
    {"distinct ones of long texts", 16,
     [](Host& h) {
       const std::string text = Repeated("a", 4'000'000);
       return h.Call(HostUnique, {-1, 1}, {h.Texts({text + "b", text, text + "c"})});
     }},
    {"distinct ones of long slices", 10,
     [](Host& h) {
       std::vector<float> numbers(1'200'000, 1);
       numbers.back() = 2;
       return h.Call(HostUnique, {0, 1}, {h.Numbers(DType::kF32, numbers, Shape{3, 400'000})});
     }},
    {"two long texts joined", 6,
     [](Host& h) {
       return h.Call(HostStringConcat, {},
                     {h.Texts({Repeated("a", 4'000'000)}), h.Texts({Repeated("b", 4'000'000)})});
     }},
    {"one long text taken twice", 6,
     [](Host& h) {
       return h.Call(HostStringTake, {},
                     {h.Numbers<int64_t>(DType::kI64, {0, 0}), h.Texts({Repeated("a", 4'000'000)})});
     }},
    {"numbers as texts", 40,
     [](Host& h) {
       return h.Call(HostStringFromNumbers, {}, {h.Numbers(DType::kF32, Counted<float>(50'000))});
     }},
    {"texts as numbers", 20,
     [](Host& h) {
       return h.Call(HostStringToNumbers, {static_cast<int64_t>(DType::kF32)},
                     {h.Texts(std::vector<std::string>(50'000, "1.5"))});
     }},
    {"distinct numbers, sorted", 200,
     [](Host& h) {
       return h.Call(HostUnique, {-1, 1}, {h.Numbers(DType::kF32, Counted<float>(200'000))});
     }},
    {"boxes that are all kept", 1000,
     [](Host& h) {
       return h.Call(HostNonMaxSuppression, {0, INT64_MAX},
                     {h.Numbers(DType::kF32, BoxesApart(20'000), Shape{1, 20'000, 4}),
                      h.Numbers(DType::kF32, Counted<float>(20'000), Shape{1, 1, 20'000}), nullptr, nullptr});
     }},
    {"many boxes, one of which is kept", 100,
     [](Host& h) {
       return h.Call(
           HostNonMaxSuppression, {0, 1},
           {h.Numbers(DType::kF32, std::vector<float>(4 * 400'000), Shape{1, 400'000, 4}),
            h.Numbers(DType::kF32, Counted<float>(400'000), Shape{1, 1, 400'000}), nullptr, nullptr});
     }},
    {"indices", 12,
     [](Host& h) {
       return h.Call(HostIndicesCheck, {},
                     {h.Numbers(DType::kI64, Counted<int64_t>(1'000'000)),
                      h.Numbers<int64_t>(DType::kI64, {1'000'000})});
     }},
    {"rows behind a large tensor", 3,
     [](Host& h) {
       return h.Call(
           HostTensorAppend, {0},
           {h.Numbers(DType::kU8, std::vector<uint8_t>(16 << 20)), h.Numbers<uint8_t>(DType::kU8, {1})});
     }},
};

TEST(HostLimits, LongCallsAskOften) {
  for (const LongCall& call : kLongCalls) {
    Host host;
    const Status status = call.run(host);
    EXPECT_TRUE(status) << call.name << ": " << status.error().message;
    EXPECT_GE(host.cancel.asked, call.asks) << call.name;
  }
}

TEST(HostLimits, LongCallsEndWhereTheyAreToldTo) {
  for (const LongCall& call : kLongCalls)
    for (const int64_t last : {int64_t{1}, call.asks / 2, call.asks}) {
      Host host;
      host.cancel.last = last;
      const Status status = call.run(host);
      ASSERT_FALSE(status) << call.name;
      EXPECT_EQ(status.error().code, Code::kCancelled) << call.name;
      EXPECT_EQ(host.cancel.asked, last) << call.name;
    }
}

TEST(HostLimits, CallsGiveBackWhatTheyCharged) {
  for (const LongCall& call : kLongCalls) {
    Host host;
    host.cancel.last = call.asks;
    EXPECT_FALSE(call.run(host));
    const int64_t stopped = host.budget.live_bytes();
    host.cancel.last = INT64_MAX;
    Host other;
    EXPECT_TRUE(call.run(other));
    EXPECT_EQ(stopped, other.budget.live_bytes()) << call.name << ": only operands are left";
  }
}

TEST(HostLimits, BoxesThatAreKeptCount) {
  constexpr int64_t kCount = 20'000;
  Host host;
  const std::vector<Object*> operands = {
      host.Numbers(DType::kF32, BoxesApart(kCount), Shape{1, kCount, 4}),
      host.Numbers(DType::kF32, Counted<float>(kCount), Shape{1, 1, kCount}), nullptr, nullptr};
  EXPECT_TRUE(host.Call(HostNonMaxSuppression, {0, kCount}, operands));
  // The boxes' corners, their scores and the result would fit, the growing table of what is kept does not.
  host.budget.set_limit(host.budget.account().held_bytes() + 1'700'000);
  const Status status = host.Call(HostNonMaxSuppression, {0, kCount}, operands);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kOutOfMemory);
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("scratch needs 786432 bytes"));
}

TEST(CopyBytes, MovesAsMemmoveDoes) {
  constexpr int64_t kCount = (9 << 20) + 3, kApart = 1000;
  std::vector<char> from(kCount + kApart), forwards, backwards;
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 / 3);
  const Counter never;
  forwards = backwards = from;
  EXPECT_TRUE(CopyBytes(never, forwards.data() + kApart, forwards.data(), kCount));
  EXPECT_TRUE(CopyBytes(never, backwards.data(), backwards.data() + kApart, kCount));
  EXPECT_TRUE(std::equal(from.begin(), from.begin() + kCount, forwards.begin() + kApart));
  EXPECT_TRUE(std::equal(from.begin() + kApart, from.end(), backwards.begin()));
  EXPECT_TRUE(FillBytes(never, from.data(), 5, kCount));
  EXPECT_THAT(std::vector<char>(from.begin(), from.begin() + kCount), ::testing::Each(5));
}

TEST(CopyBytes, EndsWithinLongOnes) {
  std::vector<char> from(16 << 20, 1), to(16 << 20);
  Counter counter;
  counter.last = 2;
  EXPECT_FALSE(CopyBytes(counter, to.data(), from.data(), static_cast<int64_t>(to.size())));
  EXPECT_EQ(counter.asked, 2);
  EXPECT_EQ(to.back(), 0);
  counter.asked = 0;
  EXPECT_FALSE(FillBytes(counter, to.data(), 3, static_cast<int64_t>(to.size())));
  EXPECT_EQ(to.back(), 0);
}

// RE2 cannot be interrupted: what may take longer than there is time for is not begun. The pattern has a
// thousand instructions, so that a byte may take 40 us; these take a nanosecond.
TEST(HostLimits, TextsAreMatchedAsFarAsThereIsTime) {
  const std::string text = Repeated("a", 1'000'000);
  auto error_within = [&](std::chrono::nanoseconds time) {
    Host host;
    const auto end = std::chrono::steady_clock::now() + time;
    host.deadline_ns = std::chrono::nanoseconds(end.time_since_epoch()).count();
    return testing::TextOf(
        host.Call(HostStringMatch, {}, {host.Texts({text}), host.Texts({"[a-z]*|x{1000}"})}));
  };
  EXPECT_EQ(error_within(10s), "") << "by longer and longer beginnings";
  EXPECT_EQ(error_within(1h), "") << "at once";
  for (const std::chrono::nanoseconds time : std::array<std::chrono::nanoseconds, 3>{-1s, 0s, 50us})
    EXPECT_THAT(
        error_within(time),
        ::testing::MatchesRegex("deadline_exceeded: to match a text of 1000000 bytes may take longer than "
                                "the [0-9]+ microseconds that are left"));
}

}  // namespace
}  // namespace tvmvm
