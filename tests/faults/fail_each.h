// What is done once for each of its calls that can fail, with that one failing.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/faults/faults.h"
#include "tests/sanitizer.h"
#include "tests/vm/text_program.h"
#include "tvm-vm/value.h"

namespace tvmvm::testing {

struct Fault {
  std::string name;
  uint32_t kinds = 0;
  Then then = Then::kOnce;
  int error = 0;
  bool loses_memory = false;  // what others wrote does not give back all the memory that it held
  friend std::ostream& operator<<(std::ostream& out, const Fault& fault) { return out << fault.name; }
};

inline std::vector<Fault> MemoryFaults() {
  uint32_t kinds = 0;
  for (uint32_t kind : {kMalloc, kHostHeap, kMap})
    if (CanFail(kind)) kinds |= kind;
  return {{"once", kinds, Then::kOnce}, {"onwards", kinds, Then::kOnwards}};
}

// Of a test for each model and each fault.
inline std::string NameOfFault(const ::testing::TestParamInfo<std::tuple<std::string, Fault>>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
}

inline bool AnyMore(const DriverObjects& after, const DriverObjects& before) {
  for (size_t i = 0; i < after.size(); ++i)
    if (after[i] > before[i]) return true;
  return false;
}

// Runs `step` until nothing in it fails any more: at first its first call fails, then its second, and so on.
// An error of a step in which something failed has to be `is_right`. Afterwards, and after `recover`, the
// process holds what it held before.
inline void FailEach(
    const std::string& what, const Fault& fault, const std::function<Status()>& step,
    const std::function<bool(const Error&)>& is_right, const std::function<void()>& recover = [] {}) {
  ASSERT_EQ(TextOf(step()), "") << what << ", nothing fails";
  recover();
  bool has_failed = true;
  int64_t number = 0;
  for (; has_failed && !::testing::Test::HasFatalFailure(); ++number) {
    ASSERT_LT(number, 100'000) << what;
    // What the C library keeps for ever, such as the room for a message, it asks for once.
    for (int attempt = 0;; ++attempt) {
      const std::string place = what + ", call " + std::to_string(number);
      const Held before = HeldNow();
      Status status;
      {
        std::optional<IgnoredLeaks> ignored;
        if (fault.loses_memory) ignored.emplace();
        const Failing failing(fault.kinds, number, fault.then, fault.error);
        status = step();
        has_failed = failing.has_failed();
      }
      if (!status && !(has_failed && is_right(status.error()))) {
        ADD_FAILURE() << place << ": " << TextOf(status);
        recover();
        break;
      }
      status = {};
      recover();
      const Held after = HeldNow();
      // Drivers' memory is kept in blocks, now more, now fewer.
      if (fault.loses_memory ? !AnyMore(after.driver_objects, before.driver_objects) : after == before) break;
      if (attempt == 2) {
        ADD_FAILURE() << place << ": " << after << " are held, before it " << before;
        break;
      }
    }
  }
  // Under a sanitizer the host's heap does not fail, and it may be all that was asked.
  EXPECT_GT(number, kSanitized && (fault.kinds & kMalloc) != 0 ? 0 : 1) << what << ": nothing failed";
}

inline bool IsOutOfMemory(const Error& error) { return error.code == Code::kOutOfMemory; }

inline bool IsSame(const Value& a, const Value& b) {
  if (a.kind_name() != b.kind_name()) return false;
  if (a.is_none()) return true;
  if (!a.is_tensor())
    return std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(), b.elements().end(),
                      IsSame);
  const Tensor &x = a.tensor(), &y = b.tensor();
  if (x.dtype() != y.dtype() || !(x.shape() == y.shape())) return false;
  if (x.dtype() == DType::kString) return x.strings() == y.strings();
  return x.byte_count() == 0 || std::memcmp(x.data(), y.data(), static_cast<size_t>(x.byte_count())) == 0;
}

}  // namespace tvmvm::testing
