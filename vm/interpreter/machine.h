// Machine: the state of one Invocation, which the opcode handlers work on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/instruction.h"
#include "tvm-vm/vm.h"
#include "vm/binding/arguments.h"
#include "vm/binding/binding.h"
#include "vm/interpreter/device_work.h"
#include "vm/interpreter/frames.h"
#include "vm/interpreter/launch_checks.h"
#include "vm/interpreter/run_control.h"
#include "vm/interpreter/run_memory.h"
#include "vm/objects/object.h"

namespace tvmvm {

class Machine final {
  std::shared_ptr<const Binding> binding_owner_;  // outlives all that follows
  std::shared_ptr<SharedPlans> shared_plans_;

 public:
  // `account`, `plans`: the Vm's.
  Machine(std::shared_ptr<const Binding> binding, std::shared_ptr<MemoryAccount> account,
          std::shared_ptr<SharedPlans> plans);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // As Invocation::Run; `deadline_ns` on the steady clock, 0: none.
  Status Run(const Arguments& inputs, Results outputs, int64_t deadline_ns, const std::stop_token& cancel);
  // Releases everything that a run holds, so that the next one can begin: after Run has thrown.
  void Abandon() noexcept;
  void SetLimits(const Limits& limits);
  void Cancel() { run.Cancel(); }
  void Trim();
  void SetTrimPolicy(const TrimPolicy& policy);
  int64_t arena_bytes() const { return memory.arena_bytes(); }
  int64_t peak_bytes() const { return memory.budget.peak_bytes(); }
  int64_t held_bytes() { return memory.budget.account().held_bytes(); }

  // ---- for the handlers ----

  // Opens a frame of the function; false after Fail.
  bool PushFrame(const FunctionSpec& function, const uint32_t* call) {
    if (frames.Push(function, call)) [[likely]]
      return true;
    run.Fail(call, frames.NoMemoryFor(function));
    return false;
  }
  // Waits for a device's queue; false after Fail: a kernel ended with a code, the run is to end, the device
  // is lost. `pc` may be null.
  bool WaitFor(const uint32_t* pc, uint32_t device);
  // The same for all devices, or for those that write memory of the host.
  bool WaitForDevices(const uint32_t* pc);
  bool WaitForHostMemory(const uint32_t* pc);
  // Whether a device may still write memory of the host.
  bool IsHostMemoryWritten() const {
    for (const std::unique_ptr<DeviceWork>& work : devices)
      if (work != nullptr && work->writes_host()) return true;
    return false;
  }

  // What a register stands for; null after Fail.
  TensorObject* TensorAt(const uint32_t* pc, uint32_t reg) {
    Object* object = frames.refs[reg];
    if (object != nullptr && object->kind == ObjectKind::kTensor) [[likely]]
      return static_cast<TensorObject*>(object);
    FailNoTensor(pc, reg);
    return nullptr;
  }
  // The buffer that a slot lies in; null after Fail.
  Buffer* ArenaOf(const uint32_t* pc, uint32_t number);
  // The number of the device in whose memory a register's object or an operand lies; constants are the
  // host's.
  uint32_t DeviceOf(uint32_t reg) const {
    if (devices.empty()) [[likely]]
      return kHostDevice;
    const Buffer* buffer = BufferOf(frames.refs[reg]);
    return buffer != nullptr ? buffer->device : kHostDevice;
  }
  uint32_t DeviceOf(BufferOperand operand) const {
    if (devices.empty() || operand.is_constant()) [[likely]]
      return kHostDevice;
    return DeviceOf(operand.is_slot() ? frames.slots[operand.index()].arena : operand.base);
  }
  // "r2 is on the gpu": it is to be elsewhere.
  std::string PlaceText(const std::string& name, uint32_t device) const {
    return name + " is on the " + DeviceSpecName(program.devices[device]);
  }
  // The host's bytes that an operand stands for, at least `wanted`; false after Fail.
  bool BytesOf(const uint32_t* pc, BufferOperand operand, int64_t wanted, Bytes* bytes, bool* read_only) {
    if (operand.is_slot()) [[likely]] {
      const Slot& slot = frames.slots[operand.index()];
      const Object* object = frames.refs[slot.arena];
      const int64_t offset = operand.offset == BufferOperand::kNoOffset ? 0 : frames.scalars[operand.offset];
      if (object != nullptr && object->kind == ObjectKind::kBuffer) [[likely]] {
        const auto* buffer = static_cast<const Buffer*>(object);
        const bool fits = slot.bytes <= buffer->bytes - slot.offset && offset >= 0 && offset <= slot.bytes &&
                          wanted >= 0 && wanted <= slot.bytes - offset;
        if (fits && buffer->device == kHostDevice) [[likely]] {
          *bytes = {buffer->data + slot.offset + offset, slot.bytes - offset};
          *read_only = false;
          return true;
        }
      }
    } else if (!operand.is_constant() && operand.offset == BufferOperand::kNoOffset) {
      const Object* object = frames.refs[operand.base];
      if (object != nullptr && object->kind == ObjectKind::kTensor) [[likely]] {
        const auto* tensor = static_cast<const TensorObject*>(object);
        if (tensor->buffer->device == kHostDevice && wanted >= 0 && wanted <= tensor->bytes) [[likely]] {
          *bytes = {tensor->data, tensor->bytes};
          *read_only = tensor->buffer->read_only;
          return true;
        }
      }
    }
    return BytesOfAny(pc, operand, wanted, bytes, read_only);
  }

