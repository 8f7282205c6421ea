// Valid programs, of which some words are changed, run where the verifier still takes them. The bytes are the
// decisions of their maker.
#include "bytecode/verifier.h"
#include "tests/fuzz/change_program.h"
#include "tests/fuzz/program_maker.h"
#include "tests/fuzz/run_program.h"
#include "tests/fuzz/targets/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  Choices choices(BytesOf(data, size));
  const uint32_t changes = choices.Below(4);
  auto made = MakeProgram(choices);
  Require(made.has_value(), "the maker's program is refused:", made ? "" : made.error().message.c_str());
  auto program = std::make_shared<Program>(**made);
  for (uint32_t left = changes; left > 0; --left) ChangeWord(program.get(), choices);
  if (Status verified = VerifyProgram(*program); !verified) return RequireProper(verified.error()), 0;
  if (Status status = RunUnderLimits(program, choices, true); !status) RequireProper(status.error());
  return 0;
}
