// Scans by work-groups: a tile of a row at a time stands in shared memory, of which each item takes
// neighbouring steps; what the items before it have, and the tiles before this one, goes in front. Rows that
// are too few to keep a GPU busy are cut into blocks, which groups take after others have found what each
// block comes to.
#include "compiler/graph/core/procedural/scan_loops.h"
#include "compiler/loops/work_group.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::Expr;
using tensor::IntConstant;
using tensor::Load;
using tensor::LoopKind;
using tensor::Memory;
using tensor::Range;
using tensor::Store;
using tensor::Variable;

constexpr int kItems = 256;
constexpr int kSteps = 8;  // of an item in a tile; those of items lie a place further apart, in other banks
constexpr int64_t kTile = int64_t{kItems} * kSteps;
constexpr int kReadAtOnce = 4;
constexpr int64_t kShortRow = 32;    // steps that one work-item takes,
constexpr int64_t kMiddleRow = 512;  // or so many where there are
constexpr int64_t kManyRows = 8192;  // rows: then work-items keep a device busy by themselves
constexpr int64_t kFewRows = 64, kLongRow = 4 * kTile;  // which several groups share,
constexpr int64_t kLongestRow = 1 << 20;  // and rows of so many, few or not: nothing ends a group
constexpr int64_t kMostBlocks = 128;

class ScanGroup {
 public:
  ScanGroup(LoopContext& context, const ScanPlan& plan)
      : context_(context),
        type_(context.input_type(0)),
        plan_(plan),
        access_(context, plan.split),
        size_(DimValue(plan.split.size)),
        nest_(&context.kernel()),
        group_(&nest_, kItems) {
    context.kernel().small_sizes = true;
    row_ = Variable(nest_.Grid(0, "row", plan.split.outer * plan.split.inner));
    outer_ = nest_.Let("outer", FloorDiv(row_, DimValue(Max(plan.split.inner, 1))));
    column_ = nest_.Let("column", FloorMod(row_, DimValue(Max(plan.split.inner, 1))));
  }

  tensor::StmtPtr Row() {
    BuildRange({IntConstant(0), size_}, access_.Start());
    return nest_.Finish();
  }

  tensor::StmtPtr Totals(int totals) {
    const Range range = OpenBlock();
    uint32_t own = Own();
    group_.ForEachRead(
        range, type_.dtype, kReadAtOnce, [&](const Expr& step) { return ElementAt(step); },
        [&](const Expr&, const Expr& value) { Add(own, value); });
    Expr total = nest_.GroupReduce("total", access_.combine, Load(own, type_.dtype, IntConstant(0)));
    group_.OpenFirst();
    nest_.Add(context_.StoreWorkspace(totals, FirstBlock() + block_, total));
    nest_.Close();
    return nest_.Finish();
  }

  tensor::StmtPtr Blocks(int totals) {
    const Range range = OpenBlock();
    uint32_t own = Own();
    group_.ForEach({IntConstant(0), block_}, [&](const Expr& earlier) {
      Add(own, context_.LoadWorkspace(totals, FirstBlock() + earlier));
    });
    Expr before = nest_.GroupReduce("before", access_.combine, Load(own, type_.dtype, IntConstant(0)));
    BuildRange(range, Combine(access_.Start(), before));
    return nest_.Finish();
  }

 private:
  Expr Combine(const Expr& a, const Expr& b) const { return Binary(access_.combine, a, b); }
  Expr ElementAt(const Expr& step) { return context_.Load(0, access_.At(outer_, step, column_)); }
  Expr FirstBlock() const { return row_ * DimValue(plan_.blocks); }

  Range OpenBlock() {
    block_ = Variable(nest_.Grid(1, "block", plan_.blocks));
    const Expr begin = nest_.Let("begin", block_ * DimValue(plan_.block));
    return {begin, nest_.Let("end", Min(begin + DimValue(plan_.block), size_))};
  }

  // A number of each item, which begins as what changes nothing.
  uint32_t Own() {
    uint32_t own = nest_.Local("own", type_.dtype, Memory::kRegisters, 1);
    nest_.Add(Store(own, IntConstant(0), access_.Neutral()));
    return own;
  }
  void Add(uint32_t number, const Expr& value) {
    Expr zero = IntConstant(0);
    nest_.Add(Store(number, zero, Combine(Load(number, type_.dtype, zero), value)));
  }

  Expr Place(const Expr& n) const { return n + FloorDiv(n, IntConstant(kSteps)); }

  // For the steps of a tile, neighbouring items at neighbouring steps.
  void ForTile(const Expr& first, const std::function<void(const Expr& step, const Expr& place)>& body) {
    Expr k = Variable(nest_.Open("k", IntConstant(0), IntConstant(kSteps), LoopKind::kUnrolled));
    Expr n = nest_.Let("n", k * IntConstant(kItems) + group_.item());
    body(nest_.Let("step", first + n), nest_.Let("place", Place(n)));
    nest_.Close();
  }

