// topk of long rows of which much is wanted, for GPUs: work-groups sort runs of a row (TopKPart::kRun), which
// become longer ones until one is left. What is merged is keys and positions, from two workspaces into two
// others. An element finds its place in the longer run by itself: it is how many of each shorter one come
// before it, which it looks for by halves. So a grid point does little, however long rows are.
#include "compiler/graph/core/procedural/topk_loops.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::Expr;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Load;
using tensor::LoopKind;
using tensor::Memory;
using tensor::Store;
using tensor::Variable;

constexpr int kSearchSteps = 31;  // each of which finds a bit of a number up to kSmallSize

// A place within `count` elements, of which there is at least one.
Expr PlaceWithin(const Expr& number, const Expr& count) { return Wide(Within(number, Narrow(count))); }

class RunLoops {
 public:
  RunLoops(LoopContext& context, const TopKPlan& plan, TopKSpaces from)
      : context_(context),
        plan_(plan),
        from_(from),
        key_(context.input_type(0).dtype, context.node().Int("largest", 1) != 0),
        nest_(&context.kernel()),
        size_(DimValue(plan.split.size)),
        k_(DimValue(plan.count)) {
    context.kernel().small_sizes = true;
  }

  tensor::StmtPtr Merge(int number, TopKSpaces to) {
    // As a size of which no more is known than of the row's, so that all merges have one kernel.
    const Dim& size = plan_.split.size;
    const Dim length = Max(Min(Dim(RunLength(key_, number)), size), size - Dim(tensor::kSmallSize));
    length_ = DimValue(length);
    const Expr merged_length = DimValue(length * Dim(kRunsMerged));
    Expr position = Variable(nest_.Grid(0, "place", plan_.split.size));
    OpenRow();
    Expr run = nest_.Let("run", FloorDiv(position, length_));
    own_ = nest_.Let("own", FloorMod(run, IntConstant(kRunsMerged)));
    begin_ = nest_.Let("begin", (run - own_) * length_);
    Expr rank = nest_.Let("rank", position - run * length_);
    // Nobody asks for what comes behind as many as are wanted, of any run.
    nest_.OpenIf(Less(rank, k_));
    Expr key = nest_.Let("key", KeyAt(first_ + position));
    Expr merged = nest_.Let("merged", Narrow(rank) + Before(key));
    nest_.OpenIf(Less(merged, Narrow(k_)));
    Expr room = nest_.Let("room", Min(size_ - begin_, merged_length));
    Expr target = nest_.Let("target", first_ + begin_ + PlaceWithin(merged, room));
    nest_.Add(context_.StoreWorkspace(to.keys, target, key));
    nest_.Add(context_.StoreWorkspace(to.positions, target, PositionAt(first_ + position)));
    nest_.Close();
    nest_.Close();
    return nest_.Finish();
  }

  tensor::StmtPtr Results() {
    const Type& type = context_.input_type(0);
    Expr n = Variable(nest_.Grid(0, "n", plan_.count));
    OpenRow();
    const Expr inner = DimValue(Max(plan_.split.inner, 1));
    Expr outer = nest_.Let("outer", FloorDiv(row_, inner)),
         column = nest_.Let("column", FloorMod(row_, inner));
    Expr found = nest_.Let("found", PlaceWithin(PositionAt(first_ + n), size_));
    Expr from = nest_.Let("from", (outer * size_ + found) * inner + column);
    Expr target = nest_.Let("target", (outer * k_ + n) * inner + column);
    nest_.Add(context_.Store(0, FlatPosition(context_.output_type(0), target),
                             context_.Load(0, FlatPosition(type, from))));
    nest_.Add(context_.Store(1, FlatPosition(context_.output_type(1), target), found));
    return nest_.Finish();
  }

