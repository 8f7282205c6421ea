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

}  // namespace
}  // namespace tvmvm
