// topk: the first `k` elements along an axis in order of size.
//
//   topk(x) {axis, k (dim), largest}: values and i64 indices; equal elements keep their order. Always sorted.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"
#include "compiler/graph/core/procedural/topk_loops.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Memory;
using tensor::Store;
using tensor::Variable;

Expected<std::vector<Type>> InferTopK(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  int64_t axis = context.node.Int("axis");
  if (axis < 0 || axis >= type.rank()) return BadAxis(axis, type.rank());
  if (!IsFloat(type.dtype) && !IsInteger(type.dtype))
    return MakeError(Code::kUnsupported, fmt::format("topk is not defined for {}", DTypeName(type.dtype)));
  Dim k = TopKCount(context.node);
  const Dim& size = type.dims[static_cast<size_t>(axis)];
  if (k.is_constant() && (k.value() < 0 || (size.is_constant() && k.value() > size.value())))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("k is {}, wanted 0 to {}", k.ToString(), size.ToString()));
  Dims dims = type.dims;
  dims[static_cast<size_t>(axis)] = k;
  return std::vector<Type>{Type::Tensor(type.dtype, dims), Type::Tensor(DType::kI64, dims)};
}

constexpr int64_t kChunk = 256;     // elements that are looked at before the candidates are
constexpr int64_t kDigitBits = 8;   // of a key, sorted by at once
constexpr int64_t kFewToSort = 24;  // by insertion

// Candidates are collected in a buffer of several times k. When it is full it is sorted, the first k stay,
// and from then on whatever is not before the last of them is passed over, whole vectors at a time. Sorting
// is by digits from the last (radix sort), which keeps equal ones in order. One row at a grid point.
class TopKLoops {
 public:
  explicit TopKLoops(LoopContext& context)
      : context_(context),
        type_(context.input_type(0)),
        split_(SplitAt(type_.dims, Dim(context.node().Int("axis")))),
        key_(type_.dtype, context.node().Int("largest", 1) != 0),
        width_(split_.inner.IsConstant(1) ? LanesOf(context.target(), type_.dtype) : 1),
        nest_(&context.kernel()) {}

  tensor::StmtPtr Build() {
    const Dim count = Min(TopKCount(context_.node()), split_.size);
    k_ = DimValue(count);
    size_ = DimValue(split_.size);
    inner_ = DimValue(split_.inner);
    Expr row = Variable(nest_.Grid(0, "row", split_.outer * split_.inner));
    outer_ = nest_.Let("outer", FloorDiv(row, DimValue(Max(split_.inner, 1))));
    column_ = nest_.Let("column", FloorMod(row, DimValue(Max(split_.inner, 1))));
    AllocateBuffers(Capacity(split_.size, count));

    Expr chunks = DimValue(Select(Equal(count, 0), 0, CeilDiv(split_.size, Dim(kChunk))));
    Expr chunk = Variable(nest_.Open("chunk", IntConstant(0), chunks));
    Expr begin = nest_.Let("begin", chunk * IntConstant(kChunk));
    Expr end = nest_.Let("end", Min(begin + IntConstant(kChunk), size_));
    Collect(begin, end);
    Expr full = Less(DimValue(Capacity(split_.size, count)), Get(count_));
    nest_.OpenIf(Or(LessEqual(size_, end), full));
    Sort();
    KeepFirst();
    nest_.Close();
    nest_.Close();
    StoreFirst();
    return nest_.Finish();
  }

  // How many candidates make it worth while to sort them.
  static Dim Capacity(const Dim& size, const Dim& count) { return Min(size, count * 4 + Dim(kChunk)); }

 private:
  Expr Zero() const { return IntConstant(0); }
  Expr One() const { return IntConstant(1); }

  // --- state of a row: numbers in memory ---
  uint32_t Number(const char* name, DType type = DType::kI64) {
    return nest_.Local(name, type, Memory::kLocal, 1);
  }
  Expr Get(uint32_t number, DType type = DType::kI64) const { return tensor::Load(number, type, Zero()); }
  void Set(uint32_t number, const Expr& value) { nest_.Add(Store(number, Zero(), value)); }

