// Schedules for rows: softmax, normalisations and the like. Reductions over one set of axes, elementwise
// operators before, between and after them, results of whole or reduced shape.
//
// A grid point handles a block of rows (a row: all elements that are reduced to one). Where the reduced axes
// are innermost in memory, rows are walked one by one with vectors along the row; where a kept axis is
// innermost, or rows are short, a vector holds as many rows. Where sizes of the run decide, there is a kernel
// for either, and one for a few rows side by side (woven_rows.h). Statistics stay in registers; elements
// that are expensive to compute (exp) are computed once and kept in scratch memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/lower_reductions.h"
#include "compiler/schedules/collapse_axes.h"
#include "compiler/schedules/cpu/cpu_schedules.h"
#include "compiler/schedules/cpu/woven_rows.h"
#include "compiler/schedules/expand.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/group_kernel.h"
#include "compiler/schedules/row_shape.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::OpKind;
using ir::ValueId;

constexpr int64_t kMostRows = 64;  // that vectors hold at once, at every CPU level

class RowsKernel {
 public:
  // `has_row_lanes`: a vector holds an element of each of several rows.
  RowsKernel(const GroupView& group, const TargetInfo& target, const RowShape& shape, bool has_row_lanes)
      : group_(group),
        function_(group.function()),
        target_(target),
        shape_(shape),
        has_row_lanes_(has_row_lanes),
        made_(group),
        nest_(&made_.kernel()) {}

  // The kernel, and when it is the one to launch; without loops where that is never.
  Expected<KernelCall> Build() {
    LoopKernel& kernel = made_.kernel();
    for (size_t axis = 0; axis < shape_.whole.size(); ++axis) {
      variables_.push_back(kernel.NewVariable(fmt::format("i{}", axis)));
      bool is_single = shape_.whole[axis].IsConstant(1);
      coordinates_.push_back(is_single ? IntConstant(0) : Variable(variables_.back()));
      if (is_single) continue;
      (shape_.flags[axis].IsConstant(0) ? kept_ : reduced_).push_back(static_cast<int>(axis));
    }
    if (!reduced_.empty()) kept_values_ = ValuesWorthKeeping(group_, shape_);
    TVMVM_CHECK_OK(
        made_.DeclareArguments([this](ValueId output) { return IndexOf(output); }, &estimate_, &stores_));
    const Dim when = DecideSchedule();
    if (when.IsConstant(0)) return KernelCall{.when = when};
    BuildLoops();
    if (missing_.valid()) return tl::unexpected(NoSchedule(group_, missing_));
    made_.Estimate(Product(shape_.whole), 1, estimate_);
    KernelCall call = made_.Take(nest_.Finish(), std::move(decided_));
    call.when = when;
    return call;
  }

 private:
  // Gives the condition of a launch.
  Dim DecideSchedule() {
    RowsSchedule schedule;
    schedule.short_row = ShortRow();
    const int widest = LanesFor(estimate_, target_);
    schedule.lanes = widest;
    std::string problem =
        WordsOf(group_) + " dims=" + WordOf(shape_.whole) + " reduced=" + WordOf(shape_.flags);
    decided_ = Decide(group_, target_, std::move(problem), &schedule,
                      [&](RowsSchedule* made) { made->lanes = std::min<int64_t>(made->lanes, widest); });
    const Dim suits_lanes = SuitsRowLanes(schedule), when = has_row_lanes_ ? suits_lanes : Not(suits_lanes);
    // What is gathered takes much code, and gains little by longer vectors: too little for a few cases.
    constexpr int64_t kGathered = 8;
    const bool is_rare = !when.is_constant() && has_row_lanes_ && !LieSideBySide();
    width_ = static_cast<int>(is_rare ? std::min(schedule.lanes, kGathered) : schedule.lanes);
    const int64_t unrolled = is_rare ? 1 : schedule.unrolled_vectors;
    unroll_ = std::clamp(static_cast<int>(kMostRows) / width_, 1, static_cast<int>(unrolled));
    block_elements_ = schedule.block_elements;
    return when;
  }

  bool LieSideBySide() const { return !kept_.empty() && !reduced_.empty() && kept_.back() > reduced_.back(); }

  // What vectors along a row hardly fill; not where the row is known to be some whole vectors of 8.
  int64_t ShortRow() const {
    constexpr int64_t kShortest = 16, kShort = 28, kVector = 8;
    const int64_t row = Product(ExtentsOf(reduced_)).constant().value_or(0);
    return row >= kShortest && row % kVector == 0 ? kShortest - 1 : kShort;
  }

