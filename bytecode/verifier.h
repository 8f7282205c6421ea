// Proves that a program can be interpreted without checks: every operand by kind and range, definite assignment of
// registers on all paths, jump targets on instruction starts, call and kernel signatures, constants and plans in range.
#pragma once

#include "bytecode/program.h"
#include "bytecode/status.h"

namespace tvmvm {

// Errors: kInvalidProgram, "@main:12 launch: 3 buffers given, kernel 'matmul.f32' takes 4 (node /layer.0/MatMul)".
[[nodiscard]] Status VerifyProgram(const Program& program);

}  // namespace tvmvm
