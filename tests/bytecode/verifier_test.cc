// Each case breaks one thing of a valid program; the message shows which check found it. A check without a
// case here is a check that nobody would miss.
#include "bytecode/verifier.h"

#include <gtest/gtest.h>

#include <functional>

#include "bytecode/builder.h"
#include "bytecode/encoding.h"
#include "bytecode/host_functions.h"
#include "bytecode/output_operand.h"
#include "tvm-vm/assembler.h"

namespace tvmvm {
namespace {

constexpr std::string_view kBase = R"(
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

Program BaseProgram() {
  auto program = Assemble(kBase);
  EXPECT_TRUE(program) << program.error().message;
  return **program;
}

FunctionSpec& Main(Program& program) { return program.functions[1]; }

// The first instruction of @main with this opcode.
DecodedInstruction Find(Program& program, Opcode opcode) {
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
uint32_t& Word(Program& program, Opcode opcode, size_t operand, size_t offset = 0) {
  return Main(program).code[Find(program, opcode).operand(operand).word + offset];
}

// Replaces an instruction by another (of the same opcode where `by` gives none) that is encoded from
// `operands`, and moves line entries and targets
// behind it.
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
                  kNextHostFunction = NoSuchHostFunction(HostSignatures().size()),
                  kNextOpcode = "@main:0 unknown opcode " + std::to_string(Opcodes().size());

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

// A copy of @main as the entry for a GPU.
FunctionSpec& AddGpuEntry(Program& program) {
  program.device_entries.push_back({FunctionId{static_cast<uint32_t>(program.functions.size())}, {1, 0}});
  program.functions.push_back(Main(program));
  program.functions.back().name = "gpu";
  return program.functions.back();
}

struct Mutation {
  const char* message;
  std::function<void(Program&)> apply;
};

using enum OperandKind;
constexpr uint32_t kNone = BufferOperand::kNoOffset;
constexpr uint32_t kConst = BufferOperand::kConstantBit;

// Names, types, kernels, libraries, constants, plans.
const Mutation kTableMutations[] = {
    {"a function has no name", [](Program& p) { p.functions[0].name.clear(); }},
    {"@main: two functions have this name", [](Program& p) { p.functions[0].name = "main"; }},
    {"entry function 2 does not exist, the program has 2", [](Program& p) { p.entry.index = 2; }},
    {"entry function 4294967295 does not exist, the program has 2", [](Program& p) { p.entry = {}; }},
    {"@helper: the entry function takes 1 and returns 1 scalars, wanted none",
     [](Program& p) { p.entry.index = 0; }},
    {"@helper: the entry function takes 0 and returns 1 scalars, wanted none",
     [](Program& p) { p.entry.index = 0, p.functions[0].scalar_inputs = 0; }},
    {"@helper: the entry function takes 1 and returns 0 scalars, wanted none",
     [](Program& p) { p.entry.index = 0, p.functions[0].scalar_outputs = 0; }},
    {"kernel 'scale': alignments of 1 buffers, it has 2", [](Program& p) { p.kernels[0].alignments = {4}; }},
    {"kernel 'scale': alignment 3, wanted a power of two up to 16",
     [](Program& p) {
       p.kernels[0].alignments = {4, 3};
     }},
    {"kernel 'scale': alignment 32, wanted a power of two up to 16",
     [](Program& p) {
       p.kernels[0].alignments = {32, 4};
     }},
    {"kernel 'scale': -1 bytes of scratch, 0 operations, 0 bytes: none may be negative",
     [](Program& p) { p.kernels[0].scratch_bytes = -1; }},
    {"kernel 'scale': 0 bytes of scratch, -1 operations, 0 bytes: none may be negative",
     [](Program& p) { p.kernels[0].flops = -1; }},
    {"kernel 'scale': 0 bytes of scratch, 0 operations, -1 bytes: none may be negative",
     [](Program& p) { p.kernels[0].bytes = -1; }},
    {"kernel 'scale': its contract has 2 expressions, wanted scratch, 2 buffers and conditions",
     [](Program& p) { p.kernels[0].contract = "0; 0"; }},
    {"kernel 'scale': its contract has 's9', which is not of x, y, z and its scalars",
     [](Program& p) { p.kernels[0].contract = "0; 0; s9"; }},
    {"kernel 'scale': its contract has '0', which never holds",
     [](Program& p) { p.kernels[0].contract = "0; 0; 0; 0"; }},
    {"kernel 'scale': a contract of a kernel that no CPU runs",
     [](Program& p) { p.kernels[0].contract = "0; 0; 0", p.kernels[0].device = DeviceClass::kGpu; }},
    {"the first device of the program is not the host's CPU", [](Program& p) { p.devices.clear(); }},
    {"the first device of the program is not the host's CPU",
     [](Program& p) { std::swap(p.devices[0], p.devices[1]); }},
    {"the first device of the program is not the host's CPU", [](Program& p) { p.devices[0].ordinal = 1; }},
    {"65 devices, at most 64", [](Program& p) { p.devices.resize(65); }},
    {"device 1: unknown class 7", [](Program& p) { p.devices[1].device_class = DeviceClass{7}; }},
    {"devices 1 and 2 are both gpu", [](Program& p) { p.devices.push_back(p.devices[1]); }},
    {"entry function 2 does not exist, the program has 2",
     [](Program& p) {
       p.device_entries.push_back({FunctionId{2}, {1, 0}});
     }},
    {"@gpu: an entry for device 2, the program has 2",
     [](Program& p) {
       AddGpuEntry(p);
       p.device_entries[0].devices[0] = 2;
     }},
    {"@gpu: an entry for device 1 twice",
     [](Program& p) {
       AddGpuEntry(p);
       p.device_entries[0].devices[1] = 1;
     }},
    {"@gpu: the entry function has another signature than @main",
     [](Program& p) { AddGpuEntry(p).inputs[0].type.dims[0].high = 511; }},
    {"@gpu: the entry function has another signature than @main",
     [](Program& p) { AddGpuEntry(p).outputs[0].name = "other"; }},
    {"@gpu: the entry function has another signature than @main",
     [](Program& p) { AddGpuEntry(p).scalar_inputs = 1; }},
    {"@gpu: the entry function has another signature than @main",
     [](Program& p) { AddGpuEntry(p).scalar_outputs = 1; }},
    {"@main input 'x': the name is used twice", [](Program& p) { Main(p).inputs[1].name = "x"; }},
    {"@main output 'y': the name is used twice", [](Program& p) { Main(p).outputs[1].name = "y"; }},
    {"@main input 'x': unknown dtype 0", [](Program& p) { Main(p).inputs[0].type.dtype = DType::kInvalid; }},
    {"@main input 'x': unknown dtype 29", [](Program& p) { Main(p).inputs[0].type.dtype = DType{29}; }},
    {"@main input 'x': a tensor has no element types",
     [](Program& p) { Main(p).inputs[0].type.elements.push_back(Main(p).inputs[0].type); }},
    {"@main input 'x': dimensions without a rank",
     [](Program& p) { Main(p).inputs[0].type.has_rank = false; }},
    {"@main input 'x': rank 33, at most 32", [](Program& p) { Main(p).inputs[0].type.dims.resize(33); }},
    {"@main input 'x': a dimension is -2", [](Program& p) { Main(p).inputs[0].type.dims[0].value = -2; }},
    {"@main input 'x': a dimension is 3 and 'm' at once",
     [](Program& p) { Main(p).inputs[0].type.dims[1].symbol = "m"; }},
    {"@main input 'x': a dimension is 0 and 'n' at once",
     [](Program& p) { Main(p).inputs[0].type.dims[0].value = 0; }},
    {"@main input 'x': bounds 513..512 of dimension 'n' are no range",
     [](Program& p) { Main(p).inputs[0].type.dims[0].low = 513; }},
    {"@main input 'x': bounds -1..512 of dimension 'n' are no range",
     [](Program& p) { Main(p).inputs[0].type.dims[0].low = -1; }},
    {"@main input 's': unknown kind of type 4",
     [](Program& p) { Main(p).inputs[1].type.kind = ValueKind{4}; }},
    {"@main input 's': a sequence or optional of 2 types, at most one",
     [](Program& p) {
       Main(p).inputs[1].type.kind = ValueKind::kOptional;
       Main(p).inputs[1].type.elements.resize(2);
     }},
    {"@main input 's': only a tensor has a dtype and dimensions",
     [](Program& p) { Main(p).inputs[1].type.dtype = DType::kF32; }},
    {"@main output 'z': only a tensor has a dtype and dimensions",
     [](Program& p) { Main(p).outputs[1].type.dims.resize(1); }},
    {"@main output 'z': unknown dtype 0",
     [](Program& p) { Main(p).outputs[1].type.elements[0].dtype = DType::kInvalid; }},
    {"@main input 's': types nested more than 16 deep",
     [](Program& p) {
       for (int i = 0; i < kMaxTypeDepth; ++i) {
         TypeSpec outer;
         outer.kind = ValueKind::kSequence;
         outer.elements = {Main(p).inputs[1].type};
         Main(p).inputs[1].type = std::move(outer);
       }
     }},
    {"a kernel has no name", [](Program& p) { p.kernels[0].name.clear(); }},
    {"kernel 'scale': two kernels have this name", [](Program& p) { p.kernels.push_back(p.kernels[0]); }},
    {"kernel 'scale': no symbol", [](Program& p) { p.kernels[0].symbol.clear(); }},
    {"kernel 'scale': unknown device 2", [](Program& p) { p.kernels[0].device = DeviceClass{2}; }},
    {"kernel 'scale': unknown access 4", [](Program& p) { p.kernels[0].buffers[0] = Access{4}; }},
    {"kernel library 'host': unknown device 4",
     [](Program& p) {
       p.libraries.push_back({DeviceKind{4}, KernelForm::kBitcode, "host", {}});
     }},
    {"kernel library 'host': unknown form 4",
     [](Program& p) {
       p.libraries.push_back({DeviceKind::kCpu, KernelForm{4}, "host", {}});
     }},
    {"@main input 'x': dim 'n*': at 2: found the end, wanted a number, symbol or '('",
     [](Program& p) { Main(p).inputs[0].type.dims[0].symbol = "n*"; }},
    {"@main output 'y': dim 'batch size': at 6: found 's', wanted end of text",
     [](Program& p) { Main(p).outputs[0].type.dims[0].symbol = "batch size"; }},
    {"constant c0 'w': unknown dtype 0", [](Program& p) { p.constants[0].dtype = DType::kInvalid; }},
    {"constant c0 'w': rank 33, at most 32", [](Program& p) { p.constants[0].dims.resize(33, 1); }},
    {"constant c0 'w': dims [-2] have no element count", [](Program& p) { p.constants[0].dims[0] = -2; }},
    {"constant c0 'w': 8 bytes for 3 elements of f32", [](Program& p) { p.constants[0].dims[0] = 3; }},
    {"constant c0 'w': 8 bytes for 4611686018427387906 elements of f32",
     [](Program& p) { p.constants[0].dims[0] = (int64_t{1} << 62) + 2; }},
    {"constant c0 'w': strings in a constant of another dtype",
     [](Program& p) { p.constants[0].strings = {"a"}; }},
    {"constant c0 'w': its bytes are not 64-byte aligned",
     [](Program& p) {
       p.constants[0] = {"w", DType::kF32, {1}, p.constants[0].bytes.subspan(4), {}};
     }},
    {"constant c1 'words': 1 strings and 0 bytes, wanted 2 strings",
     [](Program& p) { p.constants[1].dims[0] = 2; }},
    {"constant c1 'words': 1 strings and 8 bytes, wanted 1 strings",
     [](Program& p) { p.constants[1].bytes = p.constants[0].bytes; }},
    {"plan p0: value 0 is alive from 2 to 1", [](Program& p) { p.plans[0].values[0].first = 2; }},
    {"plan p0: value 0 has alignment 0, wanted a power of two up to 4096",
     [](Program& p) { p.plans[0].values[0].alignment = 0; }},
    {"plan p0: value 0 has alignment 48, wanted a power of two up to 4096",
     [](Program& p) { p.plans[0].values[0].alignment = 48; }},
    {"plan p0: value 0 has alignment 8192, wanted a power of two up to 4096",
     [](Program& p) { p.plans[0].values[0].alignment = 8192; }},
    {"plan p0: 65537 values, at most 65536", [](Program& p) { p.plans[0].values.resize(65537); }},
};

// Frames, line tables, how instructions tile the code.
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

// Operands by kind and range.
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

// What each opcode demands of its operands together.
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

void CheckMutations(std::span<const Mutation> mutations) {
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

TEST(Verifier, TheBaseIsValid) { EXPECT_TRUE(VerifyProgram(BaseProgram())); }
TEST(Verifier, EntryOfClassGpu) {
  Program program = BaseProgram();
  AddGpuEntry(program);
  EXPECT_TRUE(VerifyProgram(program));
}
TEST(Verifier, Tables) { CheckMutations(kTableMutations); }
TEST(Verifier, Layout) { CheckMutations(kLayoutMutations); }
TEST(Verifier, Operands) { CheckMutations(kOperandMutations); }
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
