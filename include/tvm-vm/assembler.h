// Program <-> text, for people and tests; docs/bytecode.md describes the form. Everything is in the text but
// kernel libraries, which stand as comments, and the bytes of larger constants, which stand as digests and
// are refused by Assemble. For all other programs Disassemble(Assemble(text)) == text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tvm-vm/export.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm {

struct DisassembleOptions {
  bool source_nodes = true;     // a line with the source node where it changes
  bool constant_bytes = false;  // constants up to 64 KiB in full; else only those up to 64 bytes
};
TVMVM_EXPORT std::string Disassemble(const Program& program, const DisassembleOptions& options = {});

// Errors: kInvalidArgument with line and column; kInvalidProgram from the verifier.
[[nodiscard]] TVMVM_EXPORT Expected<std::shared_ptr<const Program>> Assemble(std::string_view text);

}  // namespace tvmvm
