// topk by work-groups, for GPUs. A group finds a stretch of a row's results, all of them where they are few:
//
//   - It chooses the smallest set of keys that has the stretch within it, digit by digit from the highest on.
//     Each item counts its elements by digit in bins of its own, for there is nothing that adds at one
//     place from several items. Where equal keys are too many, digits of their positions follow.
//   - What is in the set goes into shared memory, where it is sorted by key and position.
//
// Groups know nothing of each other: where more is wanted than one holds, each chooses its own stretch from
// the whole row. A long row whose first elements are wanted is cut into shares, of which each has its first
// ones found by a group; another group finds the first ones of those. Short rows are sorted without choosing,
// as are the runs of a long row of which much is wanted (topk_runs.cc).
#include <algorithm>
#include <limits>

#include "compiler/graph/core/procedural/topk_loops.h"
#include "compiler/loops/work_group.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::Expr;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Load;
using tensor::Memory;
using tensor::Range;
using tensor::Store;
using tensor::Variable;

constexpr int kDigitBits = 4;
constexpr int kDigits = 1 << kDigitBits;
constexpr int kPositionBits = 32;  // of an i32 that is not negative
constexpr int kReadAtOnce = 4;
constexpr int64_t kLastPosition = std::numeric_limits<int32_t>::max();

// What a group looks at: keys and positions, by number.
struct Source {
  Range range;
  tensor::WorkGroup::Read key, position;  // the latter an i32
};

class TopKGroup {
 public:
  TopKGroup(LoopContext& context, const TopKPlan& plan, TopKGroupForm form, TopKSpaces spaces)
      : context_(context),
        type_(context.input_type(0)),
        plan_(plan),
        form_(form),
        spaces_(spaces),
        key_(type_.dtype, context.node().Int("largest", 1) != 0),
        nest_(&context.kernel()),
        group_(&nest_, form.items),
        item_(group_.item()) {}

  tensor::StmtPtr Build(TopKPart part) {
    context_.kernel().small_sizes = true;
    k_ = DimValue(plan_.count);
    size_ = DimValue(plan_.split.size);
    inner_ = DimValue(plan_.split.inner);
    row_ = Variable(nest_.Grid(0, "row", plan_.split.outer * plan_.split.inner));
    outer_ = nest_.Let("outer", FloorDiv(row_, DimValue(Max(plan_.split.inner, 1))));
    column_ = nest_.Let("column", FloorMod(row_, DimValue(Max(plan_.split.inner, 1))));
    const Source source = OpenPart(part);
    const bool takes_all = part == TopKPart::kShort || part == TopKPart::kRun;
    const int64_t bins = takes_all ? 0 : int64_t{kDigits} * form_.items;
    keys_ = nest_.Local("keys", key_.type(), Memory::kShared, form_.room);
    bins_ = nest_.Local("bins", DType::kI32, Memory::kShared, std::max(bins, form_.room));
    if (takes_all) {
      TakeAll(source);
    } else {
      Choose(source);
      Collect(source);
    }
    Sort();
    if (part == TopKPart::kRun) {
      StoreRun(source.range);
    } else {
      part == TopKPart::kShare ? StoreCandidates() : StoreResults();
    }
    return nest_.Finish();
  }

 private:
  Expr Zero() const { return IntConstant(0); }
  Expr LoadNumber(uint32_t buffer, const Expr& at) const { return Load(buffer, DType::kI32, at); }
  Expr LoadKey(uint32_t buffer, const Expr& at) const { return Load(buffer, key_.type(), at); }
  void Set(uint32_t buffer, const Expr& at, const Expr& value) { nest_.Add(Store(buffer, at, value)); }

  Expr ElementAt(const Expr& position) {
    return context_.Load(0, FlatPosition(type_, (outer_ * size_ + position) * inner_ + column_));
  }

