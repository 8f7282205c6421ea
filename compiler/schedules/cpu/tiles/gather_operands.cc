#include "compiler/schedules/cpu/tiles/gather_operands.h"

#include <span>
#include <utility>

#include "compiler/schedules/cpu/tiles/transposed_tiles.h"
#include "compiler/schedules/packing.h"

namespace tvmvm::tensor {
namespace {

constexpr int64_t kGatheredBlockElements = 160 * 1024;

constexpr int64_t kSteps = 4;

// Two rounds of four steps hide the latency of loads that a serial loop would expose. `whole`: of `end` steps
// those in fours.
void UnrolledLoop(Nest& nest, const Expr& whole, const Expr& end,
                  const std::function<void(const Expr&)>& body) {
  if (!IsConstant(whole) || whole->integer != 0) {
    Expr k = Variable(nest.Open("k", IntConstant(0), whole, LoopKind::kSerial, kSteps));
    for (int64_t i = 0; i < kSteps; ++i) body(k + IntConstant(i));
    nest.Close();
  }
  if (Same(whole, end)) return;
  body(Variable(nest.Open("k", whole, end)));
  nest.Close();
}

class PanelGatherer {
 public:
  PanelGatherer(Nest& nest, const PanelGather& gather, const TargetInfo& target)
      : nest_(nest), gather_(gather), target_(target) {}

  void Run() {
    Expr width = IntConstant(kPanelColumns), columns = DimValue(gather_.columns);
    FindSteps();
    Expr panel = Variable(nest_.Open("panel", IntConstant(0), IntConstant(gather_.panels)));
    column_ = nest_.Let("column", gather_.first + panel * width);
    base_ = nest_.Let("base", gather_.base + panel * (steps_ * width));
    valid_ = nest_.Let("valid", Max(IntConstant(0), Min(width, columns - column_)));
    bool has_tail = !FloorMod(gather_.columns, gather_.panels * kPanelColumns).IsConstant(0);
    if (gather_.depth_is_contiguous) {
      CopyColumns();
    } else {
      CopyRows(has_tail);
    }
    if (has_tail) Clear();
    nest_.Close();
  }

 private:
  void FindSteps() {
    steps_ = DimValue(gather_.depth);
    whole_ = DimValue(FloorDiv(gather_.depth, kSteps) * kSteps);
    if (!gather_.part) return;
    steps_ = gather_.part->end - gather_.part->begin;
    whole_ = FloorDiv(steps_, IntConstant(kSteps)) * IntConstant(kSteps);
    if (!gather_.depth_is_contiguous) return;
    steps_ = nest_.Let("steps", steps_);
    whole_ = nest_.Let("whole", whole_);
  }

  // Columns become rows in registers, a tile of both at a time.
  void CopyColumns() {
    const VariableId k = nest_.kernel()->NewVariable("k"), j = nest_.kernel()->NewVariable("j");
    const Expr element = ElementAt(Variable(k), Variable(j)), place = At(Variable(k), Variable(j));
    if (!AreTurnable(std::span(&element, 1))) {
      Expr column = Variable(nest_.Open("j", IntConstant(0), valid_));
      UnrolledLoop(nest_, whole_, steps_, [&](const Expr& step) { Copy(step, column); });
      return nest_.Close();
    }
    const TransposedTiles tiles{j, k, kPanelColumns, gather_.depth, {element}, false, false};
    StoreTransposedTiles(nest_, tiles, {IntConstant(0), valid_, IntConstant(0), steps_, true},
                         std::span(&element, 1), std::span(&place, 1), std::span(&gather_.target, 1), {},
                         target_);
  }

  void CopyRows(bool has_tail) {
    Expr width = IntConstant(kPanelColumns);
    Expr k = Variable(nest_.Open("k", IntConstant(0), steps_));
    if (has_tail) nest_.OpenIf(Equal(valid_, width));
    Copy(k, OpenLanes());
    nest_.Close();
    if (has_tail) {
      nest_.Close();
      nest_.OpenIf(Less(valid_, width));
      const Expr lane = OpenLanes();
      nest_.OpenIf(Less(lane, valid_));
      Copy(k, lane);
      nest_.Close();
      nest_.Close();
      nest_.Close();
    }
    nest_.Close();
  }

