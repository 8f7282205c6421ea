// Branches, loops, calls and host functions as bytecode: jumps and registers. docs/control_flow.md shows each
// with an example.
#include <array>

#include "bytecode/host_functions.h"
#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/lowering/function_lowering.h"
#include "fmt/format.h"

namespace tvmvm::lowering {

using ir::Dim;
using ir::Node;
using ir::Region;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

namespace {

std::vector<uint32_t> IndicesOf(const std::vector<ScalarReg>& registers) {
  std::vector<uint32_t> indices;
  for (ScalarReg reg : registers) indices.push_back(reg.index);
  return indices;
}

// Whose last scalar tells that the sequence may be changed where it is.
bool TakesSequence(const Node& node) {
  return node.op->host == HostFunctionId::kSequenceInsert || node.op->host == HostFunctionId::kSequenceErase;
}

std::vector<uint32_t> IndicesOf(const std::vector<RefReg>& registers) {
  std::vector<uint32_t> indices;
  for (RefReg reg : registers) indices.push_back(reg.index);
  return indices;
}

}  // namespace

// ---- results of regions ----

void FunctionLowering::EmitResult(ValueId value, int number) {
  const Memory& memory = memory_[number];
  const Type& type = function_.type(value);
  if (memory_.Of(value) == number && views_.PlaceOf(value).byte_offset.IsConstant(0)) {
    // An object that was made in place has the dims that it was made with.
    if (memory.kind != MemoryKind::kObject || views_.PlaceOf(value).root == value) return;
  }
  if (memory.kind == MemoryKind::kObject) {
    MoveRef(memory.ref, LastingObjectOn(memory.device, value));
    return;
  }
  f_->Copy(BufferOf(number, 0), AddressOf(value), dims_->Emit(BytesOf(type.dtype, type.dims)));
}

void FunctionLowering::ReleaseArenas() {
  // Last first: arenas go in stack order.
  const std::vector<StageArena>& arenas = open_.back().arenas;
  for (auto arena = arenas.rbegin(); arena != arenas.rend(); ++arena) Release(arena->ref);
}

// ---- if ----

Status FunctionLowering::EmitIf(const Step& step) {
  const Node& node = function_.node(step.node);
  const std::vector<ir::SymbolId>& symbols = node.Symbols("symbols");
  ScalarReg condition = dims_->Emit(ir::DimAttribute(node, "condition"));
  std::vector<ScalarReg> merged;
  for (size_t i = 0; i < symbols.size(); ++i) merged.push_back(f_->NewScalar());
  for (ValueId output : node.outputs)
    if (Memory& memory = memory_[memory_.Of(output)]; memory.kind == MemoryKind::kObject)
      memory.ref = f_->NewRef();
  Label otherwise = f_->NewLabel(), after = f_->NewLabel();
  f_->BranchIfNot(condition, otherwise);
  TVMVM_CHECK_OK(EmitBranch(step, 0, merged));
  f_->Jump(after);
  f_->Bind(otherwise);
  TVMVM_CHECK_OK(EmitBranch(step, 1, merged));
  f_->Bind(after);
  for (size_t i = 0; i < symbols.size(); ++i) dims_->Define(symbols[i], merged[i]);
  return {};
}

Status FunctionLowering::EmitBranch(const Step& step, size_t branch, std::span<const ScalarReg> merged) {
  const Node& node = function_.node(step.node);
  const RegionSteps& region = step.regions[branch];
  dims_->EnterScope();
  OpenGuards(region.region);
  EmitGuards();
  TVMVM_CHECK_OK(EmitSteps(region));
  f_->SetSourceNode(node.source);
  const std::vector<ValueId>& results = function_.region(region.region).results;
  for (size_t i = 0; i < results.size(); ++i) EmitResult(results[i], memory_.Of(node.outputs[i]));
  ReleaseObjects(region, region.end, region.end);
  const ir::Dims& values = node.DimList(branch == 0 ? "then_values" : "else_values");
  for (size_t i = 0; i < merged.size(); ++i) Move(merged[i], dims_->Emit(values[i]));
  ReleaseArenas();
  open_.pop_back();
  dims_->LeaveScope();
  return {};
}

// ---- loop ----

//   index = 0; carried and symbols = initial
//   if not (start and 0 < trip): goto exit
//   what no step changes
// step:
//   body; results; index += 1; carried and symbols = next
//   if continue and index < trip: goto step
// exit:
Status FunctionLowering::EmitLoop(const Step& step) {
  const Node& node = function_.node(step.node);
  const std::vector<ir::SymbolId>& names = node.Symbols("symbols");
  const Dim& start = ir::DimAttribute(node, "start");
  const Dim& go_on = ir::DimAttribute(node, "continue");
  ScalarReg trip = dims_->Emit(ir::DimAttribute(node, "trip"));
  ScalarReg begins = dims_->Emit(And(start, Less(0, ir::DimAttribute(node, "trip"))));
  ScalarReg index = f_->NewScalar(), one = f_->Immediate(1);
  std::vector<ScalarReg> symbols;
  for (size_t i = 0; i < names.size(); ++i) symbols.push_back(f_->NewScalar());
  EmitLoopEntry(step, symbols);
  Move(index, f_->Immediate(0));
  Label exit = f_->NewLabel(), head = f_->NewLabel();
  f_->BranchIfNot(begins, exit);

  const RegionSteps& body = step.regions[0];
  dims_->EnterScope();
  OpenGuards(body.region, &node);
  EmitGuards();
  HoistDims(body);
  dims_->EnterScope();
  f_->Bind(head);
  dims_->Define(node.Symbol("index"), index);
  for (size_t i = 0; i < names.size(); ++i) dims_->Define(names[i], symbols[i]);
  if (options_.trace_values) f_->Trace(fmt::format("{}: step {{0}}", TraceName(node)), std::array{index});
  EmitGuards();
  EmitStage(body.stage);
  EmitElementAddresses(step, index);
  TVMVM_CHECK_OK(EmitSteps(body));
  f_->SetSourceNode(node.source);
  EmitStepResults(step, index);
  ReleaseObjects(body, body.end, body.end);
  ScalarReg more;
  if (!go_on.is_constant()) {
    more = dims_->Emit(go_on);
    if (go_on.is_symbol()) {  // whose register the next step changes
      more = f_->NewScalar();
      Move(more, dims_->Emit(go_on));
    }
  }
  EmitNextStep(step, symbols);
  ReleaseArenas();
  f_->Emit(Opcode::kAdd, {{OperandKind::kScalarDst, index.index},
                          {OperandKind::kScalarSrc, index.index},
                          {OperandKind::kScalarSrc, one.index}});
  if (!go_on.IsConstant(0)) {
    ScalarReg below = f_->Binary(Opcode::kLess, index, trip);
    if (!go_on.is_constant()) f_->BranchIfNot(more, exit);
    f_->BranchIf(below, head);
  }
  open_.pop_back();
  dims_->LeaveScope();
  dims_->LeaveScope();
  f_->Bind(exit);
  EmitCarriedResults(step);
  const std::vector<ir::SymbolId>& finals = node.Symbols("finals");
  for (size_t i = 0; i < finals.size(); ++i) dims_->Define(finals[i], symbols[i]);
  if (!node.Symbol("count").is_none()) dims_->Define(node.Symbol("count"), index);
  EmitCollectedResults(step, index);
  return {};
}

// Registers of carried and collected values, and the values of the first step.
void FunctionLowering::EmitLoopEntry(const Step& step, const std::vector<ScalarReg>& symbols) {
  const Node& node = function_.node(step.node);
  const Region& region = function_.region(node.regions[0]);
  for (size_t i = 0; i < symbols.size(); ++i) Move(symbols[i], dims_->Emit(node.DimList("initial")[i]));
  for (size_t i = 0; i < region.parameters.size(); ++i) {
    int number = memory_.Of(region.parameters[i]), other = memory_.NextOf(region.parameters[i]);
    Memory &current = memory_[number], &next = memory_[other];
    if (current.kind == MemoryKind::kObject) {
      current.ref = f_->NewRef();
      next.ref = f_->NewRef();
      MoveRef(current.ref, LastingObjectOn(current.device, node.inputs[i]));
      continue;
    }
    const Type& type = function_.type(region.parameters[i]);
    f_->Copy(BufferOf(number, 0), AddressOf(node.inputs[i]), dims_->Emit(BytesOf(type.dtype, type.dims)));
  }
  // The steps may change an object that nobody else holds where it lies.
  for (ValueId initial : node.inputs)
    if (const Memory& memory = memory_[memory_.Of(initial)];
        memory.kind == MemoryKind::kObject && memory.last == step.first)
      Release(memory.ref);
  EmitCollectedEntry(step);
}

// Computes before the loop what the steps need and do not change.
void FunctionLowering::HoistDims(const RegionSteps& region) {
  auto hoist = [this](const Dim& dim) {
    if (!dim.is_constant() && dims_->CanEmit(dim)) dims_->Emit(dim);
  };
  for (const Step& step : region.steps) {
    for (size_t call = 0; call < step.uses.size(); ++call) {
      const KernelUse& use = step.uses[call];
      if (!use.may_run) continue;
      for (const Dim& size : step.programs[0]->calls[call].kernel.grid_size) hoist(size);
      if (use.cost)
        for (const Dim& dim : {use.cost->scratch_bytes, use.cost->flops, use.cost->bytes}) hoist(dim);
      for (const Dim& dim : use.scalars) hoist(dim);
    }
    for (ValueId output : function_.node(step.node).outputs)
      if (output.valid() && function_.type(output).kind == TypeKind::kTensor)
        hoist(BytesOf(function_.type(output).dtype, function_.type(output).dims));
    if (step.kind == StepKind::kLoop) HoistDims(step.regions[0]);
  }
}

// Where this step's part of each collected value of fixed size lies.
void FunctionLowering::EmitElementAddresses(const Step& step, ScalarReg index) {
  const Node& node = function_.node(step.node);
  for (size_t i = ir::CarriedCount(node); i < node.outputs.size(); ++i) {
    int element = memory_.ElementOf(node.outputs[i]);
    if (element < 0) continue;
    Memory& part = memory_[element];
    const Memory& whole = memory_[part.whole];
    const Type& type = function_.type(node.outputs[i]);
    ir::Dims dims(type.dims.begin() + 1, type.dims.end());
    ScalarReg bytes = dims_->Emit(BytesOf(type.dtype, dims));
    part.offset = f_->Binary(Opcode::kMul, index, bytes);
    if (const Dim& begin = views_.PlaceOf(node.outputs[i]).byte_offset; !begin.IsConstant(0))
      part.offset = f_->Binary(Opcode::kAdd, part.offset, dims_->Emit(begin));
    part.ref = whole.ref;
    if (whole.kind != MemoryKind::kArena) continue;
    part.slot = f_->NewSlot();
    f_->SlotPart(part.slot, whole.slot, part.offset, bytes);
  }
}

void FunctionLowering::EmitStepResults(const Step& step, ScalarReg index) {
  const Node& node = function_.node(step.node);
  const Region& region = function_.region(node.regions[0]);
  for (size_t i = 0; i < region.parameters.size(); ++i)
    EmitResult(region.results[i], memory_.NextOf(region.parameters[i]));
  for (size_t i = region.parameters.size(); i < node.outputs.size(); ++i) {
    int element = memory_.ElementOf(node.outputs[i]);
    if (element >= 0)
      EmitResult(region.results[i], element);
    else
      EmitCollectedCopy(step, i, index);
  }
}

// Of a collected value whose size the loop's end decides: the bytes of all steps that there may be, if that
// is little. There are so many before the first step, and nothing grows.
std::optional<int64_t> FunctionLowering::ReservedBytes(const Step& step, size_t number) const {
  constexpr int64_t kMost = 1 << 16;
  const Node& node = function_.node(step.node);
  const Type& type = function_.type(function_.region(node.regions[0]).results[number]);
  const std::optional<int64_t> trip = ir::DimAttribute(node, "trip").constant();
  const std::optional<int64_t> bytes = BytesOf(type.dtype, type.dims).constant();
  if (!trip || !bytes || *trip > kMost || *bytes > kMost || *trip * *bytes > kMost) return std::nullopt;
  return std::max<int64_t>(*trip, 0) * *bytes;
}

// Collected values before the first step.
void FunctionLowering::EmitCollectedEntry(const Step& step) {
  const Node& node = function_.node(step.node);
  for (size_t i = ir::CarriedCount(node); i < node.outputs.size(); ++i) {
    Memory& memory = memory_[memory_.Of(node.outputs[i])];
    if (memory.kind != MemoryKind::kObject) continue;
    memory.ref = f_->NewRef();
    if (const std::optional<int64_t> bytes = ReservedBytes(step, i))
      MoveRef(memory.ref, f_->Allocate(DType::kU8, std::vector{f_->Immediate(*bytes)}));
    else
      Release(memory.ref);
  }
}

// Appends this step's value to a buffer that grows as it needs to.
void FunctionLowering::EmitCollectedCopy(const Step& step, size_t number, ScalarReg index) {
  const Node& node = function_.node(step.node);
  ValueId value = function_.region(node.regions[0]).results[number];
  const Type& type = function_.type(value);
  RefReg buffer = memory_[memory_.Of(node.outputs[number])].ref;
  ScalarReg bytes = dims_->Emit(BytesOf(type.dtype, type.dims));
  ScalarReg offset = f_->Binary(Opcode::kMul, index, bytes);
  if (!ReservedBytes(step, number)) EmitGrow(buffer, f_->Binary(Opcode::kAdd, offset, bytes));
  f_->Copy({buffer.index, offset.index}, AddressOf(value), bytes);
}

// Makes the buffer at least so large.
void FunctionLowering::EmitGrow(RefReg buffer, ScalarReg bytes) {
  f_->Emit(Opcode::kHostCall, {{OperandKind::kIndex, static_cast<int64_t>(HostFunctionId::kBufferGrow)},
                               {OperandKind::kScalarList, std::vector<uint32_t>{bytes.index}},
                               {OperandKind::kRefList, std::vector<uint32_t>{buffer.index}},
                               {OperandKind::kScalarDstList, std::vector<uint32_t>()},
                               {OperandKind::kRefDstList, std::vector<uint32_t>{buffer.index}}});
}

// Next values become current ones.
void FunctionLowering::EmitNextStep(const Step& step, const std::vector<ScalarReg>& symbols) {
  const Node& node = function_.node(step.node);
  const Region& region = function_.region(node.regions[0]);
  std::vector<ScalarReg> next_symbols = EmitDims(node.DimList("next"));
  // All at once: a next value may be another one's current value.
  for (ScalarReg& next : next_symbols) {
    bool is_current = std::any_of(symbols.begin(), symbols.end(),
                                  [&](ScalarReg symbol) { return symbol.index == next.index; });
    if (!is_current) continue;
    ScalarReg saved = f_->NewScalar();
    Move(saved, next);
    next = saved;
  }
  for (size_t i = 0; i < symbols.size(); ++i) Move(symbols[i], next_symbols[i]);
  for (ValueId parameter : region.parameters) {
    int number = memory_.Of(parameter), other = memory_.NextOf(parameter);
    const Memory &current = memory_[number], &next = memory_[other];
    if (current.kind == MemoryKind::kObject) {
      MoveRef(current.ref, next.ref);
      Release(next.ref);
    } else if (other != number) {
      f_->SlotSwap(current.slot, next.slot);
    }
  }
}

void FunctionLowering::EmitCarriedResults(const Step& step) {
  const Node& node = function_.node(step.node);
  const Region& region = function_.region(node.regions[0]);
  for (size_t i = 0; i < region.parameters.size(); ++i) {
    const Memory& current = memory_[memory_.Of(region.parameters[i])];
    Memory& result = memory_[memory_.Of(node.outputs[i])];
    if (current.kind != MemoryKind::kObject) continue;
    result.ref = f_->NewRef();
    MoveRef(result.ref, current.ref);
    Release(current.ref);
  }
}

// The buffers become tensors.
void FunctionLowering::EmitCollectedResults(const Step& step, ScalarReg count) {
  const Node& node = function_.node(step.node);
  for (size_t i = ir::CarriedCount(node); i < node.outputs.size(); ++i) {
    const Memory& memory = memory_[memory_.Of(node.outputs[i])];
    if (memory.kind != MemoryKind::kObject) continue;
    const Type& type = function_.type(node.outputs[i]);
    if (!ReservedBytes(step, i)) {  // without a step there is no buffer: one of no bytes
      Label there = f_->NewLabel();
      f_->BranchIf(count, there);
      MoveRef(memory.ref, f_->Allocate(DType::kU8, std::vector{f_->Immediate(0)}));
      f_->Bind(there);
    }
    MoveRef(memory.ref, f_->View({memory.ref.index}, type.dtype, EmitDims(type.dims)));
  }
}

// ---- calls ----

void FunctionLowering::EmitCall(const Step& step) {
  const Node& node = function_.node(step.node);
  std::vector<RefReg> arguments, results;
  for (ValueId input : node.inputs) arguments.push_back(ObjectOf(input));
  for (ValueId output : node.outputs) {
    RefReg result = f_->NewRef();
    memory_[memory_.Of(output)].ref = result;
    results.push_back(result);
  }
  auto callee = callees_->find(node.String("callee"));
  f_->Emit(Opcode::kCall, {{OperandKind::kFunction, callee->second.index},
                           {OperandKind::kScalarList, std::vector<uint32_t>()},
                           {OperandKind::kRefList, IndicesOf(arguments)},
                           {OperandKind::kScalarDstList, std::vector<uint32_t>()},
                           {OperandKind::kRefDstList, IndicesOf(results)}});
  EmitResultDims(node);
}

void FunctionLowering::EmitHost(const Step& step) {
  const Node& node = function_.node(step.node);
  std::vector<RefReg> arguments, results;
  for (ValueId input : node.inputs) {
    if (input.valid()) {
      arguments.push_back(ObjectOf(input));
      continue;
    }
    arguments.push_back(f_->NewRef());
    Release(arguments.back());
  }
  for (ValueId output : node.outputs) {
    RefReg result = f_->NewRef();
    if (output.valid()) memory_[memory_.Of(output)].ref = result;
    results.push_back(result);
  }
  std::vector<ScalarReg> scalars = EmitDims(node.DimList("scalars")), numbers;
  bool takes = TakesSequence(node) && memory_.IsLastUse(node.inputs[0], step);
  if (TakesSequence(node)) scalars.back() = f_->Immediate(takes);
  for (const ir::SymbolId& symbol : node.Symbols("symbols")) {
    numbers.push_back(f_->NewScalar());
    dims_->Define(symbol, numbers.back());
  }
  f_->Emit(Opcode::kHostCall, {{OperandKind::kIndex, static_cast<int64_t>(*node.op->host)},
                               {OperandKind::kScalarList, IndicesOf(scalars)},
                               {OperandKind::kRefList, IndicesOf(arguments)},
                               {OperandKind::kScalarDstList, IndicesOf(numbers)},
                               {OperandKind::kRefDstList, IndicesOf(results)}});
  if (node.op->host == HostFunctionId::kTupleGet) EmitFieldCheck(node);
  EmitResultDims(node);
}

// Tuples come from outside, and no type tells what their fields are.
void FunctionLowering::EmitFieldCheck(const Node& node) {
  const Type& type = function_.type(node.outputs[0]);
  const Type& leaf = type.kind == TypeKind::kSequence && !type.elements.empty() ? type.elements[0] : type;
  std::vector<ScalarReg> scalars{f_->Immediate(static_cast<int64_t>(type.kind)),
                                 f_->Immediate(static_cast<int64_t>(leaf.dtype))};
  f_->Emit(Opcode::kHostCall, {{OperandKind::kIndex, static_cast<int64_t>(HostFunctionId::kValueCheck)},
                               {OperandKind::kScalarList, IndicesOf(scalars)},
                               {OperandKind::kRefList, IndicesOf({memory_[memory_.Of(node.outputs[0])].ref})},
                               {OperandKind::kScalarDstList, {}},
                               {OperandKind::kRefDstList, {}}});
}

void FunctionLowering::EmitResultDims(const Node& node) {
  for (ValueId output : node.outputs) {
    if (!output.valid()) continue;
    const Type& type = function_.type(output);
    if (type.kind != TypeKind::kTensor || !type.ranked) continue;
    RefReg ref = memory_[memory_.Of(output)].ref;
    ScalarReg rank = f_->NewScalar();
    f_->Emit(Opcode::kRank, {{OperandKind::kScalarDst, rank.index}, {OperandKind::kRefSrc, ref.index}});
    f_->Guard(f_->Binary(Opcode::kEqual, rank, f_->Immediate(type.rank())),
              fmt::format("the result has rank {{0}}, want {}", type.rank()), std::vector{rank});
    for (size_t axis = 0; axis < type.dims.size(); ++axis) {
      ScalarReg size = f_->Dim(ref, static_cast<uint32_t>(axis));
      const Dim& dim = type.dims[axis];
      if (dim.is_symbol() && !dims_->IsDefined(dim.symbol())) {
        dims_->Define(dim.symbol(), size);
        continue;
      }
      ScalarReg wanted = dims_->Emit(dim);
      f_->Guard(f_->Binary(Opcode::kEqual, size, wanted),
                fmt::format("the result has size {{0}} along axis {}, want {{1}}", axis),
                std::vector{size, wanted});
    }
  }
}

}  // namespace tvmvm::lowering
