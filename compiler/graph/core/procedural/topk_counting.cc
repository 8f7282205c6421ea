// topk of short rows: for each element it is counted how many come before it, which is where it belongs. The
// lanes of a vector are neighbours of one row, which is compared with one element after the other.
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

// One row at a grid point.
class CountingLoops {
 public:
  CountingLoops(LoopContext& context, const TopKPlan& plan)
      : context_(context),
        plan_(plan),
        type_(context.input_type(0)),
        key_(type_.dtype, context.node().Int("largest", 1) != 0),
        width_(context.target().vector_bits / key_.bits()),
        nest_(&context.kernel()) {}

  tensor::StmtPtr Build() {
    const Expr size = DimValue(plan_.split.size), k = DimValue(plan_.count);
    const TopKRow row = TopKRow::OfGrid(nest_, plan_);
    const DType number = key_.signed_type();
    uint32_t keys = nest_.Local("keys", number, Memory::kLocal, MostCounted(key_, RowLayout::kLast) + width_);
    ReadKeys(keys, row);
    CountBefore(nest_, {keys, number, size, width_}, [&](const Expr& position, const Expr& rank) {
      nest_.OpenIf(Less(rank, tensor::Cast(number, k)));
      const Expr target = row.Target(plan_, PlaceOf(rank, plan_.count));
      StoreResult(context_, nest_, target, row.Element(context_, plan_, position), position);
      nest_.Close();
    });
    return nest_.Finish();
  }

 private:
  // Whole vectors; behind the row's end there may be anything.
  void ReadKeys(uint32_t keys, const TopKRow& row) {
    const Expr size = DimValue(plan_.split.size);
    Expr first = Variable(nest_.Open("first", IntConstant(0), size, tensor::LoopKind::kSerial, width_));
    Lanes lanes = Lanes::Make(nest_.kernel(), width_, 1);
    Expr position = first + lanes.Number();
    const bool has_masks = DTypeBits(type_.dtype) >= 32 || context_.target().vector_bits >= 512;
    if (has_masks && plan_.split.inner.IsConstant(1)) {
      lanes.guard = Less(position, size);
    } else {
      position = Min(position, size - IntConstant(1));
    }
    const Expr key = Guarded(key_.SignedOf(row.Element(context_, plan_, position)), lanes);
    ForLanes(nest_, lanes, [&] { nest_.Add(Store(keys, first + lanes.Number(), nest_.Place(key))); });
    nest_.Close();
  }

  LoopContext& context_;
  const TopKPlan& plan_;
  const Type& type_;
  SortKey key_;
  int width_;
  tensor::Nest nest_;
};

constexpr int kTogether = 4;  // vectors that are compared with an element at once

// So many vectors of elements, whose ranks are counted together.
class CountingVectors {
 public:
  CountingVectors(tensor::Nest& nest, const CountedKeys& keys, int vectors)
      : nest_(nest), keys_(keys), vectors_(vectors), lanes_(Lanes::Make(nest.kernel(), keys.width, 1)) {}

  void Build(const Expr& begin, const Expr& end, const UseOfRank& use) {
    const int width = keys_.width;
    first_ = Variable(nest_.Open("first", begin, end, tensor::LoopKind::kSerial, vectors_ * width));
    Expr last = nest_.Let("last", Min(first_ + IntConstant(vectors_ * width), end));
    own_ = nest_.Local("own", keys_.type, Memory::kRegisters, vectors_ * width);
    before_ = nest_.Local("before", keys_.type, Memory::kRegisters, vectors_ * width);
    ForEach([&](int, const Expr& at) {
      nest_.Add(Store(own_, at, KeyAt(first_ + at)));
      nest_.Add(Store(before_, at, IntConstant(0, keys_.type)));
    });
    Count(IntConstant(0), first_, -1);
    for (int vector = 0; vector < vectors_; ++vector) {
      Expr from = nest_.Let("from", first_ + IntConstant(vector * width));
      Count(from, vector + 1 < vectors_ ? from + IntConstant(width) : last, vector);
    }
    Count(last, keys_.count, vectors_);
    uint32_t ranks = nest_.Local("ranks", keys_.type, Memory::kLocal, vectors_ * width);
    ForEach([&](int, const Expr& at) { nest_.Add(Store(ranks, at, Load(before_, keys_.type, at))); });
    Expr position = Variable(nest_.Open("position", first_, last));
    use(position, nest_.LetVariable("rank", Load(ranks, keys_.type, position - first_)));
    nest_.Close();
    nest_.Close();
  }

 private:
  Expr KeyAt(const Expr& position) const { return Load(keys_.buffer, keys_.type, position); }
  void ForEach(const std::function<void(int vector, const Expr& at)>& build) {
    for (int vector = 0; vector < vectors_; ++vector)
      ForLanes(nest_, lanes_, [&] { build(vector, IntConstant(vector * keys_.width) + lanes_.Number()); });
  }

  // Compares with a range of elements that lies in this vector: behind those before it and ahead of those
  // behind it. Equal ones count where they stand ahead.
  void Count(const Expr& begin, const Expr& end, int within) {
    const DType type = keys_.type;
    Expr other = Variable(nest_.Open("other", begin, end));
    Expr key = nest_.LetVariable("key", KeyAt(other));
    Expr place = nest_.LetVariable("place", tensor::Cast(type, other - begin));
    ForEach([&](int vector, const Expr& at) {
      const Expr its = Load(own_, type, at), sum = Load(before_, type, at);
      Expr is_before = within < vector ? LessEqual(key, its) : Less(key, its);
      if (vector == within)
        is_before = Or(is_before, And(Equal(key, its), Less(place, tensor::Cast(type, lanes_.Number()))));
      nest_.Add(Store(before_, at, Select(is_before, sum + IntConstant(1, type), sum)));
    });
    nest_.Close();
  }

  tensor::Nest& nest_;
  const CountedKeys& keys_;
  const int vectors_;
  const Lanes lanes_;
  Expr first_;
  uint32_t own_ = 0, before_ = 0;
};

}  // namespace

void CountBefore(tensor::Nest& nest, const CountedKeys& keys, const UseOfRank& use) {
  const Expr whole = WholeSteps(nest, {IntConstant(0), keys.count}, kTogether * keys.width);
  CountingVectors(nest, keys, kTogether).Build(IntConstant(0), whole, use);
  CountingVectors(nest, keys, 1).Build(whole, keys.count, use);
}

tensor::StmtPtr TopKCountingLoops(LoopContext& context, const TopKPlan& plan) {
  return CountingLoops(context, plan).Build();
}

}  // namespace tvmvm::ir
