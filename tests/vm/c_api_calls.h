// What every function and every struct of the C interface has to bear: null objects, numbers below 0, structs
// of other versions.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include "tests/folders.h"
#include "tests/vm/c_api_session.h"

namespace tvmvm::testing {

// Whether a call gave what it has to; calls that end the process end the test.
using Calls = std::multimap<std::string, std::function<bool()>>;

inline bool Refused(tvmvm_status* status) {
  const bool refused =
      tvmvm_status_code(status) == TVMVM_INVALID_ARGUMENT && *tvmvm_status_message(status) != '\0';
  tvmvm_status_free(status);
  return refused;
}

#define REFUSES(function, ...)                                \
  {                                                           \
#function, [&] { return Refused(function(__VA_ARGS__)); } \
  }
#define ANSWERS(function, answer, ...)                           \
  {                                                              \
#function, [&] { return function(__VA_ARGS__) == (answer); } \
  }
#define IS_EMPTY(function, ...)                                            \
  {                                                                        \
#function, [&] { return std::strcmp(function(__VA_ARGS__), "") == 0; } \
  }
#define RETURNS(function, ...)                             \
  {                                                        \
#function, [&] { return function(__VA_ARGS__), true; } \
  }

inline void ExpectAll(const Calls& calls) {
  for (const auto& [name, call] : calls) EXPECT_TRUE(call()) << name;
}

// A struct with one member below 0, and whatever takes it.
template <class Struct, class Integer, class Call>
void ExpectNotNegative(Integer Struct::*member, const char* name, const Call& call) {
  Struct given = {};
  given.size = sizeof given;
  given.*member = -3;
  EXPECT_EQ(Take(call(&given)), std::string(name) + " is -3, at least 0 is wanted");
}

// Every function that the header declares is among the calls.
inline void ExpectNoneIsMissing(const Calls& calls, const std::string& name) {
  std::ifstream file(SourcePath("include/tvm-vm/") + name);
  const std::string header{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(header, "");
  static const std::regex declaration(R"(\b(tvmvm_\w+)\()");
  for (std::sregex_iterator at(header.begin(), header.end(), declaration), end; at != end; ++at)
    EXPECT_TRUE(calls.contains((*at)[1])) << (*at)[1];
}

// A struct as a later version may have it: today's members and some more.
template <class T>
struct Later {
  T known;
  int64_t more[2];
  Later() : known(), more() { known.size = sizeof *this; }
};

// What `use` says of structs of all sizes.
template <class T, class Use>
void ExpectTolerant(const char* name, size_t first, Use use) {
  T today = {};
  today.size = sizeof today;
  EXPECT_EQ(use(&today), "") << name;
  today.size = first;
  EXPECT_EQ(use(&today), "") << name;
  for (const size_t wrong : {size_t{0}, first - 1, size_t{1} << 40, SIZE_MAX}) {
    today.size = wrong;
    EXPECT_THAT(use(&today), ::testing::HasSubstr(std::string(name) + ".size is " + std::to_string(wrong)));
  }
  Later<T> later;
  EXPECT_EQ(use(&later.known), "") << name;
}
template <class T, class Use>
void ExpectRefusesUnknown(const char* name, Use use) {
  Later<T> later;
  later.more[1] = 1;
  EXPECT_THAT(use(&later.known), ::testing::HasSubstr("is set: this library knows")) << name;
}

}  // namespace tvmvm::testing