  // Where rows lie side by side, or one behind the other, short and many of them.
  Dim SuitsRowLanes(const RowsSchedule& schedule) const {
    constexpr int64_t kMany = 16, kVector = 16;
    if (kept_.empty()) return 0;
    if (reduced_.empty()) return 1;
    const Dim row = Product(ExtentsOf(reduced_)), rows = shape_.whole[kept_.back()];
    if (LieSideBySide())
      return MayBeFew(rows, schedule.few_rows) ? Or(Less(schedule.few_rows, rows), Less(row, kVector))
                                               : Dim(1);
    if (!MayBeFew(row, schedule.short_row)) return 0;
    return And(LessEqual(row, schedule.short_row), LessEqual(kMany, rows));
  }

  bool IsWhole(ValueId value) const { return group_.type(value).dims == shape_.whole; }

  std::vector<Expr> IndexOf(ValueId value) const {
    if (IsWhole(value)) return coordinates_;
    std::vector<Expr> index = coordinates_;
    for (int axis : reduced_) index[axis] = IntConstant(0);
    return index;
  }

  Dims ExtentsOf(const std::vector<int>& axes) const {
    Dims extents;
    for (int axis : axes) extents.push_back(shape_.whole[axis]);
    return extents;
  }

  // --- loops ---
  void BuildLoops() {
    Dim row = Max(Product(ExtentsOf(reduced_)), Dim(1));
    Dim rows_per_block = Max(FloorDiv(Dim(block_elements_), row), Dim(1));
    std::vector<int> outer = kept_;
    if (has_row_lanes_) outer.pop_back();
    Dim inner_block(kMostRows);
    if (has_row_lanes_) {
      inner_block = CeilDiv(rows_per_block, Dim(kMostRows)) * Dim(kMostRows);
      rows_per_block = Max(FloorDiv(rows_per_block, Max(shape_.whole[kept_.back()], Dim(1))), Dim(1));
    }
    Range lanes_range =
        BlockOf(nest_, 0, "lanes", has_row_lanes_ ? shape_.whole[kept_.back()] : Dim(1), inner_block);
    Range rows_range = BlockOf(nest_, 1, "rows", Product(ExtentsOf(outer)), rows_per_block);
    nest_.Grid(2, "g", 1);
    if (!outer.empty()) {
      Expr position = Variable(nest_.Open("row", rows_range.begin, rows_range.end));
      std::vector<Expr> index = BindCoordinates(nest_, ExtentsOf(outer), position);
      for (size_t i = 0; i < outer.size(); ++i) coordinates_[outer[i]] = index[i];
    }
    if (!has_row_lanes_) return BuildRow(Lanes{});
    BuildRows(lanes_range);
  }

  // Vectors of rows; the last of them is a masked one where nothing is gathered.
  void BuildRows(Range rest) {
    const int axis = kept_.back();
    auto loop = [&](int width, int unroll) {
      const Expr from = rest.begin, to = WholeSteps(nest_, rest, width * unroll);
      if (Same(from, to)) return;
      Lanes lanes = Lanes::Make(nest_.kernel(), width, unroll);
      VariableId i = nest_.Open(fmt::format("i{}", axis), from, to, LoopKind::kSerial, lanes.count());
      coordinates_[axis] = Variable(i) + lanes.Number();
      BuildRow(lanes);
      nest_.Close();
      rest = RestAfter(rest, to, lanes.count());
    };
    if (width_ > 1) {
      loop(width_, unroll_);
      loop(width_, 1);
    }
    if (width_ == 1 || !SuitsMasks(estimate_, variables_[axis])) return loop(1, 1);
    if (Same(rest.begin, rest.end)) return;
    nest_.OpenIf(Less(rest.begin, rest.end));
    Lanes last = Lanes::Make(nest_.kernel(), width_, 1);
    coordinates_[axis] = rest.begin + last.Number();
    last.guard = Less(coordinates_[axis], rest.end);
    BuildRow(last);
    nest_.Close();
  }

  // All of one row, or of as many rows as there are lanes.
  void BuildRow(const Lanes& lanes) {
    statistics_.clear();
    scratch_.clear();
    for (ir::NodeId id : group_.nodes()) {
      const ir::Node& node = function_.node(id);
      bool is_row_value = node.op->kind == OpKind::kReduce ||
                          (!IsWhole(node.outputs[0]) && node.op->kind == OpKind::kElementwise);
      if (is_row_value) BuildStatistic(node, lanes);
    }
    for (size_t i = 0; i < group_.outputs().size(); ++i) {
      ValueId output = group_.outputs()[i];
      if (IsWhole(output) && !reduced_.empty()) {
        StoreRow(output, stores_[i], lanes);
      } else {
        StoreOne(stores_[i], FlatIndex(group_.type(output).dims, IndexOf(output)),
                 Expand(output, IndexOf(output), {}), lanes);
      }
    }
  }

