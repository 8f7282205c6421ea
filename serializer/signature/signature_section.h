// The section "signature" of a .vmexe file: what each other section was when the file was signed, and
// signatures of that. Sections have digests of their own here, BLAKE2b: those of the section table find
// damage, and whoever likes makes them right again.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/wire/layout.h"
#include "tvm-vm/status.h"
#include "tvm-vm/trust.h"

namespace tvmvm::signature {

inline constexpr uint32_t kSignatureVersion = 1;
inline constexpr uint32_t kMaxSignatures = 64;

struct SignatureHeader {
  std::array<char, 8> magic = {'T', 'V', 'M', 'V', 'M', 'S', 'I', 'G'};
  uint32_t version = kSignatureVersion;
  uint32_t section_count = 0;
  uint32_t signature_count = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(SignatureHeader) == 24);

struct SignedSection {
  std::array<char, 40> name{};  // padded with zeros
  uint64_t bytes = 0;
  std::array<uint8_t, 32> digest{};
  friend bool operator==(const SignedSection&, const SignedSection&) = default;
};
static_assert(sizeof(SignedSection) == 80);

struct Signature {
  std::array<uint8_t, 32> key{};
  std::array<uint8_t, 64> kernels{};  // of the rows of kernel sections alone
  std::array<uint8_t, 64> program{};  // of all rows
};
static_assert(sizeof(Signature) == 160);

struct SignatureSection {
  std::vector<SignedSection> sections;  // in the order of the file
  std::vector<Signature> signatures;

  // Null where the section was not signed.
  const SignedSection* Find(std::string_view name) const;
};

// Of a whole file. Errors: kInvalidProgram, also where the file is not signed; kUnsupported for another
// version.
Expected<SignatureSection> ReadSignatures(std::span<const wire::Section> sections);
std::vector<std::byte> PackSignatures(const SignatureSection& signatures);

// All sections but the signature's own.
std::vector<SignedSection> RowsOf(std::span<const wire::Section> sections);
Signature SignRows(std::span<const SignedSection> rows, const SecretKey& key);
PublicKey PublicKeyOf(const SecretKey& key);

// What of a file a signature has to be of.
enum class SignedPart : uint8_t { kKernels, kProgram };

// The first signature by one of `keys` that is right: its part of the kernels, and for kProgram also the
// other one. Errors: kInvalidProgram: whose there are, and whose are wanted.
Expected<const Signature*> TrustedSignature(const SignatureSection& signatures,
                                            std::span<const PublicKey> keys, SignedPart part);
// That the section is what was signed. Errors: kInvalidProgram naming it.
Status CheckSigned(const SignatureSection& signatures, const wire::Section& section);

}  // namespace tvmvm::signature
