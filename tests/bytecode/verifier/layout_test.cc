// Programs that break a check of frames, of line tables or of how instructions tile the code.
#include <gtest/gtest.h>

#include <string>

#include "tests/bytecode/verifier/mutations.h"

namespace tvmvm {
namespace {

const std::string kNextOpcode = "@main:0 unknown opcode " + std::to_string(Opcodes().size());

const Mutation kLayoutMutations[] = {
    {"@main: 1048577 scalar registers, at most 1048576",
     [](Program& p) { Main(p).scalar_registers = 1048577; }},
    {"@main: 1048577 reference registers, at most 1048576",
     [](Program& p) { Main(p).ref_registers = 1048577; }},
    {"@main: 1048577 slots, at most 1048576", [](Program& p) { Main(p).slots = 1048577; }},
    {"@main: 65 slot registers, but only 0 can be set; at most 64 may be declared",
     [](Program& p) { Main(p).slots = 65; }},
    {"@main: input 2 may stay on a device, the function has 2",
     [](Program& p) { Main(p).device_inputs = {2}; }},
    {"@main: output 2 may stay on a device, the function has 2",
     [](Program& p) {
       Main(p).device_outputs = {0, 2};
     }},
    {"@main: output 0 that may stay on a device follows 0",
     [](Program& p) {
       Main(p).device_outputs = {0, 0};
     }},
    {"@helper: 1 scalar parameters in 0 registers", [](Program& p) { p.functions[0].scalar_registers = 0; }},
    {"@main: 2 reference parameters in 1 registers", [](Program& p) { Main(p).ref_registers = 1; }},
    {"@helper: 65 scalar registers, but only 1 can be set; at most 64 may be declared",
     [](Program& p) { p.functions[0].scalar_registers = 65; }},
    {"@helper: 1048576 reference registers, but only 1 can be set; at most 64 may be declared",
     [](Program& p) { p.functions[0].ref_registers = 1048576; }},
    {"@main: 65 scalar registers, but only 9 can be set; at most 64 may be declared",
     [](Program& p) { Main(p).scalar_registers = 65; }},
    {"@main: line table entry 1 at word 0 follows word 0", [](Program& p) { Main(p).lines[1].word = 0; }},
    {"@main: line table entry 0 names string 3, the program has 3",
     [](Program& p) { Main(p).lines[0].node.index = 3; }},
    {"@main: line table word 1 is not the start of an instruction",
     [](Program& p) { Main(p).lines[0].word = 1; }},
    {"@main: no instructions", [](Program& p) { Main(p).code.clear(), Main(p).lines.clear(); }},
    {"@main: 16777217 words of code, at most 16777216",
     [](Program& p) { Main(p).code.resize((1 << 24) + 1); }},
    {"@main:0 unknown opcode 255", [](Program& p) { Main(p).code[0] |= 0xff; }},
    {kNextOpcode.c_str(),
     [](Program& p) {
       Main(p).code[0] = (Main(p).code[0] & ~0xffu) | static_cast<uint32_t>(Opcodes().size());
     }},
    {"@main:108 return: operand 1 does not fit the instruction's 5 words",
     [](Program& p) { Word(p, Opcode::kReturn, 1) = 3; }},
    {"@main:0 const: 0 words long, but 113 are left in the function",
     [](Program& p) { Main(p).code[0] &= 0xff; }},
    {"@main:0 const: 114 words long, but 113 are left in the function",
     [](Program& p) { Main(p).code[0] = (Main(p).code[0] & 0xff) | 114 << 8; }},
    {"@main:0 const: operand 1 does not fit the instruction's 3 words",
     [](Program& p) { Main(p).code[0] = (Main(p).code[0] & 0xff) | 3 << 8; }},
    {"@main:0 const: operand 0 does not fit the instruction's 1 words",
     [](Program& p) { Main(p).code[0] = (Main(p).code[0] & 0xff) | 1 << 8; }},
    {"@main:0 const: 1 words too many",
     [](Program& p) { Main(p).code[0] = (Main(p).code[0] & 0xff) | 5 << 8; }},
    {"@main:11 plan: operand 1 does not fit the instruction's 9 words",
     [](Program& p) { Word(p, Opcode::kPlan, 1) = 0xffffffff; }},
    {"@main:55 launch: operand 4 does not fit the instruction's 17 words",
     [](Program& p) { Word(p, Opcode::kLaunch, 4) = 0x80000001; }},
    {"@main: the last instruction falls off the end",
     [](Program& p) {
       uint32_t end = Find(p, Opcode::kReturn).word;
       Main(p).code.resize(end);
       Word(p, Opcode::kBranchIfNot, 1) = 0;
     }},
    {"@main:102 branch.ifnot: target 1 is not the start of an instruction (node /Mul)",
     [](Program& p) { Word(p, Opcode::kBranchIfNot, 1) = 1; }},
    {"@main:102 branch.ifnot: target 113 is not the start of an instruction (node /Mul)",
     [](Program& p) { Word(p, Opcode::kBranchIfNot, 1) = 113; }},
};

TEST(Verifier, Layout) { CheckMutations(kLayoutMutations); }

}  // namespace
}  // namespace tvmvm