 private:
  void OpenRow() {
    row_ = Variable(nest_.Grid(1, "row", plan_.split.outer * plan_.split.inner));
    first_ = nest_.Let("first", row_ * size_);
  }
  Expr KeyAt(const Expr& place) { return context_.LoadWorkspace(from_.keys, place); }
  Expr PositionAt(const Expr& place) { return context_.LoadWorkspace(from_.positions, place); }

  // How many elements of the other runs come before the one with `key`. Runs stand in the order of positions,
  // so that equal keys of earlier ones do.
  Expr Before(const Expr& key) {
    struct Other {
      Expr begin, count, is_earlier;
    };
    std::vector<Other> others;
    for (int64_t n = 1; n < kRunsMerged; ++n) {
      Expr run = nest_.Let("other", FloorMod(own_ + IntConstant(n), IntConstant(kRunsMerged)));
      Expr begin = nest_.Let("other_begin", begin_ + run * length_);
      Expr count = nest_.Let("other_count", Min(Min(size_ - begin, length_), k_));
      others.push_back({begin, count, nest_.Let("is_earlier", Less(run, own_))});
    }
    uint32_t found = nest_.Local("found", DType::kI32, Memory::kRegisters, kRunsMerged - 1);
    auto found_in = [&](size_t n) { return Load(found, DType::kI32, IntConstant(static_cast<int64_t>(n))); };
    auto set = [&](size_t n, const Expr& value) {
      nest_.Add(Store(found, IntConstant(static_cast<int64_t>(n)), value));
    };
    for (size_t n = 0; n < others.size(); ++n) set(n, Number(0));
    Expr step = Variable(nest_.Open("step", IntConstant(0), IntConstant(kSearchSteps)));
    Expr bit =
        nest_.Let("bit", Binary(ExprOp::kShiftLeft, Number(1), Number(kSearchSteps - 1) - Narrow(step)));
    for (size_t n = 0; n < others.size(); ++n) {
      const Other& other = others[n];
      Expr more = nest_.Let("more", found_in(n) + bit);
      nest_.OpenIf(LessEqual(more, Narrow(other.count)));
      Expr last = nest_.Let("last", first_ + other.begin + PlaceWithin(more - Number(1), other.count));
      Expr its_key = nest_.Let("its_key", KeyAt(last));
      nest_.OpenIf(Or(Less(its_key, key), And(other.is_earlier, Equal(its_key, key))));
      set(n, more);
      nest_.Close();
      nest_.Close();
    }
    nest_.Close();
    Expr all = found_in(0);
    for (size_t n = 1; n < others.size(); ++n) all = all + found_in(n);
    return nest_.Let("before", all);
  }

  LoopContext& context_;
  const TopKPlan& plan_;
  const TopKSpaces from_;
  SortKey key_;
  tensor::Nest nest_;
  Expr size_, k_, length_;
  Expr row_, first_;  // where the row begins
  Expr own_, begin_;  // the element's run among those that are merged, where these begin in the row
};

}  // namespace

int64_t RunLength(const SortKey& key, int number) {
  int64_t length = FormOf(TopKPart::kRun, key).room;
  for (int merge = 0; merge < number; ++merge) length *= kRunsMerged;
  return length;
}

Dim IsMerged(const TopKPlan& plan, const SortKey& key, int number) {
  return And(plan.is_merged, Less(Dim(RunLength(key, number)), plan.split.size));
}

Dim MergesOf(const TopKPlan& plan, const SortKey& key) {
  Dim merges = 0;
  for (int number = 0; number < kMostMerges; ++number)
    merges = merges + Less(Dim(RunLength(key, number)), plan.split.size);
  return merges;
}

tensor::StmtPtr TopKMergeRuns(LoopContext& context, const TopKPlan& plan, int number, TopKSpaces from,
                              TopKSpaces to) {
  return RunLoops(context, plan, from).Merge(number, to);
}

tensor::StmtPtr TopKResults(LoopContext& context, const TopKPlan& plan, TopKSpaces from) {
  return RunLoops(context, plan, from).Results();
}

}  // namespace tvmvm::ir
