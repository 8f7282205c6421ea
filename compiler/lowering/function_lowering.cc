#include "compiler/lowering/function_lowering.h"

#include <algorithm>
#include <set>

#include "compiler/ops/core_op.h"
#include "fmt/format.h"

namespace tvmvm::lowering {
namespace {

using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::ValueId;
using tensor::ArgumentKind;
using tensor::GroupProgram;
using tensor::KernelCall;

constexpr uint32_t kCopied = 0xffffffffu;

DimSpec SpecOf(const Dim& dim, const ir::RangeLookup& ranges) {
  DimSpec spec;
  if (dim.is_constant())
    spec.value = dim.value();
  else
    spec.symbol = dim.ToString();
  // The range of a symbol is a fact that the code relies on: the caller's dims are held to it.
  if (dim.is_symbol()) {
    ir::DimRange range = ranges(dim.symbol());
    spec.low = std::max<int64_t>(range.low, 0);
    spec.high = range.high;
  }
  return spec;
}

TypeSpec SpecOf(const ir::Type& type, const ir::RangeLookup& ranges) {
  TypeSpec spec;
  spec.kind = static_cast<ValueKind>(type.kind);
  spec.dtype = type.dtype;
  spec.has_rank = type.ranked;
  for (const Dim& dim : type.dims) spec.dims.push_back(SpecOf(dim, ranges));
  for (const ir::Type& element : type.elements) spec.elements.push_back(SpecOf(element, ranges));
  return spec;
}

// The calls of one group must be alike at every level: only bodies differ.
bool SameStructure(const GroupProgram& a, const GroupProgram& b) {
  if (a.calls.size() != b.calls.size() || a.workspaces.size() != b.workspaces.size() ||
      a.packed.size() != b.packed.size())
    return false;
  for (size_t i = 0; i < a.workspaces.size(); ++i)
    if (a.workspaces[i].dtype != b.workspaces[i].dtype ||
        !(a.workspaces[i].elements == b.workspaces[i].elements))
      return false;
  for (size_t i = 0; i < a.calls.size(); ++i) {
    const KernelCall &x = a.calls[i], &y = b.calls[i];
    if (x.arguments.size() != y.arguments.size() || !(x.when == y.when)) return false;
    for (size_t k = 0; k < x.arguments.size(); ++k)
      if (x.arguments[k].kind != y.arguments[k].kind || x.arguments[k].index != y.arguments[k].index)
        return false;
    for (int axis = 0; axis < 3; ++axis)
      if (!(x.kernel.grid_size[axis] == y.kernel.grid_size[axis])) return false;
  }
  return true;
}

}  // namespace

FunctionLowering::FunctionLowering(const ir::Function& function, ir::RangeLookup ranges,
                                   const LoweringOptions& options, KernelTable* kernels, Builder* builder)
    : function_(function),
      ranges_(std::move(ranges)),
      options_(options),
      kernels_(kernels),
      builder_(builder),
      views_(function, function.body) {}

FunctionSpec FunctionLowering::Signature() const {
  FunctionSpec spec;
  spec.name = function_.name;
  const ir::Region& body = function_.region(function_.body);
  for (size_t i = 0; i < body.parameters.size(); ++i)
    spec.inputs.push_back({function_.input_names[i], SpecOf(function_.type(body.parameters[i]), ranges_)});
  for (size_t i = 0; i < body.results.size(); ++i)
    spec.outputs.push_back({function_.output_names[i], SpecOf(function_.type(body.results[i]), ranges_)});
  return spec;
}

Expected<FunctionId> FunctionLowering::Run() {
  f_ = &builder_->AddFunction(Signature());
  dims_ = std::make_unique<DimEmitter>(f_);
  TVMVM_CHECK_OK(ScheduleSteps());
  CollectRequirements();
  AssignMemory();
  AssignStages();
  EmitEntry();
  TVMVM_CHECK_OK(EmitSteps());
  EmitReturn();
  if (!dims_->missing().empty())
    return MakeError(Code::kInternal, fmt::format("@{}: symbol '{}' is used before it is defined",
                                                  function_.name, dims_->missing()));
  return f_->id();
}

// ---- what runs ----

Status FunctionLowering::ScheduleStep(NodeId id) {
  const Node& node = function_.node(id);
  Step step;
  step.node = id;
  switch (node.op->kind) {
    case OpKind::kConstant:
      return {};
    case OpKind::kDefineDims:
      step.kind = StepKind::kDefineDims;
      break;
    case OpKind::kDimsTensor:
      step.kind = StepKind::kDimsTensor;
      break;
    case OpKind::kHost:
      return MakeError(Code::kUnsupported,
                       fmt::format("'{}' has no lowering yet (node {})", node.op->name, node.source));
    case OpKind::kControl:
      if (node.op->name != "fused")
        return MakeError(Code::kUnsupported,
                         fmt::format("'{}' has no lowering yet (node {})", node.op->name, node.source));
      [[fallthrough]];
    default:
      if (Views::IsView(function_, node)) return {};
      for (const TargetInfo& target : options_.targets) {
        TVMVM_TRY(GroupProgram program, tensor::ScheduleGroup(function_, id, target));
        if (!step.programs.empty() && !SameStructure(step.programs[0], program))
          return MakeError(Code::kInternal,
                           fmt::format("schedules differ between CPU levels (node {})", node.source));
        step.programs.push_back(std::move(program));
      }
  }
  step.first = positions_;
  size_t calls = step.programs.empty() ? 1 : std::max<size_t>(1, step.programs[0].calls.size());
  positions_ += static_cast<uint32_t>(calls);
  step.last = positions_ - 1;
  steps_.push_back(std::move(step));
  return {};
}

Status FunctionLowering::ScheduleSteps() {
  const std::vector<NodeId>& nodes = function_.region(function_.body).nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (options_.progress) options_.progress("schedule", double(i) / double(nodes.size()));
    TVMVM_CHECK_OK(ScheduleStep(nodes[i]));
  }
  return {};
}

