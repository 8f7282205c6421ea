// From a group of core nodes to kernels: the seam between the graph IR and loop IR.
//
// A group is a `fused` node, or one core node on its own. ScheduleGroup chooses a schedule by the group's
// anchor (its contraction, convolution, window, reduction, or none) and returns the kernels to launch, in
// order. For one program that holds several CPU levels it is called once a level: the calls, their arguments,
// grid sizes, guards, workspaces and packed constants must be the same at every level; only loop bodies and
// their scalar arguments may differ.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/core_op.h"
#include "compiler/graph/graph.h"
#include "compiler/loops/loop_ir.h"
#include "compiler/schedules/packing.h"
#include "compiler/schedules/schedule_data.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

class ScheduleOverrides;

enum class ArgumentKind : uint8_t { kInput, kOutput, kWorkspace, kPacked };

struct KernelArgument {
  ArgumentKind kind = ArgumentKind::kInput;
  uint32_t index = 0;  // of the group's inputs, outputs, workspaces or packed constants
};

struct KernelCall {
  LoopKernel kernel;
  std::vector<KernelArgument> arguments;  // one for each buffer argument of the kernel
  ir::Dim when = 1;                       // launched only where this is not 0
  std::vector<KernelSchedule> schedules;  // that it was built from
};

struct Workspace {
  DType dtype = DType::kInvalid;
  ir::Dim elements;
};

// The constants that a group is given, by the numbers of its inputs; null: that input is none.
using GroupConstants = std::vector<std::shared_ptr<const ir::TensorData>>;
GroupConstants ConstantsOf(const ir::Function& function, ir::NodeId group);

// Panels of one of the group's inputs, which is a constant.
struct PanelsOfInput {
  size_t number = 0;
  std::vector<int64_t> dims;  // the constant's, or finer ones
  OperandAxes axes;
  int64_t panels = 0;
};

// A constant in the layout that the kernels read, made of the group's.
struct PackConstant {
  std::function<ir::TensorData(const GroupConstants& constants)> make;
  std::optional<PanelsOfInput> panels =
      std::nullopt;  // that it consists of, where all elements are the input's

  ir::TensorData operator()(const GroupConstants& constants) const { return make(constants); }
};
// `of_bytes`: by PackBytePanels instead of PackPanels.
PackConstant PackInPanels(PanelsOfInput layout, bool of_bytes);

// Of all groups that differ in nothing but their constants (group_signature.h).
struct GroupProgram {
  std::vector<KernelCall> calls;
  std::vector<Workspace> workspaces;  // alive from the first to the last call
  std::vector<PackConstant> packed;   // called on demand, once for a group and one of the targets
};

// `overrides`: what is to be chosen otherwise; null: nothing. Errors: kUnsupported or kInternal naming the
// group's node.
Expected<GroupProgram> ScheduleGroup(const ir::Function& function, ir::NodeId group, const TargetInfo& target,
                                     const ScheduleOverrides* overrides = nullptr);

// What a schedule may know of a constant of more than one element.
struct ConstantInput {
  size_t number = 0;  // of the group's inputs
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
};

// A group seen as a unit: its inputs (values from outside, constants included; numbered as the node's inputs,
// so that a lone node may have repeated and absent ones), nodes in order, results.
class GroupView {
 public:
  // `overrides` may be null.
  GroupView(const ir::Function& function, ir::NodeId group, const ScheduleOverrides* overrides = nullptr);

  const ir::Function& function() const { return *function_; }
  const ScheduleOverrides* overrides() const { return overrides_; }
  const std::vector<ir::ValueId>& inputs() const {
    return inputs_;
  }  // as seen inside: region parameters, or the node's inputs
  const std::vector<ir::ValueId>& outer_inputs() const { return outer_inputs_; }  // the same, as seen outside
  const std::vector<ir::NodeId>& nodes() const { return nodes_; }
  const std::vector<ir::ValueId>& outputs() const { return outputs_; }  // as seen inside
  const ir::Type& type(ir::ValueId value) const { return function_->type(value); }
  // Position in inputs(), or -1.
  int InputNumber(ir::ValueId value) const;
  // The constant that input `value` is, but for its contents, which no schedule depends on; nothing: it is no
  // input, or none.
  std::optional<ConstantInput> ConstantOf(ir::ValueId value) const;

  // The element of `value` at `index`: asks `leaf` first (a load of an input, a tile in registers, a row's
  // statistic); where it gives nothing, the element of the node that makes the value, with its inputs
  // expanded in the same way. Constants of one element and known dims become immediates and are not asked
  // for. Invalid: the value has no element.
  using Leaf = std::function<Expr(ir::ValueId value, std::span<const Expr> index)>;  // an invalid Expr: go on
  Expr Expand(ir::ValueId value, std::span<const Expr> index, const Leaf& leaf, LoopKernel* kernel) const;

 private:
  const ir::Function* function_;
  const ScheduleOverrides* overrides_;
  std::vector<ir::ValueId> inputs_, outer_inputs_, outputs_;
  std::vector<ir::NodeId> nodes_;
};

// What a group computes, as words of a schedule's problem: the types of its inputs and outputs, its
// operators.
std::string WordsOf(const GroupView& group);

// Row-major element offset: ((i0 * d1) + i1) * d2 + ...
Expr FlatIndex(const ir::Dims& dims, std::span<const Expr> index);

// The schedules of targets whose grid points are work-groups (schedule_gpu.cc): ScheduleGroup goes there
// itself.
Expected<GroupProgram> ScheduleForGpu(const GroupView& group, const TargetInfo& target);

// Schedules, tried in order by ScheduleGroup. Each says whether it takes the group.
bool TakesAttention(const GroupView& group);
Expected<GroupProgram> ScheduleAttention(const GroupView& group, const TargetInfo& target);
bool TakesContraction(const GroupView& group);
Expected<GroupProgram> ScheduleContraction(const GroupView& group, const TargetInfo& target);
bool TakesConvolution(const GroupView& group);
Expected<GroupProgram> ScheduleConvolution(const GroupView& group, const TargetInfo& target);
// Windows that slide along rows, elementwise after it.
bool TakesPlanarWindow(const GroupView& group);
Expected<GroupProgram> SchedulePlanarWindow(const GroupView& group, const TargetInfo& target);
// One or more reductions over trailing axes (softmax, normalisation), elementwise before, between and after.
bool TakesRows(const GroupView& group);
Expected<GroupProgram> ScheduleRows(const GroupView& group, const TargetInfo& target);
// Anything made of pulls: elementwise, movement, window, a reduction of any axes, a naive contraction or
// convolution.
Expected<GroupProgram> ScheduleGeneric(const GroupView& group, const TargetInfo& target);
Expected<GroupProgram> ScheduleProcedural(const GroupView& group, const TargetInfo& target);

}  // namespace tvmvm::tensor