  // A value of the row as a whole: a reduction, or arithmetic on such.
  void BuildStatistic(const ir::Node& node, const Lanes& lanes) {
    ValueId value = node.outputs[0];
    ReductionLowering lowering(&nest_, has_row_lanes_ ? 1 : width_, LieSideBySide());
    const bool keeps = node.op->kind == OpKind::kReduce && kept_values_.contains(node.inputs[0]) &&
                       !scratch_.contains(node.inputs[0]);
    if (keeps) OpenScratch(node.inputs[0], lanes);
    if (OnlyShiftsExponentials(group_, value)) lowering.PassOverNan();
    Expr element = Expand(value, IndexOf(value), value);
    if (keeps) element = KeptWhileReduced(node.inputs[0], element, &lowering);
    element = lowering.Lower(element, lanes);
    if (lanes.count() == 1) {
      statistics_[value] = nest_.Let("statistic", nest_.Place(element));
      return;
    }
    uint32_t buffer = nest_.Local("statistic", element.dtype(), Memory::kRegisters, lanes.count());
    StoreOne(buffer, lanes.Number(), element, lanes);
    statistics_[value] = Load(buffer, element.dtype(), lanes.Number());
  }

  void StoreOne(uint32_t buffer, const Expr& index, const Expr& element, const Lanes& lanes) {
    ForLanes(nest_, lanes, [&] {
      Expr roots[] = {index, Guarded(element, lanes)};
      std::vector<Expr> placed = nest_.Place(roots);
      nest_.Add(Store(buffer, placed[0], placed[1], lanes.guard));
    });
  }

  // The element, from what is known of the row so far; `wanted` is made now even if it is known.
  Expr Expand(ValueId value, std::span<const Expr> index, ValueId wanted) {
    auto leaf = [&](ValueId asked, std::span<const Expr> at) -> Expr {
      if (asked != wanted) {
        if (auto found = statistics_.find(asked); found != statistics_.end()) return found->second;
        if (auto found = scratch_.find(asked); found != scratch_.end()) {
          kept_at_.assign(at.begin(), at.end());
          return Load(found->second, group_.type(asked).dtype, ScratchIndex(at));
        }
      }
      return made_.LoadInput(asked, at);
    };
    Expander expander(group_, leaf, nest_.kernel());
    Expr result = expander.Expand(value, index);
    if (expander.missing().valid()) missing_ = expander.missing();
    return result;
  }

  // --- kept elements ---
  // Position within the row, times the number of rows held at once, plus the row's number among them.
  Expr ScratchIndex(std::span<const Expr> index) const {
    Dims extents;
    std::vector<Expr> within;
    for (int axis : reduced_) {
      extents.push_back(shape_.whole[axis]);
      within.push_back(index[axis]);
    }
    Expr position = FlatIndex(extents, within);
    return scratch_lanes_.count() == 1
               ? position
               : position * IntConstant(scratch_lanes_.count()) + scratch_lanes_.Number();
  }

  void OpenScratch(ValueId value, const Lanes& lanes) {
    LoopKernel& kernel = made_.kernel();
    DType dtype = group_.type(value).dtype;
    uint32_t buffer;
    if (auto found = scratch_buffers_.find(value); found != scratch_buffers_.end()) {
      buffer = found->second;
    } else {
      Dim elements = Product(ExtentsOf(reduced_)) * Dim(has_row_lanes_ ? kMostRows : 1);
      buffer = kernel.AddLocal("kept", dtype, Memory::kScratch, 0, DimValue(kernel.scratch_bytes));
      Dim bytes = CeilDiv(elements * Dim(DTypeBits(dtype) / 8), Dim(64)) * Dim(64);
      kernel.scratch_bytes = kernel.scratch_bytes + bytes;
      scratch_buffers_[value] = buffer;
    }
    nest_.Add(Allocate(buffer));
    scratch_lanes_ = lanes;
    scratch_[value] = buffer;
  }

  // A reduction of elements that would be read from the scratch, which are computed instead, and kept there.
  Expr KeptWhileReduced(ValueId value, const Expr& reduction, ReductionLowering* lowering) {
    const std::vector<Expr> at = kept_at_;
    const Expr kept = Load(scratch_[value], group_.type(value).dtype, ScratchIndex(at));
    const Expr element = Expand(value, at, value);
    lowering->Keep(kept->id, kept->operands[0]);
    return Rewriter([&](const Expr& e) { return Same(e, kept) ? element : e; })(reduction);
  }

