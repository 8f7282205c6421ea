// topk of many rows: vectors whose lanes are rows keep the first elements of each in order, and take in the
// elements of all of them step by step. Where the axis is the last one, tiles are turned for that.
#include "compiler/graph/core/procedural/topk_loops.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::Expr;
using tensor::ExprOp;
using tensor::ForLanes;
using tensor::IntConstant;
using tensor::Lanes;
using tensor::Load;
using tensor::Memory;
using tensor::Store;
using tensor::Variable;

constexpr int64_t kFewLevels = 4;  // go without asking whether any lane has something to take in

class BesideLoops {
 public:
  BesideLoops(LoopContext& context, const TopKPlan& plan)
      : context_(context),
        plan_(plan),
        type_(context.input_type(0)),
        key_(type_.dtype, context.node().Int("largest", 1) != 0),
        number_(key_.signed_type()),
        k_(plan.count),
        levels_(TopKCount(context.node()).value()),
        width_(context.target().vector_bits / key_.bits()),
        has_masks_(DTypeBits(type_.dtype) >= 32 || context.target().vector_bits >= 512),
        size_(DimValue(plan.split.size)),
        inner_(DimValue(plan.split.inner)),
        nest_(&context.kernel()) {}

  tensor::StmtPtr Build() {
    const bool is_last = plan_.split.inner.IsConstant(1);
    const Dim &along = is_last ? plan_.split.outer : plan_.split.inner, block(RowsBeside(key_));
    Expr begin =
        nest_.Let("begin", Variable(nest_.Grid(0, "block", CeilDiv(along, block))) * DimValue(block));
    Expr end = nest_.Let("end", Min(begin + DimValue(block), DimValue(along)));
    Expr outer = is_last ? IntConstant(0) : Variable(nest_.Grid(1, "outer", plan_.split.outer));
    Expr first = Variable(nest_.Open("first", begin, end, tensor::LoopKind::kSerial, width_));
    keys_ = nest_.Local("keys", number_, Memory::kRegisters, levels_ * width_);
    positions_ = nest_.Local("positions", number_, Memory::kRegisters, levels_ * width_);
    Lanes all = Lanes::Make(nest_.kernel(), width_, static_cast<int>(levels_));
    ForLanes(nest_, all, [&] {
      nest_.Add(Store(keys_, all.Number(), key_.Most()));
      nest_.Add(Store(positions_, all.Number(), IntConstant(-1, number_)));
    });
    is_last ? TakeRows(first) : TakeColumns(outer, first);
    found_ = nest_.Local("found", number_, Memory::kLocal, levels_ * width_);
    ForLanes(nest_, all,
             [&] { nest_.Add(Store(found_, all.Number(), Load(positions_, number_, all.Number()))); });
    Expr lane = Variable(nest_.Open("row", IntConstant(0), Min(end - first, IntConstant(width_))));
    FoundRow row{found_, number_, lane, width_, outer, first + lane};
    if (is_last) row.outer = first + lane, row.column = IntConstant(0);
    StoreFound(context_, nest_, plan_, key_, row);
    nest_.Close();
    nest_.Close();
    return nest_.Finish();
  }

 private:
  Expr KeyAt(const Expr& place) { return key_.SignedOf(context_.Load(0, FlatPosition(type_, place))); }

