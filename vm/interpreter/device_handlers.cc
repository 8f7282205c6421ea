#include "vm/interpreter/device_handlers.h"

#include <algorithm>

#include "vm/interpreter/handlers.h"
#include "vm/objects/element_access.h"
#include "vm/objects/owned.h"

namespace tvmvm {
namespace {

// Memory of a device that an operand stands for.
struct Place {
  uint32_t device = kHostDevice;
  DeviceSpan span;
  int64_t bytes = 0;
  bool read_only = false;
};

uint32_t FunctionIndex(Machine& m) {
  return static_cast<uint32_t>(m.frames.top().function - m.program.functions.data());
}

uint64_t TagOf(Machine& m, const uint32_t* pc) {
  return uint64_t{FunctionIndex(m)} << 32 | static_cast<uint64_t>(pc - m.frames.code);
}

// Narrows a place to what begins at `offset`; false after Fail.
bool MoveTo(Machine& m, const uint32_t* pc, int64_t offset, int64_t wanted, BufferOperand operand,
            Place* place) {
  if (offset < 0 || wanted < 0 || offset > place->bytes || wanted > place->bytes - offset) [[unlikely]]
    return m.FailOutside(pc, operand, offset, wanted, place->bytes);
  place->span.offset += offset;
  place->bytes -= offset;
  return true;
}

bool PlaceAt(Machine& m, const uint32_t* pc, uint32_t reg, int64_t offset, int64_t wanted, Place* place) {
  Object* object = m.frames.refs[reg];
  const Buffer* buffer = BufferOf(object);
  if (buffer == nullptr || buffer->device != place->device) [[unlikely]] {
    const std::string name = "r" + std::to_string(reg);
    m.run.Fail(pc, Code::kInvalidProgram,
               buffer == nullptr ? name + " holds no tensor" : m.PlaceText(name, buffer->device));
    return false;
  }
  *place = {buffer->device, buffer->place, buffer->bytes, buffer->read_only};
  if (object->kind == ObjectKind::kTensor) {
    const auto* tensor = static_cast<const TensorObject*>(object);
    place->span.offset += tensor->begin;
    place->bytes = tensor->bytes;
  }
  return MoveTo(m, pc, offset, wanted, {reg, BufferOperand::kNoOffset}, place);
}

// Of a slot, all of its bytes.
bool PlaceOfSlot(Machine& m, const uint32_t* pc, uint32_t number, Place* place) {
  const Slot& slot = m.frames.slots[number];
  const Buffer* buffer = m.ArenaOf(pc, number);
  if (buffer == nullptr) return false;
  if (buffer->device != place->device) [[unlikely]] {
    m.run.Fail(pc, Code::kInvalidProgram, m.PlaceText("slot s" + std::to_string(number), buffer->device));
    return false;
  }
  *place = {buffer->device,
            slot.stand_in != nullptr ? DeviceSpan{slot.stand_in->device_memory()} : buffer->place, slot.bytes,
            slot.read_only};
  place->span.offset += slot.offset;
  return true;
}

// On the place's device; false after Fail: it is elsewhere, or has less than `wanted` bytes.
bool PlaceOf(Machine& m, const uint32_t* pc, BufferOperand operand, int64_t wanted, Place* place) {
  const int64_t offset = operand.offset == BufferOperand::kNoOffset ? 0 : m.frames.scalars[operand.offset];
  if (operand.is_register()) return PlaceAt(m, pc, operand.base, offset, wanted, place);
  if (operand.is_slot()) {
    if (!PlaceOfSlot(m, pc, operand.index(), place)) return false;
  } else {
    const uint32_t id = operand.index();
    const DeviceConstants::Block& block = (*m.binding.device_constants[place->device])[id];
    *place = {place->device, {block.memory, 0}, block.bytes, true};
  }
  return MoveTo(m, pc, offset, wanted, operand, place);
}

// Places of a launch's buffers, each of which has the bytes wanted; false after Fail.
bool ResolvePlaces(Machine& m, const uint32_t* pc, const KernelSpec& kernel, const uint32_t* list,
                   const int64_t* wanted) {
  for (uint32_t i = 0; i < list[0]; ++i) {
    const BufferOperand operand{list[1 + 2 * i], list[2 + 2 * i]};
    Place place{pc[2]};
    if (!PlaceOf(m, pc, operand, 0, &place)) return false;
    if (place.read_only && IsWritten(kernel.buffers[i])) [[unlikely]] {
      m.run.Fail(pc, Code::kInvalidProgram, WritesReadOnlyText(kernel, i));
      return false;
    }
    if (place.bytes < wanted[i]) [[unlikely]] {
      m.run.Fail(pc, Code::kInvalidProgram, TooFewBytesText(kernel, i, place.bytes, wanted[i]));
      return false;
    }
    if (!kernel.alignments.empty() && (place.span.offset & (kernel.alignments[i] - 1)) != 0) [[unlikely]]
      return m.FailUnaligned(pc, kernel, i, operand);
    m.places[i] = place.span;
    m.places[i].bytes = place.bytes;
  }
  return true;
}

Queue& QueueOf(Machine& m, uint32_t device) { return m.devices[device]->queue(); }

// Submission to a device failed or succeeded.
bool Check(Machine& m, const uint32_t* pc, uint32_t device, const Status& status, bool writes_host = false) {
  m.devices[device]->Submitted(status, writes_host);
  if (status) [[likely]]
    return true;
  FailWork(m, pc, status.error());
  return false;
}

// Copies of what a launch reads that begin where its kernel cannot read them. They go once it is submitted.
class AlignedCopies {
 public:
  AlignedCopies(Machine& m, uint32_t device) : m_(m), device_(device) {}
  AlignedCopies(const AlignedCopies&) = delete;
  AlignedCopies& operator=(const AlignedCopies&) = delete;
  ~AlignedCopies() {
    for (Buffer* buffer : buffers_) m_.memory.pool.Release(buffer);
  }