  // Two rows each of keys and positions, which passes of the sort swap.
  void AllocateBuffers(const Dim& capacity) {
    tensor::LoopKernel& kernel = context_.kernel();
    const Dim places = capacity + Dim(kChunk);
    const Dim key_bytes = CeilDiv(places * Dim(2 * key_.bits() / 8), 64) * 64;
    kernel.scratch_bytes = key_bytes + CeilDiv(places * 16, 64) * 64;
    places_ = places;
    keys_ = kernel.AddLocal("keys", key_.type(), Memory::kScratch, 0, Zero());
    positions_ = kernel.AddLocal("positions", DType::kI64, Memory::kScratch, 0, DimValue(key_bytes));
    for (uint32_t buffer : {keys_, positions_}) nest_.Add(tensor::Allocate(buffer));
    bins_ = nest_.Local("bins", DType::kU32, Memory::kLocal, 1 << kDigitBits);
    count_ = Number("count");
    base_ = Number("base");
    is_closed_ = Number("is_closed");
    last_ = Number("last", key_.type());
    for (uint32_t number : {count_, base_, is_closed_}) Set(number, Zero());
    Set(last_, IntConstant(0, key_.type()));
  }

  Expr ElementAt(const Expr& position) {
    return context_.Load(0, FlatPosition(type_, (outer_ * size_ + position) * inner_ + column_));
  }
  Expr KeyAt(const Expr& place) const { return tensor::Load(keys_, key_.type(), place); }
  Expr PositionAt(const Expr& place) const { return tensor::Load(positions_, DType::kI64, place); }

  // --- one chunk ---
  void Collect(const Expr& begin, const Expr& end) {
    Expr is_open = nest_.Let("is_open", Equal(Get(is_closed_), Zero()));
    Expr last = nest_.Let("last", Get(last_, key_.type()));
    auto take = [&](const Expr& position) {
      Expr key = nest_.Let("key", key_.Of(ElementAt(position)));
      nest_.OpenIf(Or(is_open, Less(key, last)));
      Expr place = nest_.Let("place", Get(base_) + PlaceOf(Get(count_), places_));
      nest_.Add(Store(keys_, place, key));
      nest_.Add(Store(positions_, place, position));
      Set(count_, Get(count_) + One());
      nest_.Close();
    };
    Expr whole = WholeSteps(nest_, {begin, end}, width_);
    if (width_ > 1) {
      Expr first = Variable(nest_.Open("first", begin, whole, tensor::LoopKind::kSerial, width_));
      tensor::Reduction any{.kind = tensor::ReduceKind::kOr, .accumulator = DType::kBool};
      any.axes = {nest_.kernel()->NewVariable("lane")};
      any.extents = {IntConstant(width_)};
      Expr key = key_.Of(ElementAt(first + Variable(any.axes[0])));
      Expr is_before = Reduce(std::move(any), Less(key, last), DType::kBool);
      tensor::ReductionLowering reductions(&nest_, width_);
      nest_.OpenIf(Or(is_open, reductions.Lower(is_before, {})));
      take(Variable(nest_.Open("position", first, first + IntConstant(width_))));
      nest_.Close();
      nest_.Close();
      nest_.Close();
    }
    if (Same(whole, end) && width_ > 1) return;
    take(Variable(nest_.Open("position", width_ > 1 ? whole : begin, end)));
    nest_.Close();
  }

  // --- the candidates in order ---
  void Sort() {
    Expr count = nest_.Let("candidates", PlaceOf(Get(count_), places_ + Dim(1)));
    nest_.OpenIf(LessEqual(count, IntConstant(kFewToSort)));
    Insert(count);
    nest_.Close();
    nest_.OpenIf(Less(IntConstant(kFewToSort), count));
    Expr shift = Variable(
        nest_.Open("shift", Zero(), IntConstant(key_.bits()), tensor::LoopKind::kSerial, kDigitBits));
    SortByDigit(count, shift);
    nest_.Close();
    nest_.Close();
  }

  // Whatever comes first changes places with whatever stands in its place, up to its own.
  void Insert(const Expr& count) {
    Expr base = nest_.Let("base", Get(base_));
    Expr i = Variable(nest_.Open("i", One(), count)), j = Variable(nest_.Open("j", Zero(), i));
    Expr here = nest_.Let("here", base + i), there = nest_.Let("there", base + j);
    Expr key = nest_.Let("key", KeyAt(here)), other = nest_.Let("other", KeyAt(there));
    Expr position = nest_.Let("position", PositionAt(here)),
         other_position = nest_.Let("other_position", PositionAt(there));
    Expr swaps =
        nest_.Let("swaps", Or(Less(key, other), And(Equal(key, other), Less(position, other_position))));
    nest_.Add(Store(keys_, here, Select(swaps, other, key)));
    nest_.Add(Store(keys_, there, Select(swaps, key, other)));
    nest_.Add(Store(positions_, here, Select(swaps, other_position, position)));
    nest_.Add(Store(positions_, there, Select(swaps, position, other_position)));
    nest_.Close();
    nest_.Close();
  }