  // The elements that are looked at, and the stretch of their order that is wanted: first_ to end_.
  Source OpenPart(TopKPart part) {
    Source source;
    source.key = [this](const Expr& position) { return key_.Of(ElementAt(position)); };
    source.position = [](const Expr& position) { return Narrow(position); };
    source.range = {Zero(), size_};
    first_ = Zero(), end_ = k_;
    if (part == TopKPart::kShare) {
      const Expr share = Variable(nest_.Grid(1, "share", plan_.shares));
      const Expr begin = nest_.Let("begin", share * DimValue(plan_.share));
      source.range = {begin, nest_.Let("end", Min(begin + DimValue(plan_.share), size_))};
      candidates_ = nest_.Let("candidates", (row_ * DimValue(plan_.shares) + share) * k_);
    } else if (part == TopKPart::kMerge) {
      candidates_ = nest_.Let("candidates", row_ * DimValue(plan_.shares * plan_.count));
      source.range.end = DimValue(plan_.shares * plan_.count);
      source.key = [this](const Expr& n) { return context_.LoadWorkspace(spaces_.keys, candidates_ + n); };
      source.position = [this](const Expr& n) {
        return context_.LoadWorkspace(spaces_.positions, candidates_ + n);
      };
    } else if (part == TopKPart::kRun) {
      const Dim length(form_.room);
      const Expr run = Variable(nest_.Grid(1, "run", CeilDiv(plan_.split.size, length)));
      const Expr begin = nest_.Let("begin", run * DimValue(length));
      source.range = {begin, nest_.Let("end", Min(begin + DimValue(length), size_))};
    } else if (part == TopKPart::kWhole) {
      const Dim stretches = CeilDiv(plan_.count, Dim(form_.results()));
      const Expr stretch = Variable(nest_.Grid(1, "stretch", stretches));
      first_ = nest_.Let("first", stretch * IntConstant(form_.results()));
      end_ = nest_.Let("end", Min(first_ + IntConstant(form_.results()), k_));
    }
    return source;
  }

  // --- what is sorted whole ---
  void TakeAll(const Source& source) {
    const Expr begin = source.range.begin;
    count_ = nest_.Let("count", source.range.end - begin);
    group_.ForEach({Zero(), count_}, [&](const Expr& n) {
      const Expr position = nest_.Let("its_position", begin + n);
      Set(keys_, n, source.key(position));
      Set(bins_, n, source.position(position));
    });
    before_ = Number(0);
  }

  // --- choosing ---
  // Of each bound: the keys and positions that are left for it, how many elements come before those, and how
  // many have them. Bound 0 is the first element's of the stretch, bound 1 the last one's.
  void Choose(const Source& source) {
    lowest_key_ = nest_.Local("lowest_key", key_.type(), Memory::kShared, 2);
    highest_key_ = nest_.Local("highest_key", key_.type(), Memory::kShared, 2);
    lowest_position_ = nest_.Local("lowest_position", DType::kI32, Memory::kShared, 2);
    highest_position_ = nest_.Local("highest_position", DType::kI32, Memory::kShared, 2);
    before_bound_ = nest_.Local("before_bound", DType::kI32, Memory::kShared, 2);
    inside_ = nest_.Local("inside", DType::kI32, Memory::kShared, 2);
    sums_ = nest_.Local("sums", DType::kI32, Memory::kShared, form_.items);
    totals_ = nest_.Local("totals", DType::kI32, Memory::kShared, kDigits);
    nest_.OpenIf(Less(item_, IntConstant(2)));
    Set(lowest_key_, item_, IntConstant(0, key_.type()));
    Set(highest_key_, item_, Unary(ExprOp::kNot, IntConstant(0, key_.type())));
    Set(lowest_position_, item_, Number(0));
    Set(highest_position_, item_, Number(kLastPosition));
    Set(before_bound_, item_, Number(0));
    Set(inside_, item_, Narrow(source.range.end - source.range.begin));
    nest_.Close();
    group_.Barrier();
    bound_ = Variable(nest_.Open("bound", Zero(), IntConstant(2)));
    is_last_ = nest_.Let("is_last", Equal(bound_, IntConstant(1)));
    rank_ = nest_.Let("rank", Narrow(Select(is_last_, end_ - IntConstant(1), first_)));
    nest_.OpenIf(Or(is_last_, Less(Zero(), first_)));
    ChooseDigits(source, key_.bits(), key_.type());
    ChooseDigits(source, kPositionBits, DType::kI32);
    nest_.Close();
    nest_.Close();
  }

