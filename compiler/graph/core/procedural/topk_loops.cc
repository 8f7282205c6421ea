#include "compiler/graph/core/procedural/topk_loops.h"

#include <limits>

namespace tvmvm::ir {

using tensor::DimValue;
using tensor::Expr;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Load;
using tensor::Memory;
using tensor::Nest;
using tensor::Store;
using tensor::Variable;

namespace {

constexpr int64_t kMostBeside = 16;     // elements in order that lanes keep
constexpr int64_t kLeastBeside = 8;     // rows
constexpr int64_t kTooShortToTurn = 2;  // elements of rows along the last axis
constexpr int64_t kMostGathered = 512;  // elements of rows that are scattered
constexpr int64_t kStepsToKeep = 32;

// Where rows are too few to keep a GPU busy and long, they are cut into shares. The longest ones are in any
// case: nothing ends a group.
constexpr int64_t kFewRows = 128, kLongRow = 8192, kLongestRow = 1 << 20;
constexpr int64_t kMostShares = 64, kShortestShare = 2048;
constexpr int64_t kLeastLeftOut = 4;  // times what is wanted of a share

}  // namespace

Dim TopKCount(const Node& node) {
  const Attribute* attribute = node.Find("k");
  const Dim* k = attribute ? std::get_if<Dim>(attribute) : nullptr;
  return k ? *k : Dim(node.Int("k"));
}

Expr PlaceOf(const Expr& number, const Dim& count) {
  const Expr last = tensor::Cast(DType::kU64, DimValue(Max(count, 1) - 1));
  return tensor::Cast(DType::kI64, Min(tensor::Cast(DType::kU64, number), last));
}

SortKey::SortKey(DType element, bool wants_largest) : wants_largest_(wants_largest) {
  const bool is_wide = DTypeBits(element) > 32;
  type_ = is_wide ? DType::kU64 : DType::kU32;
  computed_ = IsFloat(element)           ? (is_wide ? DType::kF64 : DType::kF32)
              : IsSignedInteger(element) ? (is_wide ? DType::kI64 : DType::kI32)
                                         : type_;
}

Expr SortKey::SignBit() const { return IntConstant(bits() == 64 ? INT64_MIN : int64_t{1} << 31, type_); }
Expr SortKey::Ones() const { return IntConstant(bits() == 64 ? -1 : (int64_t{1} << 32) - 1, type_); }

Expr SortKey::Of(const Expr& element) const {
  Expr value = tensor::Cast(computed_, element), key = value;
  if (IsFloat(computed_)) {
    Expr zero = tensor::Constant(computed_, 0);
    const DType integer = signed_type();
    Expr number = Select(Equal(value, zero), zero, value);  // -0 is 0
    Expr sign =
        Binary(ExprOp::kShiftRight, tensor::Bitcast(integer, number), IntConstant(bits() - 1, integer));
    Expr flipped = Binary(ExprOp::kOr, tensor::Bitcast(type_, sign), SignBit());
    key = Binary(ExprOp::kXor, tensor::Bitcast(type_, number), flipped);
    key = Select(Unary(ExprOp::kIsNan, value), Ones(), key);  // beyond infinity
  } else if (IsSignedInteger(computed_)) {
    key = Binary(ExprOp::kXor, tensor::Bitcast(type_, value), SignBit());
  }
  return wants_largest_ ? Unary(ExprOp::kNot, key) : key;
}

Expr SortKey::SignedOf(const Expr& element) const { return Signed(Of(element)); }
Expr SortKey::Signed(const Expr& key) const {
  return tensor::Bitcast(signed_type(), Binary(ExprOp::kXor, key, SignBit()));
}
Expr SortKey::Unsigned(const Expr& key) const {
  return Binary(ExprOp::kXor, tensor::Bitcast(type_, key), SignBit());
}

Expr SortKey::Least() const {
  return IntConstant(std::numeric_limits<int64_t>::min() >> (64 - bits()), signed_type());
}
Expr SortKey::Most() const {
  return IntConstant(std::numeric_limits<int64_t>::max() >> (64 - bits()), signed_type());
}

TopKPlan::TopKPlan(const Type& type, const Node& node)
    : split(SplitAt(type.dims, Dim(node.Int("axis")))), count(Min(TopKCount(node), split.size)) {
  const SortKey key(type.dtype, true);
  const Dim k = TopKCount(node), rows = split.outer * split.inner;
  const Dim width(RowsBeside(key));
  Dim is_free = 1;  // nothing has taken it so far
  auto take = [&](const Dim& condition) {
    const Dim takes = And(is_free, condition);
    is_free = And(is_free, Not(condition));
    return takes;
  };
  const bool is_last_axis = split.inner.IsConstant(1), is_whole_bytes = !IsSubByte(type.dtype);
  const Dim are_beside = LessEqual(kLeastBeside, split.inner);
  // Counting takes a step for each two elements of a row, keeping the first ones some for each that comes
  // before the last of them.
  const Dim size = Min(split.size, MostCounted(key, RowLayout::kLast) + 1);
  const Dim suits_counting = And(LessEqual(1, k), LessEqual(size * size, k * width * Dim(kStepsToKeep)));
  const bool is_in_lanes = k.is_constant() && k.value() >= 1 && k.value() <= kMostBeside;
  // Positions are counted in numbers as wide as the keys.
  const Dim is_countable = Less(split.size, int64_t{1} << 31);
  if (is_whole_bytes && is_in_lanes) {
    const Dim are_many = And(is_countable, LessEqual(kLeastBeside, rows));
    if (is_last_axis) {
      is_scattered = take(And(are_many, LessEqual(split.size, kTooShortToTurn)));
      is_last = take(are_many);
    } else {
      is_beside = take(And(are_beside, is_countable));
      is_scattered = take(And(are_many, LessEqual(split.size, kMostGathered)));
    }
  }
  if (is_whole_bytes && !is_last_axis) {
    const Dim has_room = LessEqual(split.size, MostCounted(key, RowLayout::kBeside));
    is_counted_beside = take(And(are_beside, And(has_room, suits_counting)));
  }
  if (is_whole_bytes)
    is_counted = take(And(suits_counting, LessEqual(split.size, MostCounted(key, RowLayout::kLast))));
  is_short = take(And(LessEqual(k, kMostInOrder), is_countable));
}

Dim TopKPlan::IsAny() const {
  if (!by_groups.IsConstant(0)) return Equal(by_groups, 0);
  Dim one = is_short;
  for (const Dim& other : {is_last, is_beside, is_scattered, is_counted_beside, is_counted})
    one = Max(one, other);
  return Equal(one, 0);
}

void TopKPlan::ChooseGroups(const Type& type, const Node& node) {
  is_last = is_beside = is_scattered = is_counted_beside = is_counted = is_short = 0;
  if (IsSubByte(type.dtype)) return;  // items would write to one byte
  const SortKey key(type.dtype, true);
  const Dim rows = split.outer * split.inner;
  by_groups = And(LessEqual(Product(type.dims), Dim(tensor::kSmallSize)),
                  LessEqual(rows, Dim(tensor::kSmallSize)));  // of no elements, too
  share = Max(CeilDiv(split.size, Dim(kMostShares)), Dim(kShortestShare));
  shares = CeilDiv(split.size, share);
  const Dim is_long = Less(kLongRow, split.size);
  const Dim are_few = Or(Less(rows, kFewRows), Less(kLongestRow, split.size));
  // By what is asked for, which is known more often than the count.
  const Dim k = TopKCount(node), left_out = k * Dim(kLeastLeftOut);
  const Dim is_one_stretch = LessEqual(k, FormOf(TopKPart::kWhole, key).results());
  const Dim is_little = Or(LessEqual(left_out, kShortestShare), LessEqual(left_out, share));
  const Dim is_short_row = LessEqual(split.size, kShortestRow);
  const Dim has_shares = And(is_long, And(are_few, And(is_one_stretch, is_little)));
  // A stretch is chosen from the whole row: where there are several, or few groups, sorting is less work.
  const Dim has_runs = And(is_long, Or(Not(is_one_stretch), And(are_few, Not(is_little))));
  is_sorted = And(by_groups, is_short_row);
  is_shared = And(by_groups, has_shares);
  is_merged = And(by_groups, has_runs);
  is_whole = And(by_groups, Equal(Max(is_short_row, Max(has_shares, has_runs)), 0));
}

TopKRow TopKRow::OfGrid(Nest& nest, const TopKPlan& plan) {
  const Dim& inner = plan.split.inner;
  Expr row = Variable(nest.Grid(0, "row", plan.split.outer * inner));
  Expr outer = nest.Let("outer", FloorDiv(row, DimValue(Max(inner, 1))));
  return {outer, nest.Let("column", FloorMod(row, DimValue(Max(inner, 1))))};
}

Expr TopKRow::Element(LoopContext& context, const TopKPlan& plan, const Expr& position) const {
  const Expr size = DimValue(plan.split.size), inner = DimValue(plan.split.inner);
  return context.Load(0, FlatPosition(context.input_type(0), (outer * size + position) * inner + column));
}

Expr TopKRow::Target(const TopKPlan& plan, const Expr& n) const {
  return (outer * DimValue(plan.count) + n) * DimValue(plan.split.inner) + column;
}

void StoreResult(LoopContext& context, Nest& nest, const Expr& target, const Expr& element,
                 const Expr& position) {
  nest.Add(context.Store(0, FlatPosition(context.output_type(0), target), element));
  nest.Add(context.Store(1, FlatPosition(context.output_type(1), target), position));
}

Expr AnyLane(Nest& nest, int lanes, int width, const std::function<Expr(const Expr& lane)>& condition,
             bool gathers) {
  tensor::Reduction any{.kind = tensor::ReduceKind::kOr, .accumulator = DType::kBool};
  any.axes = {nest.kernel()->NewVariable("lane")};
  any.extents = {IntConstant(lanes)};
  const Expr holds = condition(Variable(any.axes[0]));
  tensor::ReductionLowering reductions(&nest, width, gathers);
  return reductions.Lower(Reduce(std::move(any), holds, DType::kBool), {});
}

void StoreFound(LoopContext& context, Nest& nest, const TopKPlan& plan, const SortKey& key,
                const FoundRow& row) {
  const Expr k = DimValue(plan.count), size = DimValue(plan.split.size);
  const Expr one = IntConstant(1), none = IntConstant(0, row.type);
  auto place = [&](const Expr& n) { return row.first + n * IntConstant(row.step); };
  auto element = [&](const Expr& position) { return row.row.Element(context, plan, position); };
  nest.OpenIf(LessEqual(one, k));
  nest.OpenIf(Less(Load(row.found, row.type, place(k - one)), none));
  uint32_t taken = nest.Local("taken", DType::kI64, Memory::kLocal, 1);
  nest.Add(Store(taken, IntConstant(0), IntConstant(0)));
  Expr seen = Variable(nest.Open("n", IntConstant(0), k));
  nest.OpenIf(LessEqual(none, Load(row.found, row.type, place(seen))));
  nest.Add(Store(taken, IntConstant(0), seen + one));
  nest.Close();
  nest.Close();
  Expr position = Variable(nest.Open("position", IntConstant(0), size));
  nest.OpenIf(And(Equal(key.SignedOf(element(position)), key.Most()),
                  Less(Load(taken, DType::kI64, IntConstant(0)), k)));
  Expr free = nest.Let("free", PlaceOf(Load(taken, DType::kI64, IntConstant(0)), plan.count));
  nest.Add(Store(row.found, place(free), tensor::Cast(row.type, position)));
  nest.Add(Store(taken, IntConstant(0), free + one));
  nest.Close();
  nest.Close();
  nest.Close();
  nest.Close();
  Expr n = Variable(nest.Open("n", IntConstant(0), k));
  Expr found = nest.Let("found", PlaceOf(Load(row.found, row.type, place(n)), plan.split.size));
  StoreResult(context, nest, nest.Let("target", row.row.Target(plan, n)), element(found), found);
  nest.Close();
}

}  // namespace tvmvm::ir
