// topk of many rows, a lane of a vector each. Either lanes keep the first elements of their rows in order,
// and take in the elements of all of them step by step, or count for each element how many come before it.
// Where the axis is the last one, tiles are turned for that; where few rows lie side by side, elements are
// gathered.
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

// What both ways share: which rows the lanes are, their elements, their results.
class RowsInLanes {
 protected:
  RowsInLanes(LoopContext& context, const TopKPlan& plan, RowLayout layout)
      : context_(context),
        plan_(plan),
        layout_(layout),
        type_(context.input_type(0)),
        key_(type_.dtype, context.node().Int("largest", 1) != 0),
        number_(key_.signed_type()),
        width_(context.target().vector_bits / key_.bits()),
        has_masks_(DTypeBits(type_.dtype) >= 32 || context.target().vector_bits >= 512),
        size_(DimValue(plan.split.size)),
        inner_(DimValue(plan.split.inner)),
        k_(DimValue(plan.count)),
        nest_(&context.kernel()) {}

  // Opens the loop over vectors of rows.
  void OpenRows() {
    const AxisSplit& split = plan_.split;
    const bool is_beside = layout_ == RowLayout::kBeside;
    const Dim along = is_beside ? split.inner : split.outer * split.inner, block(RowsBeside(key_));
    const tensor::Range rows = tensor::BlocksOf(nest_, "row", along, block);
    end_ = rows.end;
    outer_ = is_beside ? Variable(nest_.Grid(1, "outer", split.outer)) : IntConstant(0);
    first_ = Variable(nest_.Open("first", rows.begin, end_, tensor::LoopKind::kSerial, width_));
    last_ = nest_.Let("last", end_ - IntConstant(1));
    if (layout_ == RowLayout::kScattered) LocateRows();
  }

  Expr KeyAt(const Expr& place) { return key_.SignedOf(context_.Load(0, FlatPosition(type_, place))); }

  // The elements at `position` of all rows; behind the last row there may be anything.
  uint32_t ReadColumn(const Expr& position) {
    uint32_t read = nest_.Local("column", type_.dtype, Memory::kRegisters, width_);
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    const bool is_masked = layout_ == RowLayout::kBeside && has_masks_;
    if (is_masked) lanes.guard = Less(first_ + lanes.Number(), inner_);
    const Expr place = PlaceInRow(lanes.Number(), position, is_masked);
    const Expr element = Guarded(context_.Load(0, FlatPosition(type_, place)), lanes);
    ForLanes(nest_, lanes, [&] { nest_.Add(Store(read, lanes.Number(), nest_.Place(element))); });
    return read;
  }
  uint32_t KeysOf(uint32_t elements) {
    uint32_t keys = nest_.Local("column_keys", number_, Memory::kRegisters, width_);
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    ForLanes(nest_, lanes, [&] {
      nest_.Add(Store(keys, lanes.Number(), key_.SignedOf(Load(elements, type_.dtype, lanes.Number()))));
    });
    return keys;
  }

  // The results of rows whose positions in order are in `found`, a vector for each. `values`: of the first
  // ones, where those are known.
  void StoreRows(uint32_t found, std::optional<uint32_t> values = std::nullopt) {
    Expr n = Variable(nest_.Open("n", IntConstant(0), k_));
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    ForLanes(nest_, lanes, [&] {
      const Expr lane = lanes.Number();
      Expr position =
          nest_.Let("found", PlaceOf(Load(found, number_, n * IntConstant(width_) + lane), plan_.split.size));
      const Expr at = PlaceInRow(lane, position, /*is_masked=*/false);
      Expr value = nest_.Let(
          "value", values ? Load(*values, type_.dtype, lane) : context_.Load(0, FlatPosition(type_, at)));
      nest_.OpenIf(LessEqual(first_ + lane, last_));
      const Expr target = TargetOf(lane, n);
      StoreResult(context_, nest_, target, value, position);
      nest_.Close();
    });
    nest_.Close();
  }

  // The same for rows of which not all is found.
  void StoreRowByRow(uint32_t found) {
    Expr lane = Variable(nest_.Open("row", IntConstant(0), Min(end_ - first_, IntConstant(width_))));
    const Expr row = first_ + lane, inner = DimValue(Max(plan_.split.inner, 1));
    FoundRow its{found, number_, lane, width_, {outer_, row}};
    if (layout_ == RowLayout::kLast) its.row = {row, IntConstant(0)};
    if (layout_ == RowLayout::kScattered)
      its.row = {nest_.Let("outer", FloorDiv(row, inner)), nest_.Let("column", FloorMod(row, inner))};
    StoreFound(context_, nest_, plan_, key_, its);
    nest_.Close();
  }

  LoopContext& context_;
  const TopKPlan& plan_;
  const RowLayout layout_;
  const Type& type_;
  SortKey key_;
  DType number_;  // of keys and positions
  int width_;
  bool has_masks_;
  Expr size_, inner_, k_;
  tensor::Nest nest_;
  Expr end_, outer_, first_, last_;

