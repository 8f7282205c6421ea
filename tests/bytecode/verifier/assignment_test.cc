// Definite assignment: what every path to a read has set.
#include <gtest/gtest.h>

#include "bytecode/builder.h"
#include "tvm-vm/assembler.h"

namespace tvmvm {
namespace {

using enum OperandKind;

// The verifier's message about the body of a function of one scalar and one reference parameter, "" when it
// is fine.
std::string BodyError(std::string_view body) {
  std::string text = "entry @main\nkernel @k cpu symbol \"k\" scalars 0 buffers [read]\n";
  text += "func @main() -> () frame 0, 0 { return [], [] }\n";
  text +=
      "func @f(\"x\": f32[]) -> (\"y\": f32[]) scalars 1 -> 1 frame 9, 9 {\n" + std::string(body) + "\n}\n";
  auto program = Assemble(text);
  return program ? "" : program.error().message;
}

std::string Unassigned(std::string_view place, std::string_view reg) {
  return "@f:" + std::string(place) + ": " + std::string(reg) + " may be read before it is assigned";
}

TEST(Assignment, ParametersAreAssigned) { EXPECT_EQ(BodyError("return [i0], [r0]"), ""); }

TEST(Assignment, EveryKindOfReadCounts) {
  EXPECT_EQ(BodyError("i1 = move i2 return [i0], [r0]"), Unassigned("0 move", "scalar register i2"));
  EXPECT_EQ(BodyError("r1 = move.ref r2 return [i0], [r0]"),
            Unassigned("0 move.ref", "reference register r2"));
  EXPECT_EQ(BodyError("return [i1], [r0]"), Unassigned("0 return", "scalar register i1"));
  EXPECT_EQ(BodyError("return [i0], [r1]"), Unassigned("0 return", "reference register r1"));
  EXPECT_EQ(BodyError("fill [r1], i0, 0 return [i0], [r0]"), Unassigned("0 fill", "reference register r1"));
  EXPECT_EQ(BodyError("fill [r0+i1], i0, 0 return [i0], [r0]"), Unassigned("0 fill", "scalar register i1"));
}

TEST(Assignment, EveryKindOfAssignmentCounts) {
  EXPECT_EQ(BodyError("i1 = move i0 return [i1], [r0]"), "");
  EXPECT_EQ(BodyError("r1 = move.ref r0 return [i0], [r1]"), "");
  EXPECT_EQ(BodyError("r1 = release return [i0], [r1]"), "");
  EXPECT_EQ(BodyError("[i1], [r1] = call @f, [i0], [r0] return [i1], [r1]"), "");
}

TEST(Assignment, AnInstructionReadsBeforeItAssigns) {
  EXPECT_EQ(BodyError("i1 = move i1 return [i0], [r0]"), Unassigned("0 move", "scalar register i1"));
}

TEST(Assignment, BothArmsMustAssign) {
  EXPECT_EQ(BodyError("branch.if i0, A  i1 = move i0 jump B  A: i1 = const 2 B: return [i1], [r0]"), "");
  EXPECT_EQ(BodyError("branch.if i0, A  i1 = move i0 jump B  A: i2 = const 2 B: return [i1], [r0]"),
            Unassigned("12 return", "scalar register i1"));
  EXPECT_EQ(BodyError("branch.ifnot i0, A  i1 = move i0  A: return [i1], [r0]"),
            Unassigned("6 return", "scalar register i1"));
}

TEST(Assignment, LoopsKeepWhatWasAssignedBefore) {
  EXPECT_EQ(BodyError("i1 = const 0 A: i1 = add i1, i0 branch.if i1, A return [i1], [r0]"), "");
  EXPECT_EQ(BodyError("A: i2 = const 1 branch.if i2, B return [i0], [r0] B: i1 = add i1, i0 jump A"),
            Unassigned("12 add", "scalar register i1"));
  // Assigned in the body, read behind a loop that may not run.
  EXPECT_EQ(BodyError("branch.if i0, B A: i1 = const 0 branch.if i1, A B: return [i1], [r0]"),
            Unassigned("10 return", "scalar register i1"));
}

TEST(Assignment, ManyBlocksBetweenAssignmentAndRead) {
  std::string body = "branch.if i0, S  i8 = const 1 jump E S: i1 = const 1 r1 = release\n";
  for (int i = 0; i < 50; ++i) {
    std::string n = std::to_string(i);
    body += "branch.if i1, A" + n + " i2 = const 1 jump B" + n + " A" + n + ": i2 = const 2 B" + n +
            ": i3 = move i2\n";
  }
  EXPECT_EQ(BodyError(body + "return [i1], [r1] E: return [i8], [r0]"), "");
  EXPECT_NE(BodyError(body + "return [i1], [r1] E: return [i8], [r1]"), "");
}

// Registers that stay alive over thousands of blocks cost their product: no compiled code does it, a hostile
// file may.
TEST(Assignment, TheWorkIsBounded) {
  constexpr int kMany = 6000;
  Builder builder;
  FunctionSpec spec;
  spec.name = "main";
  FunctionBuilder& body = builder.AddFunction(std::move(spec));
  ScalarReg condition = body.Immediate(1);
  Label begin = body.NewLabel();
  body.Jump(begin);
  body.Bind(begin);
  std::vector<ScalarReg> alive;
  for (int i = 0; i < kMany; ++i) {
    alive.push_back(body.NewScalar());
    body.Emit(Opcode::kMove, {{kScalarDst, alive.back().index}, {kScalarSrc, condition.index}});
  }
  for (int i = 0; i < kMany; ++i) {
    Label next = body.NewLabel();
    body.BranchIf(condition, next);
    body.Bind(next);
  }
  body.Guard(condition, "", alive);
  body.Return({}, {});
  builder.SetEntry(body.id());
  auto program = builder.Finish();
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().message, "@main: its control flow is too large to verify");
}

TEST(Assignment, UnreachableCodeIsNotRead) {
  EXPECT_EQ(BodyError("return [i0], [r0] A: i1 = add i1, i1 jump A"), "");
}

}  // namespace
}  // namespace tvmvm
