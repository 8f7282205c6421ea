// Handlers of references, tensors and element access.
#include <string>

#include "bytecode/output_operand.h"
#include "vm/interpreter/device_handlers.h"
#include "vm/interpreter/handlers.h"
#include "vm/objects/element_access.h"
#include "vm/objects/owned.h"

namespace tvmvm {
namespace {

// The tensor that output number k becomes when the caller gave memory that the program can write in place;
// null otherwise.
TensorObject* OutputInPlace(Machine& m, const Tensor* given, DType dtype, const Shape& shape) {
  if (given == nullptr || given->device()) return nullptr;
  if (dtype != DType::kString && !IsElementAligned(given->data(), dtype)) return nullptr;
  Owned<Buffer> buffer(m.memory.pool, m.memory.pool.NewBuffer());
  if (given->data() != nullptr) buffer->data = static_cast<char*>(given->data());
  buffer->bytes = given->byte_count();
  if (dtype == DType::kString) {
    buffer->strings = given->shared_strings();
    buffer->strings->resize(static_cast<size_t>(given->element_count()));
  }
  return m.memory.pool.NewTensor(buffer.Give(), dtype, shape);
}

bool CheckScalarForm(Machine& m, const uint32_t* pc, DType dtype) {
  if (HasScalarForm(dtype)) [[likely]]
    return true;
  m.run.Fail(pc, Code::kUnsupported, "a scalar register cannot hold " + std::string(DTypeName(dtype)));
  return false;
}

}  // namespace

const uint32_t* HandleMoveRef(Machine& m, const uint32_t* pc) {
  Object* object = m.frames.refs[pc[2]];
  ObjectPool::Retain(object);
  m.frames.SetRef(pc[1], object);
  return pc + 3;
}

const uint32_t* HandleRelease(Machine& m, const uint32_t* pc) {
  m.frames.SetRef(pc[1], nullptr);
  return pc + 2;
}

const uint32_t* HandleLoadConstant(Machine& m, const uint32_t* pc) {
  const ConstantSpec& constant = m.program.constants[pc[2]];
  if (constant.dims.size() > kMaxRank)
    return m.run.Fail(pc, Code::kUnsupported,
                      "constant '" + constant.name + "' has rank " + std::to_string(constant.dims.size()));
  Buffer* buffer = m.memory.pool.NewBuffer();
  const Bytes& bytes = m.binding.constants[pc[2]];
  buffer->data = bytes.data;
  buffer->bytes = bytes.size;
  buffer->read_only = true;
  if (constant.dtype == DType::kString) {
    // Shared without counting: the program outlives the run, and nobody writes through a read-only buffer.
    auto* strings = const_cast<std::vector<std::string>*>(&constant.strings);
    buffer->strings = std::shared_ptr<std::vector<std::string>>(std::shared_ptr<void>(), strings);
  }
  m.frames.SetRef(pc[1], m.memory.pool.NewTensor(buffer, constant.dtype, Shape(constant.dims)));
  return pc + 3;
}

const uint32_t* HandleOutput(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 3;
  Shape shape;
  if (!m.ShapeOf(pc, list, &shape)) return nullptr;
  const FunctionSpec& function = *m.frames.top().function;
  const uint32_t number = OutputOperand::Of(pc[2], function.outputs.size()).output;
  const DType dtype = function.outputs[number].type.dtype;
  // Only the entry function's outputs are the caller's; another function gives a new tensor to whoever called
  // it.
  const Tensor* given = m.frames.depth() == 1 ? m.given_outputs[number] : nullptr;
  if (given != nullptr && !(given->shape() == shape))
    return m.run.Fail(pc, Code::kInvalidArgument,
                      OutputName(m.program, number) + ": memory for shape " + given->shape().ToString() +
                          " given, the result has " + shape.ToString());
  const bool is_resident =
      given != nullptr && m.DeviceOf(*given) != kHostDevice && m.binding.outputs_stay[number];
  TensorObject* tensor =
      is_resident ? m.TensorOnDevice(*given, false) : OutputInPlace(m, given, dtype, shape);
  if (tensor == nullptr) tensor = m.memory.NewTensor(pc, dtype, shape, "output");
  if (tensor == nullptr) return nullptr;
  m.frames.SetRef(pc[1], tensor);
  return AfterList(list);
}

const uint32_t* HandleAllocate(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 3;
  Shape shape;
  if (!m.run.PollBeforeWork(pc) || !m.ShapeOf(pc, list, &shape)) return nullptr;
  TensorObject* tensor = m.memory.NewTensor(pc, static_cast<DType>(pc[2]), shape, "tensor");
  if (tensor == nullptr) return nullptr;
  m.frames.SetRef(pc[1], tensor);
  return AfterList(list);
}

namespace {

// As of view and slot.view: register or slot, offset, dtype, dims.
const uint32_t* View(Machine& m, const uint32_t* pc, BufferOperand source) {
  const uint32_t* list = pc + 5;
  const auto dtype = static_cast<DType>(pc[4]);
  Shape shape;
  if (!m.ShapeOf(pc, list, &shape)) return nullptr;
  if (m.DeviceOf(source) != kHostDevice) return ViewOnDevice(m, pc, source, shape);
  Bytes bytes;
  bool read_only = false;
  if (!m.BytesOf(pc, source, DTypeBytes(dtype, *shape.ElementCount()), &bytes, &read_only)) return nullptr;
  if (!IsElementAligned(bytes.data, dtype)) [[unlikely]]
    return m.FailUnaligned(pc, dtype, source);
  Buffer* buffer =
      BufferOf(m.frames.refs[source.is_slot() ? m.frames.slots[source.index()].arena : source.base]);
  if (dtype == DType::kString &&
      (!buffer->strings || static_cast<int64_t>(buffer->strings->size()) != *shape.ElementCount()))
    return m.run.Fail(pc, Code::kInvalidProgram, "a view of strings takes all of them");
  ObjectPool::Retain(buffer);
  TensorObject* tensor = m.memory.pool.NewTensor(buffer, dtype, shape);
  tensor->data = bytes.data;
  m.frames.SetRef(pc[1], tensor);
  return AfterList(list);
}

const uint32_t* Load(Machine& m, const uint32_t* pc, BufferOperand source) {
  const auto dtype = static_cast<DType>(pc[4]);
  Bytes bytes;
  bool read_only = false;
  if (!CheckScalarForm(m, pc, dtype)) return nullptr;
  if (m.DeviceOf(source) != kHostDevice) return LoadFromDevice(m, pc, source);
  if (!m.BytesOf(pc, source, DTypeBits(dtype) / 8, &bytes, &read_only)) return nullptr;
  m.frames.scalars[pc[1]] = LoadElement(dtype, bytes.data);
  return pc + 5;
}

const uint32_t* Store(Machine& m, const uint32_t* pc, BufferOperand target) {
  const auto dtype = static_cast<DType>(pc[3]);
  Bytes bytes;
  bool read_only = false;
  if (!CheckScalarForm(m, pc, dtype)) return nullptr;
  if (m.DeviceOf(target) != kHostDevice) return StoreToDevice(m, pc, target);
  if (!m.BytesOf(pc, target, DTypeBits(dtype) / 8, &bytes, &read_only)) return nullptr;
  if (read_only) return m.run.Fail(pc, Code::kInvalidProgram, kWritesReadOnly);
  StoreElement(dtype, bytes.data, m.frames.scalars[pc[4]]);
  return pc + 5;
}

}  // namespace

const uint32_t* HandleView(Machine& m, const uint32_t* pc) { return View(m, pc, {pc[2], pc[3]}); }
const uint32_t* HandleSlotView(Machine& m, const uint32_t* pc) {
  return View(m, pc, SlotOperand(pc[2], pc[3]));
}
const uint32_t* HandleLoad(Machine& m, const uint32_t* pc) { return Load(m, pc, {pc[2], pc[3]}); }
const uint32_t* HandleSlotLoad(Machine& m, const uint32_t* pc) {
  return Load(m, pc, SlotOperand(pc[2], pc[3]));
}
const uint32_t* HandleStore(Machine& m, const uint32_t* pc) { return Store(m, pc, {pc[1], pc[2]}); }
const uint32_t* HandleSlotStore(Machine& m, const uint32_t* pc) {
  return Store(m, pc, SlotOperand(pc[1], pc[2]));
}

const uint32_t* HandleDim(Machine& m, const uint32_t* pc) {
  const TensorObject* tensor = m.TensorAt(pc, pc[2]);
  if (tensor == nullptr) return nullptr;
  if (pc[3] >= static_cast<uint32_t>(tensor->shape.rank())) [[unlikely]]
    return m.run.Fail(pc, Code::kInvalidArgument,
                      "dimension " + std::to_string(pc[3]) + " of a tensor of rank " +
                          std::to_string(tensor->shape.rank()));
  m.frames.scalars[pc[1]] = tensor->shape[static_cast<int>(pc[3])];
  return pc + 4;
}

const uint32_t* HandleRank(Machine& m, const uint32_t* pc) {
  const TensorObject* tensor = m.TensorAt(pc, pc[2]);
  if (tensor == nullptr) return nullptr;
  m.frames.scalars[pc[1]] = tensor->shape.rank();
  return pc + 3;
}

}  // namespace tvmvm
