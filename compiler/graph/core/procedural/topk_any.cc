// topk of any number of elements, one row at a grid point. Candidates are collected in a buffer of twice k
// and some more. When it is full, the key of the last one wanted is found, bit by bit, from how many are
// less. What comes behind it goes, and from then on whatever does not come before it is passed over, whole
// vectors at a time. In the end few are put in order by counting, others by digits from the last (radix
// sort). All of this keeps equal ones in order.
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

constexpr int64_t kChunk = 256;  // elements that are looked at before the candidates are
// Of long rows so many groups for each element wanted say beforehand what few elements come before; rows of
// so many elements for each one are long.
constexpr int64_t kGroups = 3, kLongRow = 16;
constexpr int64_t kDigitBits = 8;  // of a key, sorted by at once

// How many candidates make it worth while to choose from them.
Dim Capacity(const TopKPlan& plan) { return Min(plan.split.size, plan.count * 2 + Dim(2 * kChunk)); }

class AnyLoops {
 public:
  AnyLoops(LoopContext& context, const TopKPlan& plan)
      : context_(context),
        plan_(plan),
        type_(context.input_type(0)),
        key_(type_.dtype, context.node().Int("largest", 1) != 0),
        number_(key_.signed_type()),
        width_(IsSubByte(type_.dtype) || IsGpu(context.target())
                   ? 1
                   : context.target().vector_bits / key_.bits()),
        most_counted_(MostCounted(key_, RowLayout::kLast)),
        room_(Capacity(plan) + Dim(kChunk)),
        nest_(&context.kernel()) {}

  tensor::StmtPtr Build() {
    const AxisSplit& split = plan_.split;
    size_ = DimValue(split.size), k_ = DimValue(plan_.count);
    row_ = TopKRow::OfGrid(nest_, plan_);
    AllocateBuffers();
    if (width_ > 1) When(LessEqual(DimValue(plan_.count * Dim(kLongRow)), size_), [&] { BoundByGroups(); });
    Expr chunks = DimValue(Select(Equal(plan_.count, 0), 0, CeilDiv(split.size, Dim(kChunk))));
    Expr chunk = Variable(nest_.Open("chunk", Zero(), chunks));
    Expr begin = nest_.Let("begin", chunk * IntConstant(kChunk));
    Expr end = nest_.Let("end", Min(begin + IntConstant(kChunk), size_));
    Expr is_open = nest_.Let("is_open", Equal(Get(is_closed_), Zero()));
    When(is_open, [&] { CollectAll(begin, end); });
    When(Not(is_open), [&] { CollectBefore(begin, end); });
    Expr is_full = Or(LessEqual(size_, end), Less(DimValue(Capacity(plan_)), Get(count_)));
    When(And(is_full, Less(k_, Get(count_))), [&] { Choose(); });
    nest_.Close();
    Expr is_counted = LessEqual(k_, IntConstant(most_counted_));
    When(is_counted, [&] { StoreCounted(); });
    When(Not(is_counted), [&] { StoreSorted(); });
    return nest_.Finish();
  }

 private:
  static Expr Zero() { return IntConstant(0); }
  static Expr One() { return IntConstant(1); }
  static Expr Not(const Expr& a) { return Unary(ExprOp::kNot, a); }
  void When(const Expr& condition, const std::function<void()>& build) {
    nest_.OpenIf(condition);
    build();
    nest_.Close();
  }

  // --- state of a row: numbers ---
  uint32_t Number(const char* name, DType type, const Expr& value) {
    uint32_t number = nest_.Local(name, type, Memory::kRegisters, 1);
    Set(number, value);
    return number;
  }
  Expr Get(uint32_t number, DType type = DType::kI64) const { return Load(number, type, Zero()); }
  void Set(uint32_t number, const Expr& value) { nest_.Add(Store(number, Zero(), value)); }