// ---- where values live ----

int FunctionLowering::NewArenaMemory(const Dim& bytes, uint32_t first, uint32_t last) {
  Memory memory;
  memory.bytes = bytes;
  memory.first = first;
  memory.last = last;
  memory_.push_back(memory);
  return static_cast<int>(memory_.size() - 1);
}

void FunctionLowering::Use(ValueId value, uint32_t position) {
  if (!value.valid()) return;
  auto found = memory_of_.find(views_.PlaceOf(value).root);
  if (found == memory_of_.end()) return;
  Memory& memory = memory_[found->second];
  memory.last = std::max(memory.last, position);
}

// An output gets its own memory as the root of a value where it covers the root exactly; else it is copied.
void FunctionLowering::AssignOutputs() {
  const ir::Region& body = function_.region(function_.body);
  output_sources_.assign(body.results.size(), kCopied);
  output_refs_.resize(body.results.size());
  output_allocated_.assign(body.results.size(), false);
  for (size_t i = 0; i < body.results.size(); ++i) {
    Place place = views_.PlaceOf(body.results[i]);
    auto found = memory_of_.find(place.root);
    if (found == memory_of_.end() || memory_[found->second].kind != MemoryKind::kArena) continue;
    Dim whole = BytesOf(function_.type(place.root).dtype, function_.type(place.root).dims);
    Dim part = BytesOf(function_.type(body.results[i]).dtype, function_.type(body.results[i]).dims);
    if (!place.byte_offset.IsConstant(0) || !(whole == part)) continue;
    memory_[found->second].kind = MemoryKind::kOutput;
    memory_[found->second].number = static_cast<uint32_t>(i);
    output_sources_[i] = static_cast<uint32_t>(found->second);
  }
}