  void StoreRow(ValueId output, uint32_t buffer, const Lanes& lanes) {
    ForRow(lanes, [&](const std::vector<Expr>& index, const Lanes& parts) {
      StoreOne(buffer, FlatIndex(shape_.whole, index), Expand(output, index, {}), parts);
    });
  }

  // Loops over the elements of the row; `build` gets the coordinates and the lanes to store.
  void ForRow(const Lanes& lanes, const std::function<void(const std::vector<Expr>&, const Lanes&)>& build) {
    std::vector<Expr> index = coordinates_;
    for (size_t i = 0; i + 1 < reduced_.size(); ++i) {
      Expr extent = DimValue(shape_.whole[reduced_[i]]);
      index[reduced_[i]] = Variable(nest_.Open(fmt::format("i{}", reduced_[i]), IntConstant(0), extent));
    }
    int inner = reduced_.back();
    Range range = WholeAxis(shape_.whole[inner]);
    auto loop = [&](const Expr& to, const Lanes& parts, bool along_row) {
      if (Same(range.begin, to)) return;
      VariableId i = nest_.Open(fmt::format("i{}", inner), range.begin, to, LoopKind::kSerial,
                                along_row ? parts.count() : 1);
      index[inner] = along_row ? Variable(i) + parts.Number() : Variable(i);
      build(index, parts);
      nest_.Close();
      range.begin = to;
    };
    if (has_row_lanes_) {
      loop(range.end, lanes, false);
    } else {
      if (width_ > 1) loop(WholeSteps(nest_, range, width_), Lanes::Make(nest_.kernel(), width_, 1), true);
      if (width_ == 1 || !SuitsMasks(estimate_, variables_[inner])) {
        loop(range.end, Lanes{}, true);
      } else if (!Same(range.begin, range.end)) {
        nest_.OpenIf(Less(range.begin, range.end));
        Lanes last = Lanes::Make(nest_.kernel(), width_, 1);
        index[inner] = range.begin + last.Number();
        last.guard = Less(index[inner], range.end);
        build(index, last);
        nest_.Close();
      }
    }
    for (size_t i = 0; i + 1 < reduced_.size(); ++i) nest_.Close();
  }

  const GroupView& group_;
  const ir::Function& function_;
  const TargetInfo& target_;
  const RowShape& shape_;
  const bool has_row_lanes_;  // vectors hold several rows
  GroupKernel made_;
  Nest nest_;
  KernelSchedule decided_;
  int64_t block_elements_ = 0;
  int width_ = 1, unroll_ = 1;
  std::vector<VariableId> variables_;
  std::vector<Expr> coordinates_;    // of the element at hand; free variables where no loop binds them yet
  std::vector<int> kept_, reduced_;  // axes that are not of size 1
  std::set<ValueId> kept_values_;
  std::vector<uint32_t> stores_;
  std::vector<Expr> estimate_;
  std::map<ValueId, Expr> statistics_;   // of the row at hand
  std::map<ValueId, uint32_t> scratch_;  // filled for the row at hand
  std::map<ValueId, uint32_t> scratch_buffers_;
  Lanes scratch_lanes_;
  std::vector<Expr> kept_at_;  // where the last element was read that scratch holds
  ValueId missing_;
};

}  // namespace

bool TakesRows(const GroupView& group) {
  CollapsedGroup collapsed = CollapseAxes(group);
  std::optional<RowShape> shape = FindRowShape(GroupView(collapsed.function, collapsed.node));
  return shape && (shape->has_whole_output || shape->reductions > 1);
}

Expected<GroupProgram> ScheduleRows(const GroupView& original, const TargetInfo& target) {
  CollapsedGroup collapsed = CollapseAxes(original);
  GroupView group(collapsed.function, collapsed.node, original.overrides());
  std::optional<RowShape> shape = FindRowShape(group);
  if (!shape) return MakeError(Code::kInternal, "the group is none of rows");
  GroupProgram program;
  const auto add = [&](KernelCall call, const Dim& when) {
    call.when = when;
    collapsed.ReadOriginals(&call);
    if (!when.IsConstant(0)) program.calls.push_back(std::move(call));
  };
  TVMVM_TRY(KernelCall woven, BuildWovenRows(group, target));
  const Dim others = Not(woven.when);
  for (bool has_row_lanes : {false, true}) {
    if (others.IsConstant(0)) break;
    TVMVM_TRY(KernelCall call, RowsKernel(group, target, *shape, has_row_lanes).Build());
    const Dim when = call.when;
    add(std::move(call), And(when, others));
    if (when.IsConstant(1)) break;
  }
  const Dim when = woven.when;
  add(std::move(woven), when);
  return program;
}

}  // namespace tvmvm::tensor
