// topk of few elements: one row at a grid point. The first elements so far stand in order, some to begin with
// because it is counted what comes before each; whole vectors of the row whose elements all come behind the
// last of them are passed over, others make room for themselves: place n gets the new element where it
// belongs there, else what stood in n or, behind it, in n - 1.
#include "compiler/graph/core/procedural/topk_loops.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::Expr;
using tensor::ForLanes;
using tensor::IntConstant;
using tensor::Lanes;
using tensor::Load;
using tensor::Memory;
using tensor::Store;
using tensor::Variable;

constexpr int kTogether = 4;  // vectors that are looked at together
// Elements that are put in order to begin with, at least as many as are wanted: so many times those, at most
// kMostInOrder.
constexpr int64_t kToBegin = 4;

class ShortLoops {
 public:
  ShortLoops(LoopContext& context, const TopKPlan& plan)
      : context_(context),
        plan_(plan),
        type_(context.input_type(0)),
        key_(type_.dtype, context.node().Int("largest", 1) != 0),
        number_(key_.signed_type()),
        room_(context.target().vector_bits / key_.bits()),
        width_(IsSubByte(type_.dtype) ? 1 : room_),
        half_(kMostInOrder + 2 * room_),
        nest_(&context.kernel()) {}

  tensor::StmtPtr Build() {
    size_ = DimValue(plan_.split.size);
    row_ = TopKRow::OfGrid(nest_, plan_);
    Allocate();
    Expr begin = Start();
    for (int count : {kTogether * width_, width_, 1}) {
      if (count == 1 || width_ > 1) begin = Scan(begin, count);
    }
    FoundRow found{positions_, number_, Get(base_), 1, row_};
    found.first = nest_.Let("found_at", found.first);
    StoreFound(context_, nest_, plan_, key_, found);
    return nest_.Finish();
  }

 private:
  // Places are twice there, one row to read and one to write. Before the first place stands the least key.
  void Allocate() {
    keys_ = nest_.Local("keys", number_, Memory::kLocal, 2 * half_);
    positions_ = nest_.Local("positions", number_, Memory::kLocal, 2 * half_);
    base_ = nest_.Local("base", DType::kI64, Memory::kLocal, 1);
    last_ = nest_.Local("last", number_, Memory::kLocal, 1);
    Expr used = DimValue(CeilDiv(plan_.count, Dim(room_)) * Dim(room_) + Dim(room_));
    Expr at = Variable(nest_.Open("place", IntConstant(0), used, tensor::LoopKind::kSerial, room_));
    Lanes lanes = Lanes::Make(nest_.kernel(), room_, 1);
    ForLanes(nest_, lanes, [&] {
      for (int64_t half : {int64_t{0}, half_}) {
        const Expr place = at + IntConstant(half) + lanes.Number();
        nest_.Add(Store(keys_, place, key_.Most()));
        nest_.Add(Store(positions_, place, IntConstant(-1, number_)));
      }
    });
    nest_.Close();
    for (int64_t half : {int64_t{0}, half_})
      nest_.Add(Store(keys_, IntConstant(half + room_ - 1), key_.Least()));
    Set(base_, IntConstant(room_));
    Set(last_, key_.Most());
  }

  // Puts the row's first elements in order; where they end.
  Expr Start() {
    Expr end = nest_.Let(
        "begun", DimValue(Min(plan_.split.size, Min(plan_.count * Dim(kToBegin), Dim(kMostInOrder)))));
    uint32_t keys = nest_.Local("first_keys", number_, Memory::kLocal, kMostInOrder + room_);
    // What fills the last vector is compared, to no end.
    const Expr tail = nest_.Let("tail", FloorDiv(end, IntConstant(room_)) * IntConstant(room_));
    Lanes filled = Lanes::Make(nest_.kernel(), room_, 1);
    ForLanes(nest_, filled, [&] { nest_.Add(Store(keys, tail + filled.Number(), key_.Most())); });
    tensor::ForVectors(nest_, "at", IntConstant(0), end, width_, 1, [&](const Expr& at, const Lanes& lanes) {
      const Expr key = KeyAt(at);
      ForLanes(nest_, lanes, [&] { nest_.Add(Store(keys, at, nest_.Place(key))); });
    });
    CountBefore(nest_, {keys, number_, end, room_}, [&](const Expr& position, const Expr& rank) {
      nest_.OpenIf(Less(rank, tensor::Cast(number_, DimValue(plan_.count))));
      const Expr place = IntConstant(room_) + PlaceOf(rank, Dim(kMostInOrder));
      nest_.Add(Store(keys_, place, Load(keys, number_, position)));
      nest_.Add(Store(positions_, place, tensor::Cast(number_, position)));
      nest_.Close();
    });
    Set(last_, Load(keys_, number_, IntConstant(room_ - 1) + DimValue(plan_.count)));
    return end;
  }

