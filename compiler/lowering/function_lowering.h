// One function of the graph IR -> one bytecode function. What runs is steps.h's, where values live is
// memory_table.h's; this emits the code: function_lowering.cc the frame and straight-line steps,
// lower_stages.cc plans, lower_control.cc branches, loops and calls, lower_operands.cc registers and
// addresses.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/builder.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/requirements.h"
#include "compiler/graph/storage.h"
#include "compiler/lowering/constant_table.h"
#include "compiler/lowering/dim_emitter.h"
#include "compiler/lowering/kernel_table.h"
#include "compiler/lowering/memory_table.h"
#include "compiler/lowering/steps.h"
#include "compiler/schedules/launch_contract.h"

namespace tvmvm::lowering {

// What the functions of a program share.
struct LoweringContext {
  const LoweringOptions* options;
  KernelTable* kernels;
  tensor::ScheduleCache* schedules;
  ConstantTable* constants;
  Builder* builder;
};

class FunctionLowering {
 public:
  // Declares the function under a name. `ranges`: what is known of the symbols of the inputs.
  FunctionLowering(const ir::Function& function, std::string name, ir::RangeLookup ranges,
                   const LoweringContext& context);
  FunctionId id() const { return f_->id(); }
  // Inputs whose memory outputs may take, by names (LoweringOptions::donate). Before Run.
  void Donate(std::span<const std::pair<std::string, std::string>> pairs);
  // Emits the body; all functions are declared by then. `callees`: by name.
  Status Run(const std::map<std::string, FunctionId>& callees);

 private:
  // The memory of a stage on a device.
  struct StageArena {
    RefReg ref;
    uint32_t device;
    int stage;
  };
  // A region being emitted.
  struct OpenRegion {
    std::vector<std::pair<ir::NodeId, ir::Requirement>> unchecked;  // guards whose symbols are not known yet
    std::set<std::string> checked;
    std::vector<const ir::Node*> loops;  // around it
    std::vector<StageArena> arenas;      // of the stages that began in it
  };

  FunctionSpec Signature(std::string name) const;

  // ---- function_lowering.cc ----
  void EmitEntry(const RegionSteps& body);
  void DeclareDeviceParameters();
  // `loop`: the node whose body the region is; null for others.
  void OpenGuards(ir::RegionId region, const ir::Node* loop = nullptr);
  // Guards for what dims leave open: each as soon as its symbols are known.
  void EmitGuards();
  Status EmitSteps(const RegionSteps& region);
  Status EmitStep(const Step& step);
  // Objects of the region whose last use lies in [first, last].
  void ReleaseObjects(const RegionSteps& region, uint32_t first, uint32_t last);
  void EmitLaunches(const Step& step);
  void EmitLaunch(const Step& step, size_t call);
  struct ContractedKernel {
    ir::Dims bytes, facts;  // what the contract was made from
    KernelId kernel;
    ir::Dims told;  // what launches pass behind the use's scalars
  };
  // The kernel as it is launched here, with what such a launch must fulfil.
  ContractedKernel KernelOf(const Step& step, size_t call);
  // The entry's kernel under the contract of such calls.
  ContractedKernel Contract(uint32_t entry, const tensor::ContractedCall& call);
  void EmitDefineDims(const ir::Node& node);
  void EmitDimsTensor(const Step& step);
  void EmitTransfer(const Step& step);
  void EmitJoin(const Step& step);
  // Memory that comes to be with the step: outputs of the function, objects.
  void EmitAllocations(const Step& step);
  void EmitOutputs(const Step& step);
  void EmitReturn();
  uint32_t OutputNumber(size_t output) const;
  std::vector<size_t> OrderOfResults();
  Status CheckDonations(const RegionSteps& region);
  // Tells whoever traces the run what the step has made.
  void EmitTrace(const Step& step);
  static std::string_view TraceName(const ir::Node& node);

  // ---- lower_stages.cc ----
  // A plan and an arena on each device.
  void EmitStage(int stage);
  void EmitStage(int stage, uint32_t device);
  // Arenas of earlier stages, and their slots that the new stage's values meet, whose lifetimes go to `plan`.
  std::vector<BufferOperand> EarlierMemory(uint32_t device, const std::vector<size_t>& members,
                                           PlanSpec* plan) const;