void FunctionLowering::AssignMemory() {
  const ir::Region& body = function_.region(function_.body);
  for (size_t i = 0; i < body.parameters.size(); ++i) {
    Memory memory;
    memory.kind = MemoryKind::kInput;
    memory.number = static_cast<uint32_t>(i);
    memory_.push_back(memory);
    memory_of_[body.parameters[i]] = static_cast<int>(memory_.size() - 1);
  }
  for (Step& step : steps_) {
    const Node& node = function_.node(step.node);
    for (ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const ir::Type& type = function_.type(output);
      memory_of_[output] = NewArenaMemory(BytesOf(type.dtype, type.dims), step.first, step.last);
    }
    if (step.programs.empty()) continue;
    for (const tensor::Workspace& workspace : step.programs[0].workspaces)
      step.workspaces.push_back(
          NewArenaMemory(BytesOf(workspace.dtype, {workspace.elements}), step.first, step.last));
  }
  for (const Step& step : steps_)
    for (ValueId input : function_.node(step.node).inputs) Use(input, step.last);
  for (ValueId result : body.results) Use(result, positions_);
  AssignOutputs();
}

bool FunctionLowering::IsComputed(ValueId value) {
  MemoryKind kind = memory_[MemoryOf(value)].kind;
  return kind == MemoryKind::kArena || kind == MemoryKind::kOutput;
}

int FunctionLowering::StageOf(const Dim& dim) const {
  std::vector<std::string> symbols;
  CollectSymbols(dim, &symbols);
  int stage = 0;
  for (const std::string& symbol : symbols)
    if (auto found = symbol_stage_.find(symbol); found != symbol_stage_.end())
      stage = std::max(stage, found->second);
  return stage;
}

// Stage k begins after the k-th define_dims that reads a computed value. A value belongs to the first stage
// at whose beginning its size is known.
void FunctionLowering::AssignStages() {
  for (const Step& step : steps_) {
    if (step.kind != StepKind::kDefineDims) continue;
    const Node& node = function_.node(step.node);
    bool computed = IsComputed(node.inputs[0]);
    if (computed) ++stages_;
    const auto* symbols = std::get_if<std::vector<std::string>>(node.Find("symbols"));
    if (symbols == nullptr) continue;
    for (const std::string& symbol : *symbols) symbol_stage_[symbol] = computed ? stages_ - 1 : 0;
  }
  for (Memory& memory : memory_)
    if (memory.kind == MemoryKind::kArena) memory.stage = StageOf(memory.bytes);
}

// ---- emission ----

void FunctionLowering::EmitEntry() {
  const ir::Region& body = function_.region(function_.body);
  for (size_t i = 0; i < body.parameters.size(); ++i) {
    RefReg ref{static_cast<uint32_t>(i)};  // parameters arrive in the first registers
    memory_[memory_of_[body.parameters[i]]].ref = ref;
    const ir::Dims& dims = function_.type(body.parameters[i]).dims;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (dims[axis].is_symbol() && !dims_->IsDefined(dims[axis].symbol()))
        dims_->Define(dims[axis].symbol(), f_->Dim(ref, static_cast<uint32_t>(axis)));
  }
  // Sizes may depend on the contents of inputs: those are read first.
  for (const Step& step : steps_)
    if (step.kind == StepKind::kDefineDims && !IsComputed(function_.node(step.node).inputs[0]))
      EmitDefineDims(step);
  EmitGuards();
  EmitStage(0);
}

void FunctionLowering::CollectRequirements() {
  std::set<std::string> seen;
  for (NodeId id : function_.region(function_.body).nodes)
    for (Requirement& requirement : RequirementsOf(function_, function_.node(id)))
      if (seen.insert(requirement.condition.ToString()).second)
        unchecked_.emplace_back(id, std::move(requirement));
}