  // Puts a copy in the span's place; false after Fail.
  bool Replace(const uint32_t* pc, DeviceSpan* span) {
    buffers_.push_back(nullptr);
    Buffer* copy = m_.memory.NewDeviceBuffer(pc, device_, span->bytes, false);
    if (copy == nullptr) return false;
    buffers_.back() = copy;
    DeviceSpan source = *span;
    *span = copy->place;
    span->bytes = source.bytes;
    return Check(m_, pc, device_, QueueOf(m_, device_).Copy(*span, source, source.bytes, &m_.run));
  }

 private:
  Machine& m_;
  uint32_t device_;
  std::vector<Buffer*> buffers_;
};

// Whether an instruction touches no memory of the host and gives none back: what a copy writes there need not
// have arrived.
bool LeavesHostMemoryAlone(const uint32_t* pc) {
  const auto opcode = static_cast<Opcode>(*pc & 0xff);
  if (opcode == Opcode::kLaunch) return pc[2] != 0;
  return (opcode >= Opcode::kConstant64 && opcode <= Opcode::kF64ToInt) || opcode == Opcode::kPlan ||
         opcode == Opcode::kDim || (opcode >= Opcode::kSlotPart && opcode <= Opcode::kSlotOutput);
}

bool IsSame(const Place& one, const Place& other) {
  return one.span.memory.handle == other.span.memory.handle && one.span.offset == other.span.offset;
}

// Whether another copy follows before anything can see what this one writes: then one wait serves both.
bool MoreCopiesFollow(const uint32_t* pc) {
  constexpr int kLook = 256;
  for (int i = 0; i < kLook; ++i, pc += *pc >> 8) {
    if (static_cast<Opcode>(*pc & 0xff) == Opcode::kCopy) return true;
    if (!LeavesHostMemoryAlone(pc)) return false;
  }
  return false;
}

// What copies write to the host has arrived, or is waited for by a copy that follows.
const uint32_t* SettleCopies(Machine& m, const uint32_t* pc, const uint32_t* next) {
  if (!m.IsHostMemoryWritten() || MoreCopiesFollow(next)) return next;
  return m.WaitForHostMemory(pc) ? next : nullptr;
}

const uint32_t* CopyOut(Machine& m, const uint32_t* pc, BufferOperand to, BufferOperand from, int64_t count,
                        const uint32_t* next) {
  Bytes target;
  bool read_only = false;
  Place source{m.DeviceOf(from)};
  if (!m.BytesOf(pc, to, count, &target, &read_only)) return nullptr;
  if (!PlaceOf(m, pc, from, count, &source)) return nullptr;
  if (read_only) return m.run.Fail(pc, Code::kInvalidProgram, kWritesReadOnly);
  return m.CopyToHost(pc, target.data, source.device, source.span, count) ? SettleCopies(m, pc, next)
                                                                          : nullptr;
}

const uint32_t* CopyIn(Machine& m, const uint32_t* pc, BufferOperand to, BufferOperand from, int64_t count,
                       const uint32_t* next) {
  Bytes source;
  bool read_only = false;
  Place target{m.DeviceOf(to)};
  if (!PlaceOf(m, pc, to, count, &target)) return nullptr;
  if (!m.BytesOf(pc, from, count, &source, &read_only)) return nullptr;
  if (target.read_only) return m.run.Fail(pc, Code::kInvalidProgram, kWritesReadOnly);
  // What a copy to the CPU is about to write may be the source.
  if (!m.WaitForHostMemory(pc)) return nullptr;
  return m.CopyFromHost(pc, target.device, target.span, source.data, count) ? next : nullptr;
}

// Between two devices, through memory of the host.
const uint32_t* CopyAcross(Machine& m, const uint32_t* pc, const Place& target, const Place& source,
                           int64_t count, const uint32_t* next) {
  if (count == 0) return next;
  Owned<Buffer> between(m.memory.pool, m.memory.NewArenaBuffer(pc, count));
  if (between.get() == nullptr) return nullptr;
  char* data = between.get()->data;
  if (!m.CopyToHost(pc, data, source.device, source.span, count)) {
    m.devices[source.device]->Abandon();  // nothing may be written here later
    return nullptr;
  }
  const bool is_copied =
      m.WaitFor(pc, source.device) && m.CopyFromHost(pc, target.device, target.span, data, count);
  return is_copied ? next : nullptr;
}

}  // namespace

const uint32_t* FailOnDevice(Machine& m, const uint32_t* pc, uint32_t reg) {
  return m.run.Fail(pc, Code::kInvalidProgram, m.PlaceText("r" + std::to_string(reg), m.DeviceOf(reg)));
}

const uint32_t* LaunchOnDevice(Machine& m, const uint32_t* pc) {
  const uint32_t device = pc[2];
  const KernelBinding& binding = m.binding.kernel(device, pc[1]);
  const KernelSpec& kernel = m.program.kernels[pc[1]];
  const uint32_t* shape = pc + 3;
  const uint32_t* scalar_list = AfterList(shape);
  const uint32_t* list = AfterList(scalar_list);
  LaunchRequest request;
  request.kernels = binding.kernels;
  request.kernel = binding.index;
  SetShape(m, kernel, shape, &request);
  const LaunchCheck& check = m.checks[pc[1]];
  if (check.contract != nullptr && !Fulfils(m, pc, kernel, check, request, scalar_list)) return nullptr;
  if (!ResolvePlaces(m, pc, kernel, list, check.last.bytes)) return nullptr;
  AlignedCopies copies(m, device);
  for (uint32_t i = 0; i < list[0]; ++i) {
    DeviceSpan& place = m.places[i];
    if (kernel.buffers[i] == Access::kReadAligned && place.offset % kArgumentAlignment != 0 &&
        !copies.Replace(pc, &place)) [[unlikely]]
      return nullptr;
    // What another CPU goes by.
    m.addresses[i] = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(place.memory.host) +
                                             static_cast<uintptr_t>(place.offset));
  }
  request.scalars = m.frames.Gather(scalar_list, m.numbers.data());
  request.buffers = {m.places.data(), list[0]};
  request.addresses = {m.addresses.data(), list[0]};
  request.tag = TagOf(m, pc);
  const int64_t begin_ns = m.observer ? SteadyNanoseconds() : 0;
  const Expected<int32_t> submitted = QueueOf(m, device).Launch(request, &m.run);
  m.devices[device]->Submitted(submitted);
  if (!submitted) [[unlikely]]
    return FailWork(m, pc, submitted.error());
  if (*submitted != 0) [[unlikely]]
    return m.run.Fail(pc, Code::kInvalidArgument, KernelFailureText(kernel, *submitted, request.scalars));
  if (m.observer) {  // whoever looks wants to know what it took, not when it was submitted
    if (!m.WaitFor(pc, device)) return nullptr;
    ObserveLaunch(m, pc, request, begin_ns);
  }
  return list + 1 + 2 * list[0];
}

