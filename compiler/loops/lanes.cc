#include "compiler/loops/lanes.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "compiler/expr/approximate.h"
#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"
#include "compiler/loops/loop_blocks.h"

namespace tvmvm::tensor {
namespace {

constexpr size_t kMostChains = 4;  // more take more registers than there are
constexpr int kWovenLanes = 32;

}  // namespace

Lanes Lanes::Make(LoopKernel* kernel, int width, int unroll) {
  Lanes lanes;
  lanes.width = width;
  lanes.unroll = unroll;
  lanes.lane_variable = kernel->NewVariable("lane");
  lanes.unroll_variable = kernel->NewVariable("part");
  return lanes;
}

Expr Lanes::Number() const {
  Expr number = IntConstant(0);
  if (unroll > 1) number = Variable(unroll_variable) * IntConstant(width);
  return width > 1 ? number + Variable(lane_variable) : number;
}

bool Lanes::In(const Expr& a) const {
  return (width > 1 && DependsOn(a, lane_variable)) || (unroll > 1 && DependsOn(a, unroll_variable));
}

bool LoadsWide(const Expr& a, VariableId variable) {
  bool is_wide = true;
  VisitOnce(a, [&](const Expr& e) {
    if (e.op() != ExprOp::kLoad) return;
    auto step = Coefficient(e->operands[0], variable);
    is_wide &= step && step->is_constant() && step->value() >= 0 && step->value() <= kMaxShortStep;
  });
  return is_wide;
}

bool SuitsMasks(std::span<const Expr> roots, VariableId variable) {
  bool suits = true;
  for (const Expr& root : roots) {
    suits &= DTypeBits(root.dtype()) >= 32 && LoadsWide(root, variable);
    VisitOnce(root, [&](const Expr& e) { suits &= e.op() != ExprOp::kLoad || DTypeBits(e.dtype()) >= 32; });
  }
  return suits;
}

Expr Guarded(const Expr& a, const Lanes& lanes) {
  if (!lanes.guard.valid()) return a;
  Rewriter rewrite([&](const Expr& e) {
    if (e.op() != ExprOp::kLoad || !lanes.In(e->operands[0])) return e;
    if (e->operands.size() == 1) return Load(e->id, e.dtype(), e->operands[0], lanes.guard);
    const Expr& mask = e->operands[1];
    if (Same(mask, lanes.guard) || (mask.op() == ExprOp::kAnd && Same(mask->operands[1], lanes.guard)))
      return e;
    return Load(e->id, e.dtype(), e->operands[0], And(mask, lanes.guard));
  });
  return rewrite(a);
}

int VectorsToWeave(std::span<const Expr> roots, int width) {
  std::unordered_set<const ExprNode*> chains;
  for (const Expr& root : roots)
    VisitOnce(root, [&](const Expr& e) {
      if (IsChain(e)) chains.insert(e.get());
    });
  return chains.empty() || chains.size() > kMostChains ? 1 : std::max(kWovenLanes / width, 1);
}

void ForLanes(Nest& nest, const Lanes& lanes, const std::function<void()>& build) {
  if (lanes.unroll > 1)
    nest.Open(lanes.unroll_variable, IntConstant(0), IntConstant(lanes.unroll), LoopKind::kUnrolled);
  if (lanes.width > 1)
    nest.Open(lanes.lane_variable, IntConstant(0), IntConstant(lanes.width), LoopKind::kVectorized);
  build();
  if (lanes.width > 1) nest.Close();
  if (lanes.unroll > 1) nest.Close();
}

void ForVectors(Nest& nest, const std::string& name, Expr begin, const Expr& end, int width, int unroll,
                const std::function<void(const Expr&, const Lanes&)>& build) {
  auto loop = [&](int lanes_width, int parts) {
    Expr to = WholeSteps(nest, {begin, end}, lanes_width * parts);
    if (Same(begin, to)) return;
    Lanes lanes = Lanes::Make(nest.kernel(), lanes_width, parts);
    VariableId i = nest.Open(name, begin, to, LoopKind::kSerial, lanes.count());
    build(Variable(i) + lanes.Number(), lanes);
    nest.Close();
    begin = to;
  };
  if (width > 1 && unroll > 1) loop(width, unroll);
  if (width > 1) loop(width, 1);
  loop(1, 1);
}

int GatheredLoads(const Expr& a, VariableId variable) {
  int count = 0;
  VisitOnce(a, [&](const Expr& e) {
    if (e.op() != ExprOp::kLoad) return;
    auto stride = Coefficient(e->operands[0], variable);
    if (!stride || !(stride->IsConstant(0) || stride->IsConstant(1))) ++count;
  });
  return count;
}

}  // namespace tvmvm::tensor