  // Of keys and positions, behind the candidates as many as are wanted: passes of the sort go to and fro.
  void AllocateBuffers() {
    tensor::LoopKernel& kernel = context_.kernel();
    const Dim places = room_ + plan_.count + Dim(RowsBeside(key_));
    const Dim key_bytes = CeilDiv(places * Dim(key_.bits() / 8), 64) * 64;
    kernel.scratch_bytes = key_bytes + CeilDiv(places * 8, 64) * 64;
    keys_ = kernel.AddLocal("keys", number_, Memory::kScratch, 0, Zero());
    positions_ = kernel.AddLocal("positions", DType::kI64, Memory::kScratch, 0, DimValue(key_bytes));
    for (uint32_t buffer : {keys_, positions_}) nest_.Add(tensor::Allocate(buffer));
    count_ = Number("count", DType::kI64, Zero());
    is_closed_ = Number("is_closed", DType::kI64, Zero());
    last_ = Number("last", number_, IntConstant(0, number_));
    bound_ = Number("bound", key_.type(), IntConstant(0, key_.type()));
    less_ = Number("less", DType::kI64, Zero());
  }

  Expr ElementAt(const Expr& position) { return row_.Element(context_, plan_, position); }
  Expr SignedKeyAt(const Expr& position) { return key_.SignedOf(ElementAt(position)); }
  Expr KeyAt(const Expr& place) const { return Load(keys_, number_, place); }
  Expr PositionAt(const Expr& place) const { return Load(positions_, DType::kI64, place); }
  void Put(const Expr& place, const Expr& key, const Expr& position) {
    nest_.Add(Store(keys_, place, key));
    nest_.Add(Store(positions_, place, position));
  }
  // Where the next candidate goes: there is room for a chunk more than are held.
  Expr NextPlace() const { return PlaceOf(Get(count_), Capacity(plan_) + Dim(1)); }

  // --- long rows ---
  // The first elements of k groups are k elements, so that the first k come up to the last of those.
  void BoundByGroups() {
    const Dim width(RowsBeside(key_)), count = CeilDiv(plan_.count * Dim(kGroups), width) * width;
    const Expr groups = nest_.Let("groups", DimValue(Max(count, width)));
    Expr parts = nest_.Let("parts", FloorDiv(size_, groups));
    Expr part = Variable(nest_.Open("part", Zero(), parts));
    Expr group = Variable(nest_.Open("group", Zero(), groups, tensor::LoopKind::kSerial, width_));
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    const Expr at = group + lanes.Number();
    const Expr key = SignedKeyAt(part * groups + at);
    ForLanes(nest_, lanes, [&] {
      const Expr before = Select(Equal(part, Zero()), key_.Most(), KeyAt(at));
      nest_.Add(Store(keys_, at, Min(before, nest_.Place(key))));
    });
    nest_.Close();
    nest_.Close();
    FindBound(groups);
    Expr bound = nest_.Let("its_bound", key_.Signed(Get(bound_, key_.type())));
    // Whatever equals it may be among them.
    When(Less(bound, key_.Most()), [&] {
      Set(last_, bound + IntConstant(1, number_));
      Set(is_closed_, One());
    });
  }

  // --- one chunk ---
  void CollectAll(const Expr& begin, const Expr& end) {
    Expr next = nest_.Let("next", NextPlace()), count = nest_.Let("count", end - begin);
    tensor::ForVectors(nest_, "at", Zero(), count, width_, 1, [&](const Expr& at, const Lanes& lanes) {
      const Expr key = SignedKeyAt(begin + at);
      ForLanes(nest_, lanes, [&] { Put(next + at, key, begin + at); });
    });
    Set(count_, next + count);
  }

  void CollectBefore(const Expr& begin, const Expr& end) {
    Expr last = nest_.Let("last", Get(last_, number_));
    Expr whole = WholeSteps(nest_, {begin, end}, width_);
    if (width_ > 1) {
      Expr first = Variable(nest_.Open("first", begin, whole, tensor::LoopKind::kSerial, width_));
      TakeSome(first, last);
      nest_.Close();
    }
    if (width_ > 1 && Same(whole, end)) return;
    Expr position = Variable(nest_.Open("position", width_ > 1 ? whole : begin, end));
    TakeIf(nest_.LetVariable("key", SignedKeyAt(position)), last, position);
    nest_.Close();
  }

