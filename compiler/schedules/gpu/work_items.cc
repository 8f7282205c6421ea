#include "compiler/schedules/gpu/work_items.h"

#include <unordered_map>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;

// Turns scratch buffers into arguments: behind those that there are, in front of the local buffers.
class ScratchToWorkspace {
 public:
  ScratchToWorkspace(KernelCall* call, GroupProgram* program, const Dim& points, const Expr& point)
      : kernel_(call->kernel), rewrite_([this](const Expr& e) { return Moved(e); }) {
    std::vector<BufferInfo> arguments, locals;
    for (uint32_t i = 0; i < kernel_.buffers.size(); ++i) {
      const BufferInfo& info = kernel_.buffers[i];
      bool is_scratch = !info.is_argument && info.memory == Memory::kScratch;
      first_.push_back(is_scratch ? PartOf(info, point) : Expr());
      if (!info.is_argument && !is_scratch) continue;
      new_ids_[i] = static_cast<uint32_t>(arguments.size());
      arguments.push_back(info);
      if (!is_scratch) continue;
      arguments.back().is_argument = true;
      call->arguments.push_back(
          {ArgumentKind::kWorkspace, static_cast<uint32_t>(program->workspaces.size())});
      program->workspaces.push_back({info.dtype, Select(call->when, points * ElementsOf(info), 0)});
    }
    for (uint32_t i = 0; i < kernel_.buffers.size(); ++i) {
      if (new_ids_.count(i)) continue;
      new_ids_[i] = static_cast<uint32_t>(arguments.size() + locals.size());
      locals.push_back(kernel_.buffers[i]);
    }
    kernel_.argument_count = static_cast<uint32_t>(arguments.size());
    kernel_.body = Statement(*kernel_.body);
    arguments.insert(arguments.end(), locals.begin(), locals.end());
    kernel_.buffers = std::move(arguments);
    kernel_.scratch_bytes = 0;
  }

 private:
  // Elements that a worker's scratch would hold, whole units of 64 bytes.
  Dim ElementsOf(const BufferInfo& info) const {
    return CeilDiv(kernel_.scratch_bytes, Dim(64)) * Dim(64 * 8 / DTypeBits(info.dtype));
  }
  Expr PartOf(const BufferInfo& info, const Expr& point) const { return point * DimValue(ElementsOf(info)); }

  Expr Index(uint32_t buffer, const Expr& index) const {
    if (!first_[buffer].valid()) return index;
    return index.lanes() == 1 ? first_[buffer] + index : Broadcast(first_[buffer], index.lanes()) + index;
  }

  Expr Moved(const Expr& e) {
    if (e.op() != ExprOp::kLoad) return e;
    return Load(new_ids_.at(e->id), e.dtype(), Index(e->id, e->operands[0]),
                e->operands.size() > 1 ? e->operands[1] : Expr());
  }

  StmtPtr Statement(const Stmt& s) {
    if (s.kind == StmtKind::kAllocate && first_[s.buffer].valid()) return Block({});
    Stmt copy = s;
    for (Expr* e : {&copy.begin, &copy.end, &copy.value, &copy.index, &copy.mask})
      if (e->valid()) *e = rewrite_(*e);
    if (s.kind == StmtKind::kStore) copy.index = Index(s.buffer, copy.index);
    if (s.kind == StmtKind::kStore || s.kind == StmtKind::kAllocate) copy.buffer = new_ids_.at(s.buffer);
    for (StmtPtr& child : copy.body) child = Statement(*child);
    return std::make_shared<const Stmt>(std::move(copy));
  }

  LoopKernel& kernel_;
  std::vector<Expr>
      first_;  // by old buffer: where the point's part of a workspace begins; invalid: no scratch
  std::unordered_map<uint32_t, uint32_t> new_ids_;
  Rewriter rewrite_;
};

}  // namespace

Expr OneDimensionalGroup(LoopKernel* kernel, int items) {
  kernel->group_size[0] = items;
  for (VariableId& axis : kernel->thread) axis = kernel->NewVariable("thread");
  Expr group = Variable(kernel->grid[0]);
  return items == 1 ? group : group * IntConstant(items) + Variable(kernel->thread[0]);
}

void GiveItemsToPoints(KernelCall* call, GroupProgram* program) {
  LoopKernel& kernel = call->kernel;
  Dim points = kernel.grid_size[0] * kernel.grid_size[1] * kernel.grid_size[2];
  VariableId point = kernel.NewVariable("point");
  Expr number = Variable(point);
  if (!kernel.scratch_bytes.IsConstant(0)) ScratchToWorkspace(call, program, points, number);

  // The point's coordinates, bound as the loops know them; x runs fastest.
  std::vector<StmtPtr> body;
  Expr rest = number;
  for (int axis = 0; axis < 3; ++axis) {
    Expr size = DimValue(Max(kernel.grid_size[axis], Dim(1)));
    Expr coordinate = axis == 2 ? rest : FloorMod(rest, size);
    if (axis < 2) rest = FloorDiv(rest, size);
    body.push_back(Let(kernel.grid[axis], coordinate));
  }
  if (kernel.range_end) body.push_back(Let(*kernel.range_end, Variable(kernel.grid[0]) + IntConstant(1)));
  kernel.range_end.reset();
  body.push_back(kernel.body);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("group");
  int items = points.IsConstant(1) ? 1 : kGroupItems;
  kernel.grid_size[0] = CeilDiv(points, Dim(items));
  kernel.grid_size[1] = kernel.grid_size[2] = 1;
  Expr flat = OneDimensionalGroup(&kernel, items);
  kernel.body = Block({Let(point, flat), If(Less(number, DimValue(points)), Block(std::move(body)))});
}

}  // namespace tvmvm::tensor
