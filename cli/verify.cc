#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"
#include "cli/trusted_keys.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::cli {
namespace {

// The digests of all sections, everything that loading checks, and where there are keys, that one of them
// signed all of it.
Status Verify(const std::string& path, const std::vector<PublicKey>& keys) {
  TVMVM_CHECK_OK(VerifyFile(path));
  TVMVM_CHECK_OK(LoadProgram(path));
  return keys.empty() ? Status() : VerifySignature(path, keys);
}

}  // namespace

Expected<int> VerifyCommand(const VerifyArguments& arguments) {
  TVMVM_TRY(const std::vector<PublicKey> keys, ReadPublicKeys(arguments.keys));
  bool all_good = true;
  Json results = Json::array();
  for (const std::string& path : arguments.paths) {
    Status status = Verify(path, keys);
    all_good &= status.has_value();
    if (arguments.json) {
      Json result = {{"file", path}, {"valid", status.has_value()}};
      if (!status) result["error"] = status.error().message;
      results.push_back(std::move(result));
    } else if (status) {
      PrintResult(fmt::format("{}: valid{}", path, keys.empty() ? "" : ", signed"));
    } else {
      PrintError(status.error());
    }
  }
  if (arguments.json) PrintResult(FormatJson(results));
  return all_good ? kExitOk : kExitFailed;
}

}  // namespace tvmvm::cli
