#include "bytecode/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tvmvm {
namespace {

Digest Canonical(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  Digest digest;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), digest.bytes.begin());
  return digest;
}

}  // namespace

std::string HexOf(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string Digest::Hex() const { return HexOf(bytes); }

Digest DigestOf(std::span<const std::byte> bytes) {
  return Canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

struct DigestStream::State {
  XXH3_state_t xxh3;
};

DigestStream::DigestStream() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh3); }
DigestStream::~DigestStream() = default;

void DigestStream::Update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

Digest DigestStream::Finish() const { return Canonical(XXH3_128bits_digest(&state_->xxh3)); }

}  // namespace tvmvm
