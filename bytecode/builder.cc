#include "bytecode/builder.h"

#include <deque>
#include <unordered_map>
#include <utility>

#include "bytecode/blob.h"
#include "bytecode/format_text.h"
#include "bytecode/verifier.h"

namespace tvmvm {
namespace {

using enum OperandKind;

constexpr uint32_t kUnbound = 0xffffffffu;

template <class Register>
std::vector<uint32_t> IndicesOf(std::span<const Register> registers) {
  std::vector<uint32_t> indices;
  indices.reserve(registers.size());
  for (Register reg : registers) indices.push_back(reg.index);
  return indices;
}

std::vector<uint32_t> WordsOf(std::span<const BufferOperand> buffers) {
  std::vector<uint32_t> words;
  words.reserve(buffers.size() * 2);
  for (const BufferOperand& buffer : buffers) {
    words.push_back(buffer.base);
    words.push_back(buffer.offset);
  }
  return words;
}

// The register or slot of an operand that is no constant.
Operand PlaceOf(BufferOperand operand) { return {operand.is_slot() ? kSlotSrc : kRefSrc, operand.index()}; }

}  // namespace

// The body under construction. Words count from the body's first instruction; the prologue that sets the
// interned immediates is put in front by Assemble, which shifts everything behind it.
struct FunctionBuilder::State {
  struct Jump {
    uint32_t word;  // of the target operand
    uint32_t label;
  };

  FunctionSpec spec;
  std::vector<uint32_t> labels;  // word of each label, or kUnbound
  std::vector<Jump> jumps;
  std::vector<std::pair<uint32_t, int64_t>> immediates;  // register, value; in order of first use
  std::unordered_map<int64_t, uint32_t> immediate_registers;
  StringId node;
  Status status;  // the first defect of the caller

  void Fail(Error error) {
    if (!status) return;
    std::string place = FormatText("@{}:{} ", spec.name, spec.code.size());
    status = MakeError(error.code, place + error.message);
  }

