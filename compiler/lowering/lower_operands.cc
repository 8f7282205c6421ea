// Registers and addresses of values.
#include "compiler/graph/core_op.h"
#include "compiler/lowering/function_lowering.h"
#include "fmt/format.h"

namespace tvmvm::lowering {

using ir::Dim;
using ir::Node;
using ir::ValueId;
using tensor::ArgumentKind;

std::vector<ScalarReg> FunctionLowering::EmitDims(const ir::Dims& dims) {
  std::vector<ScalarReg> registers;
  for (const Dim& dim : dims) registers.push_back(dims_->Emit(dim));
  return registers;
}

void FunctionLowering::Move(ScalarReg to, ScalarReg from) {
  if (to.index == from.index) return;
  f_->Emit(Opcode::kMove, {{OperandKind::kScalarDst, to.index}, {OperandKind::kScalarSrc, from.index}});
}

void FunctionLowering::MoveRef(RefReg to, RefReg from) {
  if (to.index == from.index) return;
  f_->Emit(Opcode::kMoveRef, {{OperandKind::kRefDst, to.index}, {OperandKind::kRefSrc, from.index}});
}

void FunctionLowering::Release(RefReg reg) {
  f_->Emit(Opcode::kRelease, {{OperandKind::kRefDst, reg.index}});
}

ConstantId FunctionLowering::ConstantFor(ValueId value) {
  if (auto found = constants_.find(value); found != constants_.end()) {
    if (!launches_on_device_) constant_table_->UseOnHost(found->second);
    return found->second;
  }
  const ir::TensorData* data = function_.ConstantOf(value);
  ConstantSpec spec;
  spec.name = fmt::format(
      "{}.{}", function_.value(value).name.empty() ? "constant" : function_.value(value).name, value.index);
  spec.dtype = data->dtype;
  spec.dims = data->dims;
  spec.strings = data->strings;
  spec.bytes = data->bytes;
  ConstantId id = constant_table_->Add(std::move(spec), data->owner);
  constants_[value] = id;
  if (!launches_on_device_) constant_table_->UseOnHost(id);
  return id;
}

ConstantId FunctionLowering::PackedConstant(std::string name, const tensor::PackConstant& pack,
                                            const tensor::GroupConstants& constants) {
  const ir::TensorData data = pack(constants);
  ConstantSpec spec;
  spec.name = std::move(name);
  spec.dtype = data.dtype;
  spec.dims = data.dims;
  spec.bytes = data.bytes;
  const auto bytes = static_cast<int64_t>(data.bytes.size());
  const ConstantId id = constant_table_->Add(std::move(spec), data.owner);
  packed_bytes_[id.index] = bytes;
  constant_table_->UseOnHost(id);
  if (const auto& panels = pack.panels; panels && !options_.gpu_targets.empty())
    constant_table_->AddPanels(id, *constants[panels->number],
                               tensor::PlaceInPanels(panels->dims, panels->axes, panels->panels));
  return id;
}

void FunctionLowering::WorksOnHost(const Memory& memory) {
  if (memory.kind == MemoryKind::kPart) return WorksOnHost(memory_[memory.whole]);
  if (memory.kind == MemoryKind::kInput) on_host_inputs_[memory.number] = true;
  if (memory.kind == MemoryKind::kOutput) on_host_outputs_[memory.number] = true;
}

BufferOperand FunctionLowering::BufferOf(int number, const Dim& byte_offset) {
  WorksOnHost(memory_[number]);
  return AddressOf(number, byte_offset);
}

BufferOperand FunctionLowering::AddressOf(ValueId value) {
  return AddressOf(memory_.Of(value), views_.PlaceOf(value).byte_offset);
}

BufferOperand FunctionLowering::AddressOf(int number, const Dim& byte_offset) {
  BufferOperand operand;
  bool shifted = !byte_offset.IsConstant(0);
  if (shifted) operand.offset = dims_->Emit(byte_offset).index;
  const Memory& memory = memory_[number];
  if (memory.kind == MemoryKind::kConstant) {
    operand.base = ConstantFor(memory.value).index | BufferOperand::kConstantBit;
    return operand;
  }
  const bool is_part = memory.kind == MemoryKind::kPart;
  if (memory.kind == MemoryKind::kArena || (is_part && memory_[memory.whole].kind == MemoryKind::kArena)) {
    operand.base = SlotOperand(memory.slot.index).base;
    return operand;
  }
  operand.base = memory.ref.index;
  if (is_part)
    operand.offset = shifted ? f_->Binary(Opcode::kAdd, memory.offset, ScalarReg{operand.offset}).index
                             : memory.offset.index;
  return operand;
}

ScalarReg FunctionLowering::LoadElement(int number, const Dim& byte_offset, DType dtype) {
  BufferOperand from = AddressOf(number, byte_offset);
  if (from.is_constant()) from.base = f_->Constant(ConstantId{from.index()}).index;
  return f_->Load(from, dtype);
}

void FunctionLowering::StoreElement(int number, const Dim& byte_offset, DType dtype, ScalarReg value) {
  f_->Store(BufferOf(number, byte_offset), dtype, value);
}

BufferOperand FunctionLowering::BufferOf(ValueId value) {
  return BufferOf(memory_.Of(value), views_.PlaceOf(value).byte_offset);
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
    ConstantId id =
        PackedConstant(fmt::format("packed.{}.{}", step.node.index, argument.index),
                       step.programs[0]->packed[argument.index], tensor::ConstantsOf(function_, step.node));
    found = packed_.emplace(key, id).first;
  }
  return {found->second.index | BufferOperand::kConstantBit, BufferOperand::kNoOffset};
}

