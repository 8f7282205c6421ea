// Schedules for operators that build their loops themselves: this gives them buffers and takes the loops.
#include <fmt/format.h>

#include "compiler/schedules/group.h"

namespace tvmvm::tensor {
namespace {

class BufferLoops final : public ir::LoopContext {
 public:
  BufferLoops(const GroupView& group, const TargetInfo& target)
      : group_(group), node_(group.function().node(group.nodes()[0])), target_(target) {
    call_.kernel.name = std::string(node_.op->name);
    for (VariableId& g : call_.kernel.grid) g = call_.kernel.NewVariable("g");
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      // What is changed in place is the output's argument.
      if (!node_.inputs[i].valid() || (i == 0 && node_.decided.in_place)) {
        input_arguments_.push_back(-1);
        continue;
      }
      int number = group.InputNumber(node_.inputs[i]);
      input_arguments_.push_back(static_cast<int>(call_.kernel.AddArgument(
          fmt::format("in{}", i), group.type(node_.inputs[i]).dtype, Access::kRead)));
      call_.arguments.push_back({ArgumentKind::kInput, static_cast<uint32_t>(number)});
    }
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      output_arguments_.push_back(call_.kernel.AddArgument(
          fmt::format("out{}", i), group.type(node_.outputs[i]).dtype, Access::kReadWrite));
      call_.arguments.push_back({ArgumentKind::kOutput, static_cast<uint32_t>(i)});
    }
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

  KernelCall Take(StmtPtr body) {
    call_.kernel.body = std::move(body);
    return std::move(call_);
  }

 private:
  const GroupView& group_;
  const ir::Node& node_;
  const TargetInfo& target_;
  KernelCall call_;
  std::vector<int> input_arguments_;  // -1: absent
  std::vector<uint32_t> output_arguments_;
  const ir::Type absent_;
};

}  // namespace

Expected<GroupProgram> ScheduleProcedural(const GroupView& group, const TargetInfo& target) {
  if (group.nodes().size() != 1) {
    return MakeError(Code::kInternal,
                     "an operator that builds its own loops was put into a group with others");
  }
  BufferLoops context(group, target);
  if (context.node().op->loops == nullptr) {
    return MakeError(Code::kUnsupported, fmt::format("'{}' has no loops", context.node().op->name));
  }
  TVMVM_TRY(StmtPtr body, context.node().op->loops(context));
  GroupProgram program;
  program.calls.push_back(context.Take(std::move(body)));
  return program;
}

}  // namespace tvmvm::tensor