  // Of a vector of elements.
  void TakeSome(const Expr& first, const Expr& last) {
    uint32_t read = nest_.Local("read", number_, Memory::kRegisters, width_);
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    const Expr key = SignedKeyAt(first + lanes.Number());
    ForLanes(nest_, lanes, [&] { nest_.Add(Store(read, lanes.Number(), nest_.Place(key))); });
    const auto is_before = [&](const Expr& lane) { return Less(Load(read, number_, lane), last); };
    When(AnyLane(nest_, width_, width_, is_before), [&] {
      uint32_t listed = nest_.Local("listed", number_, Memory::kLocal, width_);
      ForLanes(nest_, lanes,
               [&] { nest_.Add(Store(listed, lanes.Number(), Load(read, number_, lanes.Number()))); });
      Expr lane = Variable(nest_.Open("lane", Zero(), IntConstant(width_)));
      TakeIf(nest_.LetVariable("key", Load(listed, number_, lane)), last, first + lane);
      nest_.Close();
    });
  }

  // Without a branch: what does not come before the last is overwritten by the next one.
  void TakeIf(const Expr& key, const Expr& last, const Expr& position) {
    Put(PlaceOf(Get(count_), room_), key, position);
    Set(count_, Get(count_) + Select(Less(key, last), One(), Zero()));
  }

  // --- k of the candidates ---
  void Choose() {
    Expr count = nest_.Let("candidates", PlaceOf(Get(count_), room_ + Dim(1)));
    FindBound(count);
    Set(last_, key_.Signed(Get(bound_, key_.type())));
    KeepUpTo(count, nest_.Let("equal", k_ - Get(less_)));
    Set(count_, k_);
    Set(is_closed_, One());
  }

  // Of more than k keys: the greatest bound that at most k are less than.
  void FindBound(const Expr& count) {
    const DType type = key_.type();
    Set(bound_, IntConstant(0, type));
    Set(less_, Zero());
    Expr step = Variable(nest_.Open("step", Zero(), IntConstant(key_.bits())));
    When(Less(Get(less_), k_), [&] {
      Expr bit = Binary(ExprOp::kShiftLeft, IntConstant(1, type),
                        tensor::Cast(type, IntConstant(key_.bits() - 1) - step));
      Expr greater = nest_.Let("greater", Binary(ExprOp::kOr, Get(bound_, type), bit));
      Expr are_less = nest_.Let("are_less", CountLess(count, nest_.Let("than", key_.Signed(greater))));
      When(LessEqual(are_less, k_), [&] {
        Set(bound_, greater);
        Set(less_, are_less);
      });
    });
    nest_.Close();
  }

  Expr CountLess(const Expr& count, const Expr& key) {
    tensor::Reduction sum;
    sum.accumulator = DType::kI32;
    sum.axes = {nest_.kernel()->NewVariable("place")};
    sum.extents = {count};
    const Expr is_less = tensor::Cast(DType::kI32, Less(KeyAt(Variable(sum.axes[0])), key));
    tensor::ReductionLowering reductions(&nest_, width_);
    const Expr total = reductions.Lower(Reduce(std::move(sum), is_less, DType::kI32), {});
    return tensor::Cast(DType::kI64, nest_.Place(total));
  }

  // Moves candidates up that come before the last one wanted, and as many as said of those that are equal.
  void KeepUpTo(const Expr& count, const Expr& equal) {
    Expr last = nest_.Let("last", Get(last_, number_));
    uint32_t kept = Number("kept", DType::kI64, Zero()), left = Number("left", DType::kI64, equal);
    Expr place = Variable(nest_.Open("place", Zero(), count));
    Expr key = nest_.LetVariable("key", KeyAt(place)),
         position = nest_.LetVariable("position", PositionAt(place));
    Put(PlaceOf(Get(kept), room_), key, position);
    Expr is_equal = nest_.Let("is_equal", And(Equal(key, last), Less(Zero(), Get(left))));
    Set(kept, Get(kept) + Select(Or(Less(key, last), is_equal), One(), Zero()));
    Set(left, Get(left) - Select(is_equal, One(), Zero()));
    nest_.Close();
  }

  // --- the results ---
  void StoreAt(const Expr& n, const Expr& place) {
    Expr position = nest_.Let("found", PlaceOf(PositionAt(place), plan_.split.size));
    StoreResult(context_, nest_, row_.Target(plan_, n), ElementAt(position), position);
  }

  void StoreCounted() {
    CountBefore(nest_, {keys_, number_, k_, width_},
                [&](const Expr& place, const Expr& rank) { StoreAt(PlaceOf(rank, plan_.count), place); });
  }

