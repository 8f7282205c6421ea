// .vmexe files: what is loaded, prints, is the same when written and loaded again, and runs under limits. The
// digests are made right before, else nothing would come past them.
#include <vector>

#include "tests/fuzz/run_program.h"
#include "tests/fuzz/targets/seal_file.h"
#include "tests/fuzz/targets/target.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/vmexe.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  const auto given = BytesOf(data, size);
  std::vector<std::byte> file(given.begin(), given.end());
  Seal(file);
  auto program = LoadProgramFromMemory(file);
  if (!program) return RequireProper(program), 0;
  const std::string text = Disassemble(**program);
  auto written = SerializeProgram(**program);
  Require(written.has_value(), "a program that was loaded is not written");
  auto again = LoadProgramFromMemory(*written);
  Require(again.has_value(), "what was written is refused:", again ? "" : again.error().message.c_str());
  Require(Disassemble(**again) == text, "a program is another one once written");
  Choices choices(1);
  if (Status status = RunUnderLimits(*program, choices, true); !status) RequireProper(status.error());
  return 0;
}
