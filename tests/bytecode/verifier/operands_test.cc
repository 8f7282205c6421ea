// Programs that break a check of operands by kind and range.
#include <gtest/gtest.h>

#include "tests/bytecode/verifier/mutations.h"

namespace tvmvm {
namespace {

constexpr uint32_t kConst = BufferOperand::kConstantBit;

const Mutation kOperandMutations[] = {
    {"@main:4 add: scalar register i10 is out of range, the frame has 10 (node /start)",
     [](Program& p) { Word(p, Opcode::kAdd, 0) = 10; }},
    {"@main:4 add: scalar register i10 is out of range, the frame has 10 (node /start)",
     [](Program& p) { Word(p, Opcode::kAdd, 2) = 10; }},
    {"@main:8 constant: reference register r7 is out of range, the frame has 7 (node /start)",
     [](Program& p) { Word(p, Opcode::kLoadConstant, 0) = 7; }},
    {"@main:41 dim: reference register r7 is out of range, the frame has 7 (node /start)",
     [](Program& p) { Word(p, Opcode::kDim, 1) = 7; }},
    {"@main:8 constant: constant 2 does not exist, the program has 2 (node /start)",
     [](Program& p) { Word(p, Opcode::kLoadConstant, 1) = 2; }},
    {"@main:11 plan: plan 1 does not exist, the program has 1 (node /start)",
     [](Program& p) { Word(p, Opcode::kPlan, 0) = 1; }},
    {"@main:11 plan: scalar register i10 is out of range, the frame has 10 (node /start)",
     [](Program& p) { Word(p, Opcode::kPlan, 1, 2) = 10; }},
    {"@main:11 plan: scalar register i10 is out of range, the frame has 10 (node /start)",
     [](Program& p) { Word(p, Opcode::kPlan, 3, 1) = 10; }},
    {"@main:29 alloc: unknown dtype 0 (node /start)", [](Program& p) { Word(p, Opcode::kAllocate, 1) = 0; }},
    {"@main:29 alloc: unknown dtype 29 (node /start)",
     [](Program& p) { Word(p, Opcode::kAllocate, 1) = 29; }},
    {"@main:55 launch: kernel 1 does not exist, the program has 1 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kLaunch, 0) = 1; }},
    {"@main:55 launch: constant 2 does not exist, the program has 2 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kLaunch, 4, 1) = kConst | 2; }},
    {"@main:55 launch: buffer 0 is constant c1, whose strings have no bytes (node /Mul)",
     [](Program& p) { Word(p, Opcode::kLaunch, 4, 1) = kConst | 1; }},
    {"@main:55 launch: scalar register i10 is out of range, the frame has 10 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kLaunch, 4, 2) = 10; }},
    {"@main:55 launch: reference register r7 is out of range, the frame has 7 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kLaunch, 4, 3) = 7; }},
    {"@main:87 call: function 2 does not exist, the program has 2 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kCall, 0) = 2; }},
    {"@main:87 call: reference register r7 is out of range, the frame has 7 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kCall, 2, 1) = 7; }},
    {"@main:87 call: reference register r7 is out of range, the frame has 7 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kCall, 4, 1) = 7; }},
    {"@main:97 guard: string 3 does not exist, the program has 3 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kGuard, 1) = 3; }},
};

TEST(Verifier, Operands) { CheckMutations(kOperandMutations); }

// What stands in another constant is for launches on devices.
TEST(Verifier, ConstantsWithoutBytes) {
  const auto with_c2 = [](Opcode opcode, size_t operand, size_t offset, bool is_buffer) {
    Program program = BaseProgram();
    program.constants.push_back({.name = "m", .dtype = DType::kF32, .dims = {2}});
    program.constants[2].place = {ConstantId{0}, 0, {2, 1, 0}};
    Word(program, opcode, operand, offset) = is_buffer ? kConst | 2 : 2;
    return program;
  };
  const auto error = [](const Program& program) {
    const Status verified = VerifyProgram(program);
    return verified ? "" : verified.error().message;
  };
  EXPECT_EQ(error(with_c2(Opcode::kLoadConstant, 1, 0, false)),
            "@main:8 constant: constant c2 has no bytes on the host (node /start)");
  Program launch = with_c2(Opcode::kLaunch, 4, 1, true);
  EXPECT_EQ(error(launch), "@main:55 launch: constant c2 has no bytes on the host (node /Mul)");
  launch.kernels[0].device = DeviceClass::kGpu;
  Word(launch, Opcode::kLaunch, 1) = 1;
  EXPECT_EQ(error(launch), "");
  Program copy = with_c2(Opcode::kCopy, 0, 3, true);
  Word(copy, Opcode::kCopy, 1) = 1;  // a register here, not the number of a device
  EXPECT_EQ(error(copy), "@main:72 copy: constant c2 has no bytes on the host (node /Mul)");
}

}  // namespace
}  // namespace tvmvm
