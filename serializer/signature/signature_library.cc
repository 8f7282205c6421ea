#include "serializer/signature/signature_library.h"

#include <sodium.h>

#include "serializer/signature/keys.h"
#include "serializer/signature/signing.h"
#include "tvm-vm/version.h"

uint32_t tvmvm_signature_version() { return TVMVM_VERSION; }

const tvmvm::SignatureFunctions* tvmvm_signature_functions() {
  using namespace tvmvm::signature;  // NOLINT
  static const tvmvm::SignatureFunctions functions = {MakeKeyFiles, ReadPublicKey,   ReadSecretKey,
                                                      SignFile,     VerifySignature, LibrariesToTrust};
  return sodium_init() >= 0 ? &functions : nullptr;
}
