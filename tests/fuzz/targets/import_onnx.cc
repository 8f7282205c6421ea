// ONNX models: imported and brought through all passes, or refused.
#include "tests/fuzz/targets/target.h"
#include "tvm-vm/compiler.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tvmvm;        // NOLINT
  using namespace tvmvm::fuzz;  // NOLINT
  // What takes the time is code generation, which sees what the passes made of it: here end those.
  static const std::string last_pass = GetCompiler().Passes().back().first;
  CompileOptions options;
  options.stop_after = last_pass;
  const auto compiled = GetCompiler().CompileBytes(BytesOf(data, size), options);
  RequireProper(compiled);
  return 0;
}
