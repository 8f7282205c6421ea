#include "tvm-vm/isolated_compiler.h"

#include "bytecode/guarded.h"
#include "isolated_compiler/compilation.h"
#include "tvm-vm/version.h"

namespace tvmvm {

Expected<CompileResult> CompileFileIsolated(const std::string& path, const CompileOptions& options,
                                            const IsolationOptions& isolation) {
  return Guarded(
      [&] { return isolated::CompileInProcess({.path = path, .is_file = true}, options, isolation); });
}

Expected<CompileResult> CompileBytesIsolated(std::span<const std::byte> model, const CompileOptions& options,
                                             const IsolationOptions& isolation) {
  return Guarded([&] { return isolated::CompileInProcess({.bytes = model}, options, isolation); });
}

}  // namespace tvmvm

uint32_t tvmvm_isolated_compiler_version() { return TVMVM_VERSION; }
const tvmvm::IsolatedCompiler* tvmvm_isolated_compiler() {
  static constexpr tvmvm::IsolatedCompiler functions{&tvmvm::CompileFileIsolated,
                                                     &tvmvm::CompileBytesIsolated};
  return &functions;
}
