// Programs that break a check of what is outside code.
#include <gtest/gtest.h>

#include <array>

#include "bytecode/blob.h"
#include "tests/bytecode/verifier/mutations.h"

namespace tvmvm {
namespace {

// A copy of @main as the entry for a GPU.
FunctionSpec& AddGpuEntry(Program& program) {
  program.device_entries.push_back({FunctionId{static_cast<uint32_t>(program.functions.size())}, {1, 0}});
  program.functions.push_back(Main(program));
  program.functions.back().name = "gpu";
  return program.functions.back();
}

// Of a constant c2 whose two elements are those of c0.
PanelPlace& Place(Program& program) {
  program.constants.push_back({.name = "m", .dtype = DType::kF32, .dims = {2}});
  return program.constants[2].place = {ConstantId{0}, 2, {2, 1, 0, 1, 0, 0}};
}

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
     [](Program& p) { p.constants[0] = {"w", DType::kF32, {1}, p.constants[0].bytes.subspan(4), {}, {}}; }},
    {"constant c1 'words': 1 strings and 0 bytes, wanted 2 strings",
     [](Program& p) { p.constants[1].dims[0] = 2; }},
    {"constant c1 'words': 1 strings and 8 bytes, wanted 1 strings",
     [](Program& p) { p.constants[1].bytes = p.constants[0].bytes; }},
    {"constant c2 'm': constant 3 does not exist, the program has 3",
     [](Program& p) { Place(p).constant.index = 3; }},
    {"constant c2 'm': its place in constant c2 is none", [](Program& p) { Place(p).constant.index = 2; }},
    {"constant c2 'm': its place in constant c0 is none",
     [](Program& p) { Place(p), p.constants[2].dtype = DType::kI32; }},
    {"constant c2 'm': its place in constant c1 is none",
     [](Program& p) { Place(p).constant.index = 1, p.constants[2].dtype = DType::kString; }},
    {"constant c2 'm': its place in constant c0 is none",
     [](Program& p) { Place(p), p.constants[2].bytes = p.constants[0].bytes; }},
    {"constant c2 'm': its place in constant c0 is none",
     [](Program& p) {
       Place(p), p.constants[2].dtype = p.constants[0].dtype = DType::kI4;
       p.constants[0].dims = {16};
     }},
    {"constant c2 'm': its place in constant c0 is none",
     [](Program& p) {
       Place(p).numbers = {0, 0, 0};
       p.constants[2].dims = {0};
     }},
    {"constant c2 'm': its place in constant c0 is none", [](Program& p) { Place(p).numbers[4] = -1; }},
    {"constant c2 'm': its place in constant c0 is none", [](Program& p) { Place(p).panel = -1; }},
    {"constant c2 'm': its place in constant c0 is none", [](Program& p) { Place(p).numbers[0] = 1; }},
    {"constant c2 'm': its place in constant c0 is none",
     [](Program& p) {
       Place(p).numbers = {3, 0, 0};
       p.constants[2].dims[0] = 3;
     }},
    {"constant c2 'm': its place in constant c3 is none",
     [](Program& p) {
       const std::array<float, 32> numbers{};
       auto blob = CopyToBlob(std::as_bytes(std::span(numbers)));
       Place(p).constant.index = 3;
       p.constants[2].place.numbers = {2, 32, 1};  // the 33rd column, of two panels
       p.constants.push_back({"l", DType::kF32, {32}, blob->bytes, {}, {}});
       p.storage.push_back(blob->owner);
     }},
    {"constant c2 'm': its place in constant c0 is none", [](Program& p) { Place(p).numbers[1] = 2; }},
    {"plan p0: value 0 is alive from 2 to 1", [](Program& p) { p.plans[0].values[0].first = 2; }},
    {"plan p0: value 0 has alignment 0, wanted a power of two up to 4096",
     [](Program& p) { p.plans[0].values[0].alignment = 0; }},
    {"plan p0: value 0 has alignment 48, wanted a power of two up to 4096",
     [](Program& p) { p.plans[0].values[0].alignment = 48; }},
    {"plan p0: value 0 has alignment 8192, wanted a power of two up to 4096",
     [](Program& p) { p.plans[0].values[0].alignment = 8192; }},
    {"plan p0: 65537 values, at most 65536", [](Program& p) { p.plans[0].values.resize(65537); }},
};

TEST(Verifier, TheBaseIsValid) { EXPECT_TRUE(VerifyProgram(BaseProgram())); }
TEST(Verifier, AConstantInAnother) {
  Program program = BaseProgram();
  Place(program);
  EXPECT_TRUE(VerifyProgram(program));
  program.constants[2].place.numbers = {2, 1, 1};
  EXPECT_TRUE(VerifyProgram(program));
  program.constants[2].dims = {};
  program.constants[2].place.numbers = {};
  EXPECT_TRUE(VerifyProgram(program));
}
TEST(Verifier, EntryOfClassGpu) {
  Program program = BaseProgram();
  AddGpuEntry(program);
  EXPECT_TRUE(VerifyProgram(program));
}
TEST(Verifier, Tables) { CheckMutations(kTableMutations); }

}  // namespace
}  // namespace tvmvm
