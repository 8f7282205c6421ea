// ONNX models: refused, or compiled, with all passes and with as few as there may be, into programs that run
// under limits with their kernels.
#include "tests/fuzz/run_program.h"
#include "tests/fuzz/targets/target.h"
#include "tvm-vm/compiler.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  for (const bool with_passes : {true, false}) {
    CompileOptions options;
    options.targets = {"host"};
    options.threads = 1;
    if (!with_passes) options.disabled_passes = {"all"};
    const auto compiled = GetCompiler().CompileBytes(BytesOf(data, size), options);
    RequireProper(compiled);
    if (!compiled) return 0;
    Choices choices(1);
    if (Status status = RunUnderLimits(compiled->program, choices, false); !status)
      RequireProper(status.error());
  }
  return 0;
}
