#include "compiler/lowering/function_lowering.h"

#include <algorithm>

#include "bytecode/output_operand.h"
#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/type_join.h"
#include "fmt/format.h"

namespace tvmvm::lowering {
namespace {

using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using tensor::KernelCall;

DimSpec SpecOf(const Dim& dim, const ir::RangeLookup& ranges) {
  DimSpec spec;
  if (dim.is_constant()) {
    spec.value = dim.value();
    return spec;
  }
  if (ir::IsUnknown(dim) || dim.depth() > 0) return spec;  // names of expressions tell a caller nothing
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

}  // namespace

FunctionLowering::FunctionLowering(const ir::Function& function, std::string name, ir::RangeLookup ranges,
                                   const LoweringContext& context)
    : function_(function),
      device_count_(ir::DeviceCount(function)),
      ranges_(std::move(ranges)),
      options_(*context.options),
      kernels_(context.kernels),
      schedules_(context.schedules),
      constant_table_(context.constants),
      builder_(context.builder),
      views_(function),
      memory_(function, views_) {
  f_ = &builder_->AddFunction(Signature(std::move(name)));
}

void FunctionLowering::Donate(std::span<const std::pair<std::string, std::string>> pairs) {
  donated_.assign(function_.output_names.size(), -1);
  for (const auto& [from, to] : pairs) {
    const auto input = std::ranges::find(function_.input_names, from);
    const auto output = std::ranges::find(function_.output_names, to);
    if (input != function_.input_names.end() && output != function_.output_names.end())
      donated_[static_cast<size_t>(output - function_.output_names.begin())] =
          static_cast<int>(input - function_.input_names.begin());
  }
}

FunctionSpec FunctionLowering::Signature(std::string name) const {
  FunctionSpec spec;
  spec.name = std::move(name);
  const ir::Region& body = function_.region(function_.body);
  for (size_t i = 0; i < body.parameters.size(); ++i)
    spec.inputs.push_back({function_.input_names[i], SpecOf(function_.type(body.parameters[i]), ranges_)});
  for (size_t i = 0; i < body.results.size(); ++i)
    spec.outputs.push_back({function_.output_names[i], SpecOf(function_.type(body.results[i]), ranges_)});
  return spec;
}

Status FunctionLowering::Run(const std::map<std::string, FunctionId>& callees) {
  callees_ = &callees;
  dims_ = std::make_unique<DimEmitter>(f_);
  TVMVM_TRY(RegionSteps body, ScheduleSteps(function_, ranges_, options_, kernels_, schedules_));
  memory_.SetDonations(donated_);
  memory_.Assign(&body, options_.share_memory);
  TVMVM_CHECK_OK(CheckDonations(body));
  size_t outputs = function_.region(function_.body).results.size();
  output_refs_.resize(outputs);
  output_allocated_.assign(outputs, false);
  on_host_inputs_.assign(function_.region(function_.body).parameters.size(), false);
  on_host_outputs_.assign(outputs, false);
  EmitEntry(body);
  TVMVM_CHECK_OK(EmitSteps(body));
  EmitReturn();
  DeclareDeviceParameters();
  if (!dims_->missing().is_none())
    return MakeError(Code::kInternal, fmt::format("@{}: symbol '{}' is used before it is defined",
                                                  function_.name, dims_->missing().name()));
  return {};
}

void FunctionLowering::EmitEntry(const RegionSteps& body) {
  const std::vector<ValueId>& parameters = function_.region(function_.body).parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    RefReg ref{static_cast<uint32_t>(i)};  // parameters arrive in the first registers
    memory_[memory_.Of(parameters[i])].ref = ref;
    const ir::Dims& dims = function_.type(parameters[i]).dims;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (dims[axis].is_symbol() && !dims_->IsDefined(dims[axis].symbol()))
        dims_->Define(dims[axis].symbol(), f_->Dim(ref, static_cast<uint32_t>(axis)));
  }
  OpenGuards(function_.body);
  // Sizes may depend on the contents of inputs: those are read first.
  for (const Step& step : body.steps)
    if (step.kind == StepKind::kDefineDims && step.stage == 0) EmitDefineDims(function_.node(step.node));
  EmitGuards();
  EmitStage(0);
}

// What nothing on the host works on may stay in the memory of a device.
void FunctionLowering::DeclareDeviceParameters() {
  bool uses_gpu = false;
  for (size_t i = 0; i < memory_.size(); ++i) uses_gpu |= memory_[static_cast<int>(i)].device != kHostDevice;
  if (!uses_gpu) return;
  std::vector<uint32_t> inputs, outputs;
  for (uint32_t i = 0; i < on_host_inputs_.size(); ++i)
    if (!on_host_inputs_[i]) inputs.push_back(i);
  for (uint32_t i = 0; i < on_host_outputs_.size(); ++i)
    if (output_allocated_[i] && !on_host_outputs_[i]) outputs.push_back(i);
  f_->SetDeviceParameters(std::move(inputs), std::move(outputs));
}

// ---- guards ----

void FunctionLowering::OpenGuards(ir::RegionId region, const Node* loop) {
  OpenRegion open;
  if (!open_.empty()) {
    open.checked = open_.back().checked;
    open.loops = open_.back().loops;
  }
  if (loop != nullptr) open.loops.push_back(loop);
  auto holds = [&](const Dim& condition) {
    return std::any_of(open.loops.begin(), open.loops.end(), [&](const Node* around) {
      Dim simple = ir::SimplifyInLoop(condition, *around, ranges_);
      return simple.is_constant() && simple.value() != 0;
    });
  };
  std::set<std::string> seen = open.checked;
  for (NodeId id : function_.region(region).nodes) {
    if (ir::HasControlRegions(function_.node(id))) continue;
    for (ir::Requirement& requirement : RequirementsOf(function_, function_.node(id)))
      if (seen.insert(requirement.condition.ToString()).second && !holds(requirement.condition))
        open.unchecked.emplace_back(id, std::move(requirement));
  }
  open_.push_back(std::move(open));
}

void FunctionLowering::EmitGuards() {
  std::vector<std::pair<NodeId, ir::Requirement>> later;
  for (auto& [node, requirement] : open_.back().unchecked) {
    auto can_emit = [&](const Dim& dim) { return dims_->CanEmit(dim); };
    if (!can_emit(requirement.condition) || !std::ranges::all_of(requirement.values, can_emit)) {
      later.emplace_back(node, std::move(requirement));
      continue;
    }
    f_->SetSourceNode(function_.node(node).source);
    f_->Guard(dims_->Emit(requirement.condition), requirement.message, EmitDims(requirement.values));
    open_.back().checked.insert(requirement.condition.ToString());
  }
  open_.back().unchecked = std::move(later);
}

// ---- steps ----

Status FunctionLowering::EmitSteps(const RegionSteps& region) {
  bool is_body = region.region == function_.body;
  for (const Step& step : region.steps) {
    if (is_body && step.kind == StepKind::kDefineDims && step.stage == 0) continue;  // done at the entry
    f_->SetSourceNode(function_.node(step.node).source);
    // Copies that follow one another share a wait: the caller's memory is found before the first one.
    for (const Step* copy = &step; copy->kind == StepKind::kTransfer; ++copy) {
      EmitOutputs(*copy);
      if (copy == &region.steps.back()) break;
    }
    TVMVM_CHECK_OK(EmitStep(step));
    if (options_.trace_values) EmitTrace(step);
    if (step.stage != 0) {
      EmitGuards();
      EmitStage(step.stage);
    }
    ReleaseObjects(region, step.first, step.last);
  }
  return {};
}

// A sequence that only its next user holds can be changed in place, and memory is not kept for nothing.
void FunctionLowering::ReleaseObjects(const RegionSteps& region, uint32_t first, uint32_t last) {
  for (int number : memory_.DeadAfter(region.region, first, last)) Release(memory_[number].ref);
}

Status FunctionLowering::EmitStep(const Step& step) {
  EmitAllocations(step);
  switch (step.kind) {
    case StepKind::kDefineDims:
      EmitDefineDims(function_.node(step.node));
      return {};
    case StepKind::kDimsTensor:
      EmitDimsTensor(step);
      return {};
    case StepKind::kLaunch:
      EmitLaunches(step);
      return {};
    case StepKind::kTransfer:
      EmitTransfer(step);
      return {};
    case StepKind::kJoin:
      EmitJoin(step);
      return {};
    case StepKind::kHost:
      EmitHost(step);
      return {};
    case StepKind::kCall:
      EmitCall(step);
      return {};
    case StepKind::kIf:
      return EmitIf(step);
    case StepKind::kLoop:
      return EmitLoop(step);
    case StepKind::kOutlinedLoop:
      EmitOutlinedLoop(step);
      return {};
  }
  return {};
}

void FunctionLowering::EmitAllocations(const Step& step) {
  for (ValueId output : function_.node(step.node).outputs) {
    if (!output.valid()) continue;
    int number = memory_.Of(output);
    Memory& memory = memory_[number];
    const ir::Type& type = function_.type(output);
    bool makes = step.kind == StepKind::kLaunch || step.kind == StepKind::kTransfer ||
                 step.kind == StepKind::kDimsTensor;
    if (memory.kind == MemoryKind::kObject && makes) {
      std::vector<ScalarReg> dims = EmitDims(type.dims);
      MoveRef(memory.ref, f_->Allocate(type.dtype, dims, memory.device));
    }
  }
  EmitOutputs(step);
}

void FunctionLowering::EmitOutputs(const Step& step) {
  for (ValueId output : function_.node(step.node).outputs) {
    if (!output.valid()) continue;
    Memory& memory = memory_[memory_.Of(output)];
    if (memory.kind != MemoryKind::kOutput || output_allocated_[memory.number]) continue;
    const ir::Type& result = function_.type(function_.region(function_.body).results[memory.number]);
    output_refs_[memory.number] = f_->Output(OutputNumber(memory.number), EmitDims(result.dims));
    output_allocated_[memory.number] = true;
    memory.ref = output_refs_[memory.number];
  }
}

void FunctionLowering::EmitLaunches(const Step& step) {
  for (size_t call = 0; call < step.uses.size(); ++call) EmitLaunch(step, call);
}

void FunctionLowering::EmitLaunch(const Step& step, size_t call) {
  const KernelCall& first = step.programs[0]->calls[call];
  const KernelUse& use = step.uses[call];
  if (!use.may_run) return;
  Label after = f_->NewLabel();
  bool guarded = !first.when.is_constant();
  if (guarded) {
    f_->BranchIfNot(dims_->Emit(first.when), after);
    dims_->EnterScope();
  }
  const tensor::LoopKernel& kernel = first.kernel;
  FunctionBuilder::LaunchShape shape;
  for (int axis = 0; axis < 3; ++axis) shape.grid[axis] = dims_->Emit(kernel.grid_size[axis]);
  if (use.cost)
    shape.cost = {dims_->Emit(use.cost->scratch_bytes), dims_->Emit(use.cost->flops),
                  dims_->Emit(use.cost->bytes)};
  std::vector<ScalarReg> scalars = EmitDims(use.scalars);
  std::vector<BufferOperand> buffers;
  launches_on_device_ = step.device != kHostDevice;
  for (const tensor::KernelArgument& argument : first.arguments) buffers.push_back(BufferOf(step, argument));
  launches_on_device_ = false;
  const ContractedKernel contracted = KernelOf(step, call);
  for (const Dim& dim : contracted.told) scalars.push_back(dims_->Emit(dim));
  f_->Launch(contracted.kernel, step.device, shape, scalars, buffers);
  if (guarded) {
    dims_->LeaveScope();
    f_->Bind(after);
  }
}

FunctionLowering::ContractedKernel FunctionLowering::KernelOf(const Step& step, size_t call) {
  const KernelUse& use = step.uses[call];
  tensor::ContractedCall contracted{.scalars = use.scalars};
  for (const auto& program : step.programs) contracted.variants.push_back(&program->calls[call]);
  for (const tensor::KernelArgument& argument : contracted.variants[0]->arguments)
    contracted.bytes.push_back(BufferBytes(step, argument));
  for (const ir::Requirement& requirement : RequirementsOf(function_, function_.node(step.node)))
    contracted.facts.push_back(requirement.condition);
  const auto can_tell = [this](const Dim& dim) { return dims_->CanEmit(dim); };
  auto [made, end] = contracted_.equal_range(contracted.variants[0]);
  for (; made != end; ++made)
    if (made->second.bytes == contracted.bytes && made->second.facts == contracted.facts &&
        std::ranges::all_of(made->second.told, can_tell))
      return made->second;
  return contracted_.emplace(contracted.variants[0], Contract(use.entry, contracted))->second;
}

FunctionLowering::ContractedKernel FunctionLowering::Contract(uint32_t entry,
                                                              const tensor::ContractedCall& call) {
  auto [text, told] =
      tensor::LaunchContractOf(call, ranges_, [this](const Dim& dim) { return dims_->CanEmit(dim); });
  const KernelId kernel = kernels_->Row(entry, {std::move(text), told.size()});
  return {call.bytes, call.facts, kernel, std::move(told)};
}

void FunctionLowering::EmitTransfer(const Step& step) {
  const Node& node = function_.node(step.node);
  const ir::Type& type = function_.type(node.outputs[0]);
  f_->Copy(AddressOf(node.outputs[0]), AddressOf(node.inputs[0]),
           dims_->Emit(BytesOf(type.dtype, type.dims)));
}

void FunctionLowering::EmitDefineDims(const Node& node) {
  f_->SetSourceNode(node.source);
  DType dtype = function_.type(node.inputs[0]).dtype;
  int64_t size = DTypeBits(dtype) / 8;
  const std::vector<ir::SymbolId>& symbols = node.Symbols("symbols");
  const Dim begin = views_.PlaceOf(node.inputs[0]).byte_offset;
  for (size_t i = 0; i < symbols.size(); ++i)
    dims_->Define(symbols[i], LoadElement(memory_.Of(node.inputs[0]),
                                          begin + Dim(static_cast<int64_t>(i) * size), dtype));
}

void FunctionLowering::EmitDimsTensor(const Step& step) {
  const Node& node = function_.node(step.node);
  const ir::Dims& elements = node.DimList("elements");
  DType dtype = function_.type(node.outputs[0]).dtype;
  int64_t size = DTypeBits(dtype) / 8;
  for (size_t i = 0; i < elements.size(); ++i) {
    ScalarReg value = dims_->Emit(elements[i]);
    if (IsFloat(dtype)) {
      ScalarReg converted = f_->NewScalar();
      f_->Emit(Opcode::kIntToF64,
               {{OperandKind::kScalarDst, converted.index}, {OperandKind::kScalarSrc, value.index}});
      value = converted;
    }
    StoreElement(memory_.Of(node.outputs[0]), Dim(static_cast<int64_t>(i) * size), dtype, value);
  }
}

std::string_view FunctionLowering::TraceName(const Node& node) {
  return node.source.empty() ? node.op->name : std::string_view(node.source);
}

void FunctionLowering::EmitTrace(const Step& step) {
  const Node& node = function_.node(step.node);
  for (ValueId output : node.outputs) {
    if (!output.valid()) continue;
    const ir::Type& type = function_.type(output);
    if (!std::ranges::all_of(type.dims, [this](const Dim& dim) { return dims_->CanEmit(dim); })) continue;
    std::string shape;
    for (size_t i = 0; i < type.dims.size(); ++i) shape += fmt::format("{}{{{}}}", i == 0 ? "" : ", ", i);
    bool is_ranked = type.kind == ir::TypeKind::kTensor && type.ranked;
    std::string text = is_ranked ? fmt::format("{}[{}]", DTypeName(type.dtype), shape) : type.ToString();
    const std::string& name = function_.value(output).name;
    f_->Trace(fmt::format("{}: {}{}{}", TraceName(node), name, name.empty() ? "" : " ", text),
              EmitDims(type.dims));
  }
}

// As the instruction names the output.
uint32_t FunctionLowering::OutputNumber(size_t output) const {
  OutputOperand operand{static_cast<uint32_t>(output), std::nullopt};
  if (const int input = memory_.DonatedTo(output); input >= 0) operand.donor = static_cast<uint32_t>(input);
  return operand.word(output_refs_.size()).value_or(operand.output);
}

// What is copied into a donated input's memory comes after what is copied out of it.
std::vector<size_t> FunctionLowering::OrderOfResults() {
  std::vector<size_t> order, last;
  for (size_t i = 0; i < output_refs_.size(); ++i) (memory_.DonatedTo(i) >= 0 ? last : order).push_back(i);
  order.insert(order.end(), last.begin(), last.end());
  return order;
}

// A value that keeps the memory of an input (a sequence, what a call gives) would change when an output is
// written there; so would an output that is the input itself, and its own is written there first.
Status FunctionLowering::CheckDonations(const RegionSteps& region) {
  const std::vector<ValueId>& parameters = function_.region(function_.body).parameters;
  const std::vector<ValueId>& results = function_.region(function_.body).results;
  auto donated = [&](ValueId value) -> int {  // the output, by what is read
    for (size_t k = 0; value.valid() && k < results.size(); ++k)
      if (const int input = memory_.DonatedTo(k);
          input >= 0 && views_.PlaceOf(value).root == parameters[static_cast<size_t>(input)])
        return static_cast<int>(k);
    return -1;
  };
  auto refuse = [&](int output, const std::string& who) {
    const auto input = static_cast<size_t>(memory_.DonatedTo(static_cast<size_t>(output)));
    return MakeError(Code::kUnsupported,
                     fmt::format("--donate {}={}: {} keeps the input", function_.input_names[input],
                                 function_.output_names[static_cast<size_t>(output)], who));
  };
  for (const Step& step : region.steps) {
    const Node& node = function_.node(step.node);
    bool keeps = step.kind == StepKind::kHost || step.kind == StepKind::kCall;
    if (step.kind == StepKind::kIf || step.kind == StepKind::kLoop)
      for (ValueId output : node.outputs)
        keeps = keeps || memory_[memory_.Of(output)].kind == MemoryKind::kObject;
    for (ValueId used : keeps ? ir::UsesOf(function_, node) : std::vector<ValueId>())
      if (const int output = donated(used); output >= 0) return refuse(output, std::string(TraceName(node)));
    for (const RegionSteps& inner : step.regions) TVMVM_CHECK_OK(CheckDonations(inner));
  }
  if (region.region != function_.body) return {};
  for (size_t k = 0; k < results.size(); ++k)
    if (memory_.DonatedTo(k) >= 0 && memory_[memory_.Of(results[k])].kind == MemoryKind::kObject)
      return refuse(static_cast<int>(k), "whatever makes the output, whose size only running tells,");
  for (size_t k = 0; k < results.size(); ++k)
    if (const int output = donated(results[k]);
        output >= 0 && static_cast<size_t>(output) != k && memory_.DonatedTo(k) >= 0)
      return refuse(output, fmt::format("output '{}'", function_.output_names[k]));
  return {};
}

void FunctionLowering::EmitReturn() {
  const std::vector<ValueId>& results = function_.region(function_.body).results;
  for (size_t i : OrderOfResults()) {
    if (output_allocated_[i] && memory_.OutputSource(i) >= 0) continue;
    ValueId result = results[i];
    const ir::Type& type = function_.type(result);
    bool object = memory_[memory_.Of(result)].kind == MemoryKind::kObject;
    if (object || type.kind != ir::TypeKind::kTensor || type.dtype == DType::kString || !type.ranked) {
      output_refs_[i] = ObjectOf(result);  // immutable objects are shared
      continue;
    }
    output_refs_[i] = f_->Output(OutputNumber(i), EmitDims(type.dims));
    output_allocated_[i] = true;
    f_->Copy({output_refs_[i].index, BufferOperand::kNoOffset}, AddressOf(result),
             dims_->Emit(BytesOf(type.dtype, type.dims)));
  }
  f_->Return({}, output_refs_);
}

}  // namespace tvmvm::lowering
