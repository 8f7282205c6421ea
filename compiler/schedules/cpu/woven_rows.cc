#include "compiler/schedules/cpu/woven_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/lower_reductions.h"
#include "compiler/schedules/cpu/cpu_schedules.h"
#include "compiler/schedules/expand.h"
#include "compiler/schedules/group_kernel.h"
#include "compiler/schedules/row_shape.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::OpKind;
using ir::ValueId;

constexpr int kLanes = 32;          // several vectors: one has to wait for itself
constexpr int64_t kMostRows = 8;    // at least 28 of the lanes hold elements
constexpr int64_t kLeast = 256;     // elements of all rows
constexpr int64_t kSumBlock = 512;  // as many vectors are summed up in the elements' type

class WovenRows {
 public:
  WovenRows(const GroupView& group, const TargetInfo& target, const RowShape& shape)
      : group_(group),
        function_(group.function()),
        target_(target),
        shape_(shape),
        made_(group),
        nest_(&made_.kernel()) {}

  Expected<KernelCall> Build() {
    for (size_t axis = 0; axis < shape_.whole.size(); ++axis) {
      if (shape_.whole[axis].IsConstant(1)) continue;
      (shape_.flags[axis].IsConstant(0) ? kept_ : reduced_).push_back(static_cast<int>(axis));
    }
    if (!HasRowsSideBySide()) return KernelCall{.when = 0};
    DeclareCoordinates();
    TVMVM_CHECK_OK(
        made_.DeclareArguments([this](ValueId output) { return IndexOf(output); }, &estimate_, &stores_));
    if (!SuitsMasks(estimate_, inner_)) return KernelCall{.when = 0};
    kept_values_ = ValuesWorthKeeping(group_, shape_);
    DecideSchedule();
    BuildLoops();
    if (missing_.valid()) return tl::unexpected(NoSchedule(group_, missing_));
    made_.Estimate(Product(shape_.whole), 1, estimate_);
    KernelCall call = made_.Take(nest_.Finish(), std::move(decided_));
    call.when = SuitsSizes();
    return call;
  }

 private:
  const Dim& rows() const { return shape_.whole[kept_.back()]; }
  Dim elements() const { return shape_.whole[reduced_[0]] * rows(); }  // of all rows

  // To combine lanes takes longer than a short reduction; without whole results there is less to gain by it,
  // and eight rows fill vectors of the other forms, too.
  Dim SuitsSizes() const {
    const Dim least = shape_.has_whole_output ? kLeast : 2 * kLeast;
    const Dim is_long = LessEqual(Select(Equal(rows(), kMostRows), 4 * kLeast, least), elements());
    return And(And(LessEqual(2, rows()), LessEqual(rows(), kMostRows)), is_long);
  }

  // One axis is reduced, one lies inside of it, and all that is read has both or neither.
  bool HasRowsSideBySide() const {
    if (reduced_.size() != 1 || kept_.empty() || kept_.back() < reduced_[0]) return false;
    if (kept_.size() > 1 && kept_[kept_.size() - 2] > reduced_[0]) return false;
    if (!MayBeFew(rows(), kMostRows) || rows().IsConstant(1)) return false;
    return std::ranges::all_of(group_.inputs(), [this](ValueId input) {
      const Dims& dims = group_.type(input).dims;
      return dims == shape_.whole || Product(dims).IsConstant(1);
    });
  }

  void DeclareCoordinates() {
    for (size_t axis = 0; axis < shape_.whole.size(); ++axis) {
      const VariableId variable = made_.kernel().NewVariable(fmt::format("i{}", axis));
      if (static_cast<int>(axis) == kept_.back()) inner_ = variable;
      const bool is_single = shape_.whole[axis].IsConstant(1);
      coordinates_.push_back(is_single ? IntConstant(0) : Variable(variable));
    }
  }

  void DecideSchedule() {
    RowsSchedule schedule;
    schedule.lanes = LanesFor(estimate_, target_);
    std::string problem =
        WordsOf(group_) + " dims=" + WordOf(shape_.whole) + " reduced=" + WordOf(shape_.flags);
    decided_ = Decide(group_, target_, std::move(problem), &schedule);
    block_elements_ = schedule.block_elements;
  }

  bool IsWhole(ValueId value) const { return group_.type(value).dims == shape_.whole; }

  // Elements of rows are counted along the inner axis alone, on into the steps that follow.
  std::vector<Expr> IndexOf(ValueId value) const {
    std::vector<Expr> index = coordinates_;
    if (!IsWhole(value)) index[reduced_[0]] = IntConstant(0);
    return index;
  }

