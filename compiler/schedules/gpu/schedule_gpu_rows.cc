// Rows on a GPU: softmax, normalisations, reductions. A work-group takes a row: its work-items stride along
// it, each with a partial result, which they combine in the end. Elements that are expensive to compute
// and wanted again stay in shared memory where the row fits there; others are computed anew in each pass.
// Where there are few rows and long ones, several groups share a row, and a second kernel combines what they
// have; where more than one reduction is wanted, in stages: two such kernels for each reduction, and one that
// stores what follows from them all. Short rows are taken by a work-item each, as are rows
// whose elements lie apart where there are many of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/lower_reductions.h"
#include "compiler/schedules/collapse_axes.h"
#include "compiler/schedules/expand.h"
#include "compiler/schedules/gpu/gpu_schedules.h"
#include "compiler/schedules/gpu/schedule_gpu.h"
#include "compiler/schedules/gpu/work_items.h"
#include "compiler/schedules/group_kernel.h"
#include "compiler/schedules/row_shape.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::OpKind;
using ir::ValueId;

enum class RowPart {
  kWhole,
  kShare,      // reduced into a workspace [row][share]
  kShares,     // of that workspace, instead of elements
  kStatistic,  // the same, but into a workspace [row]
  kRest,       // what follows from such workspaces, of a share
};

// How a row is taken.
struct RowForm {
  bool has_groups = false;  // by a work-group; else by a work-item
  RowPart part = RowPart::kWhole;
  RowShares shares;
  size_t stage = 0;        // the number of the reduction; workspaces of those before it are [row]
  std::set<ValueId> held;  // elements that a reduction needs and later passes find in shared memory
  int64_t most_held = 0;   // so many of each, at least the row's length
};

// What a node reduces, with nothing behind its operand: a reduction, unless there is no axis to reduce.
Expr ReduceOf(const GroupView& group, const ir::Node& node) {
  LoopKernel draft;
  std::vector<Expr> index(static_cast<size_t>(group.type(node.outputs[0]).rank()), IntConstant(0));
  auto leaf = [&](ValueId asked, std::span<const Expr>) {
    return asked == node.outputs[0] ? Expr() : Element(0, group.type(asked).dtype, {});
  };
  return group.Expand(node.outputs[0], index, leaf, &draft);
}

// The reductions of a group, in order.
std::vector<const ir::Node*> ReductionsOf(const GroupView& group) {
  std::vector<const ir::Node*> reductions;
  for (ir::NodeId id : group.nodes()) {
    const ir::Node& node = group.function().node(id);
    if (node.op->kind == OpKind::kReduce) reductions.push_back(&node);
  }
  return reductions;
}

// Of what a reduction combines, and where stages have what they find: partial results, statistics.
DType AccumulatorOf(const GroupView& group, const ir::Node& reduction) {
  return tensor::AccumulatorOf(ReduceOf(group, reduction));
}
uint32_t PartialSpace(size_t stage) { return static_cast<uint32_t>(2 * stage); }
uint32_t StatisticSpace(size_t stage) { return static_cast<uint32_t>(2 * stage + 1); }

class RowsForGpu {
 public:
  RowsForGpu(const GroupView& group, const GpuRowsSchedule& schedule, RowShape shape, RowForm form)
      : group_(group),
        row_items_(static_cast<int>(schedule.row_items)),
        read_at_once_(static_cast<int>(schedule.read_at_once)),
        function_(group.function()),
        shape_(std::move(shape)),
        form_(std::move(form)),
        has_groups_(form_.has_groups),
        is_share_(form_.part == RowPart::kShare || form_.part == RowPart::kRest),
        combines_shares_(form_.part == RowPart::kShares || form_.part == RowPart::kStatistic),
        reductions_(ReductionsOf(group)),
        made_(group),
        nest_(&made_.kernel()) {}

