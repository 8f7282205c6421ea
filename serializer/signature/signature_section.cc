#include "serializer/signature/signature_section.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>

namespace tvmvm::signature {
namespace {

using wire::Section;

static_assert(crypto_sign_ed25519_SEEDBYTES == 32 && crypto_sign_ed25519_PUBLICKEYBYTES == 32 &&
              crypto_sign_ed25519_BYTES == 64);

// What is signed begins so: a signature of one purpose is none of another.
constexpr std::string_view kKernelsPurpose = "tvm-vm signature 1: kernels\n";
constexpr std::string_view kProgramPurpose = "tvm-vm signature 1: program\n";

template <class... Args>
tl::unexpected<Error> Malformed(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(Code::kInvalidProgram, fmt::format(format, std::forward<Args>(args)...));
}

std::string_view NameOf(const SignedSection& section) {
  return {section.name.data(), strnlen(section.name.data(), section.name.size())};
}

template <class T>
void Append(std::span<const T> values, std::vector<std::byte>* to) {
  if (values.empty()) return;
  const size_t before = to->size();
  to->resize(before + values.size_bytes());
  std::memcpy(to->data() + before, values.data(), values.size_bytes());
}

std::vector<std::byte> TextOf(std::span<const SignedSection> sections, bool kernels_alone) {
  const std::string_view purpose = kernels_alone ? kKernelsPurpose : kProgramPurpose;
  std::vector<std::byte> text;
  Append(std::span<const char>(purpose), &text);
  for (const SignedSection& section : sections)
    if (!kernels_alone || NameOf(section).starts_with(wire::kKernelsPrefix))
      Append(std::span<const SignedSection>(&section, 1), &text);
  return text;
}

bool IsBy(const Signature& signature, const std::array<uint8_t, 64>& part,
          const std::vector<std::byte>& text) {
  return crypto_sign_ed25519_verify_detached(part.data(), reinterpret_cast<const unsigned char*>(text.data()),
                                             text.size(), signature.key.data()) == 0;
}

bool IsRight(const SignatureSection& signatures, const Signature& signature, SignedPart part) {
  return IsBy(signature, signature.kernels, TextOf(signatures.sections, true)) &&
         (part == SignedPart::kKernels ||
          IsBy(signature, signature.program, TextOf(signatures.sections, false)));
}

// The two keys as libsodium wants them side by side.
struct KeyPair {
  std::array<uint8_t, 32> key{};
  std::array<uint8_t, crypto_sign_ed25519_SECRETKEYBYTES> both{};
  explicit KeyPair(const SecretKey& secret) {
    crypto_sign_ed25519_seed_keypair(key.data(), both.data(), secret.seed().data());
  }
  ~KeyPair() { sodium_memzero(both.data(), both.size()); }
};

std::array<uint8_t, 64> Sign(const KeyPair& pair, const std::vector<std::byte>& text) {
  std::array<uint8_t, 64> signature{};
  crypto_sign_ed25519_detached(signature.data(), nullptr, reinterpret_cast<const unsigned char*>(text.data()),
                               text.size(), pair.both.data());
  return signature;
}

std::string KeysOf(std::span<const Signature> signatures) {
  std::string text;
  for (const Signature& signature : signatures)
    text += (text.empty() ? "" : ", ") + PublicKey{signature.key}.Hex();
  return text;
}

}  // namespace

const SignedSection* SignatureSection::Find(std::string_view name) const {
  const auto found = std::ranges::find(sections, name, NameOf);
  return found != sections.end() ? &*found : nullptr;
}

static Expected<SignatureSection> ReadSection(const Section& section) {
  const std::span<const std::byte> bytes = section.bytes;
  SignatureHeader header;
  if (bytes.size() < sizeof header)
    return Malformed("section '{}' is cut: {} bytes, its header alone has {}", section.name, bytes.size(),
                     sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != SignatureHeader().magic || header.reserved != 0)
    return Malformed("section '{}' starts with other bytes", section.name);
  if (header.version != kSignatureVersion)
    return MakeError(Code::kUnsupported,
                     fmt::format("the file's signature is of version {}, this build reads {}", header.version,
                                 kSignatureVersion));
  const uint64_t rows = uint64_t{header.section_count} * sizeof(SignedSection);
  const uint64_t all = sizeof header + rows + uint64_t{header.signature_count} * sizeof(Signature);
  if (header.section_count > wire::kMaxSections || header.signature_count > kMaxSignatures ||
      all != bytes.size())
    return Malformed("section '{}' has {} bytes, its header tells of {} sections and {} signatures",
                     section.name, bytes.size(), header.section_count, header.signature_count);
  SignatureSection signatures;
  signatures.sections.resize(header.section_count);
  signatures.signatures.resize(header.signature_count);
  const std::byte* at = bytes.data() + sizeof header;
  if (rows > 0) std::memcpy(signatures.sections.data(), at, rows);
  if (header.signature_count > 0)
    std::memcpy(signatures.signatures.data(), at + rows, all - rows - sizeof header);
  for (const SignedSection& row : signatures.sections)
    if (NameOf(row).empty() || NameOf(row).size() == row.name.size())
      return Malformed("section '{}' names a section wrongly", section.name);
  return signatures;
}

std::vector<std::byte> PackSignatures(const SignatureSection& signatures) {
  SignatureHeader header;
  header.section_count = static_cast<uint32_t>(signatures.sections.size());
  header.signature_count = static_cast<uint32_t>(signatures.signatures.size());
  std::vector<std::byte> bytes;
  Append(std::span<const SignatureHeader>(&header, 1), &bytes);
  Append(std::span<const SignedSection>(signatures.sections), &bytes);
  Append(std::span<const Signature>(signatures.signatures), &bytes);
  return bytes;
}

Expected<SignatureSection> ReadSignatures(std::span<const Section> sections) {
  const Section* section = wire::FindSection(sections, wire::kSignatureSection);
  if (section == nullptr) return Malformed("the file is not signed");
  return ReadSection(*section);
}

std::vector<SignedSection> RowsOf(std::span<const Section> sections) {
  std::vector<SignedSection> rows;
  for (const Section& section : sections) {
    if (section.name == wire::kSignatureSection) continue;
    SignedSection row;
    std::copy(section.name.begin(), section.name.end(), row.name.begin());
    row.bytes = section.bytes.size();
    crypto_generichash_blake2b(row.digest.data(), row.digest.size(),
                               reinterpret_cast<const unsigned char*>(section.bytes.data()),
                               section.bytes.size(), nullptr, 0);
    rows.push_back(row);
  }
  return rows;
}

Signature SignRows(std::span<const SignedSection> rows, const SecretKey& key) {
  const KeyPair pair(key);
  return {pair.key, Sign(pair, TextOf(rows, true)), Sign(pair, TextOf(rows, false))};
}

PublicKey PublicKeyOf(const SecretKey& key) { return {KeyPair(key).key}; }

Expected<const Signature*> TrustedSignature(const SignatureSection& signatures,
                                            std::span<const PublicKey> keys, SignedPart part) {
  bool found = false;
  for (const Signature& signature : signatures.signatures) {
    if (std::ranges::find(keys, PublicKey{signature.key}) == keys.end()) continue;
    found = true;
    if (IsRight(signatures, signature, part)) return &signature;
  }
  if (found) return Malformed("the signature by a trusted key is not of this file's sections");
  std::string wanted;
  for (const PublicKey& key : keys) wanted += (wanted.empty() ? "" : ", ") + key.Hex();
  return Malformed("signed by {}, wanted one of the trusted keys: {}",
                   signatures.signatures.empty() ? "nobody" : KeysOf(signatures.signatures),
                   wanted.empty() ? "none is given" : wanted);
}

Status CheckSigned(const SignatureSection& signatures, const Section& section) {
  const std::vector<SignedSection> row = RowsOf({&section, 1});
  const SignedSection* wanted = signatures.Find(section.name);
  if (wanted == nullptr)
    return Malformed("section '{}' was not there when the file was signed", section.name);
  if (row.size() == 1 && row[0] == *wanted) return {};
  return Malformed("section '{}' was changed after the file was signed", section.name);
}

}  // namespace tvmvm::signature
