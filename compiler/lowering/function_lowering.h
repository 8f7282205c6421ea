// One function of the graph IR -> one bytecode function: what runs in which order, where each value lives,
// which scalars are computed when.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bytecode/builder.h"
#include "compiler/ir/graph.h"
#include "compiler/lowering/dim_emitter.h"
#include "compiler/lowering/kernel_table.h"
#include "compiler/lowering/requirements.h"
#include "compiler/lowering/storage.h"
#include "compiler/tensor/group.h"

namespace tvmvm::lowering {

class FunctionLowering {
 public:
  // `ranges`: what is known of the symbols of the inputs.
  FunctionLowering(const ir::Function& function, ir::RangeLookup ranges, const LoweringOptions& options,
                   KernelTable* kernels, Builder* builder);
  Expected<FunctionId> Run();

 private:
  enum class StepKind : uint8_t { kLaunch, kDefineDims, kDimsTensor };
  struct Step {
    StepKind kind = StepKind::kLaunch;
    ir::NodeId node;
    std::vector<tensor::GroupProgram> programs;  // one for each target
    uint32_t first = 0, last = 0;                // positions of its calls
    std::vector<int> workspaces;                 // indices in memory_
  };

  // Memory of a root value or workspace.
  enum class MemoryKind : uint8_t { kInput, kConstant, kOutput, kArena };
  struct Memory {
    MemoryKind kind = MemoryKind::kArena;
    uint32_t number = 0;           // input or output number
    ir::ValueId value;             // kConstant
    ir::Dim bytes;                 // kArena
    uint32_t first = 0, last = 0;  // kArena: positions
    int stage = 0;                 // kArena
    RefReg ref;                    // once emitted; constants are addressed by id
    ScalarReg offset;              // kArena
  };

  FunctionSpec Signature() const;
  Status ScheduleSteps();
  void CollectRequirements();
  Status ScheduleStep(ir::NodeId id);
  void AssignMemory();
  void AssignOutputs();
  int NewArenaMemory(const ir::Dim& bytes, uint32_t first, uint32_t last);
  void Use(ir::ValueId value, uint32_t position);
  void AssignStages();
  int StageOf(const ir::Dim& dim) const;
  bool IsComputed(ir::ValueId value);  // by this function: neither an input nor a constant

  void EmitEntry();
  // Guards for what dims leave open: each as soon as its symbols are known.
  void EmitGuards();
  void EmitStage(int stage);
  Status EmitSteps();
  Status EmitLaunches(const Step& step);
  void EmitLaunch(const Step& step, size_t call, const std::vector<KernelUse>& uses);
  void EmitDefineDims(const Step& step);
  void EmitDimsTensor(const Step& step);
  void EmitOutputAllocations(const Step& step);
  void EmitReturn();

  int MemoryOf(ir::ValueId value);  // of its root; made on demand for constants
  BufferOperand BufferOf(int memory, const ir::Dim& byte_offset);
  BufferOperand BufferOf(ir::ValueId value);
  RefReg RefOf(int memory);  // as a register (constants are loaded)
  ConstantId ConstantFor(ir::ValueId value);
  BufferOperand BufferOf(const Step& step, const tensor::KernelArgument& argument);

  const ir::Function& function_;
  ir::RangeLookup ranges_;
  const LoweringOptions& options_;
  KernelTable* kernels_;
  Builder* builder_;
  FunctionBuilder* f_ = nullptr;
  Views views_;
  std::unique_ptr<DimEmitter> dims_;
  std::vector<Step> steps_;
  std::vector<Memory> memory_;
  std::map<ir::ValueId, int> memory_of_;  // by root
  std::map<ir::ValueId, ConstantId> constants_;
  std::map<std::string, int> symbol_stage_;
  std::vector<uint32_t>
      output_sources_;  // for each output: memory_ index that is the output's own, or kCopied
  std::vector<RefReg> output_refs_;
  std::vector<bool> output_allocated_;
  std::map<std::pair<ir::NodeId, uint32_t>, ConstantId> packed_;
  std::vector<std::pair<ir::NodeId, Requirement>> unchecked_;
  uint32_t positions_ = 1;  // position 0 is the entry
  int stages_ = 1;
};

}  // namespace tvmvm::lowering