  Expr Get(uint32_t number) const { return Load(number, nest_type(number), IntConstant(0)); }
  DType nest_type(uint32_t number) const { return number == base_ ? DType::kI64 : number_; }
  void Set(uint32_t number, const Expr& value) { nest_.Add(Store(number, IntConstant(0), value)); }

  Expr KeyAt(const Expr& position) { return key_.SignedOf(row_.Element(context_, plan_, position)); }

  Expr AnyBefore(const Expr& first, int count) {
    Expr last = nest_.Let("last", Get(last_));
    const auto is_before = [&](const Expr& lane) { return Less(KeyAt(first + lane), last); };
    return AnyLane(nest_, count, width_, is_before, /*gathers=*/true);
  }

  // As many steps of `count` elements as there are; where they end.
  Expr Scan(const Expr& begin, int count) {
    Expr end = WholeSteps(nest_, {begin, size_}, count);
    Expr first = Variable(nest_.Open("first", begin, end, tensor::LoopKind::kSerial, count));
    Look(first, count);
    nest_.Close();
    return end;
  }

  // Looks at fewer at a time where something comes before the last.
  void Look(const Expr& first, int count) {
    if (count == 1) return TakeIn(nest_.Let("key", KeyAt(first)), first);
    nest_.OpenIf(AnyBefore(first, count));
    if (count > width_) {
      Look(
          Variable(nest_.Open("first", first, first + IntConstant(count), tensor::LoopKind::kSerial, width_)),
          width_);
    } else {
      uint32_t found = nest_.Local("found_keys", number_, Memory::kLocal, width_);
      Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
      const Expr key = KeyAt(first + lanes.Number());
      ForLanes(nest_, lanes, [&] { nest_.Add(Store(found, lanes.Number(), nest_.Place(key))); });
      Expr lane = Variable(nest_.Open("lane", IntConstant(0), IntConstant(width_)));
      TakeIn(nest_.LetVariable("key", Load(found, number_, lane)), first + lane);
    }
    nest_.Close();
    nest_.Close();
  }

  void TakeIn(const Expr& key, const Expr& position) {
    nest_.OpenIf(Less(key, Get(last_)));
    Expr from = nest_.Let("from", Get(base_));
    const Expr lower = IntConstant(room_), upper = IntConstant(half_ + room_);
    Expr to = nest_.Let("to", Select(Equal(from, lower), upper, lower));
    Expr number = nest_.Let("number", tensor::Cast(number_, position));
    Expr place = Variable(
        nest_.Open("place", IntConstant(0), DimValue(plan_.count), tensor::LoopKind::kSerial, room_));
    Lanes lanes = Lanes::Make(nest_.kernel(), room_, 1);
    ForLanes(nest_, lanes, [&] {
      const Expr at = from + place + lanes.Number();
      Expr here = nest_.Let("here", Load(keys_, number_, at));
      Expr ahead = nest_.Let("ahead", Load(keys_, number_, at - IntConstant(1)));
      Expr moved = Select(Less(key, ahead), Load(positions_, number_, at - IntConstant(1)), number);
      Expr target = to + place + lanes.Number();
      nest_.Add(Store(keys_, target, Max(ahead, Min(here, key))));
      nest_.Add(Store(positions_, target, Select(Less(key, here), moved, Load(positions_, number_, at))));
    });
    nest_.Close();
    Set(base_, to);
    Set(last_, Load(keys_, number_, to + DimValue(plan_.count - 1)));
    nest_.Close();
  }

  LoopContext& context_;
  const TopKPlan& plan_;
  const Type& type_;
  SortKey key_;
  DType number_;  // of keys and positions
  int room_;      // places are moved so many at a time
  int width_;     // elements are looked at so many at a time
  int64_t half_;
  tensor::Nest nest_;
  Expr size_;
  TopKRow row_;
  uint32_t keys_ = 0, positions_ = 0;
  uint32_t base_ = 0, last_ = 0;  // where the first place is, and the last key in order
};

}  // namespace

tensor::StmtPtr TopKShortLoops(LoopContext& context, const TopKPlan& plan) {
  return ShortLoops(context, plan).Build();
}

}  // namespace tvmvm::ir
