// Structs of c_api.h begin with their size, and later versions append members: whoever was built with an
// older or a newer header is understood.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "tvm-vm/status.h"

namespace tvmvm::c {

inline constexpr size_t kMostBytes = 4096;  // of a struct: a size that was never set is mostly larger

// `first`: the size in the first version of the interface.
inline Status CheckSize(size_t size, size_t first, const char* name) {
  if (size >= first && size <= kMostBytes) return {};
  return MakeError(Code::kInvalidArgument, std::string(name) + ".size is " + std::to_string(size) +
                                               ", at least " + std::to_string(first) + " and at most " +
                                               std::to_string(kMostBytes) + " is wanted");
}

// What the caller gave, and zero for members that it does not know. Errors: kInvalidArgument where it gave
// members that are not known here.
template <class T>
Expected<T> ReadSized(const T& given, size_t first, const char* name) {
  static_assert(std::is_trivially_copyable_v<T>);
  const size_t size = given.size;
  TVMVM_CHECK_OK(CheckSize(size, first, name));
  const auto* bytes = reinterpret_cast<const char*>(&given);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0)
      return MakeError(Code::kInvalidArgument, std::string(name) + ".size is " + std::to_string(size) +
                                                   ", and byte " + std::to_string(i) +
                                                   " is set: this library knows " +
                                                   std::to_string(sizeof(T)) + " bytes");
  T read = {};
  std::memcpy(&read, bytes, std::min(size, sizeof(T)));
  return read;
}

// A number of a struct that means a size, a count or a time.
struct Member {
  int64_t value;
  const char* name;
};
inline Status CheckNotNegative(std::initializer_list<Member> members) {
  for (const Member& member : members)
    if (member.value < 0)
      return MakeError(Code::kInvalidArgument, std::string(member.name) + " is " +
                                                   std::to_string(member.value) + ", at least 0 is wanted");
  return {};
}

// The members that the caller knows; zero for those that are not known here.
template <class T>
Status WriteSized(T written, size_t first, const char* name, T* to) {
  static_assert(std::is_trivially_copyable_v<T>);
  const size_t size = to->size;
  TVMVM_CHECK_OK(CheckSize(size, first, name));
  written.size = size;
  auto* bytes = reinterpret_cast<char*>(to);
  std::memcpy(bytes, &written, std::min(size, sizeof(T)));
  std::fill(bytes + std::min(size, sizeof(T)), bytes + size, '\0');
  return {};
}

}  // namespace tvmvm::c
