#include "tvm-vm/version.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/compiler_library.h"
#include "cli/console.h"
#include "cli/json.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::cli {
namespace {

std::string FileFormat() { return fmt::format("{}.{}", kFormatMajor, kFormatMinor); }

}  // namespace

Expected<int> VersionCommand(const VersionArguments& arguments) {
  const std::string version = VersionText(Version());
  const auto compiler = OpenCompiler();
  if (arguments.json) {
    PrintResult(FormatJson(Json{{"version", version},
                                {"file_format", FileFormat()},
                                {"compiler", compiler ? Json(version) : Json(nullptr)}}));
    return kExitOk;
  }
  PrintResult(fmt::format("tvm-vm {}\n.vmexe files of format {}\ncompiler: {}", version, FileFormat(),
                          compiler ? "there" : compiler.error().message));
  return kExitOk;
}

}  // namespace tvmvm::cli