  [[gnu::cold, gnu::noinline]] void FailNoTensor(const uint32_t* pc, uint32_t reg);
  // Ends the run because an operand's memory does not hold that: "8 bytes at offset 16 of r2, which has 16
  // bytes".
  [[gnu::cold, gnu::noinline]] bool FailOutside(const uint32_t* pc, BufferOperand operand, int64_t offset,
                                                int64_t wanted, int64_t bytes);
  // The same because elements of the type may not begin there.
  [[gnu::cold, gnu::noinline]] const uint32_t* FailUnaligned(const uint32_t* pc, DType dtype,
                                                             BufferOperand operand);
  // The same of what a kernel is given.
  [[gnu::cold, gnu::noinline]] bool FailUnaligned(const uint32_t* pc, const KernelSpec& kernel,
                                                  uint32_t buffer, BufferOperand operand);
  // The listed scalars as dims; false after Fail.
  bool ShapeOf(const uint32_t* pc, const uint32_t* list, Shape* shape);
  // The number of the device of the run in whose memory a caller's tensor lies, kHostDevice where it is none
  // of them, and the object that stands for it on one.
  uint32_t DeviceOf(const Tensor& tensor) const {
    return devices.empty() ? kHostDevice : DeviceAmong(tensor);
  }
  TensorObject* TensorOnDevice(const Tensor& tensor, bool read_only);
  // The caller's tensor in the memory of a device of the run for input `number`, or, behind the inputs, for
  // an output; null: it lies elsewhere, or its memory is another tensor's, too, or another function asks.
  const Tensor* Resident(size_t number) const {
    return !devices.empty() && frames.depth() == 1 ? residents_[number] : nullptr;
  }
  // Submits a copy between memory of the host and a device's, in pieces where it is large; false after Fail.
  bool CopyToHost(const uint32_t* pc, char* to, uint32_t device, const DeviceSpan& from, int64_t bytes);
  bool CopyFromHost(const uint32_t* pc, uint32_t device, const DeviceSpan& to, const char* from,
                    int64_t bytes);
  // All of a caller's tensor on a device of the run, out to the host or in; waits.
  Status CopyOut(const Tensor& tensor, void* to);
  Status CopyIn(const Tensor& tensor, const void* from);
  // The results of the entry function; takes the references from the frame's registers.
  void TakeResults(const uint32_t* list);

  const Program& program;
  const Binding& binding;
  RunMemory memory;
  Frames frames;
  RunControl run;
  LaunchChecks checks;
  std::unique_ptr<Queue> cpu;  // opened by the first run
  // By number; null for the CPU and what is not used. Empty where the program runs on the CPU alone.
  std::vector<std::unique_ptr<DeviceWork>> devices;
  std::vector<const Tensor*> given_outputs;  // of the run in progress; null where the caller gave no memory
  LaunchObserver observer;
  CopyObserver copy_observer;
  TraceObserver tracer;