  Expected<FunctionSpec> Assemble();
};

// Prologue, then body with jumps and lines moved behind it.
Expected<FunctionSpec> FunctionBuilder::State::Assemble() {
  TVMVM_CHECK_OK(status);
  std::vector<uint32_t> code;
  for (auto [reg, value] : immediates)
    TVMVM_CHECK_OK(EncodeInstruction(
        Opcode::kConstant64, std::array{Operand(kScalarDst, reg), Operand(kImmediate, value)}, &code));
  auto shift = static_cast<uint32_t>(code.size());
  code.insert(code.end(), spec.code.begin(), spec.code.end());
  for (const Jump& jump : jumps) {
    uint32_t target = labels[jump.label];
    if (target == kUnbound)
      return MakeError(Code::kInvalidProgram,
                       FormatText("@{}: label {} is jumped to and never bound", spec.name, jump.label));
    code[jump.word + shift] = target + shift;
  }
  for (LineEntry& line : spec.lines) line.word += shift;
  spec.code = std::move(code);
  return std::move(spec);
}

ScalarReg FunctionBuilder::NewScalar() { return {state_->spec.scalar_registers++}; }
RefReg FunctionBuilder::NewRef() { return {state_->spec.ref_registers++}; }
SlotReg FunctionBuilder::NewSlot() { return {state_->spec.slots++}; }

Label FunctionBuilder::NewLabel() {
  state_->labels.push_back(kUnbound);
  return {static_cast<uint32_t>(state_->labels.size() - 1)};
}

void FunctionBuilder::Bind(Label label) {
  if (label.index >= state_->labels.size() || state_->labels[label.index] != kUnbound) {
    state_->Fail({Code::kInvalidProgram, FormatText("label {} is unknown or bound twice", label.index)});
    return;
  }
  state_->labels[label.index] = static_cast<uint32_t>(state_->spec.code.size());
}

void FunctionBuilder::SetDeviceParameters(std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
  state_->spec.device_inputs = std::move(inputs);
  state_->spec.device_outputs = std::move(outputs);
}

void FunctionBuilder::SetSourceNode(std::string_view name) { state_->node = owner_->Intern(name); }

void FunctionBuilder::Emit(Opcode opcode, std::initializer_list<Operand> operands) {
  State& state = *state_;
  if (!state.status) return;
  for (const Operand& operand : operands) {
    if (operand.kind != kTarget || operand.value < static_cast<int64_t>(state.labels.size())) continue;
    state.Fail(
        {Code::kInvalidProgram, FormatText("{}: unknown label {}", InfoOf(opcode).mnemonic, operand.value)});
    return;
  }
  auto word = static_cast<uint32_t>(state.spec.code.size());
  std::vector<uint32_t> operand_words;
  if (Status encoded =
          EncodeInstruction(opcode, {operands.begin(), operands.size()}, &state.spec.code, &operand_words);
      !encoded) {
    state.Fail(encoded.error());
    return;
  }
  size_t i = 0;
  for (const Operand& operand : operands) {
    if (operand.kind == kTarget)
      state.jumps.push_back({operand_words[i], static_cast<uint32_t>(operand.value)});
    ++i;
  }
  std::vector<LineEntry>& lines = state.spec.lines;
  if (state.node.valid() && (lines.empty() || lines.back().node != state.node))
    lines.push_back({word, state.node});
}

ScalarReg FunctionBuilder::Immediate(int64_t value) {
  auto [entry, is_new] = state_->immediate_registers.try_emplace(value, state_->spec.scalar_registers);
  if (is_new) state_->immediates.emplace_back(NewScalar().index, value);
  return {entry->second};
}

ScalarReg FunctionBuilder::Binary(Opcode opcode, ScalarReg a, ScalarReg b) {
  ScalarReg result = NewScalar();
  Emit(opcode, {{kScalarDst, result.index}, {kScalarSrc, a.index}, {kScalarSrc, b.index}});
  return result;
}

ScalarReg FunctionBuilder::Select(ScalarReg condition, ScalarReg a, ScalarReg b) {
  ScalarReg result = NewScalar();
  Emit(Opcode::kSelect, {{kScalarDst, result.index},
                         {kScalarSrc, condition.index},
                         {kScalarSrc, a.index},
                         {kScalarSrc, b.index}});
  return result;
}

ScalarReg FunctionBuilder::Dim(RefReg tensor, uint32_t axis) {
  ScalarReg result = NewScalar();
  Emit(Opcode::kDim, {{kScalarDst, result.index}, {kRefSrc, tensor.index}, {kIndex, axis}});
  return result;
}

ScalarReg FunctionBuilder::Load(BufferOperand from, DType dtype) {
  ScalarReg result = NewScalar();
  Emit(from.is_slot() ? Opcode::kSlotLoad : Opcode::kLoad,
       {{kScalarDst, result.index}, PlaceOf(from), OffsetOf(from), {kDType, static_cast<int64_t>(dtype)}});
  return result;
}

void FunctionBuilder::Store(BufferOperand to, DType dtype, ScalarReg value) {
  Emit(to.is_slot() ? Opcode::kSlotStore : Opcode::kStore,
       {PlaceOf(to), OffsetOf(to), {kDType, static_cast<int64_t>(dtype)}, {kScalarSrc, value.index}});
}

RefReg FunctionBuilder::View(BufferOperand source, DType dtype, std::span<const ScalarReg> dims) {
  RefReg result = NewRef();
  Emit(source.is_slot() ? Opcode::kSlotView : Opcode::kView, {{kRefDst, result.index},
                                                              PlaceOf(source),
                                                              OffsetOf(source),
                                                              {kDType, static_cast<int64_t>(dtype)},
                                                              {kScalarList, IndicesOf(dims)}});
  return result;
}

Operand FunctionBuilder::OffsetOf(BufferOperand operand) {
  const bool is_zero = operand.offset == BufferOperand::kNoOffset;
  return {kScalarSrc, is_zero ? Immediate(0).index : operand.offset};
}

void FunctionBuilder::Guard(ScalarReg condition, std::string_view message,
                            std::span<const ScalarReg> values) {
  Emit(Opcode::kGuard, {{kScalarSrc, condition.index},
                        {kString, owner_->Intern(message).index},
                        {kScalarList, IndicesOf(values)}});
}

void FunctionBuilder::Trace(std::string_view text, std::span<const ScalarReg> values) {
  Emit(Opcode::kTrace, {{kString, owner_->Intern(text).index}, {kScalarList, IndicesOf(values)}});
}

RefReg FunctionBuilder::Output(uint32_t number, std::span<const ScalarReg> dims) {
  RefReg result = NewRef();
  Emit(Opcode::kOutput, {{kRefDst, result.index}, {kIndex, number}, {kScalarList, IndicesOf(dims)}});
  return result;
}

RefReg FunctionBuilder::Allocate(DType dtype, std::span<const ScalarReg> dims, uint32_t device) {
  RefReg result = NewRef();
  const Operand type(kDType, static_cast<int64_t>(dtype)), shape(kScalarList, IndicesOf(dims));
  if (device == kHostDevice)
    Emit(Opcode::kAllocate, {{kRefDst, result.index}, type, shape});
  else
    Emit(Opcode::kAllocateOn, {{kRefDst, result.index}, {kIndex, device}, type, shape});
  return result;
}

RefReg FunctionBuilder::Constant(ConstantId constant) {
  RefReg result = NewRef();
  Emit(Opcode::kLoadConstant, {{kRefDst, result.index}, {kConstant, constant.index}});
  return result;
}

SlotReg FunctionBuilder::Slots(PlanId plan, std::span<const ScalarReg> sizes, uint32_t device,
                               RefReg* arena) {
  *arena = NewRef();
  const SlotReg first{state_->spec.slots};
  state_->spec.slots += static_cast<uint32_t>(sizes.size());
  Emit(Opcode::kSlots, {{kRefDst, arena->index},
                        {kSlotDst, first.index},
                        {kPlan, plan.index},
                        {kIndex, device},
                        {kScalarList, IndicesOf(sizes)}});
  return first;
}

SlotReg FunctionBuilder::SlotsAmong(PlanId plan, std::span<const ScalarReg> sizes, uint32_t device,
                                    std::span<const BufferOperand> among, RefReg* arena) {
  *arena = NewRef();
  const SlotReg first{state_->spec.slots};
  state_->spec.slots += static_cast<uint32_t>(sizes.size());
  Emit(Opcode::kSlotsAmong, {{kRefDst, arena->index},
                             {kSlotDst, first.index},
                             {kPlan, plan.index},
                             {kIndex, device},
                             {kScalarList, IndicesOf(sizes)},
                             {kBufferList, WordsOf(among)}});
  return first;
}

void FunctionBuilder::SlotPart(SlotReg part, SlotReg whole, ScalarReg byte_offset, ScalarReg bytes) {
  Emit(Opcode::kSlotPart, {{kSlotDst, part.index},
                           {kSlotSrc, whole.index},
                           {kScalarSrc, byte_offset.index},
                           {kScalarSrc, bytes.index}});
}

void FunctionBuilder::SlotSwap(SlotReg a, SlotReg b) {
  Emit(Opcode::kSlotSwap, {{kSlotSrc, a.index}, {kSlotSrc, b.index}});
}

void FunctionBuilder::Launch(KernelId kernel, uint32_t device, const LaunchShape& shape,
                             std::span<const ScalarReg> scalars, std::span<const BufferOperand> buffers) {
  std::vector<uint32_t> shape_words = {shape.grid[0].index, shape.grid[1].index, shape.grid[2].index};
  if (shape.cost)
    for (ScalarReg cost : {shape.cost->scratch_bytes, shape.cost->flops, shape.cost->bytes})
      shape_words.push_back(cost.index);
  Emit(Opcode::kLaunch, {{kKernel, kernel.index},
                         {kIndex, device},
                         {kScalarList, std::move(shape_words)},
                         {kScalarList, IndicesOf(scalars)},
                         {kBufferList, WordsOf(buffers)}});
}

void FunctionBuilder::Copy(BufferOperand to, BufferOperand from, ScalarReg bytes) {
  Emit(Opcode::kCopy, {{kBufferList, WordsOf(std::array{to, from})}, {kScalarSrc, bytes.index}});
}

void FunctionBuilder::Jump(Label target) { Emit(Opcode::kJump, {{kTarget, target.index}}); }

void FunctionBuilder::BranchIf(ScalarReg condition, Label target) {
  Emit(Opcode::kBranchIf, {{kScalarSrc, condition.index}, {kTarget, target.index}});
}

void FunctionBuilder::BranchIfNot(ScalarReg condition, Label target) {
  Emit(Opcode::kBranchIfNot, {{kScalarSrc, condition.index}, {kTarget, target.index}});
}

void FunctionBuilder::Return(std::span<const ScalarReg> scalars, std::span<const RefReg> refs) {
  Emit(Opcode::kReturn, {{kScalarList, IndicesOf(scalars)}, {kRefList, IndicesOf(refs)}});
}

struct Builder::Impl {
  Program program;
  std::deque<std::unique_ptr<FunctionBuilder>> functions;
  std::unordered_map<std::string, uint32_t> string_ids;
  Status status;  // the first allocation that failed

