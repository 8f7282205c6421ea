// What a generator decides by: numbers from a seed, or from bytes that a fuzzer changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace tvmvm::fuzz {

class Choices {
 public:
  explicit Choices(uint32_t seed) : random_(seed) {}
  // Borrows the bytes. Once they are used up, all decisions are 0.
  explicit Choices(std::span<const std::byte> bytes) : bytes_(bytes), from_bytes_(true) {}

  // From 0 to limit - 1; 0 where the limit is 0.
  uint32_t Below(size_t limit) {
    if (limit <= 1) return 0;
    if (!from_bytes_) return static_cast<uint32_t>(random_() % limit);
    uint32_t number = Byte();
    for (size_t reach = 256; reach < limit; reach *= 256) number = number << 8 | Byte();
    return static_cast<uint32_t>(number % limit);
  }
  // Once in so many times; never where there are no bytes left.
  bool OneIn(size_t times) { return Below(times) + 1 == times; }
  template <class T>
  const T& Of(const std::vector<T>& list) {
    return list[Below(list.size())];
  }

 private:
  uint32_t Byte() {
    if (bytes_.empty()) return 0;
    const auto byte = std::to_integer<uint32_t>(bytes_[0]);
    bytes_ = bytes_.subspan(1);
    return byte;
  }

  std::mt19937 random_;
  std::span<const std::byte> bytes_;
  bool from_bytes_ = false;
};

}  // namespace tvmvm::fuzz
