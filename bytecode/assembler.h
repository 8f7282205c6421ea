// Program <-> text. The text form is complete but for blobs: constants and kernel libraries are given by name, dtype,
// dims and hex or by digest; Disassemble(Assemble(text)) == text for programs without external blobs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bytecode/program.h"
#include "bytecode/status.h"

namespace tvmvm {

struct DisassembleOptions {
  bool source_nodes = true;     // comments with the source node where it changes
  bool constant_bytes = false;  // small constants in full, as the assembler reads them back
};
std::string Disassemble(const Program& program, const DisassembleOptions& options = {});

// Errors: kInvalidArgument with line and column; kInvalidProgram from the verifier.
[[nodiscard]] Expected<std::shared_ptr<const Program>> Assemble(std::string_view text);

}  // namespace tvmvm
