#include "tvm-vm/assembler.h"

#include "bytecode/guarded.h"
#include "bytecode/text/parser.h"
#include "bytecode/verifier.h"

namespace tvmvm {

Expected<std::shared_ptr<const Program>> Assemble(std::string_view text) {
  return Guarded([&]() -> Expected<std::shared_ptr<const Program>> {
    TVMVM_TRY(Program program, text::ParseProgram(text));
    TVMVM_CHECK_OK(VerifyProgram(program));
    return std::make_shared<const Program>(std::move(program));
  });
}

}  // namespace tvmvm
