// The position of the least or the largest element of rows, on a GPU: a work-group takes a row. Each item
// finds the first (or last) place of the best that it sees; the group then agrees on the best one, and on the
// first (or last) of the items' places where it lies. NaN is none. Where rows are few and long, several
// groups share a row, and a second kernel does the same with what they have found. Short rows, and rows whose
// elements lie apart where there are many of them, are taken by a work-item each, as pulls.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/loops/lower_reductions.h"
#include "compiler/loops/work_group.h"
#include "compiler/schedules/collapse_axes.h"
#include "compiler/schedules/gpu/schedule_gpu.h"
#include "compiler/schedules/group_kernel.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;

constexpr int kItems = 256;                          // of a group
constexpr int kReadAtOnce = 4;                       // elements
constexpr int64_t kShortRow = 64;                    // elements that one work-item takes
constexpr int64_t kManyRows = 8192;                  // where work-items keep a device busy by themselves
constexpr int64_t kFewRows = 256, kLongRow = 16384;  // which several groups share
constexpr int64_t kBusyGroups = 1024;                // that shares make up to
constexpr int64_t kShortestShare = 4096;

const ir::Node* ReductionIn(const GroupView& group) {
  if (group.nodes().size() != 1 || group.outputs().size() != 1) return nullptr;
  const ir::Node& node = group.function().node(group.nodes()[0]);
  return node.op->kind == ir::OpKind::kReduce ? &node : nullptr;
}

enum class RowPart {
  kWhole,
  kShare,   // into two workspaces [row][share]: the best element and its place
  kShares,  // of those workspaces, instead of elements
};

class ExtremumForGpu {
 public:
  ExtremumForGpu(const GroupView& group, const ir::Node& node, RowPart part = RowPart::kWhole)
      : group_(group),
        node_(node),
        part_(part),
        dims_(group.type(node.inputs[0]).dims),
        dtype_(group.type(node.inputs[0]).dtype),
        is_max_(node.String("kind") == "argmax"),
        is_last_(node.Int("select_last") != 0),
        made_(group),
        nest_(&made_.kernel()) {
    const Dims& flags = node.DimList("flags");
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      const bool is_reduced = flags[axis].IsConstant(1);
      if (is_reduced) axis_ = axis;
      kept_.push_back(is_reduced ? Dim(1) : dims_[axis]);
    }
  }

  const Dim& row() const { return dims_[axis_]; }
  Dim rows() const { return Product(kept_); }
  bool IsAlong() const { return axis_ + 1 == dims_.size(); }
  DType dtype() const { return dtype_; }
  RowShares shares() const { return SharesOfRow(rows(), row(), kBusyGroups, kShortestShare, kItems); }

  Expected<KernelCall> Build() {
    TVMVM_CHECK_OK(DeclareArguments());
    row_ = Variable(nest_.Grid(0, "row", rows()));
    share_ = Variable(nest_.Grid(1, "share", part_ == RowPart::kShare ? shares().count : Dim(1)));
    nest_.Grid(2, "g", 1);
    WorkGroup group(&nest_, kItems);
    index_ = BindCoordinates(nest_, kept_, row_);
    const Expr zero = IntConstant(0);
    const uint32_t best = nest_.Local("best", dtype_, Memory::kRegisters, 1);
    const uint32_t place = nest_.Local("place", DType::kI64, Memory::kRegisters, 1);
    nest_.Add(Store(best, zero, ReductionIdentity(Kind(), dtype_)));
    nest_.Add(Store(place, zero, None()));
    group.ForEachRead(
        RangeOfGroup(), dtype_, kReadAtOnce, [this](const Expr& n) { return ElementAt(n); },
        [&](const Expr& position, const Expr& value) {
          Expr so_far = Load(best, dtype_, zero);
          const ExprOp order = is_last_ ? ExprOp::kLessEqual : ExprOp::kLess;
          nest_.OpenIf(is_max_ ? Binary(order, so_far, value) : Binary(order, value, so_far));
          nest_.Add(Store(best, zero, value));
          nest_.Add(Store(place, zero, PlaceAt(position)));
          nest_.Close();
        });
    Expr own = nest_.LetVariable("own", Load(best, dtype_, zero));
    Expr all = nest_.GroupReduce("best", is_max_ ? ExprOp::kMax : ExprOp::kMin, own);
    Expr candidate = Select(Equal(own, all), Load(place, DType::kI64, zero), None());
    Expr found = nest_.GroupReduce("found", is_last_ ? ExprOp::kMax : ExprOp::kMin, candidate);
    group.OpenFirst();
    if (part_ == RowPart::kShare) {
      const Expr at = nest_.Let("at", row_ * DimValue(shares().count) + share_);
      nest_.Add(Store(bests_, at, all));
      nest_.Add(Store(places_, at, found));
    } else {
      nest_.Add(Store(outputs_[0], row_, Select(Equal(found, None()), zero, found)));
    }
    nest_.Close();
    made_.Estimate(part_ == RowPart::kShares ? rows() * shares().count : Product(dims_), 1, elements_);
    return made_.Take(nest_.Finish());
  }

 private:
  Status DeclareArguments() {
    const std::vector<Expr> none(dims_.size(), IntConstant(0));
    if (part_ == RowPart::kWhole)
      return made_.DeclareArguments([&](ir::ValueId) { return none; }, &elements_, &outputs_);
    const bool writes = part_ == RowPart::kShare;
    if (writes) elements_ = {made_.LoadInput(node_.inputs[0], none)};
    const Access access = writes ? Access::kWrite : Access::kRead;
    bests_ = made_.AddWorkspace(0, dtype_, access);
    places_ = made_.AddWorkspace(1, DType::kI64, access);
    if (!writes) outputs_ = {made_.AddOutput(0)};
    return {};
  }

  Range RangeOfGroup() {
    if (part_ == RowPart::kShares) return {IntConstant(0), DimValue(shares().count)};
    if (part_ == RowPart::kWhole) return {IntConstant(0), DimValue(row())};
    const Expr begin = nest_.Let("begin", share_ * DimValue(shares().length));
    return {begin, nest_.Let("end", Min(begin + DimValue(shares().length), DimValue(row())))};
  }
  Expr ElementAt(const Expr& n) {
    if (part_ == RowPart::kShares) return Load(bests_, dtype_, row_ * DimValue(shares().count) + n);
    index_[axis_] = n;
    return made_.LoadInput(node_.inputs[0], index_);
  }
  Expr PlaceAt(const Expr& n) const {
    return part_ == RowPart::kShares ? Load(places_, DType::kI64, row_ * DimValue(shares().count) + n) : n;
  }

  ReduceKind Kind() const { return is_max_ ? ReduceKind::kArgMax : ReduceKind::kArgMin; }
  Expr None() const { return IntConstant(is_last_ ? -1 : std::numeric_limits<int64_t>::max()); }

  const GroupView& group_;
  const ir::Node& node_;
  const RowPart part_;
  Dims dims_, kept_;
  DType dtype_;
  bool is_max_, is_last_;
  size_t axis_ = 0;
  GroupKernel made_;
  Nest nest_;
  std::vector<Expr> elements_;
  std::vector<uint32_t> outputs_;
  uint32_t bests_ = 0, places_ = 0;
  Expr row_, share_;
  std::vector<Expr> index_;  // of the element at hand
};

}  // namespace

