// Rows on a GPU: softmax, normalisations, reductions. A work-group takes a row: its work-items stride along
// it, each with a partial result, which they combine in the end. Elements that are expensive to compute
// and wanted again stay in shared memory where the row fits there; others are computed anew in each pass.
// Short rows are taken by a work-item each, as are rows whose elements lie apart where there are many of
// them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/tensor/collapse_axes.h"
#include "compiler/tensor/group_kernel.h"
#include "compiler/tensor/lower_reductions.h"
#include "compiler/tensor/rewrite.h"
#include "compiler/tensor/row_shape.h"
#include "compiler/tensor/schedule_gpu.h"
#include "compiler/tensor/work_items.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::OpKind;
using ir::ValueId;

constexpr int kRowItems = 256;            // of a group that takes a row
constexpr int64_t kShortRow = 32;         // elements that one work-item takes
constexpr int64_t kManyRows = 16384;      // where work-items keep a device busy by themselves
constexpr int64_t kHeldBytes = 16 << 10;  // of shared memory, for elements of a row

// How a row is taken.
struct RowForm {
  bool has_groups = false;  // by a work-group; else by a work-item
  std::set<ValueId> held;   // elements that a reduction needs and later passes find in shared memory
  int64_t most_held = 0;    // so many of each, at least the row's length
};

class RowsForGpu {
 public:
  RowsForGpu(const GroupView& group, RowShape shape, RowForm form)
      : group_(group),
        function_(group.function()),
        shape_(std::move(shape)),
        form_(std::move(form)),
        has_groups_(form_.has_groups),
        made_(group),
        nest_(&made_.kernel()) {}

  Expected<KernelCall> Build() {
    for (size_t axis = 0; axis < shape_.whole.size(); ++axis) {
      bool is_single = shape_.whole[axis].IsConstant(1), is_kept = shape_.flags[axis].IsConstant(0);
      coordinates_.push_back(is_single ? IntConstant(0)
                                       : Variable(made_.kernel().NewVariable(fmt::format("i{}", axis))));
      if (is_single) continue;
      (is_kept ? kept_ : reduced_).push_back(axis);
      (is_kept ? kept_sizes_ : reduced_sizes_).push_back(shape_.whole[axis]);
    }
    TVMVM_CHECK_OK(made_.DeclareArguments([this](ValueId output) { return IndexOf(output, coordinates_); },
                                          &estimate_, &stores_));
    OpenRow();
    for (ir::NodeId id : group_.nodes()) {
      const ir::Node& node = function_.node(id);
      bool is_row_value = node.op->kind == OpKind::kReduce ||
                          (!IsWhole(node.outputs[0]) && node.op->kind == OpKind::kElementwise);
      if (is_row_value) BuildStatistic(node);
    }
    for (size_t i = 0; i < group_.outputs().size(); ++i) StoreOutput(group_.outputs()[i], stores_[i]);
    if (missing_.valid()) return tl::unexpected(NoSchedule(group_, missing_));
    made_.Estimate(Product(shape_.whole), estimate_);
    return made_.Take(nest_.Finish());
  }

 private:
  bool IsWhole(ValueId value) const { return group_.type(value).dims == shape_.whole; }

  std::vector<Expr> IndexOf(ValueId value, std::vector<Expr> index) const {
    if (!IsWhole(value))
      for (size_t axis : reduced_) index[axis] = IntConstant(0);
    return index;
  }

  // Binds the row's coordinates.
  void OpenRow() {
    Dim rows = Product(kept_sizes_);
    LoopKernel* kernel = nest_.kernel();
    nest_.Grid(0, "row", has_groups_ ? rows : CeilDiv(rows, Dim(kGroupItems)));
    nest_.Grid(1, "g", 1);
    nest_.Grid(2, "g", 1);
    Expr item = OneDimensionalGroup(kernel, has_groups_ ? kRowItems : kGroupItems);
    Expr row = has_groups_ ? Variable(kernel->grid[0]) : nest_.Let("row", item);
    if (!has_groups_) nest_.OpenIf(Less(row, DimValue(rows)));
    std::vector<Expr> index = BindCoordinates(nest_, kept_sizes_, row);
    for (size_t i = 0; i < kept_.size(); ++i) coordinates_[kept_[i]] = index[i];
  }

  // Loops over the elements of the row that the work-item takes.
  void ForElements(const std::function<void(const std::vector<Expr>& index)>& build) {
    std::vector<Expr> index = coordinates_;
    if (reduced_.empty()) return build(index);
    Expr begin = has_groups_ ? Variable(nest_.kernel()->thread[0]) : IntConstant(0);
    position_ = Variable(nest_.Open("position", begin, DimValue(Product(reduced_sizes_)), LoopKind::kSerial,
                                    has_groups_ ? kRowItems : 1));
    std::vector<Expr> within = BindCoordinates(nest_, reduced_sizes_, position_);
    for (size_t i = 0; i < reduced_.size(); ++i) index[reduced_[i]] = within[i];
    build(index);
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
    Expr element = Expand(value, coordinates_, value);
    if (element.op() == ExprOp::kReduce) {
      ValueId operand = node.inputs[0];
      bool holds = form_.held.contains(operand) && !held_.contains(operand);
      DType dtype = group_.type(operand).dtype;
      uint32_t buffer = holds ? nest_.Local("held", dtype, Memory::kShared, form_.most_held) : 0;
      element = Reduced(element, [&](const std::vector<Expr>& index) {
        Expr body = Expand(operand, index, {});
        if (holds) {
          body = nest_.Let("element", nest_.Place(body));
          nest_.Add(Store(buffer, position_, body));
        }
        return Cast(AccumulatorOf(element), body);
      });
      if (holds) held_[operand] = buffer;
    }
    statistics_[value] = nest_.Let("statistic", nest_.Place(element));
  }