  Expected<KernelCall> Build(const KernelSchedule& decided) {
    for (size_t axis = 0; axis < shape_.whole.size(); ++axis) {
      bool is_single = shape_.whole[axis].IsConstant(1), is_kept = shape_.flags[axis].IsConstant(0);
      coordinates_.push_back(is_single ? IntConstant(0)
                                       : Variable(made_.kernel().NewVariable(fmt::format("i{}", axis))));
      if (is_single) continue;
      (is_kept ? kept_ : reduced_).push_back(axis);
      (is_kept ? kept_sizes_ : reduced_sizes_).push_back(shape_.whole[axis]);
    }
    TVMVM_CHECK_OK(DeclareArguments());
    OpenRow();
    BindStatistics();
    if (form_.part == RowPart::kShare) {
      StoreReduced(row_ * DimValue(form_.shares.count) + Variable(nest_.kernel()->grid[1]));
    } else if (form_.part == RowPart::kStatistic) {
      StoreReduced(row_);
    } else {
      BuildRow();
    }
    if (missing_.valid()) return tl::unexpected(NoSchedule(group_, missing_));
    made_.Estimate(Product(combines_shares_ ? kept_sizes_ : shape_.whole), 1, estimate_);
    return made_.Take(nest_.Finish(), decided);
  }

 private:
  bool IsWhole(ValueId value) const { return group_.type(value).dims == shape_.whole; }

  std::vector<Expr> IndexOf(ValueId value, std::vector<Expr> index) const {
    if (!IsWhole(value))
      for (size_t axis : reduced_) index[axis] = IntConstant(0);
    return index;
  }

  Status DeclareArguments() {
    auto index = [this](ValueId output) { return IndexOf(output, coordinates_); };
    if (form_.part == RowPart::kWhole) return made_.DeclareArguments(index, &estimate_, &stores_);
    const size_t known = form_.part == RowPart::kRest ? reductions_.size() : form_.stage;
    auto element = [this](ValueId value) { return Element(0, group_.type(value).dtype, {}); };
    auto add = [this](uint32_t space, size_t stage, Access access) {
      return made_.AddWorkspace(space, AccumulatorOf(group_, *reductions_[stage]), access);
    };
    if (form_.part == RowPart::kShare) {
      const ValueId reduced = reductions_[form_.stage]->outputs[0];
      for (size_t stage = 0; stage < known; ++stage) {
        const ValueId value = reductions_[stage]->outputs[0];
        statistics_[value] = element(value);
      }
      estimate_ = {Expand(reduced, coordinates_, reduced)};
    }
    if (form_.part != RowPart::kStatistic && form_.part != RowPart::kShares)
      for (size_t stage = 0; stage < known; ++stage)
        statistic_spaces_.push_back(add(StatisticSpace(stage), stage, Access::kRead));
    if (form_.part != RowPart::kRest)
      workspace_ = add(PartialSpace(form_.stage), form_.stage,
                       form_.part == RowPart::kShare ? Access::kWrite : Access::kRead);
    if (form_.part == RowPart::kStatistic)
      statistic_ = add(StatisticSpace(form_.stage), form_.stage, Access::kWrite);
    if (form_.part == RowPart::kShare || form_.part == RowPart::kStatistic) return {};
    return made_.DeclareArguments(index, &estimate_, &stores_, [&](ValueId value, std::span<const Expr>) {
      auto is_its = [&](const ir::Node* reduction) { return reduction->outputs[0] == value; };
      return std::ranges::any_of(reductions_, is_its) ? element(value) : Expr();
    });
  }

  // What earlier stages have found.
  void BindStatistics() {
    for (size_t stage = 0; stage < statistic_spaces_.size(); ++stage) {
      const ir::Node& node = *reductions_[stage];
      Expr found = Load(statistic_spaces_[stage], AccumulatorOf(group_, node), row_);
      statistics_[node.outputs[0]] = nest_.Let("statistic", Cast(group_.type(node.outputs[0]).dtype, found));
    }
  }

  void BuildRow() {
    for (ir::NodeId id : group_.nodes()) {
      const ir::Node& node = function_.node(id);
      if (statistics_.contains(node.outputs[0])) continue;
      bool is_row_value = node.op->kind == OpKind::kReduce ||
                          (!IsWhole(node.outputs[0]) && node.op->kind == OpKind::kElementwise);
      if (is_row_value) BuildStatistic(node);
    }
    for (size_t i = 0; i < group_.outputs().size(); ++i) StoreOutput(group_.outputs()[i], stores_[i]);
  }

