#include "compiler/schedules/gather_operands.h"

#include <utility>

#include "compiler/schedules/packing.h"

namespace tvmvm::tensor {
namespace {

constexpr int64_t kGatheredBlockElements = 160 * 1024;

// Two rounds of four steps hide the latency of loads that a serial loop would expose.
void UnrolledLoop(Nest& nest, const ir::Dim& extent, const std::function<void(const Expr&)>& body) {
  constexpr int64_t kSteps = 4;
  ir::Dim whole = FloorDiv(extent, kSteps) * kSteps;
  if (!whole.IsConstant(0)) {
    Expr k = Variable(nest.Open("k", IntConstant(0), DimValue(whole), LoopKind::kSerial, kSteps));
    for (int64_t i = 0; i < kSteps; ++i) body(k + IntConstant(i));
    nest.Close();
  }
  if (whole == extent) return;
  body(Variable(nest.Open("k", DimValue(whole), DimValue(extent))));
  nest.Close();
}

class PanelGatherer {
 public:
  PanelGatherer(Nest& nest, const PanelGather& gather) : nest_(nest), gather_(gather) {}

  void Run() {
    Expr width = IntConstant(kPanelColumns), columns = DimValue(gather_.columns),
         depth = DimValue(gather_.depth);
    Expr panel = Variable(nest_.Open("panel", IntConstant(0), IntConstant(gather_.panels)));
    column_ = nest_.Let("column", gather_.first + panel * width);
    base_ = nest_.Let("base", gather_.base + panel * (depth * width));
    valid_ = nest_.Let("valid", Max(IntConstant(0), Min(width, columns - column_)));
    bool has_tail = !FloorMod(gather_.columns, gather_.panels * kPanelColumns).IsConstant(0);
    if (gather_.depth_is_contiguous) {
      Expr j = Variable(nest_.Open("j", IntConstant(0), valid_));
      UnrolledLoop(nest_, gather_.depth, [&](const Expr& k) { Copy(k, j); });
      nest_.Close();
    } else {
      CopyRows(has_tail);
    }
    if (has_tail) Clear();
    nest_.Close();
  }

 private:
  void CopyRows(bool has_tail) {
    Expr width = IntConstant(kPanelColumns);
    Expr k = Variable(nest_.Open("k", IntConstant(0), DimValue(gather_.depth)));
    if (has_tail) nest_.OpenIf(Equal(valid_, width));
    Copy(k, Variable(nest_.Open("lane", IntConstant(0), width, LoopKind::kVectorized)));
    nest_.Close();
    if (has_tail) {
      nest_.Close();
      nest_.OpenIf(Less(valid_, width));
      Copy(k, Variable(nest_.Open("j", IntConstant(0), valid_)));
      nest_.Close();
      nest_.Close();
    }
    nest_.Close();
  }

  void Clear() {
    nest_.OpenIf(Less(valid_, IntConstant(kPanelColumns)));
    Expr k = Variable(nest_.Open("k", IntConstant(0), DimValue(gather_.depth)));
    Expr j = Variable(nest_.Open("j", valid_, IntConstant(kPanelColumns)));
    DType dtype = nest_.kernel()->buffers[gather_.target].dtype;
    nest_.Add(Store(gather_.target, At(k, j), Constant(dtype, 0)));
    nest_.Close();
    nest_.Close();
    nest_.Close();
  }

  Expr At(const Expr& k, const Expr& j) const { return base_ + k * IntConstant(kPanelColumns) + j; }

  void Copy(const Expr& k, const Expr& j) {
    std::vector<Expr> placed = nest_.Place(std::vector<Expr>{At(k, j), gather_.element(k, column_ + j)});
    nest_.Add(Store(gather_.target, placed[0], placed[1]));
  }

  Nest& nest_;
  const PanelGather& gather_;
  Expr column_, base_, valid_;
};

}  // namespace

void InChunks(Nest& nest, const ir::Dim& count, const std::function<void(const Expr& c)>& body) {
  ir::Dim begin = 0;
  for (int64_t lanes : {16, 8, 4}) {
    if (lanes < 16 && !count.is_constant()) break;
    ir::Dim end = FloorDiv(count, lanes) * lanes;
    if (begin == end) continue;
    bool is_one = (end - begin).IsConstant(lanes);
    Expr base = is_one
                    ? DimValue(begin)
                    : Variable(nest.Open("chunk", DimValue(begin), DimValue(end), LoopKind::kSerial, lanes));
    Expr lane = Variable(nest.Open("lane", IntConstant(0), IntConstant(lanes), LoopKind::kVectorized));
    body(base + lane);
    nest.Close();
    if (!is_one) nest.Close();
    begin = end;
  }
  if (begin == count) return;
  body(Variable(nest.Open("c", DimValue(begin), DimValue(count))));
  nest.Close();
}

void GatherPanels(Nest& nest, const PanelGather& gather) { PanelGatherer(nest, gather).Run(); }

int64_t GatheredBlockRows(const ir::Dim& depth) {
  int64_t steps = depth.constant().value_or(2048);
  for (int64_t rows : {96, 48})
    if (rows * steps <= kGatheredBlockElements) return rows;
  return 24;
}

}  // namespace tvmvm::tensor