  // Digit by digit of keys or, of type i32, of positions, until what is left is little.
  void ChooseDigits(const Source& source, int bits, DType type) {
    const bool is_position = type == DType::kI32;
    Expr digit = Variable(nest_.Open("digit", Zero(), IntConstant(bits / kDigitBits)));
    Expr shift = nest_.Let("shift", IntConstant(bits - kDigitBits) - digit * IntConstant(kDigitBits));
    nest_.OpenIf(Less(Number(form_.slack()), LoadNumber(inside_, bound_)));
    Expr low_key = nest_.Let("low_key", LoadKey(lowest_key_, bound_));
    Expr high_key = nest_.Let("high_key", LoadKey(highest_key_, bound_));
    Expr low = nest_.Let("low", LoadNumber(lowest_position_, bound_));
    Expr high = nest_.Let("high", LoadNumber(highest_position_, bound_));
    Expr by = nest_.Let("by", tensor::Cast(type, shift));
    ClearBins();
    auto count = [&](const Expr& n, const Expr& key) {
      Expr is_inside = And(LessEqual(low_key, key), LessEqual(key, high_key));
      Expr position;
      if (is_position) {
        position = nest_.Let("its_position", source.position(n));
        is_inside = And(is_inside, And(LessEqual(low, position), LessEqual(position, high)));
      }
      nest_.OpenIf(is_inside);
      Expr shifted = Binary(ExprOp::kShiftRight, is_position ? position : key, by);
      Expr its_digit = Binary(ExprOp::kAnd, Narrow(shifted), Number(kDigits - 1));
      Expr bin = nest_.Let("bin", Wide(its_digit * Number(form_.items) + Narrow(item_)));
      Set(bins_, bin, LoadNumber(bins_, bin) + Number(1));
      nest_.Close();
    };
    group_.ForEachRead(source.range, key_.type(), kReadAtOnce, source.key, count);
    group_.Barrier();
    SumBins();
    group_.OpenFirst();
    Expr chosen = ChooseDigit();
    const uint32_t lowest = is_position ? lowest_position_ : lowest_key_;
    const uint32_t highest = is_position ? highest_position_ : highest_key_;
    Expr digit_value = Binary(ExprOp::kShiftLeft, tensor::Cast(type, chosen), by);
    Expr lower = nest_.Let("lower", Binary(ExprOp::kOr, is_position ? low : low_key, digit_value));
    Expr below = Binary(ExprOp::kShiftLeft, IntConstant(1, type), by) - IntConstant(1, type);
    Set(lowest, bound_, lower);
    Set(highest, bound_, Binary(ExprOp::kOr, lower, below));
    nest_.Close();
    group_.Barrier();
    nest_.Close();
    nest_.Close();
  }

  void ClearBins() {
    Expr bin = Variable(nest_.Open("bin", Zero(), IntConstant(kDigits)));
    Set(bins_, bin * IntConstant(form_.items) + item_, Number(0));
    nest_.Close();
  }

  // Each digit's bins together: parts of them first.
  void SumBins() {
    const int parts = form_.items / kDigits, each = form_.items / parts;
    uint32_t sum = nest_.Local("sum", DType::kI32, Memory::kRegisters, 1);
    auto add = [&](uint32_t from, const Expr& begin, int count) {
      Set(sum, Zero(), Number(0));
      Expr k = Variable(nest_.Open("k", Zero(), IntConstant(count)));
      Set(sum, Zero(), LoadNumber(sum, Zero()) + LoadNumber(from, begin + k));
      nest_.Close();
    };
    add(bins_, nest_.Let("first", item_ * IntConstant(each)), each);
    Set(sums_, item_, LoadNumber(sum, Zero()));
    group_.Barrier();
    nest_.OpenIf(Less(item_, IntConstant(kDigits)));
    add(sums_, nest_.Let("first", item_ * IntConstant(parts)), parts);
    Set(totals_, item_, LoadNumber(sum, Zero()));
    nest_.Close();
    group_.Barrier();
  }

  // The digit that the element of rank rank_ has; sets how many there are before and inside.
  Expr ChooseDigit() {
    uint32_t left = nest_.Local("left", DType::kI32, Memory::kLocal, 1);
    uint32_t chosen = nest_.Local("chosen", DType::kI32, Memory::kLocal, 1);
    Set(left, Zero(), rank_ - LoadNumber(before_bound_, bound_));
    Set(chosen, Zero(), Number(kDigits));
    Expr digit = Variable(nest_.Open("candidate", Zero(), IntConstant(kDigits)));
    nest_.OpenIf(Equal(LoadNumber(chosen, Zero()), Number(kDigits)));
    Expr total = nest_.Let("total", LoadNumber(totals_, digit));
    Expr is_here = nest_.Let("is_here", Less(LoadNumber(left, Zero()), total));
    nest_.OpenIf(is_here);
    Set(chosen, Zero(), Narrow(digit));
    Set(inside_, bound_, total);
    nest_.Close();
    nest_.OpenIf(Unary(ExprOp::kNot, is_here));
    Set(left, Zero(), LoadNumber(left, Zero()) - total);
    nest_.Close();
    nest_.Close();
    nest_.Close();
    Set(before_bound_, bound_, rank_ - LoadNumber(left, Zero()));
    return nest_.Let("chosen", LoadNumber(chosen, Zero()));
  }