  // Binds the row's coordinates.
  void OpenRow() {
    Dim rows = Product(kept_sizes_);
    LoopKernel* kernel = nest_.kernel();
    nest_.Grid(0, "row", has_groups_ ? rows : CeilDiv(rows, Dim(kGroupItems)));
    nest_.Grid(1, "share", is_share_ ? form_.shares.count : Dim(1));
    nest_.Grid(2, "g", 1);
    Expr item = OneDimensionalGroup(kernel, has_groups_ ? row_items_ : kGroupItems);
    row_ = has_groups_ ? Variable(kernel->grid[0]) : nest_.Let("row", item);
    if (!has_groups_) nest_.OpenIf(Less(row_, DimValue(rows)));
    std::vector<Expr> index = BindCoordinates(nest_, kept_sizes_, row_);
    for (size_t i = 0; i < kept_.size(); ++i) coordinates_[kept_[i]] = index[i];
  }

  using BuildElement = std::function<void(const std::vector<Expr>& index)>;

  // Loops over the elements of the row, or the results of its shares, that the work-item takes. A work-item
  // of a group takes `at_once` of them in an iteration where there are so many: their reads are on their way
  // together.
  void ForElements(const BuildElement& build, int at_once = 1) {
    if (reduced_.empty()) return build(coordinates_);
    Expr begin = IntConstant(0);
    Expr end = DimValue(combines_shares_ ? form_.shares.count : Product(reduced_sizes_));
    if (is_share_) {
      begin = nest_.Let("begin", Variable(nest_.kernel()->grid[1]) * DimValue(form_.shares.length));
      end = nest_.Let("end", Min(begin + DimValue(form_.shares.length), end));
    }
    if (at_once > 1) {
      Expr whole = WholeSteps(nest_, {begin, end}, int64_t{at_once} * row_items_);
      if (!Same(begin, whole)) LoopOver({begin, whole}, at_once, build);
      begin = whole;
    }
    LoopOver({begin, end}, 1, build);
  }

  void LoopOver(const Range& range, int at_once, const BuildElement& build) {
    int items = has_groups_ ? row_items_ : 1;
    Expr begin = has_groups_ ? range.begin + Variable(nest_.kernel()->thread[0]) : range.begin;
    position_ =
        Variable(nest_.Open("position", begin, range.end, LoopKind::kSerial, int64_t{at_once} * items));
    if (at_once > 1) {
      Expr part = Variable(nest_.Open("part", IntConstant(0), IntConstant(at_once), LoopKind::kUnrolled));
      position_ = position_ + part * IntConstant(items);
    }
    std::vector<Expr> index = coordinates_;
    if (!combines_shares_) {
      std::vector<Expr> within = BindCoordinates(nest_, reduced_sizes_, position_);
      for (size_t i = 0; i < reduced_.size(); ++i) index[reduced_[i]] = within[i];
    }
    build(index);
    if (at_once > 1) nest_.Close();
    nest_.Close();
  }

  // The element, from what is known of the row so far; `wanted` is made now even if it is known.
  Expr Expand(ValueId value, const std::vector<Expr>& index, ValueId wanted) {
    auto leaf = [&](ValueId asked, std::span<const Expr> at) -> Expr {
      if (auto found = statistics_.find(asked); asked != wanted && found != statistics_.end())
        return found->second;
      if (auto found = held_.find(asked); found != held_.end())
        return Load(found->second, group_.type(asked).dtype, position_);
      return made_.LoadInput(asked, at);
    };
    Expander expander(group_, leaf, nest_.kernel());
    Expr result = expander.Expand(value, IndexOf(value, index));
    if (expander.missing().valid()) missing_ = expander.missing();
    return result;
  }

  // A value of the row as a whole: a reduction, or arithmetic on such.
  void BuildStatistic(const ir::Node& node) {
    ValueId value = node.outputs[0];
    Expr element;
    if (node.op->kind == OpKind::kReduce) element = ReduceOf(group_, node);
    if (element.valid() && element.op() == ExprOp::kReduce) {
      element = Cast(element.dtype(), Reduced(element, node.inputs[0]));
    } else {
      element = Expand(value, coordinates_, value);
    }
    statistics_[value] = nest_.Let("statistic", nest_.Place(element));
  }

