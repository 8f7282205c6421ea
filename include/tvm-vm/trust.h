// Whose kernels run: keys, signatures of .vmexe files, and how much of a file its signature has to cover.
// docs/trust.md says what each level promises.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "tvm-vm/export.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// Which kernels a Vm may run, in whatever form they come: shared objects, bitcode, OpenCL C, SPIR-V.
enum class Trust : uint8_t {
  kAny = 0,  // all
  // Those of a file whose kernels, code and metadata are as one of the trusted keys signed them.
  kSigned = 1,
  kNone = 2,  // none: only programs that launch none run
  // Kernels that have contracts (KernelSpec::contract), of a file whose kernels, with their rows and
  // contracts, are as one of the trusted keys signed them. Code and metadata may be anyone's: launches are
  // held to the contracts.
  kSignedKernels = 3,
};

// Of Ed25519.
struct PublicKey {
  std::array<uint8_t, 32> bytes{};
  TVMVM_EXPORT std::string Hex() const;
  friend bool operator==(const PublicKey&, const PublicKey&) = default;
};

// Its memory is wiped when it goes.
class TVMVM_EXPORT SecretKey {
 public:
  // 32 bytes, from which the pair is made.
  explicit SecretKey(const std::array<uint8_t, 32>& seed) : seed_(seed) {}
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();
  const std::array<uint8_t, 32>& seed() const { return seed_; }

 private:
  std::array<uint8_t, 32> seed_;
};

// Writes a new pair: the secret key to `path`, for its owner alone, the public one to `path`.pub. Errors: kIo
// where one of them exists or cannot be written; kUnsupported where this build has no signatures.
[[nodiscard]] TVMVM_EXPORT Status MakeKeyFiles(const std::string& path);
// Errors: kNotFound, kIo, kInvalidArgument for a file that holds something else, and for a secret key that
// belongs to another user or that others than its owner may read.
[[nodiscard]] TVMVM_EXPORT Expected<PublicKey> ReadPublicKey(const std::string& path);
[[nodiscard]] TVMVM_EXPORT Expected<SecretKey> ReadSecretKey(const std::string& path);

// Writes the file with a signature to `output`, which may be `path`: of the kernels, and of everything
// together. Other keys' signatures stay where the file is what they signed. Errors: as VerifyFile and
// SaveProgram; kUnsupported where this build has no signatures.
[[nodiscard]] TVMVM_EXPORT Status SignFile(const std::string& path, const SecretKey& key,
                                           const std::string& output);
// That all of the file, the constants too, is as one of the keys signed it. Errors: kInvalidProgram saying
// what was found and what was wanted; kUnsupported where this build has no signatures.
[[nodiscard]] TVMVM_EXPORT Status VerifySignature(const std::string& path, std::span<const PublicKey> keys);

}  // namespace tvmvm