  // Keeps `bytes` alive as long as the program: through `owner`, or as an aligned copy.
  std::span<const std::byte> Keep(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
    if (!status || bytes.empty()) return {};
    if (owner == nullptr || !IsBlobAligned(bytes.data())) {
      Expected<Blob> copy = CopyToBlob(bytes);
      if (!copy) {
        status = tl::unexpected<Error>(copy.error());
        return {};
      }
      bytes = copy->bytes;
      owner = std::move(copy->owner);
    }
    if (program.storage.empty() || program.storage.back() != owner)
      program.storage.push_back(std::move(owner));
    return bytes;
  }
};

Builder::Builder() : impl_(std::make_unique<Impl>()) {}
Builder::~Builder() = default;

FunctionBuilder& Builder::AddFunction(FunctionSpec spec) {
  FunctionId id{static_cast<uint32_t>(impl_->functions.size())};
  auto& function = impl_->functions.emplace_back(new FunctionBuilder(this, id));
  spec.code.clear();
  spec.lines.clear();
  spec.scalar_registers = spec.scalar_inputs;
  spec.ref_registers = static_cast<uint32_t>(spec.inputs.size());
  function->state_ = std::make_shared<FunctionBuilder::State>();
  function->state_->spec = std::move(spec);
  return *function;
}

KernelId Builder::AddKernel(KernelSpec spec) {
  impl_->program.kernels.push_back(std::move(spec));
  return {static_cast<uint32_t>(impl_->program.kernels.size() - 1)};
}

void Builder::AddLibrary(KernelLibrarySpec spec, std::shared_ptr<const void> owner) {
  spec.bytes = impl_->Keep(spec.bytes, std::move(owner));
  impl_->program.libraries.push_back(std::move(spec));
}

ConstantId Builder::AddConstant(ConstantSpec spec, std::shared_ptr<const void> owner) {
  spec.bytes = impl_->Keep(spec.bytes, std::move(owner));
  impl_->program.constants.push_back(std::move(spec));
  return {static_cast<uint32_t>(impl_->program.constants.size() - 1)};
}

void Builder::SetPlace(ConstantId constant, PanelPlace place) {
  impl_->program.constants[constant.index].bytes = {};
  impl_->program.constants[constant.index].place = std::move(place);
}

PlanId Builder::AddPlan(PlanSpec spec) {
  impl_->program.plans.push_back(std::move(spec));
  return {static_cast<uint32_t>(impl_->program.plans.size() - 1)};
}

StringId Builder::Intern(std::string_view text) {
  auto next = static_cast<uint32_t>(impl_->program.strings.size());
  auto [entry, is_new] = impl_->string_ids.try_emplace(std::string(text), next);
  if (is_new) impl_->program.strings.emplace_back(text);
  return {entry->second};
}

void Builder::SetEntry(FunctionId id) { impl_->program.entry = id; }
void Builder::SetDevices(std::vector<DeviceSpec> devices) { impl_->program.devices = std::move(devices); }
void Builder::AddEntry(DeviceEntry entry) { impl_->program.device_entries.push_back(std::move(entry)); }
void Builder::SetProvenance(Provenance provenance) { impl_->program.provenance = std::move(provenance); }

Expected<std::shared_ptr<const Program>> Builder::Finish() {
  TVMVM_CHECK_OK(impl_->status);
  for (auto& function : impl_->functions) {
    TVMVM_TRY(FunctionSpec spec, function->state_->Assemble());
    impl_->program.functions.push_back(std::move(spec));
  }
  TVMVM_CHECK_OK(VerifyProgram(impl_->program));
  return std::make_shared<const Program>(std::move(impl_->program));
}

}  // namespace tvmvm
