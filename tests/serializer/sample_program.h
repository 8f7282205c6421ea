// A small program that uses every part of the file format.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "bytecode/builder.h"

namespace tvmvm {

inline TypeSpec SampleTensor(DType dtype, std::vector<DimSpec> dims) {
  TypeSpec type;
  type.dtype = dtype;
  type.dims = std::move(dims);
  return type;
}

inline TypeSpec SampleContainer(ValueKind kind, std::vector<TypeSpec> elements) {
  TypeSpec type;
  type.kind = kind;
  type.elements = std::move(elements);
  return type;
}

inline FunctionSpec SampleSignature() {
  TypeSpec rows = SampleTensor(DType::kF32, {{.symbol = "n", .low = 1, .high = 512}, {.value = 3}});
  TypeSpec any = SampleTensor(DType::kI64, {});
  any.has_rank = false;
  FunctionSpec spec;
  spec.name = "main";
  spec.inputs = {{"x", rows},
                 {"names", SampleContainer(ValueKind::kSequence, {SampleTensor(DType::kString, {{}})})},
                 {"maybe", SampleContainer(ValueKind::kOptional, {any})}};
  spec.outputs = {{"y", rows}, {"both", SampleContainer(ValueKind::kTuple, {rows, any})}};
  return spec;
}

inline ConstantSpec SampleConstant(std::string name, std::span<const std::byte> bytes) {
  ConstantSpec constant;
  constant.name = std::move(name);
  constant.dtype = DType::kU8;
  constant.dims = {static_cast<int64_t>(bytes.size())};
  constant.bytes = bytes;
  return constant;
}

// `large_constant`: with one that starts a page.
inline std::shared_ptr<const Program> SampleProgram(bool large_constant) {
  Builder builder;
  std::vector<std::byte> weights(large_constant ? 70000 : 100, std::byte{7});
  std::vector<std::byte> code(40, std::byte{0x90});
  builder.AddLibrary({DeviceKind::kCpu, KernelForm::kSharedObject, "x86-64-v3", code});
  builder.AddLibrary({DeviceKind::kCpu, KernelForm::kBitcode, "x86-64-v3", code});
  KernelId kernel = builder.AddKernel({.name = "scale",
                                       .symbol = "k0",
                                       .scalar_count = 1,
                                       .buffers = {Access::kRead, Access::kRead, Access::kWrite},
                                       .alignments = {4, 4, 4},
                                       .scratch_bytes = 64,
                                       .flops = 6,
                                       .bytes = 24,
                                       .error_messages = {"index out of range"},
                                       .source_node = "/Mul",
                                       .contract = "64; s0*4; s0*4; s0*4; le(0, s0)"});
  builder.AddConstant(SampleConstant("small", std::span(weights).first(5)));
  ConstantId constant = builder.AddConstant(SampleConstant("weights", weights));
  builder.AddConstant(
      {.name = "words", .dtype = DType::kString, .dims = {2}, .strings = {"a", std::string("b\0c", 3)}});
  builder.AddConstant({.name = "none", .dtype = DType::kF32, .dims = {0, 4}});
  PlanId plan = builder.AddPlan({{{0, 1, 64}, {1, 2, 128}}});
  builder.SetProvenance({"tvm-vm 0.1.0", "model.onnx", "0123", "--target host"});

  FunctionBuilder& body = builder.AddFunction(SampleSignature());
  RefReg x{0};
  body.SetSourceNode("/Guard");
  ScalarReg n = body.Dim(x, 0);
  body.Guard(body.Binary(Opcode::kLess, n, body.Immediate(513)), "n is {0}, at most 512", std::array{n});
  body.SetSourceNode("/Mul (Mul)");
  ScalarReg bytes = body.Binary(Opcode::kMul, n, body.Immediate(12));
  RefReg arena;
  SlotReg slot = body.Slots(plan, std::array{bytes, bytes}, kHostDevice, &arena);
  const BufferOperand second = SlotOperand(slot.index + 1);
  RefReg y = body.Output(0, std::array{n, body.Immediate(3)});
  ScalarReg one = body.Immediate(1);
  body.Launch(kernel, kHostDevice, {{n, one, one}, {{body.Immediate(0), bytes, bytes}}}, std::array{n},
              std::array{BufferOperand{x.index}, BufferOperand{constant.index | BufferOperand::kConstantBit},
                         second});
  body.Copy(BufferOperand{y.index}, second, bytes);
  body.Return({}, std::array{y, x});
  builder.SetEntry(body.id());

  auto program = builder.Finish();
  EXPECT_TRUE(program) << program.error().message;
  return program ? *program : nullptr;
}

}  // namespace tvmvm
