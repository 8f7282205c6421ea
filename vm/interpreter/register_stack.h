// A growing array for register files and frames: memory of the host heap, kept between runs, never the
// machine stack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "allocator/host_memory.h"

namespace tvmvm {

template <class T>
class RegisterStack {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  RegisterStack() = default;
  ~RegisterStack() { FreeHost(data_); }
  RegisterStack(const RegisterStack&) = delete;
  RegisterStack& operator=(const RegisterStack&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t capacity() const { return capacity_; }

  // What the capacity becomes where there is to be room for `count` elements.
  size_t CapacityFor(size_t count) const {
    return count <= capacity_ ? capacity_ : std::min(kMost, std::max({count, capacity_ * 2, size_t{64}}));
  }
  // Room for `count` elements; the old ones stay, the new ones are uninitialised. False when there is no
  // memory.
  bool Reserve(size_t count) {
    if (count <= capacity_) return true;
    if (count > kMost) return false;
    const size_t capacity = CapacityFor(count);
    auto* data = static_cast<T*>(TryAllocateHost(static_cast<int64_t>(capacity * sizeof(T))));
    if (data == nullptr) return false;
    if (capacity_ > 0) std::memcpy(data, data_, capacity_ * sizeof(T));
    FreeHost(data_);
    data_ = data;
    capacity_ = capacity;
    return true;
  }

  void Clear() {
    FreeHost(data_);
    data_ = nullptr;
    capacity_ = 0;
  }

 private:
  static constexpr size_t kMost = std::numeric_limits<int64_t>::max() / sizeof(T) / 2;

  T* data_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace tvmvm
