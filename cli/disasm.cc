#include "cli/commands.h"
#include "cli/console.h"
#include "cli/files.h"
#include "cli/model.h"
#include "tvm-vm/assembler.h"

namespace tvmvm::cli {

Expected<int> DisasmCommand(const DisasmArguments& arguments) {
  TVMVM_CHECK_OK(CheckOutput(arguments.output, arguments.path));
  TVMVM_TRY(ProgramPointer program, LoadModel({.path = arguments.path}));
  std::string text = Disassemble(*program, {.constant_bytes = arguments.constants});
  if (arguments.output.empty()) {
    PrintResult(text);
    return kExitOk;
  }
  TVMVM_TRY(OutputFile file, OutputFile::Create(arguments.output));
  TVMVM_CHECK_OK(file.Write(text));
  TVMVM_CHECK_OK(file.Commit());
  return kExitOk;
}

}  // namespace tvmvm::cli
