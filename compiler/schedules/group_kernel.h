// GroupKernel: the parts that kernels of every schedule for pulls have in common: buffers, grid blocks,
// lanes, estimates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/loops/loop_blocks.h"
#include "compiler/loops/nest.h"
#include "compiler/schedules/group.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::tensor {

class GroupKernel {
 public:
  explicit GroupKernel(const GroupView& group);

  LoopKernel& kernel() { return call_.kernel; }
  // The element of an input of the group, which becomes an argument of the kernel; invalid where `value` is
  // no input.
  Expr LoadInput(ir::ValueId value, std::span<const Expr> index);
  // An argument to write; all inputs must have been asked for before.
  uint32_t AddOutput(uint32_t output);
  // The same for one of the program's workspaces.
  uint32_t AddWorkspace(uint32_t workspace, DType dtype, Access access);
  // Expands the outputs' elements once, which asks for every input, and then adds the outputs: so arguments
  // exist before local buffers do. `index`: the coordinates of an output's element. `known`: values that are
  // not expanded.
  Status DeclareArguments(const std::function<std::vector<Expr>(ir::ValueId)>& index,
                          std::vector<Expr>* elements, std::vector<uint32_t>* outputs,
                          const GroupView::Leaf& known = {});
  // Sets the estimates: operations per element of `space`, where reductions take `steps`; of an input at most
  // what the elements load.
  void Estimate(const ir::Dim& space, const ir::Dim& steps, std::span<const Expr> per_element);
  // `schedule`: what the kernel was built from; of no family: nothing that could be chosen.
  KernelCall Take(StmtPtr body, KernelSchedule schedule = {});

 private:
  ir::Dim BytesRead(const KernelArgument& argument, int64_t loads, const ir::Dim& space) const;

  const GroupView& group_;
  KernelCall call_;
  std::vector<int> input_arguments_;  // argument of the kernel, or -1
};

// How often the innermost of an element's reductions runs; 1: there is none.
ir::Dim ReductionSteps(std::span<const Expr> per_element);

// Kernels for each set of outputs with the same dims, added to `calls` by `build` on the group with its axes
// collapsed.
using BuildKernels = std::function<Status(const GroupView& group, const std::vector<uint32_t>& outputs,
                                          std::vector<KernelCall>* calls)>;
Expected<GroupProgram> ScheduleByDims(const GroupView& group, const BuildKernels& build);
// Whether a kernel for at most `most` elements along an axis is worth it: not for multiples of more, and
// pictures, products of several sizes, have many.
bool MayBeFew(const ir::Dim& elements, int64_t most);

// The error for a value without element.
Error NoSchedule(const GroupView& group, ir::ValueId value);

}  // namespace tvmvm::tensor