  // --- loops ---
  void BuildLoops() {
    const std::vector<int> outer(kept_.begin(), kept_.end() - 1);
    Dims extents;
    for (int axis : outer) extents.push_back(shape_.whole[axis]);
    const Range range = BlockOf(nest_, 0, "rows", Product(extents),
                                Max(FloorDiv(Dim(block_elements_), Max(elements(), Dim(1))), Dim(1)));
    nest_.Grid(1, "g", 1);
    nest_.Grid(2, "g", 1);
    lanes_ = Lanes::Make(nest_.kernel(), kLanes, 1);
    rows_ = nest_.Let("rows", DimValue(Max(rows(), Dim(1))));
    steps_ = nest_.Let("steps", DimValue(FloorDiv(Dim(kLanes), Max(rows(), Dim(1)))));
    taken_ = nest_.Let("taken", steps_ * rows_);
    elements_ = nest_.Let("elements", DimValue(elements()));
    vectors_ =
        nest_.Let("vectors", FloorDiv(Max(elements_ - IntConstant(kLanes) + taken_, IntConstant(0)), taken_));
    if (!outer.empty()) {
      const Expr position = Variable(nest_.Open("row", range.begin, range.end));
      const std::vector<Expr> index = BindCoordinates(nest_, extents, position);
      for (size_t i = 0; i < outer.size(); ++i) coordinates_[outer[i]] = index[i];
    }
    coordinates_[reduced_[0]] = IntConstant(0);
    BuildRows();
  }

  void BuildRows() {
    for (const ir::NodeId id : group_.nodes()) {
      const ir::Node& node = function_.node(id);
      if (node.op->kind == OpKind::kReduce)
        BuildReduction(node);
      else if (!IsWhole(node.outputs[0]) && node.op->kind == OpKind::kElementwise)
        BuildStatistic(node.outputs[0]);
    }
    for (size_t i = 0; i < group_.outputs().size(); ++i) {
      const ValueId output = group_.outputs()[i];
      if (IsWhole(output)) {
        StoreWhole(output, stores_[i]);
      } else {
        Lanes lanes = lanes_;
        lanes.guard = Less(lanes.Number(), rows_);
        StoreAt(output, stores_[i], IntConstant(0), lanes);
      }
    }
  }

  // One vector behind the other, in which a row has other lanes each time.
  void StoreWhole(ValueId output, uint32_t buffer) {
    const Expr whole = WholeSteps(nest_, {IntConstant(0), elements_}, kLanes), zero = IntConstant(0);
    const uint32_t next = nest_.Local("next_row", DType::kI64, Memory::kRegisters, 1);
    const Expr shift = nest_.Let("shift", IntConstant(kLanes) - steps_ * rows_);
    nest_.Add(Store(next, zero, zero));
    const auto store = [&](const Expr& from, const Lanes& lanes) {
      first_row_ = nest_.LetVariable("first_row", Load(next, DType::kI64, zero));
      StoreAt(output, buffer, from, lanes);
    };
    store(Variable(nest_.Open("from", zero, whole, LoopKind::kSerial, kLanes)), lanes_);
    const Expr sum = nest_.Let("sum", first_row_ + shift);
    nest_.Add(Store(next, zero, nest_.Place(Select(Less(sum, rows_), sum, sum - rows_))));
    nest_.Close();
    nest_.OpenIf(Less(whole, elements_));
    Lanes rest = lanes_;
    rest.guard = Less(rest.Number(), elements_ - whole);
    store(whole, rest);
    nest_.Close();
    first_row_ = zero;
  }

  void StoreAt(ValueId output, uint32_t buffer, const Expr& from, const Lanes& lanes) {
    std::vector<Expr> index = IndexOf(output);
    index[kept_.back()] = from + lanes.Number();
    const Expr element = Guarded(Expand(output, index, {}), lanes);
    StoreLanes(buffer, FlatIndex(group_.type(output).dims, index), element, lanes);
  }

  void StoreLanes(uint32_t buffer, const Expr& index, const Expr& element, const Lanes& lanes) {
    ForLanes(nest_, lanes, [&] {
      const Expr roots[] = {index, element};
      const std::vector<Expr> placed = nest_.Place(roots);
      nest_.Add(Store(buffer, placed[0], placed[1], lanes.guard));
    });
  }

  // --- what there is once a row ---
  // Vectors of whole steps; those that have elements for all lanes read and keep them without masks.
  using BuildVector = std::function<void(const Expr& from, const Lanes& lanes, const Expr& counts)>;
  void ForSteps(const Expr& begin, const Expr& end, const BuildVector& build) {
    const Expr from = Variable(nest_.Open("vector", begin, end)) * taken_;
    build(from, lanes_, Less(lanes_.Number(), taken_));
    nest_.Close();
  }
  void ForLastSteps(const BuildVector& build) {
    const Expr end = FloorDiv(elements_ + taken_ - IntConstant(1), taken_);
    const Expr from =
        nest_.Let("from", Variable(nest_.Open("vector", vectors_, nest_.Let("end", end))) * taken_);
    Lanes lanes = lanes_;
    lanes.guard = Less(lanes.Number(), nest_.Let("left", Min(taken_, elements_ - from)));
    build(from, lanes, lanes.guard);
    nest_.Close();
  }