  // ---- lower_control.cc ----
  Status EmitIf(const Step& step);
  Status EmitBranch(const Step& step, size_t branch, std::span<const ScalarReg> merged);
  Status EmitLoop(const Step& step);
  void EmitLoopEntry(const Step& step, const std::vector<ScalarReg>& symbols);
  void HoistDims(const RegionSteps& region);
  void EmitElementAddresses(const Step& step, ScalarReg index);
  void EmitStepResults(const Step& step, ScalarReg index);
  std::optional<int64_t> ReservedBytes(const Step& step, size_t number) const;
  void EmitCollectedEntry(const Step& step);
  void EmitCollectedCopy(const Step& step, size_t number, ScalarReg index);
  void EmitGrow(RefReg buffer, ScalarReg bytes);
  void EmitNextStep(const Step& step, const std::vector<ScalarReg>& symbols);
  void EmitCarriedResults(const Step& step);
  void EmitCollectedResults(const Step& step, ScalarReg count);
  // ---- lower_outlined_loop.cc ----
  void EmitOutlinedLoop(const Step& step);
  void EmitOutlinedEntry(const Step& step);
  void EmitOutlinedLaunch(const Step& step, ScalarReg steps);
  ContractedKernel OutlinedKernel(const Step& step);
  void EmitOutlinedResults(const Step& step, ScalarReg index);
  void GrowCollected(const Step& step, ScalarReg end);
  ir::Dim StepsOfLaunch(const Step& step);
  BufferOperand BufferOf(const Step& step, const LoopArgument& argument);
  // ---- lower_control.cc ----
  void EmitCall(const Step& step);
  void EmitHost(const Step& step);
  // The dims of results that only running tells: read into symbols, or compared with what is known.
  void EmitResultDims(const ir::Node& node);
  // Fails at run time where a tuple's field is not what the node's type says.
  void EmitFieldCheck(const ir::Node& node);
  void ReleaseArenas();
  // What the region made for `memory` goes there, unless it was made there.
  void EmitResult(ir::ValueId value, int memory);

  // ---- lower_operands.cc ----
  // Memory that something on the CPU or on a device works on. Of copies, which know both, AddressOf.
  BufferOperand BufferOf(int memory, const ir::Dim& byte_offset);
  BufferOperand BufferOf(ir::ValueId value);
  BufferOperand AddressOf(int memory, const ir::Dim& byte_offset);
  BufferOperand AddressOf(ir::ValueId value);
  void WorksOnHost(const Memory& memory);
  ScalarReg LoadElement(int memory, const ir::Dim& byte_offset, DType dtype);
  void StoreElement(int memory, const ir::Dim& byte_offset, DType dtype, ScalarReg value);
  BufferOperand BufferOf(const Step& step, const tensor::KernelArgument& argument);
  // Bytes that the kernel may touch there; of packed constants once they have been asked for.
  ir::Dim BufferBytes(const Step& step, const tensor::KernelArgument& argument) const;
  int64_t PackedBytes(ir::NodeId node, uint32_t number) const;
  // A register that holds the value as a tensor or other object. `lasting`: it is still right when arena
  // memory is written again.
  RefReg ObjectOf(ir::ValueId value, bool lasting = false);
  // The same on a device; a constant, which is everywhere, is copied there.
  RefReg LastingObjectOn(uint32_t device, ir::ValueId value);
  RefReg CopyOf(ir::ValueId value, uint32_t device);  // a new tensor
  ConstantId ConstantFor(ir::ValueId value);
  ConstantId PackedConstant(std::string name, const tensor::PackConstant& pack,
                            const tensor::GroupConstants& constants);
  std::vector<ScalarReg> EmitDims(const ir::Dims& dims);
  void Move(ScalarReg to, ScalarReg from);
  void MoveRef(RefReg to, RefReg from);
  void Release(RefReg reg);

  const ir::Function& function_;
  const uint32_t device_count_;
  ir::RangeLookup ranges_;
  const LoweringOptions& options_;
  KernelTable* kernels_;
  tensor::ScheduleCache* schedules_;
  ConstantTable* constant_table_;
  Builder* builder_;
  FunctionBuilder* f_ = nullptr;
  const std::map<std::string, FunctionId>* callees_ = nullptr;
  Views views_;
  MemoryTable memory_;
  std::unique_ptr<DimEmitter> dims_;
  std::vector<OpenRegion> open_;
  std::vector<int> donated_;  // inputs, by output; -1: none
  std::vector<RefReg> output_refs_;
  std::vector<bool> output_allocated_;
  std::vector<bool> on_host_inputs_, on_host_outputs_;  // that something on the host works on
  std::map<ir::ValueId, ConstantId> constants_;
  std::map<std::pair<ir::NodeId, uint32_t>, ConstantId> packed_;
  std::map<uint32_t, int64_t> packed_bytes_;  // by ConstantId
  bool launches_on_device_ = false;           // what is asked for is an argument of such a launch
  // By the first target's call.
  std::unordered_multimap<const tensor::KernelCall*, ContractedKernel> contracted_;
};

}  // namespace tvmvm::lowering