 private:
  // Where the rows begin, and their results: found once for all of their elements.
  void LocateRows() {
    begins_ = nest_.Local("begins", DType::kI64, Memory::kRegisters, width_);
    targets_ = nest_.Local("targets", DType::kI64, Memory::kRegisters, width_);
    const Expr inner = DimValue(Max(plan_.split.inner, 1));
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    ForLanes(nest_, lanes, [&] {
      Expr row = nest_.Let("row", Min(first_ + lanes.Number(), last_));
      Expr outer = nest_.Let("outer", FloorDiv(row, inner));
      Expr column = nest_.Let("column", row - outer * inner);
      nest_.Add(Store(begins_, lanes.Number(), outer * (size_ * inner_) + column));
      nest_.Add(Store(targets_, lanes.Number(), outer * (k_ * inner_) + column));
    });
  }

  // Of the element at `position` of the row in a lane. Without a mask, rows behind the last one are the last
  // one.
  Expr PlaceInRow(const Expr& lane, const Expr& position, bool is_masked) const {
    const AxisSplit& split = plan_.split;
    if (layout_ == RowLayout::kScattered)
      return PlaceOf(Load(begins_, DType::kI64, lane) + position * inner_,
                     split.outer * split.size * split.inner);
    const Expr row = is_masked ? first_ + lane : Min(first_ + lane, last_);
    return layout_ == RowLayout::kLast ? row * size_ + position : (outer_ * size_ + position) * inner_ + row;
  }

  Expr TargetOf(const Expr& lane, const Expr& n) const {
    const AxisSplit& split = plan_.split;
    const Expr row = first_ + lane;
    if (layout_ == RowLayout::kBeside) return (outer_ * k_ + n) * inner_ + row;
    if (TopKCount(context_.node()).IsConstant(1)) return row;  // side by side
    if (layout_ == RowLayout::kLast) return row * k_ + n;
    return PlaceOf(Load(targets_, DType::kI64, lane) + n * inner_, split.outer * plan_.count * split.inner);
  }

  uint32_t begins_ = 0, targets_ = 0;  // of kScattered
};

// The first elements in order, `levels_` of them.
class BesideLoops : RowsInLanes {
 public:
  BesideLoops(LoopContext& context, const TopKPlan& plan, RowLayout layout)
      : RowsInLanes(context, plan, layout), levels_(TopKCount(context.node()).value()) {}

  tensor::StmtPtr Build() {
    OpenRows();
    keys_ = nest_.Local("keys", number_, Memory::kRegisters, levels_ * width_);
    positions_ = nest_.Local("positions", number_, Memory::kRegisters, levels_ * width_);
    Lanes all = Lanes::Make(nest_.kernel(), width_, static_cast<int>(levels_));
    ForLanes(nest_, all, [&] {
      nest_.Add(Store(keys_, all.Number(), key_.Most()));
      nest_.Add(Store(positions_, all.Number(), IntConstant(-1, number_)));
    });
    const bool keeps_values = levels_ == 1 && layout_ != RowLayout::kLast;
    if (keeps_values) values_ = nest_.Local("values", type_.dtype, Memory::kRegisters, width_);
    layout_ == RowLayout::kLast ? TakeTiles() : TakeColumns();
    uint32_t found = nest_.Local("found", number_, Memory::kLocal, levels_ * width_);
    ForLanes(nest_, all,
             [&] { nest_.Add(Store(found, all.Number(), Load(positions_, number_, all.Number()))); });
    StoreFirst(found);
    nest_.Close();
    return nest_.Finish();
  }

 private:
  // All rows together where all is found and results of theirs are neighbours, or none are.
  void StoreFirst(uint32_t found) {
    if (layout_ == RowLayout::kLast && levels_ > 1) return StoreRowByRow(found);
    Expr lacks = nest_.Let("lacks", AnyLane(nest_, width_, width_, [&](const Expr& lane) {
                             return Less(Load(positions_, number_, LevelAt(levels_ - 1) + lane),
                                         IntConstant(0, number_));
                           }));
    nest_.OpenIf(lacks);
    StoreRowByRow(found);
    nest_.Close();
    nest_.OpenIf(Unary(ExprOp::kNot, lacks));
    StoreRows(found, values_);
    nest_.Close();
  }

  // Rows are contiguous: tiles of as many elements as of rows. Rows behind the last one are the last one.
  void TakeTiles() {
    Expr begin = Variable(nest_.Open("begin", IntConstant(0), size_, tensor::LoopKind::kSerial, width_));
    uint32_t read = nest_.Local("tile", number_, Memory::kRegisters, width_ * width_);
    uint32_t turned = nest_.Local("turned", number_, Memory::kRegisters, width_ * width_);
    uint32_t columns = nest_.Local("columns", number_, Memory::kLocal, width_ * width_);
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, width_);
    Expr row = Min(first_ + Variable(lanes.unroll_variable), DimValue(plan_.split.outer - 1));
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

