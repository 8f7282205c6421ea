// The signatures' own library, libtvm-vm-signature: keys, signing and checking, by libsodium. The runtime
// opens it when one of these is first asked for, so that whoever never does needs neither it nor libsodium.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "serializer/trusted_libraries.h"
#include "serializer/wire/signed_file.h"
#include "tvm-vm/trust.h"

namespace tvmvm {

// As the functions of tvm-vm/trust.h, but that `sign_file` takes a file that was verified.
struct SignatureFunctions {
  Status (*make_key_files)(const std::string& path);
  Expected<PublicKey> (*read_public_key)(const std::string& path);
  Expected<SecretKey> (*read_secret_key)(const std::string& path);
  Status (*sign_file)(const std::string& path, const SecretKey& key, const std::string& output);
  Status (*verify_signature)(const std::string& path, std::span<const PublicKey> keys);
  // Of the program that was loaded from the file; options.trust is kSigned or kSignedKernels.
  TrustedLibraries (*libraries_to_trust)(const wire::SignedFile& file, const Program& program,
                                         const TrustOptions& options);
};

}  // namespace tvmvm

extern "C" {
// TVMVM_VERSION of the library.
TVMVM_EXPORT uint32_t tvmvm_signature_version();
// Null where the system gives no randomness.
TVMVM_EXPORT const tvmvm::SignatureFunctions* tvmvm_signature_functions();
}
