#include "compiler/schedules/group_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/graph/storage.h"
#include "compiler/schedules/collapse_axes.h"
#include "compiler/schedules/expand.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;

// "exp_add_mul": the first few operators that compute.
std::string NameOf(const GroupView& group) {
  std::string name;
  int count = 0;
  for (ir::NodeId id : group.nodes()) {
    const ir::Node& node = group.function().node(id);
    if (node.op == nullptr || node.op->kind == ir::OpKind::kConstant || node.op->kind == ir::OpKind::kView)
      continue;
    if (++count > 4) break;
    if (!name.empty()) name += '_';
    name += node.op->name;
  }
  return name.empty() ? "copy" : name;
}

// Operations that an element costs, about: functions are as many as the terms of what approximates them
// (expr/approximate.h). Coordinates, which are integers, are not counted.
int64_t OperationsOf(const Expr& e) {
  if (!IsFloat(e.dtype()) || e->operands.empty() || e.op() == ExprOp::kLoad) return 0;
  switch (e.op()) {
    case ExprOp::kDiv:
    case ExprOp::kSqrt:
    case ExprOp::kReciprocalSqrt:
      return 4;
    case ExprOp::kRemainder:
    case ExprOp::kFloorMod:
      return 8;
    case ExprOp::kExp:
    case ExprOp::kExp2:
    case ExprOp::kLog:
    case ExprOp::kSigmoid:
      return 16;
    case ExprOp::kTanh:
    case ExprOp::kErf:
    case ExprOp::kExpm1:
    case ExprOp::kLog1p:
    case ExprOp::kSin:
    case ExprOp::kCos:
    case ExprOp::kAsin:
    case ExprOp::kAcos:
    case ExprOp::kAtan:
    case ExprOp::kSinh:
    case ExprOp::kCosh:
      return 24;
    case ExprOp::kTan:
    case ExprOp::kAsinh:
    case ExprOp::kAcosh:
    case ExprOp::kAtanh:
    case ExprOp::kAtan2:
    case ExprOp::kPow:
      return 48;
    default:
      return 1;
  }
}

}  // namespace

GroupKernel::GroupKernel(const GroupView& group)
    : group_(group), input_arguments_(group.inputs().size(), -1) {
  call_.kernel.name = NameOf(group);
}

Expr GroupKernel::LoadInput(ir::ValueId value, std::span<const Expr> index) {
  int input = group_.InputNumber(value);
  if (input < 0) return {};
  const ir::Type& type = group_.type(value);
  if (input_arguments_[input] < 0) {
    uint32_t argument = call_.kernel.AddArgument(fmt::format("in{}", input), type.dtype, Access::kRead);
    input_arguments_[input] = static_cast<int>(argument);
    call_.arguments.push_back({ArgumentKind::kInput, static_cast<uint32_t>(input)});
  }
  return Load(static_cast<uint32_t>(input_arguments_[input]), type.dtype, FlatIndex(type.dims, index));
}

uint32_t GroupKernel::AddOutput(uint32_t output) {
  DType dtype = group_.type(group_.outputs()[output]).dtype;
  call_.arguments.push_back({ArgumentKind::kOutput, output});
  return call_.kernel.AddArgument(fmt::format("out{}", output), dtype, Access::kWrite);
}

uint32_t GroupKernel::AddWorkspace(uint32_t workspace, DType dtype, Access access) {
  call_.arguments.push_back({ArgumentKind::kWorkspace, workspace});
  return call_.kernel.AddArgument("workspace", dtype, access);
}

// Gathers and slices read what they want of an input, others all of it.
Dim GroupKernel::BytesRead(const KernelArgument& argument, int64_t loads, const Dim& space) const {
  constexpr int64_t kCounted = 64 << 10;  // what has fewer bytes is not looked at closely
  bool is_input = argument.kind == ArgumentKind::kInput;
  const ir::Type& type =
      group_.type(is_input ? group_.inputs()[argument.index] : group_.outputs()[argument.index]);
  Dim all = lowering::BytesOf(type.dtype, type.dims);
  if (!is_input || loads == 0 || all.constant().value_or(INT64_MAX) <= kCounted) return all;
  return Min(all, CeilDiv(space * Dim(loads * DTypeBits(type.dtype)), Dim(8)));
}