  // Of the accumulator's type.
  Expr Reduced(const Expr& reduce, ValueId operand) {
    ReduceKind kind = reduce->reduction->kind;
    DType dtype = AccumulatorOf(reduce);
    Expr zero = IntConstant(0);
    uint32_t own = nest_.Local("partial", dtype, Memory::kRegisters, 1);
    nest_.Add(Store(own, zero, ReductionIdentity(kind, dtype)));
    bool holds = form_.held.contains(operand) && !held_.contains(operand);
    DType type = group_.type(operand).dtype;
    uint32_t buffer = holds ? nest_.Local("held", type, Memory::kShared, form_.most_held) : 0;
    auto add = [&](const std::vector<Expr>& index) {
      Expr element = combines_shares_
                         ? Load(workspace_, dtype, row_ * DimValue(form_.shares.count) + position_)
                         : Expand(operand, index, {});
      if (holds) {
        element = nest_.Let("element", nest_.Place(element));
        nest_.Add(Store(buffer, position_, element));
      }
      Expr sum = CombineReduced(kind, Load(own, dtype, zero), Cast(dtype, element));
      nest_.Add(Store(own, zero, nest_.Place(sum)));
    };
    bool reads = has_groups_ && !IsExpensive(group_, shape_, operand);
    ForElements(add, reads ? read_at_once_ : 1);
    if (holds) held_[operand] = buffer;
    Expr result = Load(own, dtype, zero);
    return has_groups_ ? nest_.GroupReduce("reduced", CombineOf(kind, dtype), result) : result;
  }

  void StoreReduced(const Expr& place) {
    const ir::Node& node = *reductions_[form_.stage];
    Expr result = Reduced(ReduceOf(group_, node), node.inputs[0]);
    nest_.OpenIf(Equal(Variable(nest_.kernel()->thread[0]), IntConstant(0)));
    const bool is_statistic = form_.part == RowPart::kStatistic;
    nest_.Add(Store(is_statistic ? statistic_ : workspace_, nest_.Place(place), result));
    nest_.Close();
  }

  void StoreOutput(ValueId output, uint32_t buffer) {
    auto store = [&](const std::vector<Expr>& index) {
      Expr roots[] = {FlatIndex(group_.type(output).dims, IndexOf(output, index)), Expand(output, index, {})};
      std::vector<Expr> placed = nest_.Place(roots);
      nest_.Add(Store(buffer, placed[0], placed[1]));
    };
    if (IsWhole(output)) return ForElements(store);
    const LoopKernel& kernel = *nest_.kernel();
    Expr is_first = has_groups_ ? Equal(Variable(kernel.thread[0]), IntConstant(0)) : Expr();
    if (is_share_) is_first = And(is_first, Equal(Variable(kernel.grid[1]), IntConstant(0)));
    if (has_groups_) nest_.OpenIf(is_first);
    store(coordinates_);
    if (has_groups_) nest_.Close();
  }

  const GroupView& group_;
  int row_items_, read_at_once_;
  const ir::Function& function_;
  RowShape shape_;
  RowForm form_;
  bool has_groups_, is_share_, combines_shares_;
  std::vector<const ir::Node*> reductions_;
  GroupKernel made_;
  Nest nest_;
  std::vector<Expr> coordinates_;
  std::vector<size_t> kept_, reduced_;  // axes that are not of size 1
  Dims kept_sizes_, reduced_sizes_;
  std::vector<Expr> estimate_;
  std::vector<uint32_t> stores_;
  uint32_t workspace_ = 0, statistic_ = 0;
  std::vector<uint32_t> statistic_spaces_;  // of earlier stages
  Expr row_;
  std::map<ValueId, Expr> statistics_;
  std::map<ValueId, uint32_t> held_;  // buffers that are filled
  Expr position_ = IntConstant(0);    // of the element at hand within the row
  ValueId missing_;
};

// How many elements of each value shared memory holds; numbers take at least 32 bits there.
int64_t MostHeld(const GroupView& group, const GpuRowsSchedule& schedule, const std::set<ValueId>& values) {
  int64_t bytes = 0;
  for (ValueId value : values) bytes += std::max(4, DTypeBits(group.type(value).dtype) / 8);
  return schedule.held_bytes / bytes;
}

// By as many groups as keep a device busy.
RowForm SharedForm(const GpuRowsSchedule& schedule, const Dim& rows, const Dim& row) {
  RowForm form{true};
  form.shares = SharesOfRow(rows, row, schedule.busy_groups, schedule.shortest_share, schedule.row_items);
  return form;
}

}  // namespace

bool TakesRowsForGpu(const GroupView& group) {
  CollapsedGroup collapsed = CollapseAxes(group);
  return FindRowShape(GroupView(collapsed.function, collapsed.node)).has_value();
}