  // --- what was chosen, in shared memory ---
  void Collect(const Source& source) {
    const Expr one = IntConstant(1);
    auto bound = [&](uint32_t buffer, const Expr& at, bool is_key) {
      return nest_.Let("bound", is_key ? LoadKey(buffer, at) : LoadNumber(buffer, at));
    };
    Expr low_key = bound(lowest_key_, Zero(), true), high_key = bound(highest_key_, one, true);
    Expr low = bound(lowest_position_, Zero(), false), high = bound(highest_position_, one, false);
    before_ = nest_.Let("before", LoadNumber(before_bound_, Zero()));
    Expr behind = LoadNumber(before_bound_, one) + LoadNumber(inside_, one);
    count_ = nest_.Let("count", Wide(Within(behind - before_, Number(form_.room + 1))));
    uint32_t own = nest_.Local("own", DType::kI32, Memory::kRegisters, 1);
    tensor::WorkGroup::Prefix prefix = group_.NewPrefix(DType::kI32, ExprOp::kAdd, Number(0));
    auto each = [&](const std::function<void(const Expr& key, const Expr& position)>& take) {
      group_.ForEachRead(source.range, key_.type(), kReadAtOnce, source.key,
                         [&](const Expr& n, const Expr& key) {
                           nest_.OpenIf(And(LessEqual(low_key, key), LessEqual(key, high_key)));
                           Expr position = nest_.Let("its_position", source.position(n));
                           Expr is_behind = Or(Less(low_key, key), LessEqual(low, position));
                           nest_.OpenIf(And(is_behind, Or(Less(key, high_key), LessEqual(position, high))));
                           take(key, position);
                           Set(own, Zero(), LoadNumber(own, Zero()) + Number(1));
                           nest_.Close();
                           nest_.Close();
                         });
    };
    Set(own, Zero(), Number(0));
    each([](const Expr&, const Expr&) {});
    Expr before = group_.PrefixOf(prefix, LoadNumber(own, Zero())).before;
    Set(own, Zero(), before);
    each([&](const Expr& key, const Expr& position) {
      Expr place = nest_.Let("place", Wide(Within(LoadNumber(own, Zero()), Number(form_.room))));
      Set(keys_, place, key);
      Set(bins_, place, position);
    });
  }

  // --- in order ---
  // The least power of two that is not below the count, at most all of the room.
  Expr SortedPlaces() {
    Expr places = IntConstant(form_.room);
    for (int64_t power = form_.room / 2; power >= 1; power /= 2)
      places = Select(LessEqual(count_, IntConstant(power)), IntConstant(power), places);
    return nest_.Let("places", places);
  }

  // Runs of 2^n in order, every other one backwards, become runs of twice the length (bitonic sort).
  void Sort() {
    const Expr one = IntConstant(1);
    int steps = 0;
    while ((int64_t{1} << steps) < form_.room) ++steps;
    const Expr places = SortedPlaces();
    const Expr pairs = nest_.Let("pairs", FloorDiv(places, IntConstant(2)));
    group_.ForEach({count_, places}, [&](const Expr& place) {
      Set(keys_, place, Unary(ExprOp::kNot, IntConstant(0, key_.type())));
      Set(bins_, place, Number(kLastPosition));
    });
    group_.Barrier();
    Expr run = Variable(nest_.Open("run", Zero(), IntConstant(steps)));
    nest_.OpenIf(Less(Binary(ExprOp::kShiftLeft, one, run), places));
    Expr step = Variable(nest_.Open("step", Zero(), run + one));
    Expr far = nest_.Let("far", Narrow(run - step)), turn = nest_.Let("turn", Narrow(run) + Number(1));
    group_.ForEach({Zero(), pairs}, [&](const Expr& pair) { OrderPair(Narrow(pair), far, turn); });
    group_.Barrier();
    nest_.Close();
    nest_.Close();
    nest_.Close();
  }

