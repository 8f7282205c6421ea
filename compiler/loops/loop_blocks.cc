#include "compiler/loops/loop_blocks.h"

#include <algorithm>
#include <numeric>

#include "compiler/expr/rewrite.h"
#include "compiler/expr/stride.h"

namespace tvmvm::tensor {

using ir::Dim;

Range WholeAxis(const Dim& extent) { return {IntConstant(0), DimValue(extent), ir::DivisorOf(extent)}; }

Range BlockOf(Nest& nest, int axis, const std::string& name, const Dim& extent, const Dim& block) {
  Dim count = extent.IsConstant(1) ? Dim(1) : CeilDiv(extent, block);
  VariableId g = nest.Grid(axis, "g" + name, count);
  if (count.IsConstant(1)) return WholeAxis(extent);
  Expr begin = nest.Let(name + "_begin", Variable(g) * DimValue(block));
  if (block.IsConstant(1)) return {begin, begin + IntConstant(1)};
  return {begin, nest.Let(name + "_end", Min(begin + DimValue(block), DimValue(extent))),
          std::gcd(ir::DivisorOf(block), ir::DivisorOf(extent))};
}

Range BlocksOf(Nest& nest, const std::string& name, const Dim& extent, const Dim& block) {
  const Dim count = CeilDiv(extent, block);
  if (count.IsConstant(1)) {
    nest.Grid(0, "g" + name, count);
    return WholeAxis(extent);
  }
  auto [first, end] = nest.GridRange("g" + name, count);
  if (block.IsConstant(1)) return {Variable(first), Variable(end)};
  return {nest.Let(name + "_begin", Variable(first) * DimValue(block)),
          nest.Let(name + "_end", Min(Variable(end) * DimValue(block), DimValue(extent))),
          std::gcd(ir::DivisorOf(block), ir::DivisorOf(extent))};
}

void WholeOrPart(Nest& nest, const Range& part, const Dim& extent,
                 const std::function<void(const Range&)>& build) {
  const int depth = nest.depth();
  if (Same(part.begin, IntConstant(0)) && Same(part.end, DimValue(extent))) {
    build(part);
    while (nest.depth() > depth) nest.Close();
    return;
  }
  Expr is_whole = nest.Let("is_whole", Equal(part.end - part.begin, DimValue(extent)));
  for (bool whole : {true, false}) {
    nest.OpenIf(whole ? is_whole : Unary(ExprOp::kNot, is_whole));
    build(whole ? WholeAxis(extent) : part);
    while (nest.depth() > depth) nest.Close();
  }
}

std::vector<Expr> BindCoordinates(Nest& nest, const ir::Dims& extents, Expr position) {
  std::vector<Expr> coordinates(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    Expr extent = DimValue(Max(extents[i], Dim(1)));
    coordinates[i] = nest.Let("coordinate", i == 0 ? position : FloorMod(position, extent));
    if (i > 0) position = nest.Let("position", FloorDiv(position, extent));
  }
  return coordinates;
}

int LanesFor(std::span<const Expr> roots, const TargetInfo& target, std::optional<VariableId> along) {
  for (const Expr& root : roots)
    VisitOnce(root, [&](const Expr& e) {
      if (e.op() == ExprOp::kReduce) along.reset();
    });
  int widest = 8;
  bool is_packed = false;
  auto see = [&](DType dtype) {
    widest = std::max(widest, DTypeBits(dtype));
    is_packed |= IsSubByte(dtype);
  };
  for (const Expr& root : roots) {
    see(root.dtype());
    VisitOnce(root, [&](const Expr& e) {
      if (IsFloat(e.dtype())) widest = std::max(widest, 32);  // narrow floats compute in f32
      if (along && e.op() == ExprOp::kLoad && !IsSubByte(e.dtype()) && !DependsOn(e, *along)) return;
      if (e.op() == ExprOp::kLoad || (e.op() == ExprOp::kCast && e.dtype() != DType::kI64)) see(e.dtype());
    });
  }
  return is_packed ? 1 : target.vector_bits / std::min(widest, 32);
}

Expr WholeSteps(Nest& nest, const Range& range, int64_t step) {
  if (range.divisor % step == 0) return range.end;
  return nest.Let("whole",
                  range.begin + FloorDiv(range.end - range.begin, IntConstant(step)) * IntConstant(step));
}

Range RestAfter(const Range& range, const Expr& to, int64_t step) {
  return {to, range.end, std::gcd(range.divisor, step)};
}

}  // namespace tvmvm::tensor
