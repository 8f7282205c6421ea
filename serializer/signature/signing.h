// Signs files and checks what is signed: as in signature_library.h.
#pragma once

#include <span>
#include <string>

#include "serializer/trusted_libraries.h"
#include "serializer/wire/signed_file.h"
#include "tvm-vm/trust.h"

namespace tvmvm::signature {

Status SignFile(const std::string& path, const SecretKey& key, const std::string& output);
Status VerifySignature(const std::string& path, std::span<const PublicKey> keys);
TrustedLibraries LibrariesToTrust(const wire::SignedFile& file, const Program& program,
                                  const TrustOptions& options);

}  // namespace tvmvm::signature