  void BuildReduction(const ir::Node& node) {
    const ValueId value = node.outputs[0];
    const bool keeps = kept_values_.contains(node.inputs[0]) && !scratch_.contains(node.inputs[0]);
    if (keeps)
      scratch_[node.inputs[0]] = nest_.Scratch("kept", group_.type(node.inputs[0]).dtype, elements());
    Rewriter reduce([&](const Expr& e) {
      return e.op() == ExprOp::kReduce ? Reduced(e, keeps ? std::optional(node.inputs[0]) : std::nullopt) : e;
    });
    SpreadStatistic(value, reduce(Expand(value, IndexOf(value), value)));
  }

  // Of what the first lanes have: for any vector of all rows.
  void SpreadStatistic(ValueId value, const Expr& element) {
    const uint32_t buffer = AddStatistic(value, element.dtype());
    const bool is_alone = shape_.reductions == 1 && !shape_.has_whole_output;
    if (is_alone) return StoreLanes(buffer, lanes_.Number(), element, lanes_);
    const Expr copies = nest_.Let("copies", FloorDiv(IntConstant(kLanes - 1), rows_) + IntConstant(2));
    const uint32_t first = nest_.Local("first", element.dtype(), Memory::kRegisters, kLanes);
    StoreLanes(first, lanes_.Number(), element, lanes_);
    const Expr copy = Variable(nest_.Open("copy", IntConstant(0), copies));
    StoreLanes(buffer, copy * rows_ + lanes_.Number(), Load(first, element.dtype(), lanes_.Number()), lanes_);
    nest_.Close();
  }

  uint32_t AddStatistic(ValueId value, DType dtype) {
    const uint32_t buffer = nest_.Local("statistic", dtype, Memory::kLocal, 3 * kLanes);
    return statistics_[value] = buffer;
  }

  // Arithmetic on others.
  void BuildStatistic(ValueId value) {
    std::vector<Expr> parts;
    for (int part : {0, 1}) {
      first_row_ = IntConstant(part * kLanes);
      parts.push_back(Expand(value, IndexOf(value), value));
    }
    first_row_ = IntConstant(0);
    const uint32_t buffer = AddStatistic(value, parts[0].dtype());
    for (int part : {0, 1})
      StoreLanes(buffer, IntConstant(part * kLanes) + lanes_.Number(), parts[part], lanes_);
  }

  // Sums of f32 that may be long have totals in f64.
  Expr Reduced(const Expr& reduce, const std::optional<ValueId>& keeps) {
    const ReduceKind kind = reduce->reduction->kind;
    const DType dtype = AccumulatorOf(reduce);
    const bool has_total = kind == ReduceKind::kSum && dtype == DType::kF32;
    const uint32_t sums = Filled("sums", dtype, kind);
    const uint32_t totals = has_total ? Filled("totals", DType::kF64, kind) : sums;
    const BuildVector accumulate = [&](const Expr& from, const Lanes& lanes, const Expr& counts) {
      Accumulate(reduce, keeps, sums, from, lanes, counts);
    };
    const auto add_to_total = [&] {
      StoreLanes(
          totals, lanes_.Number(),
          Load(totals, DType::kF64, lanes_.Number()) + Cast(DType::kF64, Load(sums, dtype, lanes_.Number())),
          lanes_);
      Fill(sums, dtype, kind);
    };
    if (has_total) {
      const Expr block =
          Variable(nest_.Open("block", IntConstant(0), vectors_, LoopKind::kSerial, kSumBlock));
      ForSteps(block, nest_.Let("block_end", Min(block + IntConstant(kSumBlock), vectors_)), accumulate);
      add_to_total();
      nest_.Close();
    } else {
      ForSteps(IntConstant(0), vectors_, accumulate);
    }
    ForLastSteps(accumulate);
    if (has_total) add_to_total();
    return Cast(reduce.dtype(), OfWholeRows(kind, has_total ? DType::kF64 : dtype, totals));
  }

  void Fill(uint32_t buffer, DType dtype, ReduceKind kind) {
    StoreLanes(buffer, lanes_.Number(), ReductionIdentity(kind, dtype), lanes_);
  }
  uint32_t Filled(const char* name, DType dtype, ReduceKind kind) {
    const uint32_t buffer = nest_.Local(name, dtype, Memory::kRegisters, kLanes);
    Fill(buffer, dtype, kind);
    return buffer;
  }

