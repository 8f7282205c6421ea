#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/files.h"
#include "cli/model.h"
#include "tvm-vm/assembler.h"

namespace tvmvm::cli {

Expected<int> AsmCommand(const AsmArguments& arguments) {
  TVMVM_CHECK_OK(CheckOutput(arguments.output, arguments.path));
  TVMVM_TRY(std::string text, ReadTextOrStandardInput(arguments.path));
  auto program = Assemble(text);
  if (!program)
    return MakeError(program.error().code, fmt::format("'{}': {}", arguments.path, program.error().message));
  if (!(*program)->kernels.empty() && (*program)->libraries.empty())
    PrintNote(fmt::format(
        "'{}' names kernels, and text holds no machine code: the program can be looked at, not run",
        arguments.path));
  TVMVM_CHECK_OK(SaveModel(**program, arguments.output));
  return kExitOk;
}

}  // namespace tvmvm::cli
