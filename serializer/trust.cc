// The way to the signatures' library, for those who ask for it.
#include "tvm-vm/trust.h"

#include "bytecode/companion_library.h"
#include "bytecode/derived_cache.h"
#include "serializer/signature/signature_library.h"
#include "serializer/trusted_libraries.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

struct Opened {
  const SignatureFunctions* functions = nullptr;
  std::string error;
};

Opened Open() {
  Opened opened;
  decltype(&tvmvm_signature_functions) functions = nullptr;
  opened.error = OpenCompanion(TVMVM_SIGNATURE_LIBRARY, "tvmvm_signature_version",
                               {{"tvmvm_signature_functions", reinterpret_cast<void**>(&functions)}});
  if (!opened.error.empty()) return opened;
  opened.functions = functions();
  if (opened.functions == nullptr) opened.error = "the system gives no randomness";
  return opened;
}

Expected<const SignatureFunctions*> Signatures() {
  static const Opened opened = Open();
  if (opened.functions != nullptr) return opened.functions;
  return MakeError(Code::kUnsupported, "the library of signatures is not there (" + opened.error + ")");
}

}  // namespace

Status MakeKeyFiles(const std::string& path) {
  TVMVM_TRY(const SignatureFunctions* functions, Signatures());
  return functions->make_key_files(path);
}

Expected<PublicKey> ReadPublicKey(const std::string& path) {
  TVMVM_TRY(const SignatureFunctions* functions, Signatures());
  return functions->read_public_key(path);
}

Expected<SecretKey> ReadSecretKey(const std::string& path) {
  TVMVM_TRY(const SignatureFunctions* functions, Signatures());
  return functions->read_secret_key(path);
}

Status SignFile(const std::string& path, const SecretKey& key, const std::string& output) {
  TVMVM_TRY(const SignatureFunctions* functions, Signatures());
  TVMVM_CHECK_OK(VerifyFile(path));
  return functions->sign_file(path, key, output);
}

Status VerifySignature(const std::string& path, std::span<const PublicKey> keys) {
  TVMVM_TRY(const SignatureFunctions* functions, Signatures());
  return functions->verify_signature(path, keys);
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