  void StoreSorted() {
    bins_ = nest_.Local("bins", DType::kU32, Memory::kLocal, 1 << kDigitBits);
    base_ = Number("base", DType::kI64, Zero());
    Expr shift = Variable(
        nest_.Open("shift", Zero(), IntConstant(key_.bits()), tensor::LoopKind::kSerial, kDigitBits));
    SortByDigit(shift);
    nest_.Close();
    Expr n = Variable(nest_.Open("n", Zero(), k_));
    StoreAt(n, Get(base_) + n);
    nest_.Close();
  }

  Expr Digit(const Expr& key, const Expr& shift) const {
    // Below the key's bits, which the mask says: other shifts would be asked for.
    Expr within =
        Binary(ExprOp::kAnd, tensor::Cast(key_.type(), shift), IntConstant(key_.bits() - 1, key_.type()));
    Expr shifted = Binary(ExprOp::kShiftRight, key_.Unsigned(key), within);
    return tensor::Cast(DType::kI64,
                        Binary(ExprOp::kAnd, shifted, IntConstant((1 << kDigitBits) - 1, key_.type())));
  }

  void SortByDigit(const Expr& shift) {
    auto bin = [&](const Expr& digit) { return Load(bins_, DType::kU32, digit); };
    const Expr digits = IntConstant(1 << kDigitBits), one = IntConstant(1, DType::kU32);
    Expr from = nest_.Let("from", Get(base_));
    tensor::ForVectors(nest_, "digit", Zero(), digits, width_, 1, [&](const Expr& at, const Lanes& lanes) {
      ForLanes(nest_, lanes, [&] { nest_.Add(Store(bins_, at, IntConstant(0, DType::kU32))); });
    });
    Expr i = Variable(nest_.Open("i", Zero(), k_));
    Expr digit = nest_.Let("digit", Digit(KeyAt(from + i), shift));
    nest_.Add(Store(bins_, digit, bin(digit) + one));
    nest_.Close();
    // Nothing is to be done where all have one digit.
    Expr in_first = nest_.Let("in_first", bin(Digit(KeyAt(from), shift)));
    nest_.OpenIf(Less(tensor::Cast(DType::kI64, in_first), k_));
    SumBins();
    Expr to = nest_.Let("to", Select(Equal(from, Zero()), DimValue(room_), Zero()));
    Expr moved = Variable(nest_.Open("i", Zero(), k_));
    Expr key = nest_.Let("key", KeyAt(from + moved));
    Expr position = nest_.Let("position", PositionAt(from + moved));
    Expr its_digit = nest_.Let("digit", Digit(key, shift));
    Expr place = nest_.Let("place", bin(its_digit));
    nest_.Add(Store(bins_, its_digit, place + one));
    Put(to + PlaceOf(place, plan_.count), key, position);
    nest_.Close();
    Set(base_, to);
    nest_.Close();
  }

  // Each bin says where its first element goes.
  void SumBins() {
    const DType type = DType::kU32;
    uint32_t before = Number("before", type, IntConstant(0, type));
    Expr digit = Variable(nest_.Open("digit", Zero(), IntConstant(1 << kDigitBits)));
    Expr own = nest_.Let("own", Load(bins_, type, digit)), sum = nest_.Let("sum", Get(before, type));
    nest_.Add(Store(bins_, digit, sum));
    Set(before, sum + own);
    nest_.Close();
  }

  LoopContext& context_;
  const TopKPlan& plan_;
  const Type& type_;
  SortKey key_;
  DType number_;  // of keys
  int width_;
  int64_t most_counted_;
  Dim room_;  // for candidates and a chunk more
  tensor::Nest nest_;
  Expr k_, size_;
  TopKRow row_;
  uint32_t keys_ = 0, positions_ = 0, bins_ = 0, base_ = 0;
  uint32_t count_ = 0;                 // of the candidates
  uint32_t is_closed_ = 0, last_ = 0;  // whether a key is known that all others come before, and it
  uint32_t bound_ = 0, less_ = 0;      // a key as it is looked for, and how many are less
};

}  // namespace

tensor::StmtPtr TopKAnyLoops(LoopContext& context, const TopKPlan& plan) {
  return AnyLoops(context, plan).Build();
}

Dim TopKAnySteps(const TopKPlan& plan, const SortKey& key) {
  const int64_t passes = key.bits() / kDigitBits;
  return Capacity(plan) * 2 + plan.count * Dim(passes * 2);
}

}  // namespace tvmvm::ir