Dim FunctionLowering::BufferBytes(const Step& step, const tensor::KernelArgument& argument) const {
  const Node& node = function_.node(step.node);
  auto bytes_of = [this](ValueId value) {
    const ir::Type& type = function_.type(value);
    return BytesOf(type.dtype, type.dims);
  };
  switch (argument.kind) {
    case ArgumentKind::kInput:
      return bytes_of(node.inputs[argument.index]);
    case ArgumentKind::kOutput:
      return bytes_of(node.outputs[argument.index]);
    case ArgumentKind::kWorkspace: {
      const tensor::Workspace& workspace = step.programs[0]->workspaces[argument.index];
      return BytesOf(workspace.dtype, {workspace.elements});
    }
    case ArgumentKind::kPacked:
      break;
  }
  return PackedBytes(step.node, argument.index);
}

int64_t FunctionLowering::PackedBytes(ir::NodeId node, uint32_t number) const {
  return packed_bytes_.at(packed_.at(std::make_pair(node, number)).index);
}

// Rows of the inputs behind one another, the last row first: the first input may begin where the result does,
// and each of its rows is read before anything is written there.
//
//   row = rows
// next:
//   row -= 1; for each input: copy its row to its place in the result's
//   if row: goto next
void FunctionLowering::EmitJoin(const Step& step) {
  const Node& node = function_.node(step.node);
  const auto axis = static_cast<size_t>(node.Int("axis"));
  auto sizes_of = [&](ValueId value) { return function_.type(value).dims; };
  auto row_bytes = [&](ValueId value) {
    const ir::Dims& dims = sizes_of(value);
    return dims_->Emit(
        BytesOf(function_.type(value).dtype, {dims.begin() + static_cast<ptrdiff_t>(axis), dims.end()}));
  };
  auto at = [&](BufferOperand buffer, ScalarReg offset) {
    if (buffer.offset != BufferOperand::kNoOffset)
      offset = f_->Binary(Opcode::kAdd, ScalarReg{buffer.offset}, offset);
    return BufferOperand{buffer.base, offset.index};
  };
  const ir::Dims& result = sizes_of(node.outputs[0]);
  const ScalarReg rows =
      dims_->Emit(ir::Product({result.begin(), result.begin() + static_cast<ptrdiff_t>(axis)}));
  const ScalarReg bytes = row_bytes(node.outputs[0]), one = f_->Immediate(1);
  const BufferOperand to = BufferOf(node.outputs[0]);
  std::vector<BufferOperand> from;
  std::vector<ScalarReg> parts;
  for (ValueId input : node.inputs) {
    from.push_back(BufferOf(input));
    parts.push_back(row_bytes(input));
  }
  const ScalarReg row = f_->NewScalar();
  const Label next = f_->NewLabel(), exit = f_->NewLabel();
  Move(row, rows);
  f_->BranchIfNot(row, exit);
  f_->Bind(next);
  f_->Emit(Opcode::kSub, {{OperandKind::kScalarDst, row.index},
                          {OperandKind::kScalarSrc, row.index},
                          {OperandKind::kScalarSrc, one.index}});
  ScalarReg place = f_->Binary(Opcode::kMul, row, bytes);
  for (size_t k = 0; k < from.size(); ++k) {
    f_->Copy(at(to, place), at(from[k], f_->Binary(Opcode::kMul, row, parts[k])), parts[k]);
    if (k + 1 < from.size()) place = f_->Binary(Opcode::kAdd, place, parts[k]);
  }
  f_->BranchIf(row, next);
  f_->Bind(exit);
}

RefReg FunctionLowering::LastingObjectOn(uint32_t device, ValueId value) {
  const bool is_constant = memory_[memory_.Of(value)].kind == MemoryKind::kConstant;
  return is_constant && device != kHostDevice ? CopyOf(value, device) : ObjectOf(value, true);
}

RefReg FunctionLowering::CopyOf(ValueId value, uint32_t device) {
  const ir::Type& type = function_.type(value);
  RefReg copy = f_->Allocate(type.dtype, EmitDims(type.dims), device);
  f_->Copy({copy.index, BufferOperand::kNoOffset}, AddressOf(value),
           dims_->Emit(BytesOf(type.dtype, type.dims)));
  return copy;
}

RefReg FunctionLowering::ObjectOf(ValueId value, bool lasting) {
  const Memory& memory = memory_[memory_.Of(value)];
  Place place = views_.PlaceOf(value);
  bool whole = place.root == value;
  const ir::Type& type = function_.type(value);
  WorksOnHost(memory);
  switch (memory.kind) {
    case MemoryKind::kConstant: {
      RefReg constant = f_->Constant(ConstantFor(memory.value));
      return whole ? constant
                   : f_->View(constant.operand(dims_->Emit(place.byte_offset)), type.dtype,
                              EmitDims(type.dims));
    }
    case MemoryKind::kInput:
    case MemoryKind::kObject:
      return whole ? memory.ref : f_->View(BufferOf(value), type.dtype, EmitDims(type.dims));
    case MemoryKind::kOutput:
    case MemoryKind::kArena:
    case MemoryKind::kPart:
    case MemoryKind::kShared:
      break;
  }
  if (lasting) return CopyOf(value, memory.device);
  return f_->View(BufferOf(value), type.dtype, EmitDims(type.dims));
}

}  // namespace tvmvm::lowering