void FunctionLowering::EmitGuards() {
  std::vector<std::pair<NodeId, Requirement>> later;
  for (auto& [node, requirement] : unchecked_) {
    if (!dims_->CanEmit(requirement.condition)) {
      later.emplace_back(node, std::move(requirement));
      continue;
    }
    f_->SetSourceNode(function_.node(node).source);
    std::vector<ScalarReg> values;
    for (const Dim& value : requirement.values) values.push_back(dims_->Emit(value));
    f_->Guard(dims_->Emit(requirement.condition), requirement.message, values);
  }
  unchecked_ = std::move(later);
}

void FunctionLowering::EmitStage(int stage) {
  PlanSpec plan;
  std::vector<ScalarReg> sizes;
  std::vector<int> members;
  for (size_t i = 0; i < memory_.size(); ++i) {
    Memory& memory = memory_[i];
    if (memory.kind != MemoryKind::kArena || memory.stage != stage) continue;
    plan.values.push_back({memory.first, memory.last, 64});
    sizes.push_back(dims_->Emit(memory.bytes));
    members.push_back(static_cast<int>(i));
  }
  if (members.empty()) return;
  ScalarReg total;
  std::vector<ScalarReg> offsets = f_->Plan(builder_->AddPlan(std::move(plan)), sizes, &total);
  RefReg arena = f_->Arena(total);
  for (size_t i = 0; i < members.size(); ++i) {
    memory_[members[i]].ref = arena;
    memory_[members[i]].offset = offsets[i];
  }
}

Status FunctionLowering::EmitSteps() {
  int stage = 0;
  for (const Step& step : steps_) {
    const Node& node = function_.node(step.node);
    f_->SetSourceNode(node.source);
    switch (step.kind) {
      case StepKind::kDefineDims: {
        if (!IsComputed(node.inputs[0])) break;  // done at the entry
        EmitDefineDims(step);
        EmitGuards();
        EmitStage(++stage);
        break;
      }
      case StepKind::kDimsTensor:
        EmitOutputAllocations(step);
        EmitDimsTensor(step);
        break;
      case StepKind::kLaunch:
        EmitOutputAllocations(step);
        TVMVM_CHECK_OK(EmitLaunches(step));
        break;
    }
  }
  return {};
}

void FunctionLowering::EmitOutputAllocations(const Step& step) {
  for (ValueId output : function_.node(step.node).outputs) {
    auto found = memory_of_.find(output);
    if (found == memory_of_.end() || memory_[found->second].kind != MemoryKind::kOutput) continue;
    uint32_t number = memory_[found->second].number;
    std::vector<ScalarReg> dims;
    for (const Dim& dim : function_.type(function_.region(function_.body).results[number]).dims)
      dims.push_back(dims_->Emit(dim));
    output_refs_[number] = f_->Output(number, dims);
    output_allocated_[number] = true;
    memory_[found->second].ref = output_refs_[number];
  }
}

Status FunctionLowering::EmitLaunches(const Step& step) {
  const std::string& source = function_.node(step.node).source;
  std::vector<KernelUse> uses;
  for (size_t call = 0; call < step.programs[0].calls.size(); ++call) {
    std::vector<const KernelCall*> variants;
    for (const GroupProgram& program : step.programs) variants.push_back(&program.calls[call]);
    uses.push_back(kernels_->Add(variants, source));
  }
  for (size_t call = 0; call < uses.size(); ++call) EmitLaunch(step, call, uses);
  return {};
}