  // Two places 2^far apart; runs of 2^turn take turns in their direction.
  void OrderPair(const Expr& pair, const Expr& far, const Expr& turn) {
    auto shift = [](ExprOp op, const Expr& a, const Expr& by) { return Binary(op, a, by); };
    Expr number = nest_.Let("number", pair);
    Expr distance = nest_.Let("distance", shift(ExprOp::kShiftLeft, Number(1), far));
    Expr high = shift(ExprOp::kShiftLeft, shift(ExprOp::kShiftRight, number, far), far + Number(1));
    Expr low = Binary(ExprOp::kAnd, number, distance - Number(1));
    Expr place = nest_.Let("low_place", Binary(ExprOp::kOr, high, low));
    auto within = [&](const Expr& a) { return Binary(ExprOp::kAnd, a, Number(form_.room - 1)); };
    Expr here = nest_.Let("here", Wide(within(place)));
    Expr there = nest_.Let("there", Wide(within(place + distance)));
    Expr is_up = nest_.Let(
        "is_up", Equal(Binary(ExprOp::kAnd, shift(ExprOp::kShiftRight, place, turn), Number(1)), Number(0)));
    Expr key = nest_.Let("key", LoadKey(keys_, here)), other = nest_.Let("other", LoadKey(keys_, there));
    Expr position = nest_.Let("position", LoadNumber(bins_, here));
    Expr other_position = nest_.Let("other_position", LoadNumber(bins_, there));
    Expr is_after =
        nest_.Let("is_after", Or(Less(other, key), And(Equal(other, key), Less(other_position, position))));
    nest_.OpenIf(Equal(is_after, is_up));
    Set(keys_, here, other);
    Set(keys_, there, key);
    Set(bins_, here, other_position);
    Set(bins_, there, position);
    nest_.Close();
  }

  // --- results ---
  void StoreResults() {
    Expr skipped = nest_.Let("skipped", Narrow(first_) - before_);
    group_.ForEach({first_, end_}, [&](const Expr& n) {
      Expr place = nest_.Let("place", Wide(Within(skipped + Narrow(n - first_), Number(form_.room))));
      Expr found = nest_.Let("found", PlaceOf(Wide(LoadNumber(bins_, place)), plan_.split.size));
      Expr target = nest_.Let("target", (outer_ * k_ + n) * inner_ + column_);
      nest_.Add(context_.Store(0, FlatPosition(context_.output_type(0), target), ElementAt(found)));
      nest_.Add(context_.Store(1, FlatPosition(context_.output_type(1), target), found));
    });
  }

  void StoreRun(const Range& range) {
    Expr first = nest_.Let("run_begins", row_ * size_ + range.begin);
    group_.ForEach({Zero(), count_}, [&](const Expr& n) {
      Expr place = nest_.Let("place", first + n);
      nest_.Add(context_.StoreWorkspace(spaces_.keys, place, LoadKey(keys_, n)));
      nest_.Add(context_.StoreWorkspace(spaces_.positions, place, LoadNumber(bins_, n)));
    });
  }

  // As many of each share; where it has fewer, what comes behind all others.
  void StoreCandidates() {
    group_.ForEach({Zero(), k_}, [&](const Expr& n) {
      Expr place = nest_.Let("place", candidates_ + n);
      Expr exists = nest_.Let("exists", Less(n, count_));
      Expr from = Select(exists, n, Zero());
      Expr none = Unary(ExprOp::kNot, IntConstant(0, key_.type()));
      nest_.Add(context_.StoreWorkspace(spaces_.keys, place, Select(exists, LoadKey(keys_, from), none)));
      nest_.Add(context_.StoreWorkspace(spaces_.positions, place,
                                        Select(exists, LoadNumber(bins_, from), Number(kLastPosition))));
    });
  }

  LoopContext& context_;
  const Type& type_;
  const TopKPlan& plan_;
  const TopKGroupForm form_;
  const TopKSpaces spaces_;
  SortKey key_;
  tensor::Nest nest_;
  tensor::WorkGroup group_;
  Expr item_;
  Expr k_, size_, inner_, row_, outer_, column_, candidates_;
  Expr first_, end_;     // of the results that are found
  Expr count_, before_;  // what is in shared memory: how many, and how many come before
  Expr bound_, is_last_, rank_;
  uint32_t keys_ = 0, bins_ = 0;  // the bins hold positions later
  uint32_t lowest_key_ = 0, highest_key_ = 0, lowest_position_ = 0, highest_position_ = 0;
  uint32_t before_bound_ = 0, inside_ = 0, sums_ = 0, totals_ = 0;
};

}  // namespace

TopKGroupForm FormOf(TopKPart part, const SortKey& key) {
  if (part == TopKPart::kShort) return {.items = 64, .room = kShortestRow};
  return {.items = 256, .room = key.bits() == 64 ? 1024 : 2048};
}

tensor::StmtPtr TopKGroupLoops(LoopContext& context, const TopKPlan& plan, TopKPart part, TopKSpaces spaces) {
  const SortKey key(context.input_type(0).dtype, true);
  return TopKGroup(context, plan, FormOf(part, key), spaces).Build(part);
}

}  // namespace tvmvm::ir