  Expr Digit(const Expr& key, const Expr& shift) const {
    // Below the key's bits, which the mask says: other shifts would be asked for.
    Expr within =
        Binary(ExprOp::kAnd, tensor::Cast(key_.type(), shift), IntConstant(key_.bits() - 1, key_.type()));
    Expr shifted = Binary(ExprOp::kShiftRight, key, within);
    return tensor::Cast(DType::kI64,
                        Binary(ExprOp::kAnd, shifted, IntConstant((1 << kDigitBits) - 1, key_.type())));
  }

  void SortByDigit(const Expr& count, const Expr& shift) {
    auto bin = [&](const Expr& digit) { return tensor::Load(bins_, DType::kU32, digit); };
    const Expr digits = IntConstant(1 << kDigitBits), one = IntConstant(1, DType::kU32);
    Expr from = nest_.Let("from", Get(base_));
    Expr cleared = Variable(nest_.Open("digit", Zero(), digits));
    nest_.Add(Store(bins_, cleared, IntConstant(0, DType::kU32)));
    nest_.Close();
    Expr i = Variable(nest_.Open("i", Zero(), count));
    Expr digit = nest_.Let("digit", Digit(KeyAt(from + i), shift));
    nest_.Add(Store(bins_, digit, bin(digit) + one));
    nest_.Close();
    // Nothing is to be done where all have one digit.
    Expr in_first = nest_.Let("in_first", bin(Digit(KeyAt(from), shift)));
    nest_.OpenIf(Less(tensor::Cast(DType::kI64, in_first), count));
    Expr to = nest_.Let("to", Select(Equal(from, Zero()), DimValue(places_), Zero()));
    uint32_t before = Number("before", DType::kU32);
    Set(before, IntConstant(0, DType::kU32));
    Expr summed = Variable(nest_.Open("digit", Zero(), digits));
    Expr own = nest_.Let("own", bin(summed)), sum = nest_.Let("sum", Get(before, DType::kU32));
    nest_.Add(Store(bins_, summed, sum));
    Set(before, sum + own);
    nest_.Close();
    Expr moved = Variable(nest_.Open("i", Zero(), count));
    Expr key = nest_.Let("key", KeyAt(from + moved));
    Expr position = nest_.Let("position", PositionAt(from + moved));
    Expr its_digit = nest_.Let("digit", Digit(key, shift));
    Expr place = nest_.Let("place", bin(its_digit));
    nest_.Add(Store(bins_, its_digit, place + one));
    Expr target = nest_.Let("target", to + PlaceOf(place, places_));
    nest_.Add(Store(keys_, target, key));
    nest_.Add(Store(positions_, target, position));
    nest_.Close();
    Set(base_, to);
    nest_.Close();
  }

  void KeepFirst() {
    nest_.OpenIf(LessEqual(k_, Get(count_)));
    Set(last_, KeyAt(Get(base_) + k_ - One()));
    Set(is_closed_, One());
    Set(count_, k_);
    nest_.Close();
  }

  void StoreFirst() {
    Expr n = Variable(nest_.Open("n", Zero(), k_));
    Expr position = nest_.Let("found", PlaceOf(PositionAt(Get(base_) + n), split_.size));
    Expr target = (outer_ * k_ + n) * inner_ + column_;
    nest_.Add(context_.Store(0, FlatPosition(context_.output_type(0), target), ElementAt(position)));
    nest_.Add(context_.Store(1, FlatPosition(context_.output_type(1), target), position));
    nest_.Close();
  }

  LoopContext& context_;
  const Type& type_;
  AxisSplit split_;
  SortKey key_;
  int width_;
  tensor::Nest nest_;
  Expr k_, size_, inner_, outer_, column_;
  Dim places_;  // in one of the two rows
  uint32_t keys_ = 0, positions_ = 0, bins_ = 0;
  uint32_t count_ = 0, base_ = 0;      // the candidates, and where they begin
  uint32_t is_closed_ = 0, last_ = 0;  // whether k are known, and the key of the last of them
};