  void BuildRange(const Range& range, const Expr& start) {
    const DType dtype = type_.dtype;
    const Expr zero = IntConstant(0);
    uint32_t tile = nest_.Local("tile", dtype, Memory::kShared, kTile + kItems);
    uint32_t carried = nest_.Local("carried", dtype, Memory::kRegisters, 1);
    nest_.Add(Store(carried, zero, start));
    tensor::WorkGroup::Prefix prefix = group_.NewPrefix(dtype, access_.combine, access_.Neutral());
    Expr first = Variable(nest_.Open("first", range.begin, range.end, LoopKind::kSerial, kTile));
    ForTile(first, [&](const Expr& step, const Expr& place) {
      nest_.Add(tensor::If(Less(step, range.end), Store(tile, place, ElementAt(step)),
                           Store(tile, place, access_.Neutral())));
    });
    group_.Barrier();
    Expr own_place = nest_.Let("own_place", group_.item() * IntConstant(kSteps + 1));
    auto element = [&](const Expr& k) { return Load(tile, dtype, own_place + k); };
    uint32_t sum = Own();
    auto for_steps = [&](const std::function<void(const Expr& k)>& body) {
      body(Variable(nest_.Open("k", zero, IntConstant(kSteps), LoopKind::kUnrolled)));
      nest_.Close();
    };
    for_steps([&](const Expr& k) { Add(sum, element(k)); });
    auto [before, all] = group_.PrefixOf(prefix, Load(sum, dtype, zero));
    nest_.Add(Store(sum, zero, Combine(Load(carried, dtype, zero), before)));
    for_steps([&](const Expr& k) {
      Expr value = nest_.Let("element", element(k));
      if (access_.is_exclusive) nest_.Add(Store(tile, own_place + k, Load(sum, dtype, zero)));
      Add(sum, value);
      if (!access_.is_exclusive) nest_.Add(Store(tile, own_place + k, Load(sum, dtype, zero)));
    });
    Add(carried, all);
    group_.Barrier();
    ForTile(first, [&](const Expr& step, const Expr& place) {
      nest_.OpenIf(Less(step, range.end));
      nest_.Add(context_.Store(0, access_.At(outer_, step, column_), Load(tile, dtype, place)));
      nest_.Close();
    });
    group_.Barrier();
    nest_.Close();
  }

  LoopContext& context_;
  const Type& type_;
  const ScanPlan& plan_;
  ScanAccess access_;
  Expr size_;
  tensor::Nest nest_;
  tensor::WorkGroup group_;
  Expr row_, outer_, column_, block_;
};

}  // namespace

void ScanPlan::ChooseGroups(const Type& type) {
  is_cut = 0;
  const Dim is_along = Equal(split.inner, 1);
  is_across = Not(is_along), is_whole = is_along;
  // Sums of narrow floats are rounded in each step; elements that share a byte have one writer.
  if (DTypeBits(type.dtype) < 8 || (IsFloat(type.dtype) && DTypeBits(type.dtype) < 32)) return;
  const Dim rows = split.outer * split.inner;
  const Dim is_fit = Max(is_across, LessEqual(split.size, kMiddleRow));
  const Dim by_items = Max(LessEqual(split.size, kShortRow), And(is_fit, LessEqual(kManyRows, rows)));
  const Dim fits = LessEqual(Product(type.dims), Dim(tensor::kSmallSize));
  const Dim groups = And(fits, Not(by_items));
  const Dim are_few = Or(Less(rows, kFewRows), Less(kLongestRow, split.size));
  is_cut_groups = And(groups, And(are_few, Less(kLongRow, split.size)));
  by_groups = And(groups, Not(is_cut_groups));
  is_across = And(is_across, Not(groups)), is_whole = And(is_whole, Not(groups));
  block = Max(CeilDiv(CeilDiv(split.size, Dim(kMostBlocks)), Dim(kTile)), 1) * Dim(kTile);
  blocks = CeilDiv(split.size, block);
}

tensor::StmtPtr ScanRowByGroup(LoopContext& context, const ScanPlan& plan) {
  return ScanGroup(context, plan).Row();
}
tensor::StmtPtr ScanTotalsByGroup(LoopContext& context, const ScanPlan& plan, int totals) {
  return ScanGroup(context, plan).Totals(totals);
}
tensor::StmtPtr ScanBlocksByGroup(LoopContext& context, const ScanPlan& plan, int totals) {
  return ScanGroup(context, plan).Blocks(totals);
}

}  // namespace tvmvm::ir
