// A valid program and changes that break one thing of it each; the message shows which check found it. A
// check without a case among them is a check that nobody would miss.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string_view>

#include "bytecode/encoding.h"
#include "bytecode/verifier.h"
#include "tvm-vm/assembler.h"

namespace tvmvm {

inline constexpr std::string_view kBase = R"(
entry @main
kernel @scale cpu symbol "k0" scalars 1 buffers [read, write]
constant c0 "w": f32[2] hex "0000803f00000040"
constant c1 "words": string[1] strings ["a"]
plan p0 [0..1 align 64, 1..2 align 128]
func @helper("": f32[*]) -> ("": f32[?]) scalars 1 -> 1 frame 1, 1 {
  return [i0], [r0]
}
func @main("x": f32[n in 1..512, 3], "s": sequence<string[?]>) -> ("y": f32[n], "z": tuple<f32[]>) frame 10, 7 {
  node "/start"
  i0 = const 7
  i1 = add i0, i0
  r2 = constant c0
  i2, [i3, i4] = plan p0, [i0, i1]
  r3 = arena i2
  r4 = output 0, [i0, i1]
  r5 = alloc f32, [i0]
  r6 = view r3, i3, f32, [i0]
  i5 = dim r0, 1
  i6 = load r0, i0, f32
  store r5, i0, f32, i6
  node "/Mul"
  launch @scale, 0, [i0, i0, i0, i0, i0, i0], [i0], [c0+i0, r3+i4]
  copy [r4, c0], i0
  fill [r4], i0, 255
  wait 0
  [i8], [r5] = call @helper, [i0], [r0]
  guard i0, "n is {0}", [i0]
  branch.ifnot i8, done
  i9 = move i8
done:
  return [], [r4, r2]
}
)";

inline Program BaseProgram() {
  auto program = Assemble(kBase);
  EXPECT_TRUE(program) << program.error().message;
  return **program;
}

inline FunctionSpec& Main(Program& program) { return program.functions[1]; }

// The first instruction of @main with this opcode.
inline DecodedInstruction Find(Program& program, Opcode opcode) {
  FunctionSpec& main = Main(program);
  for (uint32_t word = 0; word < main.code.size();) {
    DecodedInstruction instruction = *DecodeInstruction(main.code, word);
    if (instruction.info->opcode == opcode) return instruction;
    word += instruction.words;
  }
  ADD_FAILURE() << "no such instruction";
  return {};
}

// Word `offset` of operand number `operand`; for a list, word 0 is the count.
inline uint32_t& Word(Program& program, Opcode opcode, size_t operand, size_t offset = 0) {
  return Main(program).code[Find(program, opcode).operand(operand).word + offset];
}

struct Mutation {
  const char* message;
  std::function<void(Program&)> apply;
};

inline void CheckMutations(std::span<const Mutation> mutations) {
  for (const Mutation& mutation : mutations) {
    Program program = BaseProgram();
    mutation.apply(program);
    Status verified = VerifyProgram(program);
    EXPECT_FALSE(verified) << "accepted, wanted: " << mutation.message;
    if (verified) continue;
    EXPECT_EQ(verified.error().message, mutation.message);
    EXPECT_EQ(verified.error().code, Code::kInvalidProgram);
  }
}

}  // namespace tvmvm