Expected<GroupProgram> ScheduleRowsForGpu(const GroupView& original, const TargetInfo& target) {
  CollapsedGroup collapsed = CollapseAxes(original);
  GroupView group(collapsed.function, collapsed.node, original.overrides());
  std::optional<RowShape> shape = FindRowShape(group);
  if (!shape) return MakeError(Code::kInternal, "the group is none of rows");
  Dim row = 1, rows = 1;
  bool innermost_is_kept = false;
  for (size_t axis = 0; axis < shape->whole.size(); ++axis) {
    bool is_kept = shape->flags[axis].IsConstant(0);
    (is_kept ? rows : row) = (is_kept ? rows : row) * shape->whole[axis];
    if (!shape->whole[axis].IsConstant(1)) innermost_is_kept = is_kept;
  }
  GpuRowsSchedule schedule;
  std::string problem = WordsOf(group) + " dims=" + WordOf(shape->whole) + " reduced=" + WordOf(shape->flags);
  const KernelSchedule decided = Decide(group, target, std::move(problem), &schedule);
  Dim is_short = LessEqual(row, Dim(schedule.short_row));
  Dim has_many = innermost_is_kept ? LessEqual(Dim(schedule.many_rows), rows) : Dim(0);
  Dim by_items = Select(is_short, 1, has_many);
  GroupProgram program;
  auto add = [&](const Dim& when, RowForm form) -> Status {
    if (when.IsConstant(0)) return {};
    TVMVM_TRY(KernelCall call, RowsForGpu(group, schedule, *shape, std::move(form)).Build(decided));
    collapsed.ReadOriginals(&call);
    call.when = when;
    program.calls.push_back(std::move(call));
    return {};
  };
  TVMVM_CHECK_OK(add(by_items, {}));
  Dim by_groups = Not(by_items);
  const std::vector<const ir::Node*> reductions = ReductionsOf(group);
  const bool has_stages = shape->reductions > 1 || shape->has_whole_output;
  const int64_t more = has_stages ? 4 : 1;  // stages take more kernels, so that there has to be more to share
  Dim are_few = Less(rows * Dim(more), schedule.few_rows);
  // However many there are, a group does not go through the longest ones several times: nothing ends it.
  constexpr int64_t kLongest = 64;
  if (has_stages) are_few = Or(are_few, Less(Dim(kLongest * schedule.long_row), row));
  Dim is_shared = And(are_few, Less(Dim(more * schedule.long_row), row));
  if (has_stages) {
    auto is_none = [&](const ir::Node* node) { return ReduceOf(group, *node).op() != ExprOp::kReduce; };
    ir::SymbolSet of_row;
    ir::CollectSymbols(row, &of_row);
    // Rows that get more as they get longer are not few.
    if (std::ranges::any_of(reductions, is_none) || ir::MentionsAny(rows, of_row)) is_shared = 0;
    is_shared = And(is_shared, by_groups);
  }
  if (!is_shared.IsConstant(0)) {
    RowForm form = SharedForm(schedule, rows, row);
    auto add_part = [&](RowPart part, size_t stage) {
      form.part = part, form.stage = stage;
      return add(is_shared, form);
    };
    for (size_t stage = 0; stage < reductions.size(); ++stage) {
      TVMVM_CHECK_OK(add_part(RowPart::kShare, stage));
      TVMVM_CHECK_OK(add_part(has_stages ? RowPart::kStatistic : RowPart::kShares, stage));
      const DType dtype = AccumulatorOf(group, *reductions[stage]);
      program.workspaces.push_back({dtype, is_shared * rows * form.shares.count});
      if (has_stages) program.workspaces.push_back({dtype, is_shared * rows});
    }
    if (has_stages) TVMVM_CHECK_OK(add_part(RowPart::kRest, 0));
    by_groups = And(by_groups, Not(is_shared));
  }
  if (std::set<ValueId> held = ValuesWorthKeeping(group, *shape); !held.empty()) {
    int64_t most = MostHeld(group, schedule, held);
    Dim fits = LessEqual(row, Dim(most));
    RowForm form{
        .has_groups = true, .held = held, .most_held = std::min(most, row.constant().value_or(most))};
    TVMVM_CHECK_OK(add(And(by_groups, fits), std::move(form)));
    by_groups = And(by_groups, Not(fits));
  }
  TVMVM_CHECK_OK(add(by_groups, {true}));
  return program;
}

}  // namespace tvmvm::tensor
