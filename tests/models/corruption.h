// Seeded damage to bytes, for tests that feed a reader with broken files.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace tvmvm {

// A part [begin, end) of a file.
struct ByteRange {
  size_t begin = 0, end = 0;
};

// Flips bits, sets telling values, removes, repeats or cuts; places lie outside of `spared`, such as weights,
// whose values mean nothing to the reader.
class Corruption {
 public:
  Corruption(uint32_t seed, std::vector<ByteRange> spared = {}) : random_(seed), spared_(std::move(spared)) {}

  std::vector<std::byte> Apply(std::span<const std::byte> original) {
    std::vector<std::byte> bytes(original.begin(), original.end());
    if (Below(8) == 0) {
      bytes.resize(Place(bytes.size()));
      return bytes;
    }
    // Only the last change may move bytes: the places to spare are those of the original.
    for (size_t changes = Below(4); changes > 0; --changes) ChangeInPlace(&bytes);
    if (Below(4) == 0)
      Move(&bytes);
    else
      ChangeInPlace(&bytes);
    return bytes;
  }

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  size_t Place(size_t size) {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      size_t at = Below(size);
      bool spared = false;
      for (const ByteRange& range : spared_) spared |= at >= range.begin && at < range.end;
      if (!spared) return at;
    }
    return 0;
  }

  void ChangeInPlace(std::vector<std::byte>* bytes) {
    constexpr uint8_t kTelling[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    std::byte& target = (*bytes)[Place(bytes->size())];
    target = Below(2) == 0 ? std::byte{kTelling[Below(std::size(kTelling))]}
                           : target ^ static_cast<std::byte>(1 << Below(8));
  }

  // Removes some bytes, or repeats them.
  void Move(std::vector<std::byte>* bytes) {
    auto begin = bytes->begin() + static_cast<std::ptrdiff_t>(Place(bytes->size()));
    auto end = begin + static_cast<std::ptrdiff_t>(Below(std::min<size_t>(32, bytes->end() - begin)));
    std::vector<std::byte> part(begin, end);
    if (Below(2) == 0)
      bytes->erase(begin, end);
    else
      bytes->insert(begin, part.begin(), part.end());
  }

  std::mt19937 random_;
  std::vector<ByteRange> spared_;
};

}  // namespace tvmvm
