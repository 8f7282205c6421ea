// Text -> Program, not yet verified.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/encoding.h"
#include "bytecode/text/lexer.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm::text {

// A use of a name that may be declared later.
struct PendingName {
  OperandKind kind;       // kFunction or kKernel
  uint32_t function = 0;  // whose code uses it
  uint32_t word = 0;      // of the operand
  Token name;
};

// What the parts of the parser share.
struct ParseState {
  TokenStream tokens;
  Program program;
  std::unordered_map<std::string, uint32_t> string_ids;
  std::vector<PendingName> pending;

  StringId Intern(const std::string& text);
};

// A type: "f32[n, 3]", "sequence<string[?]>".
[[nodiscard]] Expected<TypeSpec> ParseType(TokenStream* tokens, int depth = 0);

// The instructions between '{' and '}' of function number `function` of the program.
[[nodiscard]] Status ParseBody(ParseState* state, uint32_t function);

[[nodiscard]] Expected<Program> ParseProgram(std::string_view text);

}  // namespace tvmvm::text
