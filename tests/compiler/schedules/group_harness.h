// Runs one group of core nodes twice: as scheduled kernels, and element by element from the operators' own
// definitions.
#pragma once

#include "tests/compiler/codegen/compiled_kernel.h"
#include "tests/compiler/schedules/gpu_group.h"
#include "tests/compiler/schedules/group_builder.h"

namespace tvmvm::tensor {

// The scheduled kernels of a group, compiled for each CPU level that this machine has, and for GPUs; all
// levels must agree in grids.
class ScheduledGroup {
 public:
  // `on_gpus`: whether GPUs have a schedule for such a group.
  ScheduledGroup(const ir::Function& function, ir::NodeId node, bool on_gpus = true,
                 const ScheduleOverrides* overrides = nullptr)
      : group_(function, node), is_overridden_(overrides != nullptr) {
    if (on_gpus) gpu_ = std::make_unique<GpuGroup>(function, node, overrides);
    for (CpuLevel level : codegen::LevelsHere()) {
      Expected<GroupProgram> program = ScheduleGroup(function, node, TargetInfoFor(level), overrides);
      if (!program) {
        ADD_FAILURE() << program.error().message;
        return;
      }
      programs_.push_back(std::make_unique<GroupProgram>(std::move(*program)));
      kernels_.emplace_back();
      packed_.emplace_back();
      for (const auto& pack : programs_.back()->packed) {
        ir::TensorData data = pack(ConstantsOf(function, node));
        HostTensor tensor = HostTensor::Zeros(data.dtype, data.dims);
        std::copy(data.bytes.begin(), data.bytes.end(), tensor.bytes.begin());
        packed_.back().push_back(std::move(tensor));
      }
      for (const KernelCall& call : programs_.back()->calls) {
        Status verified = VerifyLoops(call.kernel);
        EXPECT_TRUE(verified.has_value()) << ToString(call.kernel);
        kernels_.back().push_back(std::make_unique<codegen::CompiledKernel>(call.kernel, level));
      }
      EXPECT_EQ(GridsOf(*programs_.back()), GridsOf(*programs_.front())) << "levels differ in their grids";
    }
  }

  // The outputs, level by level, then those from GPUs. Where kernels take neighbouring grid points together,
  // also of the grid in pieces: the bytes are those of the whole.
  std::vector<std::vector<HostTensor>> Run(std::vector<HostTensor> inputs, const Symbols& symbols) {
    std::vector<std::vector<HostTensor>> all;
    for (size_t level = 0; level < programs_.size(); ++level) {
      all.push_back(RunInPieces(level, 1, inputs, symbols));
      for (int64_t pieces : {2, 3, 11}) {
        if (!HasRanges(*programs_[level])) break;
        std::vector<HostTensor> outputs = RunInPieces(level, pieces, inputs, symbols);
        for (size_t i = 0; i < outputs.size(); ++i)
          EXPECT_TRUE(outputs[i].bytes == all.back()[i].bytes) << pieces << " pieces, output " << i;
      }
    }
    if (gpu_ != nullptr)
      for (std::vector<HostTensor>& outputs : gpu_->Run(inputs, symbols)) all.push_back(std::move(outputs));
    return all;
  }

  // Random inputs for the given symbols; fails the test where an element differs from the operators'
  // definitions.
  void Check(const Symbols& symbols, double tolerance = 1e-5) {
    std::vector<HostTensor> inputs = RandomInputs(group_, symbols);
    std::vector<HostTensor> wanted = RunNaively(group_, inputs, symbols);
    for (const std::vector<HostTensor>& given : Run(inputs, symbols)) {
      for (size_t i = 0; i < wanted.size(); ++i) CompareTensors(wanted[i], given[i], tolerance, i);
    }
    if (testing::Test::HasFailure() && !is_printed_) {
      is_printed_ = true;
      if (!programs_.empty())
        for (const KernelCall& call : programs_.front()->calls) ADD_FAILURE() << ToString(call.kernel);
      if (gpu_ != nullptr)
        for (const KernelCall& call : gpu_->program().calls) ADD_FAILURE() << ToString(call.kernel);
    }
  }

 private:
  static bool HasRanges(const GroupProgram& program) {
    return std::any_of(program.calls.begin(), program.calls.end(),
                       [](const KernelCall& call) { return call.kernel.range_end.has_value(); });
  }

  std::vector<HostTensor> RunInPieces(size_t level, int64_t pieces, std::vector<HostTensor>& inputs,
                                      const Symbols& symbols) {
    std::vector<HostTensor> outputs, workspaces;
    for (ir::ValueId output : group_.outputs()) {
      outputs.push_back(
          HostTensor::Zeros(group_.type(output).dtype, ValuesOf(group_.type(output).dims, symbols)));
      std::fill(outputs.back().bytes.begin(), outputs.back().bytes.end(), std::byte{0xcc});
    }
    for (const Workspace& space : programs_[level]->workspaces) {
      workspaces.push_back(HostTensor::Zeros(space.dtype, {ValueOf(space.elements, symbols)}));
    }
    for (size_t i = 0; i < kernels_[level].size(); ++i) {
      const KernelCall& call = programs_[level]->calls[i];
      if (ValueOf(call.when, symbols) == 0) continue;
      std::vector<void*> buffers;
      for (const KernelArgument& argument : call.arguments) {
        auto& from = argument.kind == ArgumentKind::kInput    ? inputs
                     : argument.kind == ArgumentKind::kOutput ? outputs
                     : argument.kind == ArgumentKind::kPacked ? packed_[level]
                                                              : workspaces;
        buffers.push_back(from[argument.index].bytes.data());
      }
      std::vector<std::byte> scratch(static_cast<size_t>(ValueOf(call.kernel.scratch_bytes, symbols)) + 64);
      auto aligned =
          reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
      auto lookup = [&](const ir::SymbolId& symbol) -> std::optional<int64_t> {
        return symbols.at(symbol.name());
      };
      EXPECT_EQ(kernels_[level][i]->Run(buffers, lookup, aligned, pieces), 0) << ToString(call.kernel);
    }
    return outputs;
  }

  // And scratch, which tiles of other heights change.
  std::string GridsOf(const GroupProgram& program) const {
    std::string text;
    for (const KernelCall& call : program.calls) {
      for (const ir::Dim& size : call.kernel.grid_size) text += size.ToString() + ",";
      if (!is_overridden_) text += call.kernel.scratch_bytes.ToString();
      text += ";";
    }
    return text;
  }

  GroupView group_;
  bool is_overridden_;
  std::unique_ptr<GpuGroup> gpu_;
  std::vector<std::unique_ptr<GroupProgram>> programs_;
  std::vector<std::vector<std::unique_ptr<codegen::CompiledKernel>>> kernels_;
  std::vector<std::vector<HostTensor>> packed_;  // by level
  bool is_printed_ = false;
};

inline void CheckGroup(GroupBuilder& builder, ir::NodeId node, const Symbols& symbols,
                       double tolerance = 1e-5) {
  ScheduledGroup(builder.function(), node).Check(symbols, tolerance);
}

}  // namespace tvmvm::tensor
