// Proves that a program can be interpreted without checks: every operand by kind and range, definite
// assignment of registers on all paths, jump targets on instruction starts, call, kernel and host signatures,
// constants and plans in range.
//
// What it leaves to the interpreter, because only values decide it: what a reference register holds (null, a
// tensor, a sequence), byte offsets and sizes.
#pragma once

#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// Limits of every program; the verifier refuses what exceeds them.
inline constexpr uint32_t kMaxRegisters = 1u << 20;  // of one register file of a frame
inline constexpr uint32_t kFreeRegisters = 64;       // so many a file may always have; more only as needed
inline constexpr size_t kMaxCodeWords = 1u << 24;    // of one function
inline constexpr size_t kMaxPlanValues = 1u << 16;   // of one plan
inline constexpr uint32_t kMaxPlanAlignment = 4096;  // bytes
inline constexpr int kMaxTypeDepth = 16;             // sequence of optional of ...

// Errors: kInvalidProgram, "@main:12 launch: 3 buffers given, kernel 'matmul.f32' takes 4 (node
// /layer.0/MatMul)". The number is the instruction's first word.
[[nodiscard]] Status VerifyProgram(const Program& program);

}  // namespace tvmvm
