#include "bytecode/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tvmvm {
namespace {

using ::testing::HasSubstr;

TypeSpec TensorType(std::string symbol) {
  TypeSpec type;
  type.dtype = DType::kF32;
  type.dims.push_back({.symbol = std::move(symbol)});
  return type;
}

FunctionSpec Signature(std::string name) {
  FunctionSpec spec;
  spec.name = std::move(name);
  spec.inputs = {{"x", TensorType("n")}};
  spec.outputs = {{"y", TensorType("n")}};
  return spec;
}

// The positions of the function's instructions with this opcode.
std::vector<uint32_t> WordsOf(const FunctionSpec& function, Opcode opcode) {
  std::vector<uint32_t> words;
  for (uint32_t word = 0; word < function.code.size();) {
    DecodedInstruction instruction = *DecodeInstruction(function.code, word);
    if (instruction.info->opcode == opcode) words.push_back(word);
    word += instruction.words;
  }
  return words;
}

TEST(Builder, PutsInternedImmediatesInFrontAndMovesJumpsAndLinesBehindThem) {
  Builder builder;
  FunctionBuilder& body = builder.AddFunction(Signature("main"));
  RefReg x{0};
  body.SetSourceNode("count");
  ScalarReg i = body.NewScalar();
  body.Emit(Opcode::kMove,
            {{OperandKind::kScalarDst, i.index}, {OperandKind::kScalarSrc, body.Immediate(0).index}});
  Label loop = body.NewLabel();
  body.Bind(loop);
  body.SetSourceNode("step");
  body.Emit(Opcode::kAdd, {{OperandKind::kScalarDst, i.index},
                           {OperandKind::kScalarSrc, i.index},
                           {OperandKind::kScalarSrc, body.Immediate(1).index}});
  ScalarReg more = body.Binary(Opcode::kLess, i, body.Dim(x, 0));
  body.BranchIf(more, loop);
  EXPECT_EQ(body.Immediate(1).index, body.Immediate(1).index);
  EXPECT_NE(body.Immediate(1).index, body.Immediate(0).index);
  body.Return({}, std::array{x});
  builder.SetEntry(body.id());

  auto program = builder.Finish();
  ASSERT_TRUE(program) << program.error().message;
  const FunctionSpec& main = (*program)->main();
  EXPECT_EQ(WordsOf(main, Opcode::kConstant64), (std::vector<uint32_t>{0, 4}));
  uint32_t add = WordsOf(main, Opcode::kAdd).at(0);
  DecodedInstruction branch = *DecodeInstruction(main.code, WordsOf(main, Opcode::kBranchIf).at(0));
  EXPECT_EQ(branch.operand(1).value, add);
  EXPECT_EQ((*program)->SourceNode(main, 0), "");
  EXPECT_EQ((*program)->SourceNode(main, WordsOf(main, Opcode::kMove).at(0)), "count");
  EXPECT_EQ((*program)->SourceNode(main, add), "step");
  EXPECT_EQ((*program)->SourceNode(main, WordsOf(main, Opcode::kReturn).at(0)), "step");
}

TEST(Builder, InternsStrings) {
  Builder builder;
  EXPECT_EQ(builder.Intern("a"), builder.Intern("a"));
  EXPECT_NE(builder.Intern("a"), builder.Intern("b"));
}

TEST(Builder, FunctionsKeepTheirAddress) {
  Builder builder;
  FunctionBuilder& first = builder.AddFunction(Signature("main"));
  for (int i = 0; i < 100; ++i) {
    FunctionBuilder& other = builder.AddFunction(Signature("f" + std::to_string(i)));
    other.Return({}, std::array{RefReg{0}});
  }
  first.Return({}, std::array{RefReg{0}});
  builder.SetEntry(first.id());
  auto program = builder.Finish();
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ((*program)->functions.size(), 101u);
}

TEST(Builder, CopiesConstantsToAlignedMemory) {
  Builder builder;
  std::vector<float> values = {1, 2, 3};
  ConstantSpec constant;
  constant.dtype = DType::kF32;
  constant.dims = {3};
  constant.bytes = std::as_bytes(std::span(values));
  ConstantId id = builder.AddConstant(std::move(constant));
  values.assign(3, 0);
  FunctionBuilder& body = builder.AddFunction(Signature("main"));
  body.Return({}, std::array{body.Constant(id)});
  builder.SetEntry(body.id());
  auto program = builder.Finish();
  ASSERT_TRUE(program) << program.error().message;
  std::span<const std::byte> bytes = (*program)->constants[0].bytes;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<const float*>(bytes.data())[2], 3.0f);
}

// What Finish says about a body that `emit` builds.
template <class Emit>
std::string FinishError(Emit emit) {
  Builder builder;
  FunctionBuilder& body = builder.AddFunction(Signature("main"));
  emit(body);
  body.Return({}, std::array{RefReg{0}});
  builder.SetEntry(body.id());
  auto program = builder.Finish();
  return program ? "" : program.error().message;
}

TEST(Builder, ReportsWrongUse) {
  using enum OperandKind;
  EXPECT_EQ(FinishError([](FunctionBuilder& body) { body.Emit(Opcode::kJump, {}); }),
            "@main:0 jump: 0 operands given, wanted 1");
  EXPECT_EQ(FinishError([](FunctionBuilder& body) {
              body.Emit(Opcode::kJump, {{kIndex, 0}});
            }),
            "@main:0 jump: operand 0 is of kind index, wanted target");
  EXPECT_EQ(FinishError([](FunctionBuilder& body) {
              body.Emit(Opcode::kWait, {{kIndex, -1}});
            }),
            "@main:0 wait: operand 0 is -1, which does not fit one word");
  EXPECT_EQ(FinishError([](FunctionBuilder& body) {
              body.Emit(Opcode::kCopy, {{kBufferList, std::vector<uint32_t>{1}}, {kScalarSrc, 0}});
            }),
            "@main:0 copy: operand 0 has 1 words, wanted pairs");
  EXPECT_EQ(FinishError([](FunctionBuilder& body) { body.Jump(Label{3}); }), "@main:0 jump: unknown label 3");
  EXPECT_EQ(FinishError([](FunctionBuilder& body) { body.Jump(body.NewLabel()); }),
            "@main: label 0 is jumped to and never bound");
  EXPECT_EQ(FinishError([](FunctionBuilder& body) {
              Label label = body.NewLabel();
              body.Bind(label);
              body.Bind(label);
            }),
            "@main:0 label 0 is unknown or bound twice");
  EXPECT_THAT(FinishError([](FunctionBuilder& body) { body.Dim(RefReg{0}, 99); }), HasSubstr("axis 99"));
}

}  // namespace
}  // namespace tvmvm