const uint32_t* FillOnDevice(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 1;
  const uint32_t* after = list + 1 + 2 * list[0];
  const int64_t count = m.frames.scalars[after[0]];
  const BufferOperand target{list[1], list[2]};
  Place place{m.DeviceOf(target)};
  if (!PlaceOf(m, pc, target, count, &place)) return nullptr;
  if (place.read_only) return m.run.Fail(pc, Code::kInvalidProgram, kWritesReadOnly);
  const auto value = static_cast<uint8_t>(after[1] & 0xff);
  if (count > 0 &&
      !Check(m, pc, place.device, QueueOf(m, place.device).Fill(place.span, value, count, &m.run)))
    return nullptr;
  return after + 2;
}

const uint32_t* ViewOnDevice(Machine& m, const uint32_t* pc, BufferOperand source, const Shape& shape) {
  const auto dtype = static_cast<DType>(pc[4]);
  Place place{m.DeviceOf(source)};
  if (dtype == DType::kString) return m.run.Fail(pc, Code::kInvalidProgram, "strings are on the cpu");
  if (!PlaceOf(m, pc, source, DTypeBytes(dtype, *shape.ElementCount()), &place)) return nullptr;
  if ((place.span.offset & (ElementAlignment(dtype) - 1)) != 0) [[unlikely]]
    return m.FailUnaligned(pc, dtype, source);
  const Slot* slot = source.is_slot() ? &m.frames.slots[source.index()] : nullptr;
  TensorObject* tensor = nullptr;
  if (slot != nullptr && slot->stand_in != nullptr) {
    tensor = m.TensorOnDevice(*slot->stand_in, slot->read_only);
    tensor->dtype = dtype;
    tensor->shape = shape;
    tensor->bytes = DTypeBytes(dtype, *shape.ElementCount());
  } else {
    Buffer* buffer = BufferOf(m.frames.refs[slot != nullptr ? slot->arena : source.base]);
    ObjectPool::Retain(buffer);
    tensor = m.memory.pool.NewTensor(buffer, dtype, shape);
  }
  tensor->begin = place.span.offset - tensor->buffer->place.offset;
  m.frames.SetRef(pc[1], tensor);
  return AfterList(pc + 5);
}