// One of the kernels runs, or two for rows in shares. CPUs: many rows side by side, few elements in order, or
// whatever there is; that one runs on GPUs, too, where work-groups take none of it.
Expected<tensor::StmtPtr> BuildTopK(LoopContext& context) {
  TopKPlan plan(context.input_type(0), context.node());
  if (IsGpu(context.target())) plan.ChooseGroups(context.input_type(0), context.node());
  auto add = [&](const Dim& when, auto&& build) {
    context.LaunchWhere(when);
    return when.IsConstant(0) ? tensor::Block({}) : build();
  };
  auto part = [&](TopKPart its, TopKSpaces spaces) {
    return [&, its, spaces] { return TopKGroupLoops(context, plan, its, spaces); };
  };
  context.EndKernel(add(plan.is_beside, [&] { return TopKBesideLoops(context, plan); }));
  context.EndKernel(add(plan.is_short, [&] { return TopKShortLoops(context, plan); }));
  Dim one = Max(plan.is_beside, plan.is_short);
  if (!plan.by_groups.IsConstant(0)) one = plan.by_groups;
  const Dim any = Equal(one, 0);
  context.EndKernel(add(any, [&] { return TopKLoops(context).Build(); }));
  context.EndKernel(add(plan.is_sorted, part(TopKPart::kShort, {})));
  context.EndKernel(add(plan.is_whole, part(TopKPart::kWhole, {})));
  const SortKey key(context.input_type(0).dtype, true);
  auto add_spaces = [&](const Dim& elements) {
    if (elements.IsConstant(0)) return TopKSpaces();
    return TopKSpaces{context.AddWorkspace(key.type(), elements),
                      context.AddWorkspace(DType::kI32, elements)};
  };
  const Dim rows = plan.split.outer * plan.split.inner;
  const Dim most = FormOf(TopKPart::kShare, key).results();
  const Dim candidates = plan.is_shared * rows * plan.shares * Min(plan.count, most);
  const Dim runs = plan.is_merged * rows * plan.split.size;
  const TopKSpaces first = add_spaces(candidates + runs);
  context.EndKernel(add(plan.is_shared, part(TopKPart::kShare, first)));
  context.EndKernel(add(plan.is_shared, part(TopKPart::kMerge, first)));
  context.EndKernel(add(plan.is_merged, part(TopKPart::kRun, first)));
  const TopKSpaces second = add_spaces(runs);
  const TopKSpaces spaces[] = {first, second};
  for (int number = 0; number < kMostMerges; ++number)
    context.EndKernel(add(IsMerged(plan, key, number), [&] {
      return TopKMergeRuns(context, plan, number, spaces[number % 2], spaces[(number + 1) % 2]);
    }));
  const Dim is_second = FloorMod(MergesOf(plan, key), 2);
  context.EndKernel(
      add(And(plan.is_merged, Equal(is_second, 0)), [&] { return TopKResults(context, plan, first); }));
  return add(And(plan.is_merged, is_second), [&] { return TopKResults(context, plan, second); });
}

// Every element is looked at. Beside each other, rows take a few steps for each of the k; else those that are
// sorted are moved once for each digit; work-groups look at each element once for some of the digits, and for
// each stretch.
std::vector<Work> TopKWork(const WorkContext& context) {
  TopKPlan plan(context.inputs[0], context.node);
  const Dim elements = ElementsOf(context.inputs[0]), bytes = BytesOnce(context);
  const int64_t passes = SortKey(context.inputs[0].dtype, true).bits() / kDigitBits;
  const Dim rows = FloorDiv(elements, Max(plan.split.size, 1));
  const Dim sorted = TopKLoops::Capacity(plan.split.size, plan.count) * Dim(passes * 2 * kScalarStep);
  constexpr int64_t kLooks = 48;  // operations of a work-group for an element
  plan.ChooseGroups(context.inputs[0], context.node);
  const SortKey key(context.inputs[0].dtype, true);
  const Dim stretches = Max(CeilDiv(plan.count, FormOf(TopKPart::kWhole, key).results()), 1);
  const Dim entry = key.bits() / 8 + 4;  // bytes of a key and a position
  const Dim run_bytes = BytesOf(context.inputs[0]) + elements * entry;
  std::vector<Work> work{
      {elements * (plan.count * 6 + 12), bytes},
      {elements * 8 + rows * plan.count * Dim(4 * kScalarStep), bytes},
      {elements * 8 + rows * sorted, bytes},
      {elements * Dim(kLooks), bytes},
      {elements * stretches * Dim(kLooks), bytes},
      {elements * Dim(kLooks), BytesOf(context.inputs[0])},
      {rows * plan.shares * plan.count * Dim(kLooks), rows * plan.shares * plan.count * Dim(8)},
      {elements * Dim(2 * kLooks), run_bytes}};
  for (int number = 0; number < kMostMerges; ++number)
    work.push_back({elements * Dim(2 * kLooks), elements * entry * Dim(2)});
  const Work results{rows * plan.count * Dim(8), rows * plan.count * Dim(4) + BytesOnce(context)};
  work.insert(work.end(), 2, results);
  return work;
}

constexpr CoreOp kRows[] = {
    {.name = "topk",
     .kind = OpKind::kProcedural,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferTopK,
     .loops = BuildTopK,
     .work = TopKWork,
     .meaning =
         "the k largest or smallest elements along `axis` and their indices, in order; equal ones by index",
     .attributes = "axis k largest"},
};

}  // namespace

std::span<const CoreOp> SortFamily() { return kRows; }

}  // namespace tvmvm::ir
