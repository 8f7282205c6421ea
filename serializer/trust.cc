// The way to the signatures' library, for those who ask for it.
#include "tvm-vm/trust.h"

#include "bytecode/companion_library.h"
#include "bytecode/derived_cache.h"
#include "bytecode/guarded.h"
#include "serializer/signature/signature_library.h"
#include "serializer/trusted_libraries.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

Expected<const SignatureFunctions*> Signatures() {
  static decltype(&tvmvm_signature_functions) functions = nullptr;
  static CompanionLibrary companion("signatures", TVMVM_SIGNATURE_LIBRARY, "tvmvm_signature_version");
  TVMVM_CHECK_OK(companion.Open({{"tvmvm_signature_functions", reinterpret_cast<void**>(&functions)}}));
  if (const SignatureFunctions* found = functions()) return found;
  return MakeError(Code::kUnsupported,
                   "the library of signatures is not there (the system gives no randomness)");
}

}  // namespace

Status MakeKeyFiles(const std::string& path) {
  return Guarded([&]() -> Status {
    TVMVM_TRY(const SignatureFunctions* functions, Signatures());
    return functions->make_key_files(path);
  });
}

Expected<PublicKey> ReadPublicKey(const std::string& path) {
  return Guarded([&]() -> Expected<PublicKey> {
    TVMVM_TRY(const SignatureFunctions* functions, Signatures());
    return functions->read_public_key(path);
  });
}

Expected<SecretKey> ReadSecretKey(const std::string& path) {
  return Guarded([&]() -> Expected<SecretKey> {
    TVMVM_TRY(const SignatureFunctions* functions, Signatures());
    return functions->read_secret_key(path);
  });
}

Status SignFile(const std::string& path, const SecretKey& key, const std::string& output) {
  return Guarded([&]() -> Status {
    TVMVM_TRY(const SignatureFunctions* functions, Signatures());
    TVMVM_CHECK_OK(VerifyFile(path));
    return functions->sign_file(path, key, output);
  });
}

Status VerifySignature(const std::string& path, std::span<const PublicKey> keys) {
  return Guarded([&]() -> Status {
    TVMVM_TRY(const SignatureFunctions* functions, Signatures());
    return functions->verify_signature(path, keys);
  });
}

TrustedLibraries LibrariesToTrust(const Program& program, const TrustOptions& options) {
  if (options.trust == Trust::kAny) return {program.libraries, ""};
  if (options.trust == Trust::kNone) return {{}, "no kernels are trusted"};
  if (program.derived->signed_file == nullptr) return {{}, "it is not signed"};
  const auto functions = Signatures();
  if (!functions) return {{}, functions.error().message};
  return (*functions)->libraries_to_trust(*program.derived->signed_file, program, options);
}

}  // namespace tvmvm
