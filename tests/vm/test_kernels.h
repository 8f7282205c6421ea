// Kernels written by hand, and a JIT that knows them, for tests of the machine without a compiler.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "bytecode/builder.h"
#include "bytecode/kernel_abi.h"
#include "tvm-vm/vm.h"

namespace tvmvm::testing {

// "Compiles" any bitcode to the test's own functions.
class TestJit final : public KernelJit {
 public:
  explicit TestJit(std::map<std::string, KernelFunction> functions) : functions_(std::move(functions)) {}

  Expected<Compiled> Compile(std::span<const std::byte>, std::span<const std::string> symbols) override {
    Compiled compiled;
    for (const std::string& symbol : symbols) {
      auto found = functions_.find(symbol);
      if (found == functions_.end()) return MakeError(Code::kInvalidProgram, "no kernel " + symbol);
      compiled.functions.push_back(found->second);
    }
    return compiled;
  }

 private:
  std::map<std::string, KernelFunction> functions_;
};

// y[i] = x[i] + scalars[0] on f32; buffers x, y; one grid point an element.
inline int32_t AddKernel(const KernelArgs* args, int64_t begin, int64_t end) {
  auto x = static_cast<const float*>(args->buffers[0]);
  auto y = static_cast<float*>(args->buffers[1]);
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] + static_cast<float>(args->scalars[0]);
  return 0;
}

// Fails with code 2 where an element of buffer 0 (i64) is negative.
inline int32_t CheckKernel(const KernelArgs* args, int64_t begin, int64_t end) {
  auto x = static_cast<const int64_t*>(args->buffers[0]);
  for (int64_t i = begin; i < end; ++i)
    if (x[i] < 0) return 2;
  return 0;
}

inline TypeSpec TensorType(DType dtype, std::vector<std::string> dims) {
  TypeSpec type;
  type.dtype = dtype;
  for (std::string& dim : dims) {
    DimSpec spec;
    if (!dim.empty() && dim[0] >= '0' && dim[0] <= '9')
      spec.value = std::stoll(dim);
    else
      spec.symbol = std::move(dim);
    type.dims.push_back(std::move(spec));
  }
  return type;
}

inline FunctionSpec Signature(std::string name, std::vector<ParameterSpec> inputs,
                              std::vector<ParameterSpec> outputs) {
  FunctionSpec spec;
  spec.name = std::move(name);
  spec.inputs = std::move(inputs);
  spec.outputs = std::move(outputs);
  return spec;
}

inline KernelId AddTestKernel(Builder& builder, std::string name, uint32_t scalars,
                              std::vector<Access> buffers, std::vector<std::string> errors = {}) {
  KernelSpec spec;
  spec.name = name;
  spec.symbol = std::move(name);
  spec.scalar_count = scalars;
  spec.buffers = std::move(buffers);
  spec.error_messages = std::move(errors);
  return builder.AddKernel(std::move(spec));
}

// A library for AddTestKernel's kernels.
inline void AddTestLibrary(Builder& builder) {
  static const std::byte kBytes[64] = {};
  KernelLibrarySpec library;
  library.form = KernelForm::kBitcode;
  library.target = "host";
  library.bytes = kBytes;
  builder.AddLibrary(std::move(library));
}

inline std::shared_ptr<KernelJit> TestKernels() {
  return std::make_shared<TestJit>(
      std::map<std::string, KernelFunction>{{"add", &AddKernel}, {"check", &CheckKernel}});
}

inline VmOptions TestOptions(int threads = 1) {
  VmOptions options;
  options.threads = threads;
  options.jit = TestKernels();
  return options;
}

inline Expected<std::shared_ptr<Vm>> MakeVm(Builder& builder, const VmOptions& options = TestOptions()) {
  TVMVM_TRY(std::shared_ptr<const Program> program, builder.Finish());
  return Vm::Create(std::move(program), options);
}

inline Operand Src(ScalarReg reg) { return {OperandKind::kScalarSrc, reg.index}; }
inline Operand Dst(ScalarReg reg) { return {OperandKind::kScalarDst, reg.index}; }
inline Operand Src(RefReg reg) { return {OperandKind::kRefSrc, reg.index}; }
inline Operand Dst(RefReg reg) { return {OperandKind::kRefDst, reg.index}; }
inline Operand List(OperandKind kind, std::vector<uint32_t> registers) {
  return {kind, std::move(registers)};
}
inline void Move(FunctionBuilder& body, ScalarReg to, ScalarReg from) {
  body.Emit(Opcode::kMove, {Dst(to), Src(from)});
}

// Launches `add` on `n` elements: to = from + amount.
inline void LaunchAdd(FunctionBuilder& body, KernelId kernel, ScalarReg n, ScalarReg amount,
                      BufferOperand from, BufferOperand to, ScalarReg flops) {
  FunctionBuilder::LaunchShape shape;
  shape.grid[0] = n;
  shape.grid[1] = shape.grid[2] = body.Immediate(1);
  shape.cost = {body.Immediate(0), flops, body.Immediate(0)};
  body.Launch(kernel, kHostDevice, shape, std::array{amount}, std::array{from, to});
}

// y[n] = x[n] + 1 + 1: one kernel into the arena, one from there into the output.
inline void BuildAddTwo(Builder& builder) {
  KernelId add = AddTestKernel(builder, "add", 1, {Access::kRead, Access::kWrite});
  AddTestLibrary(builder);
  PlanSpec plan;
  plan.values = {{0, 1, 64}};
  PlanId plan_id = builder.AddPlan(plan);
  FunctionBuilder& body = builder.AddFunction(
      Signature("main", {{"x", TensorType(DType::kF32, {"n"})}}, {{"y", TensorType(DType::kF32, {"n"})}}));
  RefReg x{0};
  body.SetSourceNode("/first (Add)");
  ScalarReg n = body.Dim(x, 0);
  ScalarReg bytes = body.Binary(Opcode::kMul, n, body.Immediate(4));
  RefReg arena;
  const BufferOperand slot =
      SlotOperand(body.Slots(plan_id, std::array{bytes}, kHostDevice, &arena).index);
  RefReg y = body.Output(0, std::array{n});
  LaunchAdd(body, add, n, body.Immediate(1), {x.index}, slot, n);
  body.SetSourceNode("/second (Add)");
  LaunchAdd(body, add, n, body.Immediate(1), slot, {y.index}, n);
  body.Return({}, std::array{y});
  builder.SetEntry(body.id());
}

inline Tensor Floats(std::vector<float> values) {
  Tensor tensor = *Tensor::Allocate(DType::kF32, Shape{static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), static_cast<float*>(tensor.data()));
  return tensor;
}
inline std::vector<float> ToFloats(const Tensor& tensor) {
  auto data = static_cast<const float*>(tensor.data());
  return {data, data + tensor.element_count()};
}
inline Tensor Ints(std::vector<int64_t> values) {
  Tensor tensor = *Tensor::Allocate(DType::kI64, Shape{static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), static_cast<int64_t*>(tensor.data()));
  return tensor;
}
inline std::vector<int64_t> ToInts(const Tensor& tensor) {
  auto data = static_cast<const int64_t*>(tensor.data());
  return {data, data + tensor.element_count()};
}

}  // namespace tvmvm::testing
