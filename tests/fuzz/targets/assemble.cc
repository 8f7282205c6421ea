// Texts of programs: what is assembled is the same when printed and assembled again, and runs under limits.
#include "tests/fuzz/run_program.h"
#include "tests/fuzz/targets/target.h"
#include "tvm-vm/assembler.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  auto program = Assemble({reinterpret_cast<const char*>(data), size});
  if (!program) return RequireProper(program), 0;
  const std::string text = Disassemble(**program, {.constant_bytes = true});
  auto again = Assemble(text);
  Require(again.has_value(), "what was printed is refused:", again ? "" : again.error().message.c_str());
  Require(Disassemble(**again, {.constant_bytes = true}) == text, "a program is another one once printed");
  Choices choices(1);
  if (Status status = RunUnderLimits(*program, choices, true); !status) RequireProper(status.error());
  return 0;
}
