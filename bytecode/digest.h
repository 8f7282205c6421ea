// xxh3-128: the digest of sections, constants and model files. It finds damage; it is no signature.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tvmvm {

std::string HexOf(std::span<const uint8_t> bytes);

struct Digest {
  std::array<uint8_t, 16> bytes{};  // canonical (big-endian) order
  std::string Hex() const;
  friend bool operator==(const Digest&, const Digest&) = default;
};

Digest DigestOf(std::span<const std::byte> bytes);

// The same digest of bytes that come in pieces.
class DigestStream {
 public:
  DigestStream();
  ~DigestStream();
  DigestStream(const DigestStream&) = delete;
  void Update(std::span<const std::byte> bytes);
  Digest Finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tvmvm
