#include "compiler/onnx/model/checksum.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "bytecode/digest.h"

namespace tvmvm::ir {
namespace {

constexpr size_t kBlock = 64;

// FIPS 180-4.
class Sha1 {
 public:
  void Add(const std::byte* block) {
    std::array<uint32_t, 80> w;
    for (size_t i = 0; i < 16; ++i) {
      uint32_t word = 0;
      std::memcpy(&word, block + 4 * i, sizeof word);
      w[i] = __builtin_bswap32(word);
    }
    for (size_t i = 16; i < w.size(); ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    auto [a, b, c, d, e] = state_;
    for (size_t i = 0; i < w.size(); ++i) {
      const uint32_t next = std::rotl(a, 5) + Mixed(i / 20, b, c, d) + e + w[i];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = next;
    }
    const std::array<uint32_t, 5> sum = {a, b, c, d, e};
    for (size_t i = 0; i < state_.size(); ++i) state_[i] += sum[i];
  }

  std::string Hex() const {
    std::array<uint8_t, 20> bytes;
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return HexOf(bytes);
  }

 private:
  // The function of a quarter of the steps, and its constant.
  static uint32_t Mixed(size_t quarter, uint32_t b, uint32_t c, uint32_t d) {
    switch (quarter) {
      case 0:
        return ((b & c) | (~b & d)) + 0x5a827999u;
      case 1:
        return (b ^ c ^ d) + 0x6ed9eba1u;
      case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
      default:
        return (b ^ c ^ d) + 0xca62c1d6u;
    }
  }

  std::array<uint32_t, 5> state_ = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
};

}  // namespace

std::string ChecksumOf(std::span<const std::byte> bytes) {
  Sha1 sha;
  const size_t whole = bytes.size() / kBlock * kBlock;
  for (size_t at = 0; at < whole; at += kBlock) sha.Add(bytes.data() + at);
  // What is left, a bit that is 1, zeros, and the number of bits at the end of a block.
  std::array<std::byte, 2 * kBlock> tail{};
  const size_t left = bytes.size() - whole;
  if (left > 0) std::memcpy(tail.data(), bytes.data() + whole, left);
  tail[left] = std::byte{0x80};
  const size_t blocks = left < kBlock - 8 ? 1 : 2;
  const uint64_t bits = __builtin_bswap64(uint64_t{bytes.size()} * 8);
  std::memcpy(tail.data() + blocks * kBlock - sizeof bits, &bits, sizeof bits);
  for (size_t i = 0; i < blocks; ++i) sha.Add(tail.data() + i * kBlock);
  return sha.Hex();
}

}  // namespace tvmvm::ir