  void Accumulate(const Expr& reduce, const std::optional<ValueId>& keeps, uint32_t sums, const Expr& from,
                  const Lanes& lanes, const Expr& counts) {
    const Expr place = from + lanes.Number();
    const std::pair<VariableId, Expr> here[] = {{reduce->reduction->axes[0], IntConstant(0)},
                                                {inner_, place}};
    Expr body = Substitute(reduce->operands[0], here);
    ForLanes(nest_, lanes, [&] {
      if (keeps) body = KeptWhileReduced(*keeps, body, place, lanes);
      const DType dtype = AccumulatorOf(reduce);
      const Expr so_far = Load(sums, dtype, lanes.Number());
      Expr sum = CombineReduced(reduce->reduction->kind, so_far, Cast(dtype, Guarded(body, lanes)));
      sum = Select(counts, sum, so_far);
      nest_.Add(Store(sums, lanes.Number(), nest_.Place(sum)));
    });
  }

  // What is reduced, of elements that are computed instead of read from the scratch, and kept there.
  Expr KeptWhileReduced(ValueId value, const Expr& body, const Expr& place, const Lanes& lanes) {
    std::vector<Expr> at = coordinates_;
    at[kept_.back()] = place;
    const DType dtype = group_.type(value).dtype;
    const Expr element = nest_.Let("element", nest_.Place(Guarded(Expand(value, at, value), lanes)));
    nest_.Add(Store(scratch_.at(value), nest_.Place(place), element, lanes.guard));
    const Expr kept = Load(scratch_.at(value), dtype, place);
    return Rewriter([&](const Expr& e) { return Same(e, kept) ? element : e; })(body);
  }

  // What lanes of one row have, combined, in the first lanes.
  Expr OfWholeRows(ReduceKind kind, DType dtype, uint32_t sums) {
    const Expr lane = lanes_.Number();
    const uint32_t apart = nest_.Local("apart", dtype, Memory::kLocal, 2 * kLanes);
    StoreLanes(apart, lane + IntConstant(kLanes), ReductionIdentity(kind, dtype), lanes_);
    // Lanes of no row, and those behind the last, change nothing.
    for (int half = kLanes / 4; half > 0; half /= 2) {
      nest_.OpenIf(Less(IntConstant(half), steps_));
      StoreLanes(apart, lane, Load(sums, dtype, lane), lanes_);
      const Expr other = Load(apart, dtype, lane + IntConstant(half) * rows_);
      StoreLanes(sums, lane, Binary(CombineOf(kind, dtype), Load(sums, dtype, lane), other), lanes_);
      nest_.Close();
    }
    return Load(sums, dtype, lane);
  }

  // The element, from what is known of the rows so far; `wanted` is made now even if it is known.
  Expr Expand(ValueId value, std::span<const Expr> index, ValueId wanted) {
    const auto leaf = [&](ValueId asked, std::span<const Expr> at) -> Expr {
      if (asked != wanted) {
        if (auto found = statistics_.find(asked); found != statistics_.end())
          return Load(found->second, group_.type(asked).dtype, first_row_ + lanes_.Number());
        if (auto found = scratch_.find(asked); found != scratch_.end())
          return Load(found->second, group_.type(asked).dtype, at[kept_.back()]);
      }
      return made_.LoadInput(asked, at);
    };
    Expander expander(group_, leaf, nest_.kernel());
    Expr result = expander.Expand(value, index);
    if (expander.missing().valid()) missing_ = expander.missing();
    return result;
  }

  const GroupView& group_;
  const ir::Function& function_;
  const TargetInfo& target_;
  const RowShape& shape_;
  GroupKernel made_;
  Nest nest_;
  KernelSchedule decided_;
  int64_t block_elements_ = 0;
  std::vector<int> kept_, reduced_;  // axes that are not of size 1
  std::vector<Expr> coordinates_;    // of the element at hand
  VariableId inner_ = 0;
  std::set<ValueId> kept_values_;
  std::vector<uint32_t> stores_;
  std::vector<Expr> estimate_;
  Lanes lanes_;                      // the one variable of all lanes
  Expr rows_, steps_, taken_;        // side by side; of them in a vector; elements of a vector
  Expr elements_, vectors_;          // of all rows; whole ones in them
  Expr first_row_ = IntConstant(0);  // of the lanes at hand
  std::map<ValueId, uint32_t> statistics_;
  std::map<ValueId, uint32_t> scratch_;
  ValueId missing_;
};

}  // namespace

Expected<KernelCall> BuildWovenRows(const GroupView& group, const TargetInfo& target) {
  const std::optional<RowShape> shape = FindRowShape(group);
  return shape ? WovenRows(group, target, *shape).Build() : KernelCall{.when = 0};
}

}  // namespace tvmvm::tensor
