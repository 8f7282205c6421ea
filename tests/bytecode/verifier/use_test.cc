// Programs that break a check of what each opcode demands of its operands together.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "bytecode/host_functions.h"
#include "bytecode/output_operand.h"
#include "tests/bytecode/verifier/mutations.h"

namespace tvmvm {
namespace {

// Replaces an instruction by another (of the same opcode where `by` gives none) that is encoded from
// `operands`, and moves line entries and targets behind it.
void Replace(Program& program, Opcode opcode, std::vector<Operand> operands,
             std::optional<Opcode> by = std::nullopt) {
  FunctionSpec& main = Main(program);
  DecodedInstruction old = Find(program, opcode);
  uint32_t begin = old.word;
  uint32_t end = begin + old.words;
  std::vector<uint32_t> words;
  ASSERT_TRUE(EncodeInstruction(by.value_or(opcode), operands, &words));
  int64_t shift = static_cast<int64_t>(words.size()) - old.words;
  for (LineEntry& line : main.lines)
    if (line.word >= end) line.word += static_cast<uint32_t>(shift);
  uint32_t& target = Word(program, Opcode::kBranchIfNot, 1);
  if (target >= end) target += static_cast<uint32_t>(shift);
  main.code.erase(main.code.begin() + begin, main.code.begin() + end);
  main.code.insert(main.code.begin() + begin, words.begin(), words.end());
}

Operand List(OperandKind kind, std::vector<uint32_t> list) { return Operand(kind, std::move(list)); }

std::string NoSuchHostFunction(size_t number) {
  return "@main:85 host: host function " + std::to_string(number) + " does not exist, the library has " +
         std::to_string(HostSignatures().size()) + " (node /Mul)";
}
const std::string kNoSuchHostFunction = NoSuchHostFunction(4'000'000'000u),
                  kNextHostFunction = NoSuchHostFunction(HostSignatures().size());

// Replaces `wait` by a host call with so many scalars, references and destinations.
void Host(Program& program, HostFunctionId function, std::array<size_t, 4> counts) {
  std::vector<uint32_t> zeros(4, 0);
  auto list = [&](OperandKind kind, size_t count) {
    return List(kind, std::vector<uint32_t>(zeros.begin(), zeros.begin() + static_cast<int>(count)));
  };
  Replace(program, Opcode::kWait,
          {{OperandKind::kIndex, static_cast<int64_t>(function)},
           list(OperandKind::kScalarList, counts[0]),
           list(OperandKind::kRefList, counts[1]),
           list(OperandKind::kScalarDstList, counts[2]),
           list(OperandKind::kRefDstList, counts[3])},
          Opcode::kHostCall);
}

// Output 0 of @main in the memory of an input.
uint32_t DonatedBy(uint32_t input) { return *OutputOperand{0, input}.word(2); }

using enum OperandKind;
constexpr uint32_t kNone = BufferOperand::kNoOffset;
constexpr uint32_t kConst = BufferOperand::kConstantBit;

const Mutation kUseMutations[] = {
    {"@main:108 return: 1 scalars given, the signature of 'main' takes 0 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kReturn, {List(kScalarList, {0}), List(kRefList, {4, 2})});
     }},
    {"@main:108 return: 1 references given, the signature of 'main' takes 2 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kReturn, {List(kScalarList, {}), List(kRefList, {4})});
     }},
    {"@main:87 call: 0 scalars given, function 'helper' takes 1 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kCall,
               {{kFunction, 0},
                List(kScalarList, {}),
                List(kRefList, {0}),
                List(kScalarDstList, {8}),
                List(kRefDstList, {5})});
     }},
    {"@main:87 call: 2 references given, function 'helper' takes 1 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kCall,
               {{kFunction, 0},
                List(kScalarList, {0}),
                List(kRefList, {0, 0}),
                List(kScalarDstList, {8}),
                List(kRefDstList, {5})});
     }},
    {"@main:87 call: 2 scalar destinations given, the result of 'helper' takes 1 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kCall,
               {{kFunction, 0},
                List(kScalarList, {0}),
                List(kRefList, {0}),
                List(kScalarDstList, {8, 9}),
                List(kRefDstList, {5})});
     }},
    {"@main:87 call: 0 reference destinations given, the result of 'helper' takes 1 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kCall,
               {{kFunction, 0},
                List(kScalarList, {0}),
                List(kRefList, {0}),
                List(kScalarDstList, {8}),
                List(kRefDstList, {})});
     }},
    {"@main:11 plan: 1 sizes given, plan p0 takes 2 (node /start)",
     [](Program& p) {
       Replace(p, Opcode::kPlan,
               {{kPlan, 0}, List(kScalarList, {0}), {kScalarDst, 2}, List(kScalarDstList, {3, 4})});
     }},
    {"@main:11 plan: 3 offset destinations given, plan p0 takes 2 (node /start)",
     [](Program& p) {
       Replace(p, Opcode::kPlan,
               {{kPlan, 0}, List(kScalarList, {0, 1}), {kScalarDst, 2}, List(kScalarDstList, {3, 4, 5})});
     }},
    {"@main:23 output: output 2 does not exist, the function has 2 (node /start)",
     [](Program& p) { Word(p, Opcode::kOutput, 1) = 2; }},
    {"@main:23 output: output 1 is no tensor (node /start)",
     [](Program& p) { Word(p, Opcode::kOutput, 1) = 1; }},
    {"@main:23 output: input 2 does not exist, the function has 2 (node /start)",
     [](Program& p) { Word(p, Opcode::kOutput, 1) = DonatedBy(2); }},
    {"@main:23 output: input 1 and output 0 are no tensors of one type of numbers (node /start)",
     [](Program& p) { Word(p, Opcode::kOutput, 1) = DonatedBy(1); }},
    {"@main:23 output: input 0 and output 0 are no tensors of one type of numbers (node /start)",
     [](Program& p) {
       Word(p, Opcode::kOutput, 1) = DonatedBy(0);
       Main(p).inputs[0].type.dtype = DType::kI32;
     }},
    {"@main:23 output: input 0 and output 0 are no tensors of one type of numbers (node /start)",
     [](Program& p) {
       Word(p, Opcode::kOutput, 1) = DonatedBy(0);
       Main(p).inputs[0].type.dtype = Main(p).outputs[0].type.dtype = DType::kString;
     }},
    {"@main:23 output: rank 33, at most 32 (node /start)",
     [](Program& p) {
       Replace(p, Opcode::kOutput,
               {{kRefDst, 4}, {kIndex, 0}, List(kScalarList, std::vector<uint32_t>(33, 0))});
     }},
    {"@main:29 alloc: rank 33, at most 32 (node /start)",
     [](Program& p) {
       Replace(p, Opcode::kAllocate,
               {{kRefDst, 5}, {kDType, 1}, List(kScalarList, std::vector<uint32_t>(33, 0))});
     }},
    {"@main:34 view: rank 33, at most 32 (node /start)",
     [](Program& p) {
       Replace(p, Opcode::kView,
               {{kRefDst, 6},
                {kRefSrc, 3},
                {kScalarSrc, 3},
                {kDType, 1},
                List(kScalarList, std::vector<uint32_t>(33, 0))});
     }},
    {"@main:41 dim: axis 32, at most 31 (node /start)", [](Program& p) { Word(p, Opcode::kDim, 2) = 32; }},
    {"@main:45 load: an element of string does not fit a scalar register (node /start)",
     [](Program& p) { Word(p, Opcode::kLoad, 3) = static_cast<uint32_t>(DType::kString); }},
    {"@main:45 load: an element of c64 does not fit a scalar register (node /start)",
     [](Program& p) { Word(p, Opcode::kLoad, 3) = static_cast<uint32_t>(DType::kC64); }},
    {"@main:50 store: an element of i4 does not fit a scalar register (node /start)",
     [](Program& p) { Word(p, Opcode::kStore, 2) = static_cast<uint32_t>(DType::kI4); }},
    {"@main:55 launch: kernel 'scale' runs on a device of class cpu, queue 1 is that of gpu (node /Mul)",
     [](Program& p) { Word(p, Opcode::kLaunch, 1) = 1; }},
    {"@main:55 launch: kernel 'scale' runs on a device of class gpu, queue 0 is that of cpu (node /Mul)",
     [](Program& p) { p.kernels[0].device = DeviceClass::kGpu; }},
    {"@main:55 launch: queue 2 is of no device, the last one is 1 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kLaunch, 1) = 2; }},
    {"@main:55 launch: 5 shape scalars given, a launch takes 6 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kLaunch,
               {{kKernel, 0},
                {kIndex, 0},
                List(kScalarList, {0, 0, 0, 0, 0}),
                List(kScalarList, {0}),
                List(kBufferList, {0, kNone, 3, kNone})});
     }},
    {"@main:55 launch: 2 scalars given, kernel 'scale' takes 1 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kLaunch,
               {{kKernel, 0},
                {kIndex, 0},
                List(kScalarList, {0, 0, 0, 0, 0, 0}),
                List(kScalarList, {0, 0}),
                List(kBufferList, {0, kNone, 3, kNone})});
     }},
    {"@main:55 launch: 3 buffers given, kernel 'scale' takes 2 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kLaunch,
               {{kKernel, 0},
                {kIndex, 0},
                List(kScalarList, {0, 0, 0, 0, 0, 0}),
                List(kScalarList, {0}),
                List(kBufferList, {0, kNone, 3, kNone, 3, kNone})});
     }},
    {"@main:55 launch: buffer 1 is written and is constant c0 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kLaunch, 4, 3) = kConst; }},
    {"@main:72 copy: 1 buffers given, a copy takes 2 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kCopy, {List(kBufferList, {4, kNone}), {kScalarSrc, 0}});
     }},
    {"@main:72 copy: buffer 0 is written and is constant c0 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kCopy, 0, 1) = kConst; }},
    {"@main:79 fill: 2 buffers given, a fill takes 1 (node /Mul)",
     [](Program& p) {
       Replace(p, Opcode::kFill, {List(kBufferList, {4, kNone, 4, kNone}), {kScalarSrc, 0}, {kIndex, 0}});
     }},
    {"@main:79 fill: 256 is no byte value (node /Mul)", [](Program& p) { Word(p, Opcode::kFill, 2) = 256; }},
    {"@main:79 fill: buffer 0 is written and is constant c0 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kFill, 0, 1) = kConst; }},
    {"@main:85 wait: queue 2 is of no device, the last one is 1 (node /Mul)",
     [](Program& p) { Word(p, Opcode::kWait, 0) = 2; }},
    {"@main:20 arena.on: queue 2 is of no device, the last one is 1 (node /start)",
     [](Program& p) {
       Replace(p, Opcode::kArena, {{kRefDst, 3}, {kIndex, 2}, {kScalarSrc, 2}}, Opcode::kArenaOn);
     }},
    {"@main:29 alloc.on: queue 2 is of no device, the last one is 1 (node /start)",
     [](Program& p) {
       Replace(p, Opcode::kAllocate, {{kRefDst, 5}, {kIndex, 2}, {kDType, 1}, List(kScalarList, {0})},
               Opcode::kAllocateOn);
     }},
    {"@main:29 alloc.on: rank 33, at most 32 (node /start)",
     [](Program& p) {
       Replace(p, Opcode::kAllocate,
               {{kRefDst, 5}, {kIndex, 1}, {kDType, 1}, List(kScalarList, std::vector<uint32_t>(33, 0))},
               Opcode::kAllocateOn);
     }},
    {kNoSuchHostFunction.c_str(),
     [](Program& p) {
       Host(p, HostFunctionId{4'000'000'000u}, {0, 0, 0, 0});
     }},
    {kNextHostFunction.c_str(),
     [](Program& p) {
       Host(p, HostFunctionId{static_cast<uint32_t>(HostSignatures().size())}, {0, 0, 0, 0});
     }},
    {"@main:85 host: 1 scalars given, 'sequence.insert' takes 2 (node /Mul)",
     [](Program& p) {
       Host(p, HostFunctionId::kSequenceInsert, {1, 2, 0, 1});
     }},
    {"@main:85 host: 3 references given, 'sequence.insert' takes 2 (node /Mul)",
     [](Program& p) {
       Host(p, HostFunctionId::kSequenceInsert, {2, 3, 0, 1});
     }},
    {"@main:85 host: 1 scalar destinations given, 'sequence.insert' takes 0 (node /Mul)",
     [](Program& p) {
       Host(p, HostFunctionId::kSequenceInsert, {2, 2, 1, 1});
     }},
    {"@main:85 host: 2 reference destinations given, 'sequence.insert' takes 1 (node /Mul)",
     [](Program& p) {
       Host(p, HostFunctionId::kSequenceInsert, {2, 2, 0, 2});
     }},
    {"@main:85 host: 1 reference destinations given, 'string.ids' takes 2 (node /Mul)",
     [](Program& p) {
       Host(p, HostFunctionId::kStringIds, {0, 2, 0, 1});
     }},
};

TEST(Verifier, Uses) { CheckMutations(kUseMutations); }
TEST(Verifier, ADonatedOutput) {
  Program program = BaseProgram();
  Word(program, Opcode::kOutput, 1) = DonatedBy(0);
  EXPECT_TRUE(VerifyProgram(program));
}

// The verifier's message about instructions of a function with slots s0 and s1 in r4, of 4; "" when they are
// fine.
std::string SlotsError(const std::string& body) {
  auto program = Assemble(R"(
entry @main
constant c0 "c": i64[1] hex "0000000000000000"
plan p0 [0..2 align 64, 0..2 align 64]
func @main("x": i64[2], "s": sequence<i64[2]>) -> ("y": i64[2], "t": sequence<i64[2]>) frame 4, 6, 4 device [0] -> [0] {
  i0 = const 0
  i1 = const 1
  i2 = const 16
  r3 = output 0, [i1]
  r4, s0 = slots p0, 0, [i2, i2]
)" + body + "\n  return [], [r3, r1]\n}\n");
  return program ? "" : program.error().message;
}

TEST(Verifier, Slots) {
  EXPECT_EQ(SlotsError("s2 = slot.part s0, i0, i1 slot.swap s2, s1 slot.input s0, 0 slot.output s1, 0"), "");
  EXPECT_EQ(SlotsError("slot.swap s0, s4"), "@main:25 slot.swap: slot s4 is out of range, the frame has 4");
  EXPECT_EQ(SlotsError("s4 = slot.part s0, i0, i1"),
            "@main:25 slot.part: slot s4 is out of range, the frame has 4");
  EXPECT_EQ(SlotsError("copy [r3, s4], i1"), "@main:25 copy: slot s4 is out of range, the frame has 4");
  EXPECT_EQ(SlotsError("r4, s3 = slots p0, 0, [i2, i2]"),
            "@main:25 slots: 2 slots from s3 on are out of range, the frame has 4");
  EXPECT_EQ(SlotsError("r4, s0 = slots p0, 0, [i2]"), "@main:25 slots: 1 sizes given, plan p0 takes 2");
  EXPECT_EQ(SlotsError("r4, s0 = slots p0, 2, [i2, i2]"),
            "@main:25 slots: queue 2 is of no device, the last one is 1");
  EXPECT_EQ(SlotsError("r5, s2 = slots.among p0, 0, [i2, i2], [r4]"), "");
  EXPECT_EQ(SlotsError("r5, s2 = slots.among p0, 0, [i2], [s1, r4]"), "");
  EXPECT_EQ(SlotsError("r5, s3 = slots.among p0, 0, [i2, i2], [r4]"),
            "@main:25 slots.among: 2 slots from s3 on are out of range, the frame has 4");
  EXPECT_EQ(SlotsError("r5, s2 = slots.among p0, 0, [i2, i2], [r4, s0]"),
            "@main:25 slots.among: 2 sizes given, plan p0 beside the slots takes 1");
  EXPECT_EQ(SlotsError("r5, s2 = slots.among p0, 0, [], [r4, s0, s1, s0]"),
            "@main:25 slots.among: 3 slots are named, plan p0 has 2 values");
  EXPECT_EQ(SlotsError("r5, s2 = slots.among p0, 0, [i2, i2], []"),
            "@main:25 slots.among: no register is listed in whose memory slots may lie");
  EXPECT_EQ(SlotsError("r5, s2 = slots.among p0, 0, [i2], [r4, s0+i1]"),
            "@main:25 slots.among: buffer 1 is no register and no slot as a whole");
  EXPECT_EQ(SlotsError("r5, s2 = slots.among p0, 0, [i2, i2], [r4, c0]"),
            "@main:25 slots.among: buffer 1 is no register and no slot as a whole");
  EXPECT_EQ(SlotsError("r5, s2 = slots.among p0, 2, [i2, i2], [r4]"),
            "@main:25 slots.among: queue 2 is of no device, the last one is 1");
  EXPECT_EQ(SlotsError("r5, s2 = slots.among p0, 0, [i2], [r4, s3]"),
            "@main:25 slots.among: slot s3 may be read before it is assigned");
  EXPECT_EQ(SlotsError("copy [r3, s2], i1"), "@main:25 copy: slot s2 may be read before it is assigned");
  EXPECT_EQ(SlotsError("slot.swap s1, s3"), "@main:25 slot.swap: slot s3 may be read before it is assigned");
  EXPECT_EQ(SlotsError("slot.input s0, 2"),
            "@main:25 slot.input: input 2 does not exist, the function has 2");
  EXPECT_EQ(SlotsError("slot.output s0, 2"),
            "@main:25 slot.output: output 2 does not exist, the function has 2");
  EXPECT_EQ(SlotsError("slot.input s0, 1"), "@main:25 slot.input: input 1 is no tensor");
  EXPECT_EQ(SlotsError("slot.output s0, 1"), "@main:25 slot.output: output 1 is no tensor");
  EXPECT_EQ(SlotsError("i3 = slot.load s0, i0, c64"),
            "@main:25 slot.load: an element of c64 does not fit a scalar register");
  EXPECT_EQ(SlotsError("slot.store s0, i0, string, i1"),
            "@main:25 slot.store: an element of string does not fit a scalar register");
  std::string dims = "i1";
  for (int i = 0; i < 32; ++i) dims += ", i1";
  EXPECT_EQ(SlotsError("r5 = slot.view s0, i0, u8, [" + dims + "]"),
            "@main:25 slot.view: rank 33, at most 32");
}

}  // namespace
}  // namespace tvmvm
