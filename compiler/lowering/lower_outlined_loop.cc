// Outlined loops as bytecode: launches of so many steps each that limits and cancelling are noticed in time.
#include "compiler/graph/control.h"
#include "compiler/lowering/function_lowering.h"
#include "fmt/format.h"

namespace tvmvm::lowering {

using ir::Dim;
using ir::Node;
using ir::Region;
using ir::Type;
using ir::ValueId;

namespace {

// Of one launch: some hundred microseconds.
constexpr int64_t kWorkOfLaunch = 1 << 20;
constexpr int64_t kLeastWorkOfStep = 64;
// Steps of the first launch of a loop that may end at any step; each launch has twice as many as the one
// before.
constexpr int64_t kFirstSteps = 64;
// By which a launch may let buffers of unknown final size grow.
constexpr int64_t kGrowthOfLaunch = 1 << 20;

Dim BytesOf(const Type& type) { return lowering::BytesOf(type.dtype, type.dims); }

}  // namespace

//   results = initial values; state = {0, start, initial symbols}
//   if not (start and 0 < trip): goto exit
// next:
//   end = min(index + steps of a launch, trip)
//   launch steps [index, end); index = end; where a step may be the last, the next launch gets more steps
//   if the state says go on and index < trip: goto next
// exit:
void FunctionLowering::EmitOutlinedLoop(const Step& step) {
  const Node& node = function_.node(step.node);
  const OutlinedLoop& loop = *step.outlined;
  ScalarReg trip = dims_->Emit(ir::DimAttribute(node, "trip"));
  ScalarReg begins =
      dims_->Emit(And(ir::DimAttribute(node, "start"), Less(0, ir::DimAttribute(node, "trip"))));
  EmitOutlinedEntry(step);
  ScalarReg index = f_->NewScalar(), end = f_->NewScalar();
  Move(index, f_->Immediate(0));
  Label exit = f_->NewLabel(), next = f_->NewLabel();
  f_->BranchIfNot(begins, exit);

  dims_->EnterScope();
  OpenGuards(node.regions[0], &node);
  EmitGuards();
  ScalarReg most = dims_->Emit(StepsOfLaunch(step)), steps = most;
  if (loop.decides) {
    steps = f_->NewScalar();
    Move(steps, f_->Binary(Opcode::kMin, most, f_->Immediate(kFirstSteps)));
  }
  for (const Dim& dim : step.outlined_use.scalars)
    if (dims_->CanEmit(dim)) dims_->Emit(dim);
  f_->SetSourceNode(node.source);
  f_->Bind(next);
  Move(end, f_->Binary(Opcode::kMin, f_->Binary(Opcode::kAdd, index, steps), trip));
  GrowCollected(step, end);
  dims_->Define(loop.begin, index);
  dims_->Define(loop.end, end);
  EmitOutlinedLaunch(step, f_->Binary(Opcode::kSub, end, index));
  Move(index, end);
  if (loop.decides) {
    f_->BranchIfNot(LoadElement(step.workspaces[0], 8 * kStateGoOn, DType::kI64), exit);
    Move(steps, f_->Binary(Opcode::kMin, f_->Binary(Opcode::kAdd, steps, steps), most));
  }
  f_->BranchIf(f_->Binary(Opcode::kLess, index, trip), next);
  open_.pop_back();
  dims_->LeaveScope();
  f_->Bind(exit);
  EmitOutlinedResults(step, index);
}

void FunctionLowering::EmitOutlinedEntry(const Step& step) {
  const Node& node = function_.node(step.node);
  const Region& region = function_.region(node.regions[0]);
  for (size_t i = 0; i < ir::CarriedCount(node); ++i)
    f_->Copy(BufferOf(memory_.Of(node.outputs[i]), 0), AddressOf(node.inputs[i]),
             dims_->Emit(BytesOf(function_.type(region.parameters[i]))));
  EmitCollectedEntry(step);
  if (step.workspaces.empty()) return;
  ir::Dims state = {0, ir::DimAttribute(node, "start")};
  for (const Dim& initial : node.DimList("initial")) state.push_back(initial);
  for (size_t k = 0; k < state.size(); ++k)
    StoreElement(step.workspaces[0], 8 * static_cast<int64_t>(k), DType::kI64, dims_->Emit(state[k]));
}

Dim FunctionLowering::StepsOfLaunch(const Step& step) {
  const tensor::LoopKernel& kernel = step.outlined->kernels[0];
  Dim work = kernel.flops + FloorDiv(kernel.bytes, 4);
  if (!dims_->CanEmit(work)) work = kLeastWorkOfStep;
  Dim steps = Max(FloorDiv(kWorkOfLaunch, Max(work, kLeastWorkOfStep)), 1);
  const Node& node = function_.node(step.node);
  const Region& region = function_.region(node.regions[0]);
  for (size_t i = ir::CarriedCount(node); i < node.outputs.size(); ++i) {
    if (memory_[memory_.Of(node.outputs[i])].kind != MemoryKind::kObject || ReservedBytes(step, i)) continue;
    Dim bytes = BytesOf(function_.type(region.results[i]));
    steps = Min(steps, Max(FloorDiv(kGrowthOfLaunch, Max(bytes, 1)), 1));
  }
  return steps;
}

// Buffers of unknown final size have room for the steps until `end`.
void FunctionLowering::GrowCollected(const Step& step, ScalarReg end) {
  const Node& node = function_.node(step.node);
  const Region& region = function_.region(node.regions[0]);
  for (size_t i = ir::CarriedCount(node); i < node.outputs.size(); ++i) {
    const Memory& memory = memory_[memory_.Of(node.outputs[i])];
    if (memory.kind != MemoryKind::kObject || ReservedBytes(step, i)) continue;
    ScalarReg bytes = dims_->Emit(BytesOf(function_.type(region.results[i])));
    EmitGrow(memory.ref, f_->Binary(Opcode::kMul, end, bytes));
  }
}

void FunctionLowering::EmitOutlinedLaunch(const Step& step, ScalarReg steps) {
  const OutlinedLoop& loop = *step.outlined;
  Dim scratch = 0;
  for (const tensor::LoopKernel& kernel : loop.kernels) scratch = Max(scratch, kernel.scratch_bytes);
  auto total = [&](const Dim& of_step) {
    return dims_->CanEmit(of_step) ? f_->Binary(Opcode::kMul, dims_->Emit(of_step), steps) : f_->Immediate(0);
  };
  FunctionBuilder::LaunchShape shape;
  for (ScalarReg& size : shape.grid) size = f_->Immediate(1);
  shape.cost = {dims_->Emit(scratch), total(loop.kernels[0].flops), total(loop.kernels[0].bytes)};
  std::vector<ScalarReg> scalars = EmitDims(step.outlined_use.scalars);
  std::vector<BufferOperand> buffers;
  for (const LoopArgument& argument : loop.arguments) buffers.push_back(BufferOf(step, argument));
  const ContractedKernel contracted = OutlinedKernel(step);
  for (const Dim& dim : contracted.told) scalars.push_back(dims_->Emit(dim));
  f_->Launch(contracted.kernel, kHostDevice, shape, scalars, buffers);
}

FunctionLowering::ContractedKernel FunctionLowering::OutlinedKernel(const Step& step) {
  const OutlinedLoop& loop = *step.outlined;
  std::vector<tensor::KernelCall> calls;
  for (const tensor::LoopKernel& kernel : loop.kernels) calls.push_back({.kernel = kernel});
  tensor::ContractedCall contracted{
      .scalars = step.outlined_use.scalars, .bytes = loop.bytes, .facts = loop.facts};
  for (const tensor::KernelCall& call : calls) contracted.variants.push_back(&call);
  for (size_t i = 0; i < loop.arguments.size(); ++i)
    if (loop.arguments[i].kind == LoopArgumentKind::kPacked)
      contracted.bytes[i] = PackedBytes(step.node, loop.arguments[i].number);
  return Contract(step.outlined_use.entry, contracted);
}

void FunctionLowering::EmitOutlinedResults(const Step& step, ScalarReg index) {
  const Node& node = function_.node(step.node);
  auto state = [&](int64_t element) { return LoadElement(step.workspaces[0], 8 * element, DType::kI64); };
  const std::vector<ir::SymbolId>& finals = node.Symbols("finals");
  for (size_t k = 0; k < finals.size(); ++k)
    dims_->Define(finals[k], state(kStateSymbols + static_cast<int64_t>(k)));
  ScalarReg count = step.outlined->decides ? state(kStateStepsDone) : index;
  if (!node.Symbol("count").is_none()) dims_->Define(node.Symbol("count"), count);
  EmitCollectedResults(step, count);
}

BufferOperand FunctionLowering::BufferOf(const Step& step, const LoopArgument& argument) {
  switch (argument.kind) {
    case LoopArgumentKind::kOutside:
      return BufferOf(argument.value);
    case LoopArgumentKind::kResult:
      return BufferOf(memory_.Of(function_.node(step.node).outputs[argument.number]), 0);
    case LoopArgumentKind::kState:
      return BufferOf(step.workspaces[0], 0);
    case LoopArgumentKind::kPacked:
      break;
  }
  auto [found, is_new] = packed_.try_emplace(std::make_pair(step.node, argument.number));
  if (is_new) {
    const PackedOfGroup& packed = step.outlined->packed[argument.number];
    found->second = PackedConstant(fmt::format("packed.{}.{}", step.node.index, argument.number), packed.pack,
                                   packed.constants);
  }
  return {found->second.index | BufferOperand::kConstantBit, BufferOperand::kNoOffset};
}

}  // namespace tvmvm::lowering