void FunctionLowering::EmitLaunch(const Step& step, size_t call, const std::vector<KernelUse>& uses) {
  const KernelCall& first = step.programs[0].calls[call];
  const tensor::LoopKernel& kernel = first.kernel;
  Dim scratch = kernel.scratch_bytes;
  for (const GroupProgram& program : step.programs)
    if (!(program.calls[call].kernel.scratch_bytes == scratch))
      scratch = Max(scratch, program.calls[call].kernel.scratch_bytes);
  FunctionBuilder::LaunchShape shape;
  for (int axis = 0; axis < 3; ++axis) shape.grid[axis] = dims_->Emit(kernel.grid_size[axis]);
  shape.scratch_bytes = dims_->Emit(scratch);
  shape.flops = dims_->Emit(kernel.flops);
  shape.bytes = dims_->Emit(kernel.bytes);
  std::vector<ScalarReg> scalars;
  for (const Dim& dim : uses[call].scalars) scalars.push_back(dims_->Emit(dim));
  std::vector<BufferOperand> buffers;
  for (const tensor::KernelArgument& argument : first.arguments) buffers.push_back(BufferOf(step, argument));
  if (first.when.IsConstant(0)) return;
  if (first.when.is_constant()) {
    f_->Launch(KernelId{uses[call].entry}, 0, shape, scalars, buffers);
    return;
  }
  ScalarReg condition = dims_->Emit(first.when);
  Label after = f_->NewLabel();
  f_->BranchIfNot(condition, after);
  f_->Launch(KernelId{uses[call].entry}, 0, shape, scalars, buffers);
  f_->Bind(after);
}

void FunctionLowering::EmitDefineDims(const Step& step) {
  const Node& node = function_.node(step.node);
  const auto* symbols = std::get_if<std::vector<std::string>>(node.Find("symbols"));
  if (symbols == nullptr) return;
  f_->SetSourceNode(node.source);
  Place place = views_.PlaceOf(node.inputs[0]);
  int memory = MemoryOf(node.inputs[0]);
  RefReg ref = RefOf(memory);
  DType dtype = function_.type(node.inputs[0]).dtype;
  ScalarReg base = dims_->Emit(place.byte_offset);
  if (memory_[memory].kind == MemoryKind::kArena)
    base = place.byte_offset.IsConstant(0) ? memory_[memory].offset
                                           : f_->Binary(Opcode::kAdd, memory_[memory].offset, base);
  int64_t size = DTypeBits(dtype) / 8;
  for (size_t i = 0; i < symbols->size(); ++i) {
    ScalarReg offset =
        i == 0 ? base : f_->Binary(Opcode::kAdd, base, f_->Immediate(static_cast<int64_t>(i) * size));
    dims_->Define((*symbols)[i], f_->Load(ref, offset, dtype));
  }
}

void FunctionLowering::EmitDimsTensor(const Step& step) {
  const Node& node = function_.node(step.node);
  const ir::Dims& elements = node.DimList("elements");
  const Memory& memory = memory_[MemoryOf(node.outputs[0])];
  DType dtype = function_.type(node.outputs[0]).dtype;
  int64_t size = DTypeBits(dtype) / 8;
  for (size_t i = 0; i < elements.size(); ++i) {
    ScalarReg offset = f_->Immediate(static_cast<int64_t>(i) * size);
    if (memory.kind == MemoryKind::kArena)
      offset = i == 0 ? memory.offset : f_->Binary(Opcode::kAdd, memory.offset, offset);
    ScalarReg value = dims_->Emit(elements[i]);
    if (IsFloat(dtype)) {
      ScalarReg converted = f_->NewScalar();
      f_->Emit(Opcode::kIntToF64,
               {{OperandKind::kScalarDst, converted.index}, {OperandKind::kScalarSrc, value.index}});
      value = converted;
    }
    f_->Store(memory.ref, offset, dtype, value);
  }
}

