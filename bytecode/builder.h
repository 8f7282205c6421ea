// Builder: the only way for a compiler to make a Program. Emits instructions by operand, resolves labels,
// interns strings, and verifies the whole in Finish. Not thread-safe; one Builder makes one Program.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/encoding.h"
#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// A scalar or reference register of the function under construction.
struct ScalarReg {
  uint32_t index = 0;
};
struct RefReg {
  uint32_t index = 0;
  BufferOperand operand(ScalarReg byte_offset) const { return {index, byte_offset.index}; }
};
// A place of a plan's value.
struct SlotReg {
  uint32_t index = 0;
};
struct Label {
  uint32_t index = 0;
};

class Builder;

class FunctionBuilder {
 public:
  FunctionId id() const { return id_; }

  ScalarReg NewScalar();
  RefReg NewRef();
  SlotReg NewSlot();
  Label NewLabel();
  void Bind(Label label);  // the label means the next instruction

  // The parameters that may stay in the memory of the run's device: FunctionSpec::device_inputs,
  // device_outputs.
  void SetDeviceParameters(std::vector<uint32_t> inputs, std::vector<uint32_t> outputs);

  // Instructions emitted from now on come from this source node.
  void SetSourceNode(std::string_view name);

  // Appends one instruction; a kTarget operand's value is a label's index. Wrong operand kinds are defects of
  // the caller and are reported by Builder::Finish.
  void Emit(Opcode opcode, std::initializer_list<Operand> operands);

  // Shorthands.
  ScalarReg Immediate(
      int64_t value);  // interned: the same register for the same number, set at function entry
  ScalarReg Binary(Opcode opcode, ScalarReg a, ScalarReg b);
  ScalarReg Select(ScalarReg condition, ScalarReg a, ScalarReg b);
  ScalarReg Dim(RefReg tensor, uint32_t axis);
  // Of a register or a slot, at its offset.
  ScalarReg Load(BufferOperand from, DType dtype);
  void Store(BufferOperand to, DType dtype, ScalarReg value);
  RefReg View(BufferOperand source, DType dtype, std::span<const ScalarReg> dims);
  void Guard(ScalarReg condition, std::string_view message, std::span<const ScalarReg> values);
  void Trace(std::string_view text, std::span<const ScalarReg> values);
  RefReg Output(uint32_t number, std::span<const ScalarReg> dims);
  RefReg Allocate(DType dtype, std::span<const ScalarReg> dims, uint32_t device = kHostDevice);
  RefReg Constant(ConstantId constant);
  // Returns the first of the slots, one for each size; `arena` receives the register of their memory.
  SlotReg Slots(PlanId plan, std::span<const ScalarReg> sizes, uint32_t device, RefReg* arena);
  // The same in the memory of `among`, too: arenas, and slots that are the plan's first values.
  SlotReg SlotsAmong(PlanId plan, std::span<const ScalarReg> sizes, uint32_t device,
                     std::span<const BufferOperand> among, RefReg* arena);
  void SlotPart(SlotReg part, SlotReg whole, ScalarReg byte_offset, ScalarReg bytes);
  void SlotSwap(SlotReg a, SlotReg b);
  // As of KernelSpec.
  struct LaunchCost {
    ScalarReg scratch_bytes, flops, bytes;
  };
  struct LaunchShape {
    ScalarReg grid[3];
    std::optional<LaunchCost> cost;  // nothing: the kernel's
  };
  // `device` is of the kernel's class.
  void Launch(KernelId kernel, uint32_t device, const LaunchShape& shape, std::span<const ScalarReg> scalars,
              std::span<const BufferOperand> buffers);
  void Copy(BufferOperand to, BufferOperand from, ScalarReg bytes);
  void Jump(Label target);
  void BranchIf(ScalarReg condition, Label target);
  void BranchIfNot(ScalarReg condition, Label target);
  void Return(std::span<const ScalarReg> scalars, std::span<const RefReg> refs);

 private:
  friend class Builder;
  Operand OffsetOf(BufferOperand operand);
  FunctionBuilder(Builder* owner, FunctionId id) : owner_(owner), id_(id) {}
  struct State;
  Builder* owner_;
  FunctionId id_;
  std::shared_ptr<State> state_;
};

class Builder {
 public:
  Builder();
  ~Builder();
  Builder(const Builder&) = delete;

  // Declares a function with its signature; its body is built through the returned object, which the Builder
  // owns. `spec.code`, `lines` and register counts are filled by the body.
  FunctionBuilder& AddFunction(FunctionSpec spec);
  KernelId AddKernel(KernelSpec spec);
  // The bytes are kept alive by `owner`, or copied where it is null.
  void AddLibrary(KernelLibrarySpec spec, std::shared_ptr<const void> owner = nullptr);
  ConstantId AddConstant(ConstantSpec spec, std::shared_ptr<const void> owner = nullptr);
  // The constant's bytes are those at its place in another one; on the host it is not used.
  void SetPlace(ConstantId constant, PanelPlace place);
  PlanId AddPlan(PlanSpec spec);
  StringId Intern(std::string_view text);
  void SetEntry(FunctionId id);
  void SetDevices(std::vector<DeviceSpec> devices);
  void AddEntry(DeviceEntry entry);
  void SetProvenance(Provenance provenance);

  // Resolves labels and verifies. Errors: kInvalidProgram with the function, instruction and reason.
  [[nodiscard]] Expected<std::shared_ptr<const Program>> Finish();

 private:
  friend class FunctionBuilder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tvmvm