  Expr Reduced(const Expr& reduce, const std::function<Expr(const std::vector<Expr>&)>& element_at) {
    ReduceKind kind = reduce->reduction->kind;
    DType dtype = AccumulatorOf(reduce);
    Expr zero = IntConstant(0);
    uint32_t own = nest_.Local("partial", dtype, Memory::kRegisters, 1);
    nest_.Add(Store(own, zero, ReductionIdentity(kind, dtype)));
    ForElements([&](const std::vector<Expr>& index) {
      Expr sum = CombineReduced(kind, Load(own, dtype, zero), element_at(index));
      nest_.Add(Store(own, zero, nest_.Place(sum)));
    });
    Expr result = Load(own, dtype, zero);
    if (has_groups_) result = nest_.GroupReduce("reduced", CombineOf(kind, dtype), result);
    return Cast(reduce.dtype(), result);
  }

  void StoreOutput(ValueId output, uint32_t buffer) {
    auto store = [&](const std::vector<Expr>& index) {
      Expr roots[] = {FlatIndex(group_.type(output).dims, IndexOf(output, index)), Expand(output, index, {})};
      std::vector<Expr> placed = nest_.Place(roots);
      nest_.Add(Store(buffer, placed[0], placed[1]));
    };
    if (IsWhole(output)) return ForElements(store);
    if (has_groups_) nest_.OpenIf(Equal(Variable(nest_.kernel()->thread[0]), IntConstant(0)));
    store(coordinates_);
    if (has_groups_) nest_.Close();
  }

  const GroupView& group_;
  const ir::Function& function_;
  RowShape shape_;
  RowForm form_;
  bool has_groups_;
  GroupKernel made_;
  Nest nest_;
  std::vector<Expr> coordinates_;
  std::vector<size_t> kept_, reduced_;  // axes that are not of size 1
  Dims kept_sizes_, reduced_sizes_;
  std::vector<Expr> estimate_;
  std::vector<uint32_t> stores_;
  std::map<ValueId, Expr> statistics_;
  std::map<ValueId, uint32_t> held_;  // buffers that are filled
  Expr position_ = IntConstant(0);    // of the element at hand within the row
  ValueId missing_;
};

// How many elements of each value shared memory holds; numbers take at least 32 bits there.
int64_t MostHeld(const GroupView& group, const std::set<ValueId>& values) {
  int64_t bytes = 0;
  for (ValueId value : values) bytes += std::max(4, DTypeBits(group.type(value).dtype) / 8);
  return kHeldBytes / bytes;
}

}  // namespace

bool TakesRowsForGpu(const GroupView& group) {
  CollapsedGroup collapsed = CollapseAxes(group);
  return FindRowShape(GroupView(collapsed.function, collapsed.node)).has_value();
}

Expected<GroupProgram> ScheduleRowsForGpu(const GroupView& original, const TargetInfo&) {
  CollapsedGroup collapsed = CollapseAxes(original);
  GroupView group(collapsed.function, collapsed.node);
  std::optional<RowShape> shape = FindRowShape(group);
  if (!shape) return MakeError(Code::kInternal, "the group is none of rows");
  Dim row = 1, rows = 1;
  bool innermost_is_kept = false;
  for (size_t axis = 0; axis < shape->whole.size(); ++axis) {
    bool is_kept = shape->flags[axis].IsConstant(0);
    (is_kept ? rows : row) = (is_kept ? rows : row) * shape->whole[axis];
    if (!shape->whole[axis].IsConstant(1)) innermost_is_kept = is_kept;
  }
  Dim is_short = LessEqual(row, Dim(kShortRow));
  Dim has_many = innermost_is_kept ? LessEqual(Dim(kManyRows), rows) : Dim(0);
  Dim by_items = Select(is_short, 1, has_many);
  GroupProgram program;
  auto add = [&](const Dim& when, RowForm form) -> Status {
    if (when.IsConstant(0)) return {};
    TVMVM_TRY(KernelCall call, RowsForGpu(group, *shape, std::move(form)).Build());
    for (KernelArgument& argument : call.arguments) {
      if (argument.kind == ArgumentKind::kInput) argument.index = collapsed.inputs[argument.index];
    }
    call.when = when;
    program.calls.push_back(std::move(call));
    return {};
  };
  TVMVM_CHECK_OK(add(by_items, {}));
  Dim by_groups = Not(by_items);
  if (std::set<ValueId> held = ValuesWorthKeeping(group, *shape); !held.empty()) {
    int64_t most = MostHeld(group, held);
    Dim fits = LessEqual(row, Dim(most));
    TVMVM_CHECK_OK(add(And(by_groups, fits), {true, held, std::min(most, row.constant().value_or(most))}));
    by_groups = And(by_groups, Not(fits));
  }
  TVMVM_CHECK_OK(add(by_groups, {true}));
  return program;
}

}  // namespace tvmvm::tensor