  // Rows are contiguous: tiles of as many elements as of rows. Rows behind the last one are the last one.
  void TakeRows(const Expr& first) {
    Expr begin = Variable(nest_.Open("begin", IntConstant(0), size_, tensor::LoopKind::kSerial, width_));
    uint32_t read = nest_.Local("tile", number_, Memory::kRegisters, width_ * width_);
    uint32_t turned = nest_.Local("turned", number_, Memory::kRegisters, width_ * width_);
    uint32_t columns = nest_.Local("columns", number_, Memory::kLocal, width_ * width_);
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, width_);
    Expr row = Min(first + Variable(lanes.unroll_variable), DimValue(plan_.split.outer - 1));
    Expr position = begin + Variable(lanes.lane_variable);
    if (has_masks_) lanes.guard = Less(position, size_);
    if (!has_masks_) position = Min(position, size_ - IntConstant(1));
    const Expr key = Guarded(KeyAt(row * size_ + position), lanes);
    ForLanes(nest_, lanes, [&] { nest_.Add(Store(read, lanes.Number(), nest_.Place(key))); });
    nest_.Add(tensor::Transpose(turned, read, width_, width_));
    ForLanes(nest_, lanes,
             [&] { nest_.Add(Store(columns, lanes.Number(), Load(turned, number_, lanes.Number()))); });
    Expr step = Variable(nest_.Open("step", IntConstant(0), Min(size_ - begin, IntConstant(width_))));
    Take(begin + step,
         [&](const Expr& lane) { return Load(columns, number_, step * IntConstant(width_) + lane); });
    nest_.Close();
    nest_.Close();
  }

  // Rows lie side by side.
  void TakeColumns(const Expr& outer, const Expr& first) {
    Expr position = Variable(nest_.Open("position", IntConstant(0), size_));
    uint32_t read = nest_.Local("column", number_, Memory::kRegisters, width_);
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    Expr column = first + lanes.Number();
    if (has_masks_) lanes.guard = Less(column, inner_);
    if (!has_masks_) column = Min(column, inner_ - IntConstant(1));
    const Expr key = Guarded(KeyAt((outer * size_ + position) * inner_ + column), lanes);
    ForLanes(nest_, lanes, [&] { nest_.Add(Store(read, lanes.Number(), nest_.Place(key))); });
    Take(position, [&](const Expr& lane) { return Load(read, number_, lane); });
    nest_.Close();
  }

  // One more element of each row: it stands where it belongs, and whatever comes behind it moves on by one.
  void Take(const Expr& position, const std::function<Expr(const Expr&)>& key_of) {
    const bool asks = levels_ > kFewLevels;
    if (asks) {
      tensor::Reduction any{.kind = tensor::ReduceKind::kOr, .accumulator = DType::kBool};
      any.axes = {nest_.kernel()->NewVariable("lane")};
      any.extents = {IntConstant(width_)};
      const Expr lane = Variable(any.axes[0]);
      Expr is_before = Less(key_of(lane), Load(keys_, number_, LevelAt(levels_ - 1) + lane));
      tensor::ReductionLowering reductions(&nest_, width_);
      nest_.OpenIf(reductions.Lower(Reduce(std::move(any), is_before, DType::kBool), {}));
    }
    Expr place = nest_.Let("place", tensor::Cast(number_, position));
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    ForLanes(nest_, lanes, [&] {
      const Expr key = nest_.Let("key", key_of(lanes.Number()));
      Expr ahead, position_ahead, is_before_ahead;
      for (int64_t level = 0; level < levels_; ++level) {
        const Expr at = LevelAt(level) + lanes.Number();
        Expr here = nest_.Let("here", Load(keys_, number_, at));
        Expr position_here = nest_.Let("position_here", Load(positions_, number_, at));
        Expr is_before = nest_.Let("is_before", Less(key, here));
        Expr taken = Min(key, here), moved = place;
        if (level > 0) {
          taken = Max(ahead, taken);
          moved = Select(is_before_ahead, position_ahead, place);
        }
        nest_.Add(Store(keys_, at, taken));
        nest_.Add(Store(positions_, at, Select(is_before, moved, position_here)));
        ahead = here, position_ahead = position_here, is_before_ahead = is_before;
      }
    });
    if (asks) nest_.Close();
  }
  Expr LevelAt(int64_t level) const { return IntConstant(level * width_); }

  LoopContext& context_;
  const TopKPlan& plan_;
  const Type& type_;
  SortKey key_;
  DType number_;  // of keys and positions
  Dim k_;
  int64_t levels_;
  int width_;
  bool has_masks_;
  Expr size_, inner_;
  tensor::Nest nest_;
  uint32_t keys_ = 0, positions_ = 0, found_ = 0;
};

}  // namespace

tensor::StmtPtr TopKBesideLoops(LoopContext& context, const TopKPlan& plan) {
  return BesideLoops(context, plan).Build();
}

}  // namespace tvmvm::ir
