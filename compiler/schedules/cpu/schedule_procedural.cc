// Schedules for operators that build their loops themselves: this gives them buffers and takes the loops.
#include <fmt/format.h>

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {
namespace {

class BufferLoops final : public ir::LoopContext {
 public:
  BufferLoops(const GroupView& group, const TargetInfo& target)
      : group_(group), node_(group.function().node(group.nodes()[0])), target_(target) {
    NewKernel();
  }

  const ir::Node& node() const override { return node_; }
  const ir::Type& input_type(int input) const override {
    bool given = input >= 0 && input < static_cast<int>(node_.inputs.size()) && node_.inputs[input].valid();
    return given ? group_.type(node_.inputs[input]) : absent_;
  }
  const ir::Type& output_type(int output) const override { return group_.type(node_.outputs[output]); }
  bool has_input(int input) const override {
    return input >= 0 && input < static_cast<int>(input_arguments_.size()) && input_arguments_[input] >= 0;
  }
  const TargetInfo& target() const override { return target_; }
  LoopKernel& kernel() override { return call_.kernel; }
  Expr Load(int input, std::span<const Expr> index) override {
    const ir::Type& type = input_type(input);
    return tensor::Load(static_cast<uint32_t>(input_arguments_[input]), type.dtype,
                        FlatIndex(type.dims, index));
  }
  StmtPtr Store(int output, std::span<const Expr> index, Expr value) override {
    return tensor::Store(output_arguments_[output], FlatIndex(output_type(output).dims, index),
                         std::move(value));
  }
  Expr LoadOutput(int output, std::span<const Expr> index) override {
    const ir::Type& type = output_type(output);
    return tensor::Load(output_arguments_[output], type.dtype, FlatIndex(type.dims, index));
  }

  void EndKernel(StmtPtr body) override {
    call_.kernel.body = std::move(body);
    program_.calls.push_back(std::move(call_));
    NewKernel();
  }
  void LaunchWhere(const ir::Dim& condition) override { call_.when = condition; }
  int AddWorkspace(DType dtype, const ir::Dim& elements) override {
    program_.workspaces.push_back({dtype, elements});
    AddWorkspaceArgument(program_.workspaces.size() - 1);
    return static_cast<int>(program_.workspaces.size()) - 1;
  }
  Expr LoadWorkspace(int space, const Expr& index) override {
    return tensor::Load(workspace_arguments_[space], program_.workspaces[space].dtype, index);
  }
  StmtPtr StoreWorkspace(int space, const Expr& index, Expr value) override {
    return tensor::Store(workspace_arguments_[space], index, std::move(value));
  }

  // All kernels, the last one with `body`, and what each costs.
  Expected<GroupProgram> Take(StmtPtr body) {
    call_.kernel.body = std::move(body);
    program_.calls.push_back(std::move(call_));
    ir::WorkContext context{node_, {}, {}};
    for (size_t i = 0; i < node_.inputs.size(); ++i)
      context.inputs.push_back(input_type(static_cast<int>(i)));
    for (ir::ValueId output : node_.outputs)
      context.outputs.push_back(output.valid() ? group_.type(output) : absent_);
    std::vector<ir::Work> work = node_.op->work(context);
    if (work.size() != program_.calls.size())
      return MakeError(Code::kInternal, fmt::format("'{}' states the work of {} kernels and has {}",
                                                    node_.op->name, work.size(), program_.calls.size()));
    for (size_t i = 0; i < work.size(); ++i) {
      program_.calls[i].kernel.flops = work[i].flops;
      program_.calls[i].kernel.bytes = work[i].bytes;
    }
    std::erase_if(program_.calls, [](const KernelCall& call) { return call.when.IsConstant(0); });
    return std::move(program_);
  }

 private:
  void NewKernel() {
    call_ = {};
    call_.kernel.name = std::string(node_.op->name);
    for (VariableId& g : call_.kernel.grid) g = call_.kernel.NewVariable("g");
    input_arguments_.clear();
    output_arguments_.clear();
    workspace_arguments_.clear();
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      // What is changed in place is the output's argument.
      if (!node_.inputs[i].valid() || (i == 0 && node_.decided.in_place)) {
        input_arguments_.push_back(-1);
        continue;
      }
      int number = group_.InputNumber(node_.inputs[i]);
      input_arguments_.push_back(static_cast<int>(call_.kernel.AddArgument(
          fmt::format("in{}", i), group_.type(node_.inputs[i]).dtype, Access::kRead)));
      call_.arguments.push_back({ArgumentKind::kInput, static_cast<uint32_t>(number)});
    }
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      output_arguments_.push_back(call_.kernel.AddArgument(
          fmt::format("out{}", i), group_.type(node_.outputs[i]).dtype, Access::kReadWrite));
      call_.arguments.push_back({ArgumentKind::kOutput, static_cast<uint32_t>(i)});
    }
    for (size_t i = 0; i < program_.workspaces.size(); ++i) AddWorkspaceArgument(i);
  }

  void AddWorkspaceArgument(size_t space) {
    workspace_arguments_.push_back(call_.kernel.AddArgument(
        fmt::format("workspace{}", space), program_.workspaces[space].dtype, Access::kReadWrite));
    call_.arguments.push_back({ArgumentKind::kWorkspace, static_cast<uint32_t>(space)});
  }

  const GroupView& group_;
  const ir::Node& node_;
  const TargetInfo& target_;
  GroupProgram program_;
  KernelCall call_;                   // in hand
  std::vector<int> input_arguments_;  // -1: absent
  std::vector<uint32_t> output_arguments_, workspace_arguments_;
  const ir::Type absent_;
};

}  // namespace

Expected<GroupProgram> ScheduleProcedural(const GroupView& group, const TargetInfo& target) {
  if (group.nodes().size() != 1) {
    return MakeError(Code::kInternal,
                     "an operator that builds its own loops was put into a group with others");
  }
  BufferLoops context(group, target);
  const ir::CoreOp& op = *context.node().op;
  if (op.loops == nullptr || op.work == nullptr)
    return MakeError(Code::kUnsupported, fmt::format("'{}' has no loops, or no work", op.name));
  TVMVM_TRY(StmtPtr body, op.loops(context));
  return context.Take(std::move(body));
}

}  // namespace tvmvm::tensor