void GroupKernel::Estimate(const Dim& space, const Dim& steps, std::span<const Expr> per_element) {
  std::set<const ExprNode*> reduced;  // what each step of a reduction computes
  auto reduce = [&](const Expr& e) {
    if (e.op() != ExprOp::kReduce) return;
    for (const Expr& body : e->operands)
      VisitOnce(body, [&](const Expr& part) { reduced.insert(part.get()); });
  };
  for (const Expr& root : per_element) VisitOnce(root, reduce);
  int64_t operations = 0, operations_of_step = 0;
  std::map<uint32_t, int64_t> loads;  // by buffer
  std::set<const ExprNode*> counted;  // what elements share is computed once
  for (const Expr& root : per_element) {
    VisitOnce(root, [&](const Expr& e) {
      if (!counted.insert(e.get()).second) return;
      (reduced.contains(e.get()) ? operations_of_step : operations) += OperationsOf(e);
      if (e.op() == ExprOp::kLoad) loads[e->id] += e.lanes();
    });
  }
  call_.kernel.flops = space * Dim(operations) + space * steps * Dim(operations_of_step);
  call_.kernel.bytes = 0;
  for (uint32_t i = 0; i < call_.arguments.size(); ++i)
    if (call_.arguments[i].kind != ArgumentKind::kWorkspace)
      call_.kernel.bytes = call_.kernel.bytes + BytesRead(call_.arguments[i], loads[i], space * steps);
}

Dim ReductionSteps(std::span<const Expr> per_element) {
  Dim steps = 1;
  for (const Expr& root : per_element) {
    VisitOnce(root, [&](const Expr& e) {
      if (e.op() != ExprOp::kReduce) return;
      Dim count = 1;
      for (const Expr& extent : e->reduction->extents)
        if (auto dim = AsDim(extent)) count = count * *dim;
      steps = steps.IsConstant(1) ? count : Max(steps, count);
    });
  }
  return Max(steps, Dim(1));
}

Status GroupKernel::DeclareArguments(const std::function<std::vector<Expr>(ir::ValueId)>& index,
                                     std::vector<Expr>* elements, std::vector<uint32_t>* outputs,
                                     const GroupView::Leaf& known) {
  auto leaf = [&](ir::ValueId value, std::span<const Expr> at) {
    Expr element = known ? known(value, at) : Expr();
    return element.valid() ? element : LoadInput(value, at);
  };
  Expander expander(group_, leaf, &call_.kernel);
  for (ir::ValueId output : group_.outputs()) elements->push_back(expander.Expand(output, index(output)));
  if (expander.missing().valid()) return tl::unexpected(NoSchedule(group_, expander.missing()));
  for (uint32_t i = 0; i < group_.outputs().size(); ++i) outputs->push_back(AddOutput(i));
  return {};
}

KernelCall GroupKernel::Take(StmtPtr body, KernelSchedule schedule) {
  if (schedule.family != nullptr) call_.schedules.push_back(std::move(schedule));
  call_.kernel.body = std::move(body);
  return std::move(call_);
}

Expected<GroupProgram> ScheduleByDims(const GroupView& original, const BuildKernels& build) {
  CollapsedGroup collapsed = CollapseAxes(original);
  GroupView group(collapsed.function, collapsed.node, original.overrides());
  std::vector<std::vector<uint32_t>> sets;  // outputs by dims
  for (uint32_t i = 0; i < group.outputs().size(); ++i) {
    const ir::Dims& dims = group.type(group.outputs()[i]).dims;
    auto same = std::find_if(sets.begin(), sets.end(), [&](const std::vector<uint32_t>& set) {
      return group.type(group.outputs()[set[0]]).dims == dims;
    });
    if (same != sets.end()) {
      same->push_back(i);
    } else {
      sets.push_back({i});
    }
  }
  GroupProgram program;
  for (const std::vector<uint32_t>& set : sets) TVMVM_CHECK_OK(build(group, set, &program.calls));
  for (KernelCall& call : program.calls) collapsed.ReadOriginals(&call);
  return program;
}

bool MayBeFew(const Dim& elements, int64_t most) {
  return ir::DivisorOf(elements) <= most && ir::SymbolsOf(elements).size() <= 1;
}

Error NoSchedule(const GroupView& group, ir::ValueId value) {
  ir::NodeId producer = group.function().value(value).producer;
  std::string_view name = producer.valid() ? group.function().node(producer).op->name : "an input";
  return Error{Code::kUnsupported, fmt::format("no schedule for '{}' as part of a group", name)};
}

}  // namespace tvmvm::tensor
