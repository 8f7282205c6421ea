#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::cli {
namespace {

// The digests of all sections, and everything that loading checks.
Status Verify(const std::string& path) {
  TVMVM_CHECK_OK(VerifyFile(path));
  TVMVM_CHECK_OK(LoadProgram(path));
  return {};
}

}  // namespace

Expected<int> VerifyCommand(const VerifyArguments& arguments) {
  bool all_good = true;
  Json results = Json::array();
  for (const std::string& path : arguments.paths) {
    Status status = Verify(path);
    all_good &= status.has_value();
    if (arguments.json) {
      Json result = {{"file", path}, {"valid", status.has_value()}};
      if (!status) result["error"] = status.error().message;
      results.push_back(std::move(result));
    } else if (status) {
      PrintResult(fmt::format("{}: valid", path));
    } else {
      PrintError(status.error());
    }
  }
  if (arguments.json) PrintResult(FormatJson(results));
  return all_good ? kExitOk : kExitFailed;
}

}  // namespace tvmvm::cli