void FunctionLowering::EmitReturn() {
  const ir::Region& body = function_.region(function_.body);
  for (size_t i = 0; i < body.results.size(); ++i) {
    if (output_allocated_[i]) continue;
    ValueId result = body.results[i];
    const ir::Type& type = function_.type(result);
    if (type.kind != ir::TypeKind::kTensor || type.dtype == DType::kString) {
      output_refs_[i] = RefOf(MemoryOf(result));  // immutable objects are shared
      continue;
    }
    std::vector<ScalarReg> dims;
    for (const Dim& dim : type.dims) dims.push_back(dims_->Emit(dim));
    output_refs_[i] = f_->Output(static_cast<uint32_t>(i), dims);
    f_->Copy({output_refs_[i].index, BufferOperand::kNoOffset}, BufferOf(result),
             dims_->Emit(BytesOf(type.dtype, type.dims)));
  }
  f_->Return({}, output_refs_);
}

// ---- operands ----

int FunctionLowering::MemoryOf(ValueId value) {
  ValueId root = views_.PlaceOf(value).root;
  if (auto found = memory_of_.find(root); found != memory_of_.end()) return found->second;
  Memory memory;
  memory.kind = MemoryKind::kConstant;
  memory.value = root;
  memory_.push_back(memory);
  int index = static_cast<int>(memory_.size() - 1);
  memory_of_[root] = index;
  return index;
}

ConstantId FunctionLowering::ConstantFor(ValueId value) {
  if (auto found = constants_.find(value); found != constants_.end()) return found->second;
  const ir::TensorData* data = function_.ConstantOf(value);
  ConstantSpec spec;
  spec.name = fmt::format(
      "{}.{}", function_.value(value).name.empty() ? "constant" : function_.value(value).name, value.index);
  spec.dtype = data->dtype;
  spec.dims = data->dims;
  spec.strings = data->strings;
  spec.bytes = data->bytes;
  ConstantId id = builder_->AddConstant(std::move(spec), data->owner);
  constants_[value] = id;
  return id;
}

BufferOperand FunctionLowering::BufferOf(int index, const Dim& byte_offset) {
  BufferOperand operand;
  Memory memory = memory_[index];
  bool shifted = !byte_offset.IsConstant(0);
  if (shifted) operand.offset = dims_->Emit(byte_offset).index;
  if (memory.kind == MemoryKind::kConstant) {
    operand.base = ConstantFor(memory.value).index | BufferOperand::kConstantBit;
    return operand;
  }
  operand.base = memory.ref.index;
  if (memory.kind == MemoryKind::kArena)
    operand.offset = shifted ? f_->Binary(Opcode::kAdd, memory.offset, ScalarReg{operand.offset}).index
                             : memory.offset.index;
  return operand;
}

BufferOperand FunctionLowering::BufferOf(ValueId value) {
  return BufferOf(MemoryOf(value), views_.PlaceOf(value).byte_offset);
}

RefReg FunctionLowering::RefOf(int index) {
  if (memory_[index].kind == MemoryKind::kConstant) return f_->Constant(ConstantFor(memory_[index].value));
  return memory_[index].ref;
}

BufferOperand FunctionLowering::BufferOf(const Step& step, const tensor::KernelArgument& argument) {
  const Node& node = function_.node(step.node);
  switch (argument.kind) {
    case ArgumentKind::kInput:
      return BufferOf(node.inputs[argument.index]);
    case ArgumentKind::kOutput:
      return BufferOf(node.outputs[argument.index]);
    case ArgumentKind::kWorkspace:
      return BufferOf(step.workspaces[argument.index], 0);
    case ArgumentKind::kPacked:
      break;
  }
  auto key = std::make_pair(step.node, argument.index);
  auto found = packed_.find(key);
  if (found == packed_.end()) {
    const ir::TensorData data = step.programs[0].packed[argument.index]();
    ConstantSpec spec;
    spec.name = fmt::format("packed.{}.{}", step.node.index, argument.index);
    spec.dtype = data.dtype;
    spec.dims = data.dims;
    spec.bytes = data.bytes;
    found = packed_.emplace(key, builder_->AddConstant(std::move(spec), data.owner)).first;
  }
  return {found->second.index | BufferOperand::kConstantBit, BufferOperand::kNoOffset};
}

}  // namespace tvmvm::lowering