  void Clear() {
    nest_.OpenIf(Less(valid_, IntConstant(kPanelColumns)));
    Expr k = Variable(nest_.Open("k", IntConstant(0), steps_));
    const Expr lane = OpenLanes();
    DType dtype = nest_.kernel()->buffers[gather_.target].dtype;
    nest_.OpenIf(LessEqual(valid_, lane));
    nest_.Add(Store(gather_.target, At(k, lane), Constant(dtype, 0)));
    nest_.Close();
    nest_.Close();
    nest_.Close();
    nest_.Close();
  }

  Expr OpenLanes() {
    return Variable(nest_.Open("lane", IntConstant(0), IntConstant(kPanelColumns), LoopKind::kVectorized));
  }

  Expr At(const Expr& k, const Expr& j) const { return base_ + k * IntConstant(kPanelColumns) + j; }

  Expr ElementAt(const Expr& k, const Expr& j) const {
    return gather_.element(gather_.part ? gather_.part->begin + k : k, column_ + j);
  }

  void Copy(const Expr& k, const Expr& j) {
    std::vector<Expr> placed = nest_.Place(std::vector<Expr>{At(k, j), ElementAt(k, j)});
    nest_.Add(Store(gather_.target, placed[0], placed[1]));
  }

  Nest& nest_;
  const PanelGather& gather_;
  const TargetInfo& target_;
  Expr column_, base_, valid_, steps_, whole_;
};

}  // namespace

void InChunks(Nest& nest, const ir::Dim& count, const std::function<void(const Expr& c)>& body,
              int64_t most) {
  const int64_t known = count.constant().value_or(0);
  ir::Dim begin = 0;
  for (int64_t lanes = most; lanes >= 4; lanes /= 2) {
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
    if (begin == count || known < lanes) continue;
    // The last ones once more with those before them.
    lane = Variable(nest.Open("lane", IntConstant(0), IntConstant(lanes), LoopKind::kVectorized));
    body(IntConstant(known - lanes) + lane);
    return nest.Close();
  }
  if (begin == count) return;
  body(Variable(nest.Open("c", DimValue(begin), DimValue(count))));
  nest.Close();
}

void GatherPanels(Nest& nest, const PanelGather& gather, const TargetInfo& target) {
  PanelGatherer(nest, gather, target).Run();
}

void GatherPacked(Nest& nest, const PackedGather& gather) {
  const Expr width = IntConstant(kPanelColumns), depth = DimValue(gather.depth);
  const Expr begin = gather.part ? gather.part->begin : IntConstant(0);
  const Expr steps = gather.part ? nest.Let("steps", gather.part->end - begin) : depth;
  const Expr whole = gather.part
                         ? nest.Let("whole", FloorDiv(steps, IntConstant(kSteps)) * IntConstant(kSteps))
                         : DimValue(FloorDiv(gather.depth, kSteps) * kSteps);
  Expr panel = Variable(nest.Open("panel", IntConstant(0), IntConstant(gather.panels)));
  Expr from = nest.Let("from", ((gather.first + panel) * depth + begin) * width);
  Expr to = nest.Let("to", panel * steps * width);
  const DType dtype = nest.kernel()->buffers[gather.target].dtype;
  UnrolledLoop(nest, whole, steps, [&](const Expr& k) {
    Expr lane = Variable(nest.Open("lane", IntConstant(0), width, LoopKind::kVectorized));
    const Expr at = k * width + lane;
    nest.Add(Store(gather.target, to + at, Cast(dtype, Load(gather.buffer, gather.dtype, from + at))));
    nest.Close();
  });
  nest.Close();
}

int64_t GatheredBlockRows(const ir::Dim& depth) {
  int64_t steps = depth.constant().value_or(2048);
  for (int64_t rows : {96, 48})
    if (rows * steps <= kGatheredBlockElements) return rows;
  return 24;
}

}  // namespace tvmvm::tensor