  // As long as the longest list operand of the program.
  std::vector<int64_t> numbers;
  std::vector<void*> addresses;
  std::vector<DeviceSpan> places;
  std::vector<Object*> objects;

 private:
  void End();
  uint32_t DeviceAmong(const Tensor& tensor) const;
  // `buffer`: what the slot does not fit into; null: its register holds none.
  [[gnu::cold, gnu::noinline]] void FailSlot(const uint32_t* pc, uint32_t number, const Buffer* buffer);
  [[gnu::cold, gnu::noinline]] void FailPlace(const uint32_t* pc, BufferOperand operand, uint32_t device);
  // `shape`: what cannot be; null: it is the rank that is too high.
  [[gnu::cold, gnu::noinline]] bool FailShape(const uint32_t* pc, uint32_t rank, const Shape* shape);
  bool BytesOfAny(const uint32_t* pc, BufferOperand operand, int64_t wanted, Bytes* bytes, bool* read_only);
  std::string NameOf(BufferOperand operand) const;
  // Gives back what the policy, or those who wait for memory, want back: before a run, after it.
  void TrimBefore();
  void TrimAfter();
  Status OpenQueues();
  Status Begin(const Arguments& inputs, const Results& outputs);
  Status CheckOutputs(const Results& outputs) const;
  // What is wrong with the place given for an output of the type.
  [[gnu::cold, gnu::noinline]] Error WrongOutput(uint32_t number, const TypeSpec& type,
                                                 const Tensor* given) const;
  Status BindInputs(const Arguments& inputs);
  void FindResidents(const Arguments& inputs);
  // `input`: the number of the input that it is, or is in.
  Expected<Object*> BindTensor(const Tensor& tensor, uint32_t input);
  [[gnu::cold, gnu::noinline]] Expected<Object*> BindFromDevice(const Tensor& tensor);
  Status BindContainer(const Value& value, uint32_t input, Object** to);
  Status CheckOutputsApart() const;
  Status CheckApart(const Tensor& tensor, uint32_t input) const;
  // Whether CheckApart is to have a closer look at a tensor of the host.
  bool MayOverlap(const Tensor& tensor, int64_t bytes) const {
    const auto begin = reinterpret_cast<uintptr_t>(tensor.data());
    bool may = tensor.dtype() == DType::kString;
    for (const auto& [from, to] : given_memory_)
      may = may || (begin < to && from < begin + static_cast<uintptr_t>(bytes));
    return may;
  }
  Status Collect(Results outputs);
  Status CollectOne(uint32_t number);
  Status CopyToGiven(const TensorObject& result, const Tensor& given);
  Status CopyToOther(const TensorObject& result, const Tensor& given);
  Expected<Tensor> HandOut(TensorObject& result);
  // As CopyBytes; where the run is to end, its error.
  Status Copy(char* to, const char* from, int64_t bytes);
  Expected<Value> ToValue(Object* root, const TypeSpec* root_type);

  TrimPolicy policy_;
  bool has_policy_ = false;
  int64_t runs_ = 0;              // since the last trim
  int64_t last_end_ns_ = 0;       // of a run; 0: there was none, or nobody asks
  std::vector<Object*> results_;  // of the entry function
  std::vector<Value> staged_;     // outputs, until all is well
  std::vector<int64_t> symbols_;  // of the signature
  // Addresses of host memory that the caller gave for outputs, begin and end; twice 0 where it gave none.
  std::vector<std::pair<uintptr_t, uintptr_t>> given_memory_;
  bool has_given_outputs_ = false;        // any
  std::vector<const Tensor*> residents_;  // inputs, then outputs; null where a tensor cannot stand in
};

// Runs from `pc` until the entry function returns or the run fails. interpreter.cc
void Interpret(Machine& machine, const uint32_t* pc);

// "output 0 'y'"
std::string OutputName(const Program& program, uint32_t number);
// Kernels and host functions read and write whole elements: a caller's memory at odd addresses is served
// through a copy, and tensors of the program's begin where their elements may.
inline bool IsElementAligned(const void* data, DType dtype) {
  return (reinterpret_cast<uintptr_t>(data) & static_cast<uintptr_t>(ElementAlignment(dtype) - 1)) == 0;
}

}  // namespace tvmvm
