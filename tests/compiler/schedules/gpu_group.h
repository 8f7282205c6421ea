// Runs the kernels of a group as they are scheduled for GPUs: with the evaluator, and on an OpenCL device
// where there is one.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include "compiler/loops/evaluate_loops.h"
#include "tests/compiler/codegen/opencl_runner.h"
#include "tests/compiler/schedules/group_builder.h"

namespace tvmvm::tensor {

class GpuGroup {
 public:
  static constexpr int64_t kMostEvaluated = 200'000;  // operations and bytes
  static constexpr int64_t kMostStack = 256 << 10;    // of a CPU that runs a work-group as loops

  GpuGroup(const ir::Function& function, ir::NodeId node, const ScheduleOverrides* overrides = nullptr)
      : GpuGroup(function, node,
                 ScheduleGroup(function, node, GpuTargetInfo(DeviceKind::kOpenCl), overrides)) {}
  GpuGroup(const ir::Function& function, ir::NodeId node, Expected<GroupProgram> program)
      : group_(function, node) {
    if (!program) {
      ADD_FAILURE() << "on a GPU: " << program.error().message;
      return;
    }
    program_ = std::move(*program);
    EXPECT_TRUE(program_.packed.empty()) << "GPUs read constants as they are";
    for (const KernelCall& call : program_.calls) {
      Status verified = VerifyLoops(call.kernel);
      EXPECT_TRUE(verified.has_value())
          << (verified ? "" : verified.error().message) << ToString(call.kernel);
      has_matrices_ |= HasMatrices(call.kernel);
      if (HasMatrices(call.kernel)) continue;
      EXPECT_LE(LocalBytes(SerializeWorkGroup(call.kernel)), kMostStack) << ToString(call.kernel);
    }
  }

  // The outputs, once for each way to run that is quick enough.
  std::vector<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs, const Symbols& symbols,
                                           int64_t most_evaluated = kMostEvaluated) {
    std::vector<std::vector<HostTensor>> all;
    auto evaluate = [](const auto& kernel, const auto& buffers, const auto& lookup) {
      Expected<int32_t> code = EvaluateLoops(kernel, buffers, lookup, {.eager_select = false});
      EXPECT_TRUE(code.has_value()) << (code ? "" : code.error().message) << ToString(kernel);
      return code.value_or(-1);
    };
    if (WorkFor(symbols) < most_evaluated) {
      all.push_back(RunWith(inputs, symbols, evaluate));
    }
    if (has_matrices_) return all;  // neither CPUs nor OpenCL have them
    if (WorkFor(symbols) < kMostEvaluated) {
      all.push_back(
          RunWith(inputs, symbols, [&](const auto& kernel, const auto& buffers, const auto& lookup) {
            return evaluate(SerializeWorkGroup(kernel), buffers, lookup);
          }));
    }
    std::string reason;
    codegen::OpenClRunner* opencl = codegen::OpenClRunner::Get(&reason);
    if (opencl != nullptr) {
      all.push_back(
          RunWith(inputs, symbols, [&](const auto& kernel, const auto& buffers, const auto& lookup) {
            std::string message;
            int32_t code = opencl->Run(kernel, buffers, lookup, &message);
            EXPECT_EQ(message, "");
            return code;
          }));
    }
    return all;
  }

  const GroupProgram& program() const { return program_; }

 private:
  static int64_t LocalBytes(const LoopKernel& kernel) {
    int64_t bytes = 0;
    for (const BufferInfo& b : kernel.buffers)
      if (!b.is_argument) bytes += b.size * std::max(4, DTypeBits(b.dtype) / 8);
    return bytes;
  }

  int64_t WorkFor(const Symbols& symbols) const {
    int64_t work = 0;
    for (const KernelCall& call : program_.calls) {
      if (ValueOf(call.when, symbols) == 0) continue;
      int64_t groups = 1;
      for (const ir::Dim& size : call.kernel.grid_size) groups *= ValueOf(size, symbols);
      work += ValueOf(call.kernel.flops, symbols) + ValueOf(call.kernel.bytes, symbols) +
              groups * call.kernel.GroupItems() * 8;
    }
    return work;
  }

  template <class RunKernel>
  std::vector<HostTensor> RunWith(std::vector<HostTensor> inputs, const Symbols& symbols,
                                  const RunKernel& run) {
    std::vector<HostTensor> outputs, workspaces;
    for (ir::ValueId output : group_.outputs()) {
      outputs.push_back(
          HostTensor::Zeros(group_.type(output).dtype, ValuesOf(group_.type(output).dims, symbols)));
      std::fill(outputs.back().bytes.begin(), outputs.back().bytes.end(), std::byte{0xcc});
    }
    for (const Workspace& space : program_.workspaces)
      workspaces.push_back(HostTensor::Zeros(space.dtype, {ValueOf(space.elements, symbols)}));
    auto lookup = [&](const ir::SymbolId& symbol) -> std::optional<int64_t> {
      return symbols.at(symbol.name());
    };
    for (const KernelCall& call : program_.calls) {
      if (ValueOf(call.when, symbols) == 0) continue;
      std::vector<std::span<std::byte>> buffers;
      for (const KernelArgument& argument : call.arguments) {
        auto& from = argument.kind == ArgumentKind::kInput    ? inputs
                     : argument.kind == ArgumentKind::kOutput ? outputs
                                                              : workspaces;
        HostTensor& tensor = from[argument.index];
        // Without the bytes behind the last element: nothing may be touched there.
        buffers.push_back(
            std::span(tensor.bytes).first(static_cast<size_t>(DTypeBytes(tensor.dtype, tensor.count()))));
      }
      EXPECT_EQ(run(call.kernel, buffers, std::function<std::optional<int64_t>(const ir::SymbolId&)>(lookup)),
                0)
          << ToString(call.kernel);
    }
    return outputs;
  }

  GroupView group_;
  GroupProgram program_;
  bool has_matrices_ = false;
};

}  // namespace tvmvm::tensor