const uint32_t* HandleAllocateOn(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 4;
  const auto dtype = static_cast<DType>(pc[3]);
  Shape shape;
  if (!m.run.PollBeforeWork(pc) || !m.ShapeOf(pc, list, &shape)) return nullptr;
  TensorObject* tensor = nullptr;
  if (pc[2] == kHostDevice) {
    tensor = m.memory.NewTensor(pc, dtype, shape, "tensor");
  } else if (dtype == DType::kString) {
    return m.run.Fail(pc, Code::kInvalidProgram, "strings are on the cpu");
  } else if (Buffer* buffer =
                 m.memory.NewDeviceBuffer(pc, pc[2], DTypeBytes(dtype, *shape.ElementCount()), false)) {
    tensor = m.memory.pool.NewTensor(buffer, dtype, shape);
  }
  if (tensor == nullptr) return nullptr;
  m.frames.SetRef(pc[1], tensor);
  return AfterList(list);
}

// ---- copies ----

namespace {

const uint32_t* CopyNow(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 1;
  const uint32_t* after = list + 1 + 2 * list[0];
  const int64_t count = m.frames.scalars[*after];
  const BufferOperand to{list[1], list[2]}, from{list[3], list[4]};
  Place target{m.DeviceOf(to)}, source{m.DeviceOf(from)};
  if (target.device == kHostDevice) return CopyOut(m, pc, to, from, count, after + 1);
  if (source.device == kHostDevice) return CopyIn(m, pc, to, from, count, after + 1);
  if (!PlaceOf(m, pc, to, count, &target) || !PlaceOf(m, pc, from, count, &source)) return nullptr;
  const bool same = IsSame(target, source);
  if (target.read_only && !same) return m.run.Fail(pc, Code::kInvalidProgram, kWritesReadOnly);
  if (target.device != source.device) return CopyAcross(m, pc, target, source, count, after + 1);
  Queue& queue = QueueOf(m, target.device);
  if (count > 0 && !same && !Check(m, pc, target.device, queue.Copy(target.span, source.span, count, &m.run)))
    return nullptr;
  return SettleCopies(m, pc, after + 1);
}

const uint32_t* LoadNow(Machine& m, const uint32_t* pc, BufferOperand operand) {
  const auto dtype = static_cast<DType>(pc[4]);
  const int64_t bytes = DTypeBits(dtype) / 8;
  Place place{m.DeviceOf(operand)};
  alignas(8) char element[16];
  if (!m.run.PollBeforeWork(pc) || !PlaceOf(m, pc, operand, bytes, &place)) return nullptr;
  if (!Check(m, pc, place.device, QueueOf(m, place.device).CopyOut(element, place.span, bytes, &m.run), true))
    return nullptr;
  if (!m.WaitFor(pc, place.device)) return nullptr;
  m.frames.scalars[pc[1]] = LoadElement(dtype, element);
  return pc + 5;
}

const uint32_t* StoreNow(Machine& m, const uint32_t* pc, BufferOperand operand) {
  const auto dtype = static_cast<DType>(pc[3]);
  const int64_t bytes = DTypeBits(dtype) / 8;
  Place place{m.DeviceOf(operand)};
  alignas(8) char element[16];
  if (!PlaceOf(m, pc, operand, bytes, &place)) return nullptr;
  if (place.read_only) return m.run.Fail(pc, Code::kInvalidProgram, kWritesReadOnly);
  StoreElement(dtype, element, m.frames.scalars[pc[4]]);
  if (!Check(m, pc, place.device, QueueOf(m, place.device).CopyIn(place.span, element, bytes, &m.run)))
    return nullptr;
  return pc + 5;
}

// The copy alone, and all of it: waits before and after.
template <class Work>
const uint32_t* Observed(Machine& m, const uint32_t* pc, uint32_t from, uint32_t to, int64_t bytes,
                         Work work) {
  if (!m.WaitForDevices(pc)) return nullptr;
  CopyRecord record{.from = from, .to = to, .bytes = bytes};
  record.function = FunctionId{FunctionIndex(m)};
  record.word = static_cast<uint32_t>(pc - m.frames.code);
  record.begin_ns = SteadyNanoseconds();
  const uint32_t* next = work();
  if (next == nullptr || !m.WaitForDevices(pc)) return nullptr;
  record.end_ns = SteadyNanoseconds();
  if (bytes > 0) m.copy_observer(record);
  return next;
}

// Whether a caller's tensor stands in for one side of a copy, and is the other.
bool IsThere(Machine& m, const uint32_t* pc, BufferOperand to, BufferOperand from) {
  Place target{m.DeviceOf(to)}, source{m.DeviceOf(from)};
  return target.device != kHostDevice && target.device == source.device && PlaceOf(m, pc, to, 0, &target) &&
         PlaceOf(m, pc, from, 0, &source) && IsSame(target, source);
}

}  // namespace

