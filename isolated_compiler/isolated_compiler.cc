#include "tvm-vm/isolated_compiler.h"

#include "bytecode/guarded.h"
#include "isolated_compiler/compilation.h"

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