bool TakesExtremumForGpu(const GroupView& group) {
  const ir::Node* node = ReductionIn(group);
  if (node == nullptr || !node->String("kind").starts_with("arg")) return false;
  const DType dtype = group.type(node->inputs[0]).dtype;
  const Dims& flags = node->DimList("flags");
  return group.InputNumber(node->inputs[0]) >= 0 && dtype != DType::kBool && !IsSubByte(dtype) &&
         std::ranges::all_of(flags, [](const Dim& flag) { return flag.is_constant(); });
}

Expected<GroupProgram> ScheduleExtremumForGpu(const GroupView& original, const TargetInfo& target) {
  TVMVM_TRY(GroupProgram program, SchedulePullsForGpu(original, target));
  const ir::Node* node = ReductionIn(original);
  ExtremumForGpu schedule(original, *node);
  const Dim has_many = schedule.IsAlong() ? Dim(0) : LessEqual(Dim(kManyRows), schedule.rows());
  const Dim by_items = Max(LessEqual(schedule.row(), Dim(kShortRow)), has_many);
  for (KernelCall& call : program.calls) call.when = And(call.when, by_items);
  std::erase_if(program.calls, [](const KernelCall& call) { return call.when.IsConstant(0); });
  if (by_items.IsConstant(1)) return program;
  const Dim by_groups = Not(by_items);
  const Dim is_shared =
      And(by_groups, And(Less(schedule.rows(), kFewRows), Less(Dim(kLongRow), schedule.row())));
  auto add = [&](const Dim& when, RowPart part) -> Status {
    if (when.IsConstant(0)) return {};
    TVMVM_TRY(KernelCall call, ExtremumForGpu(original, *node, part).Build());
    call.when = when;
    program.calls.push_back(std::move(call));
    return {};
  };
  if (!is_shared.IsConstant(0)) {
    const Dim found = is_shared * schedule.rows() * schedule.shares().count;
    program.workspaces = {{schedule.dtype(), found}, {DType::kI64, found}};
  }
  for (RowPart part : {RowPart::kShare, RowPart::kShares}) TVMVM_CHECK_OK(add(is_shared, part));
  TVMVM_CHECK_OK(add(And(by_groups, Not(is_shared)), RowPart::kWhole));
  return program;
}

}  // namespace tvmvm::tensor