  void TakeColumns() {
    Expr position = Variable(nest_.Open("position", IntConstant(0), size_));
    const uint32_t read = ReadColumn(position), keys = KeysOf(read);
    Take(
        position, [&](const Expr& lane) { return Load(keys, number_, lane); },
        [&](const Expr& lane) { return Load(read, type_.dtype, lane); });
    nest_.Close();
  }

  // One more element of each row: it stands where it belongs, and whatever comes behind it moves on by one.
  void Take(const Expr& position, const std::function<Expr(const Expr&)>& key_of,
            const std::function<Expr(const Expr&)>& value_of = {}) {
    const bool asks = levels_ > kFewLevels;
    if (asks)
      nest_.OpenIf(AnyLane(nest_, width_, width_, [&](const Expr& lane) {
        return Less(key_of(lane), Load(keys_, number_, LevelAt(levels_ - 1) + lane));
      }));
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
        if (values_)
          nest_.Add(Store(
              *values_, lanes.Number(),
              Select(is_before, value_of(lanes.Number()), Load(*values_, type_.dtype, lanes.Number()))));
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

  int64_t levels_;
  uint32_t keys_ = 0, positions_ = 0;
  std::optional<uint32_t> values_;  // the elements themselves, of one level
};

// Short rows side by side, of any number of elements in order.
class CountingLoops : RowsInLanes {
 public:
  CountingLoops(LoopContext& context, const TopKPlan& plan)
      : RowsInLanes(context, plan, RowLayout::kBeside) {}

  tensor::StmtPtr Build() {
    OpenRows();
    const int64_t room = MostCounted(key_, RowLayout::kBeside) * width_;
    keys_ = nest_.Local("keys", number_, Memory::kLocal, room);
    found_ = nest_.Local("found", number_, Memory::kLocal, room);
    Expr read_position = Variable(nest_.Open("position", IntConstant(0), size_));
    const uint32_t read = KeysOf(ReadColumn(read_position));
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    ForLanes(nest_, lanes, [&] {
      nest_.Add(Store(keys_, read_position * IntConstant(width_) + lanes.Number(),
                      Load(read, number_, lanes.Number())));
    });
    nest_.Close();
    Expr position = Variable(nest_.Open("position", IntConstant(0), size_));
    Place(position);
    nest_.Close();
    StoreRows(found_);
    nest_.Close();
    return nest_.Finish();
  }

 private:
  Expr KeyOf(const Expr& position, const Expr& lane) const {
    return Load(keys_, number_, position * IntConstant(width_) + lane);
  }

  // Notes the element of each row where it belongs, if that is among the first ones.
  void Place(const Expr& position) {
    uint32_t own = nest_.Local("own", number_, Memory::kRegisters, width_);
    uint32_t before = nest_.Local("before", number_, Memory::kRegisters, width_);
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    const Expr lane = lanes.Number();
    ForLanes(nest_, lanes, [&] {
      nest_.Add(Store(own, lane, KeyOf(position, lane)));
      nest_.Add(Store(before, lane, IntConstant(0, number_)));
    });
    auto count = [&](const Expr& begin, const Expr& end, bool is_earlier) {
      Expr other = Variable(nest_.Open("other", begin, end));
      ForLanes(nest_, lanes, [&] {
        const Expr key = KeyOf(other, lane), its = Load(own, number_, lane);
        const Expr sum = Load(before, number_, lane);
        nest_.Add(Store(
            before, lane,
            Select(is_earlier ? LessEqual(key, its) : Less(key, its), sum + IntConstant(1, number_), sum)));
      });
      nest_.Close();
    };
    count(IntConstant(0), position, true);
    count(position + IntConstant(1), size_, false);
    uint32_t ranks = nest_.Local("ranks", number_, Memory::kLocal, width_);
    ForLanes(nest_, lanes, [&] { nest_.Add(Store(ranks, lane, Load(before, number_, lane))); });
    Expr row = Variable(nest_.Open("row", IntConstant(0), IntConstant(width_)));
    Expr rank = nest_.LetVariable("rank", Load(ranks, number_, row));
    nest_.OpenIf(Less(rank, tensor::Cast(number_, k_)));
    nest_.Add(Store(found_, PlaceOf(rank, plan_.count) * IntConstant(width_) + row,
                    tensor::Cast(number_, position)));
    nest_.Close();
    nest_.Close();
  }

  uint32_t keys_ = 0, found_ = 0;
};

}  // namespace

tensor::StmtPtr TopKBesideLoops(LoopContext& context, const TopKPlan& plan, RowLayout layout) {
  return BesideLoops(context, plan, layout).Build();
}

tensor::StmtPtr TopKCountingBesideLoops(LoopContext& context, const TopKPlan& plan) {
  return CountingLoops(context, plan).Build();
}

}  // namespace tvmvm::ir