const uint32_t* CopyOnDevice(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 1;
  if (!m.copy_observer || IsThere(m, pc, {list[1], list[2]}, {list[3], list[4]})) [[likely]]
    return CopyNow(m, pc);
  const uint32_t to = m.DeviceOf(BufferOperand{list[1], list[2]});
  const uint32_t from = m.DeviceOf(BufferOperand{list[3], list[4]});
  return Observed(m, pc, from, to, m.frames.scalars[*(list + 1 + 2 * list[0])],
                  [&] { return CopyNow(m, pc); });
}

const uint32_t* LoadFromDevice(Machine& m, const uint32_t* pc, BufferOperand source) {
  if (!m.copy_observer) [[likely]]
    return LoadNow(m, pc, source);
  return Observed(m, pc, m.DeviceOf(source), kHostDevice, DTypeBits(static_cast<DType>(pc[4])) / 8,
                  [&] { return LoadNow(m, pc, source); });
}

const uint32_t* StoreToDevice(Machine& m, const uint32_t* pc, BufferOperand target) {
  if (!m.copy_observer) [[likely]]
    return StoreNow(m, pc, target);
  return Observed(m, pc, kHostDevice, m.DeviceOf(target), DTypeBits(static_cast<DType>(pc[3])) / 8,
                  [&] { return StoreNow(m, pc, target); });
}

}  // namespace tvmvm
