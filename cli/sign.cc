// Keys and signatures of files.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/files.h"
#include "tvm-vm/trust.h"

namespace tvmvm::cli {

Expected<int> KeygenCommand(const KeygenArguments& arguments) {
  TVMVM_CHECK_OK(MakeKeyFiles(arguments.path));
  TVMVM_TRY(const PublicKey key, ReadPublicKey(arguments.path + ".pub"));
  PrintResult(fmt::format("{}: secret key, to be kept; {}.pub: public key {}", arguments.path, arguments.path,
                          key.Hex()));
  return kExitOk;
}

Expected<int> SignCommand(const SignArguments& arguments) {
  TVMVM_TRY(const SecretKey key, ReadSecretKey(arguments.key));
  const std::string& output = arguments.output.empty() ? arguments.path : arguments.output;
  TVMVM_CHECK_OK(SignFile(arguments.path, key, BehindLinks(output)));
  PrintNote(fmt::format("'{}' is signed", output));
  return kExitOk;
}

}  // namespace tvmvm::cli
