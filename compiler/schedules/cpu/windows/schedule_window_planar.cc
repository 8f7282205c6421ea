// Windows along the rows of channels_first data (planar_blocks.h): maxima, minima, sums, averages. A window
// is a rectangle, so its taps are combined along one axis after the other: along the axes before the rows
// while a block is brought into scratch, along each row there, and across rows in registers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "compiler/graph/window_shape.h"
#include "compiler/loops/lower_reductions.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/cpu/windows/planar_blocks.h"
#include "compiler/schedules/product_group.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

constexpr int64_t kVectorBits = 512;
constexpr int64_t kMaxUnrolledTaps = 16;  // along one axis
// Of vectors without masks, where nobody knows how long rows are.
constexpr int64_t kLanesOfAnyRow = 16;

// Windows of larger reach share more rows with the next block.
int64_t BlockRows(const PlanarShape& shape) {
  const int64_t reach = shape.axes() > 1 ? shape.reach(shape.axes() - 2) : 0;
  if (reach < 8) return 16;
  return reach < 24 ? 32 : 64;
}

// The axes from the first that has a window on, one more at least: those before it are planes.
size_t FirstAxis(const ir::Node& node) {
  const std::vector<int64_t>& kernel = node.Ints("kernel");
  size_t first = 0;
  while (kernel[first] == 1 && node.Ints("strides")[first] == 1 && node.DimList("low")[first].IsConstant(0))
    ++first;
  return std::min(first, kernel.size() - std::min<size_t>(kernel.size(), 2));
}

template <class List>
List From(const List& list, size_t first) {
  return List(list.begin() + static_cast<std::ptrdiff_t>(first), list.end());
}

PlanarShape PlanarShapeOf(const GroupView& group, const ir::Node& node) {
  const size_t first = FirstAxis(node);
  return {From(group.type(node.inputs[0]).dims, first),
          From(node.DimList("dims"), first),
          From(node.Ints("kernel"), first),
          From(node.Ints("strides"), first),
          From(node.Ints("dilations"), first),
          From(node.DimList("low"), first)};
}

ReduceKind KindOf(const ir::Node& node) {
  const std::string& kind = node.String("kind");
  if (kind == "max") return ReduceKind::kMax;
  return kind == "min" ? ReduceKind::kMin : ReduceKind::kSum;
}

PlanarForm FormOf(const GroupView& group, const ir::Node& node) {
  PlanarForm form;
  const DType dtype = group.type(node.inputs[0]).dtype;
  form.dtype = IsFloat(dtype) && dtype != DType::kF64 ? DType::kF32 : dtype;
  form.neutral = ReductionIdentity(KindOf(node), form.dtype);
  form.combines = CombineOf(KindOf(node), form.dtype);
  const PlanarShape shape = PlanarShapeOf(group, node).WithoutUnitAxes();
  form.schedule.block_rows = BlockRows(shape);
  auto is_narrow = [&](ir::ValueId value) { return DTypeBits(group.type(value).dtype) < 32; };
  form.reads_whole = is_narrow(node.inputs[0]);
  form.writes_whole = std::any_of(group.outputs().begin(), group.outputs().end(), is_narrow);
  // What other operands hold may lie where results go.
  form.may_rewrite = group.inputs().size() == 1;
  // Not much wider than a row. Without masks, no wider.
  const bool is_whole = form.reads_whole || form.writes_whole;
  form.schedule.lanes = kVectorBits / DTypeBits(form.dtype);
  if (auto columns = shape.output.back().constant()) {
    const auto count = static_cast<uint64_t>(std::max<int64_t>(*columns, 4));
    form.schedule.lanes = std::min(
        form.schedule.lanes, static_cast<int64_t>(is_whole ? std::bit_floor(count) : std::bit_ceil(count)));
  } else if (is_whole) {
    form.schedule.lanes = std::min(form.schedule.lanes, kLanesOfAnyRow);
  }
  return form;
}

class PlanarWindowKernel {
 public:
  PlanarWindowKernel(const GroupView& group, const PlanarForm& form, ir::NodeId anchor,
                     const std::set<int>& wanted, LoopKernel* kernel)
      : group_(group),
        anchor_(anchor),
        node_(group.function().node(anchor)),
        first_(FirstAxis(node_)),
        planar_(PlanarShapeOf(group, node_)),
        form_(form),
        kernel_(kernel),
        nest_(kernel),
        reader_(group, wanted, kernel),
        blocks_(planar_.WithoutUnitAxes(), form_, &nest_) {}

  Expected<std::set<int>> Build(std::vector<KernelArgument>* arguments) {
    kernel_->name = "window";
    std::vector<KernelArgument> list = reader_.arguments();
    outputs_ = AddOutputs(group_, kernel_, &list);
    if (arguments) *arguments = std::move(list);
    results_ = ProductResults::Find(group_, anchor_);
    if (!results_) return MakeError(Code::kInternal, "a window whose results cannot be placed");
    const ir::Type& data = group_.type(node_.inputs[0]);
    const ir::Dims leading(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(first_));
    blocks_.OpenGrid(ir::Product(leading));
    leading_ = Unflatten(blocks_.plane(), leading);
    for (Expr& at : leading_) at = nest_.Let("p", at);
    if (is_average()) FillScale();
    const int input = reader_.InputOf(node_.inputs[0]);
    blocks_.Fill(blocks_.plane(), [&](const Expr& at) { return reader_.AtFlat(input, data.dtype, at); });
    CombineRows();
    TVMVM_CHECK_OK(
        blocks_.ForTiles([&](const Expr& row) { FindFactors(row); },
                         [&](const Expr& row, const Expr& x, int vectors) { return Tile(row, x, vectors); }));
    int64_t steps = 0;
    for (int64_t taps : planar_.kernel) steps += taps;
    kernel_->flops = ir::Product(node_.DimList("dims")) * steps;
    kernel_->body = nest_.Finish();
    return reader_.touched();
  }

 private:
  DType dtype() const { return form_.dtype; }
  bool is_average() const { return node_.String("kind") == "average"; }
  bool counts_padding() const { return node_.Int("include_padding") != 0; }

  Expr Combine(const Expr& so_far, const Expr& next) const { return Binary(*form_.combines, so_far, next); }

  // Along each row, the results in the place of the first residue: later vectors read what lies behind.
  void CombineRows() {
    const Expr zero = IntConstant(0);
    const int lanes = static_cast<int>(form_.schedule.lanes);
    Expr row = Variable(nest_.Open("row", zero, blocks_.used_rows()));
    Expr place = nest_.Let("place", row * DimValue(blocks_.row_pitch()));
    Expr x = Variable(nest_.Open("x", zero, blocks_.columns(), LoopKind::kSerial, lanes));
    const Expr from = nest_.Let("from", place + x);
    auto tap = [&](const Expr& k) { return blocks_.Data(from + blocks_.TapOffset(k), zero, 0); };
    Expr combined = nest_.Let("tap", tap(zero));
    if (blocks_.taps() <= kMaxUnrolledTaps) {
      for (int64_t k = 1; k < blocks_.taps(); ++k)
        combined = nest_.Let("combined", Combine(combined, nest_.Let("tap", tap(IntConstant(k)))));
    } else {
      uint32_t so_far = nest_.Local("so_far", dtype(), Memory::kRegisters, lanes);
      nest_.Add(Store(so_far, blocks_.Lanes(0), combined));
      combined = Load(so_far, dtype(), blocks_.Lanes(0));
      Expr k = Variable(nest_.Open("k", IntConstant(1), IntConstant(blocks_.taps())));
      nest_.Add(Store(so_far, blocks_.Lanes(0), Combine(combined, tap(k))));
      nest_.Close();
    }
    nest_.Add(Store(blocks_.scratch(), Ramp(from, IntConstant(1), lanes), combined));
    nest_.Close();
    nest_.Close();
  }

  Status Tile(const Expr& row, const Expr& x, int vectors) {
    const int count = blocks_.tile_rows() * vectors;
    const Expr from = nest_.Let("from", blocks_.RowOffset(IntConstant(0), row) + x);
    uint32_t sums = nest_.Local("results", dtype(), Memory::kRegisters,
                                static_cast<int64_t>(count) * form_.schedule.lanes);
    blocks_.row_taps() <= kMaxUnrolledTaps ? SharedRows(from, vectors, sums) : OwnRows(from, vectors, sums);
    auto element = [&](int r, int number, const Expr& lane, const Expr& column) {
      Expr result = Load(sums, dtype(), IntConstant(number * form_.schedule.lanes) + lane);
      return is_average() ? result * Scale(r, column) : result;
    };
    auto store = [&](const std::vector<Expr>& at, const Expr& flat, const Expr& result) {
      ProductResults::Position position{leading_, flat};
      for (Expr& coordinate : planar_.WithUnitAxes(at)) position.coordinates.push_back(std::move(coordinate));
      return results_->Store(nest_, position, result, reader_, outputs_);
    };
    return blocks_.StoreTile(row, x, vectors, element, store);
  }

  void Accumulate(uint32_t sums, int number, const Expr& data) {
    const Expr at = blocks_.Lanes(number);
    nest_.Add(Store(sums, at, Combine(Load(sums, dtype(), at), data)));
  }

  // Each row is read once for all rows of the tile.
  void SharedRows(const Expr& from, int vectors, uint32_t sums) {
    for (const auto& [input_row, list] : blocks_.RowUses()) {
      for (int v = 0; v < vectors; ++v) {
        Expr data = nest_.Let("x", blocks_.Data(from, IntConstant(input_row), v));
        for (const auto& [r, tap] : list) {
          if (tap == 0)
            nest_.Add(Store(sums, blocks_.Lanes(r * vectors + v), data));
          else
            Accumulate(sums, r * vectors + v, data);
        }
      }
    }
  }

  // Too many taps to unroll.
  void OwnRows(const Expr& from, int vectors, uint32_t sums) {
    for (int i = 0; i < blocks_.tile_rows() * vectors; ++i)
      nest_.Add(
          Store(sums, blocks_.Lanes(i), Broadcast(form_.neutral, static_cast<int>(form_.schedule.lanes))));
    Expr tap = Variable(nest_.Open("row_tap", IntConstant(0), IntConstant(blocks_.row_taps())));
    for (int r = 0; r < blocks_.tile_rows(); ++r) {
      Expr row = tap * IntConstant(blocks_.row_dilation()) + IntConstant(r * blocks_.row_stride());
      for (int v = 0; v < vectors; ++v)
        Accumulate(sums, r * vectors + v, nest_.Let("x", blocks_.Data(from, row, v)));
    }
    nest_.Close();
  }

  // ---- averages: the sum by how many elements count, which is a product of counts along each axis ----

  // Where axis `axis` of planar_ ends for what counts.
  ir::Dim LimitOf(size_t axis) const {
    const ir::Dim& size = planar_.input[axis];
    return counts_padding() ? size + node_.DimList("high")[first_ + axis] : size;
  }

  // How many taps of the window at `position` count; 1 where none does: then the sum is 0.
  Expr CountAlong(size_t axis, const Expr& position) const {
    const int64_t apart = planar_.dilations[axis];
    auto steps = [&](const Expr& distance) {
      return FloorDiv(distance + IntConstant(apart - 1), IntConstant(apart));
    };
    const Expr zero = IntConstant(0);
    Expr start = position * IntConstant(planar_.strides[axis]) - DimValue(planar_.low[axis]);
    Expr end = Min(IntConstant(planar_.kernel[axis]), steps(DimValue(LimitOf(axis)) - start));
    Expr begin = counts_padding() ? zero : Max(steps(zero - start), zero);
    return Max(end - begin, IntConstant(1));
  }

  // Windows [begin, end) of an axis count all of their taps.
  std::pair<ir::Dim, ir::Dim> FullAlong(size_t axis) const {
    const int64_t stride = planar_.strides[axis];
    ir::Dim begin = counts_padding() ? ir::Dim(0) : CeilDiv(planar_.low[axis], stride);
    ir::Dim end = FloorDiv(LimitOf(axis) - 1 - planar_.reach(axis) + planar_.low[axis], stride) + 1;
    return {begin, Min(end, planar_.output[axis])};
  }
  bool IsFull(size_t axis) const {
    auto [begin, end] = FullAlong(axis);
    return begin.IsConstant(0) && end == planar_.output[axis];
  }

  // What counts along all axes but the last one.
  double OuterTaps() const {
    double taps = 1;
    for (size_t axis = 0; axis + 1 < planar_.axes(); ++axis)
      taps *= static_cast<double>(planar_.kernel[axis]);
    return taps;
  }

  // A row of reciprocals of counts, as they are where windows are full along all other axes.
  void FillScale() {
    const size_t last = planar_.axes() - 1;
    const Expr zero = IntConstant(0), one = Constant(dtype(), 1);
    scale_ = one / Constant(dtype(), OuterTaps() * static_cast<double>(planar_.kernel[last]));
    if (IsFull(last)) return;
    const Expr count = blocks_.columns(), first = blocks_.first_column(),
               lanes = IntConstant(form_.schedule.lanes);
    uint32_t scales = nest_.Scratch(
        "scales", dtype(), RoundUp(planar_.output[last], form_.schedule.lanes) + form_.schedule.lanes);
    Expr chunk = Variable(nest_.Open("chunk", zero, count, LoopKind::kSerial, form_.schedule.lanes));
    Expr lane = Variable(nest_.Open("lane", zero, lanes, LoopKind::kVectorized));
    nest_.Add(Store(scales, chunk + lane, scale_));
    nest_.Close();
    nest_.Close();
    auto [full_begin, full_end] = FullAlong(last);
    Expr begin = nest_.Let("full", Max(Min(DimValue(full_begin) - first, count), zero));
    Expr end = nest_.Let("full_end", Max(Min(DimValue(full_end) - first, count), begin));
    Expr side = Variable(nest_.Open("side", zero, IntConstant(2)));
    Expr is_first = Equal(side, zero);
    Expr x = Variable(nest_.Open("x", Select(is_first, zero, end), Select(is_first, begin, count)));
    Expr counted = Cast(dtype(), CountAlong(last, first + x)) * Constant(dtype(), OuterTaps());
    nest_.Add(Store(scales, x, one / counted));
    nest_.Close();
    nest_.Close();
    scales_ = scales;
  }

  // For each row of a tile, what its scale is to that of full windows.
  void FindFactors(const Expr& row) {
    factors_.clear();
    bool is_full = true;
    for (size_t axis = 0; axis + 1 < planar_.axes(); ++axis) is_full = is_full && IsFull(axis);
    if (!is_average() || is_full) return;
    for (int r = 0; r < blocks_.tile_rows(); ++r) {
      std::vector<Expr> at = blocks_.position();
      if (blocks_.has_rows()) at.push_back(blocks_.first_row() + row + IntConstant(r));
      at.push_back(IntConstant(0));
      at = planar_.WithUnitAxes(at);
      Expr count = IntConstant(1);
      for (size_t axis = 0; axis + 1 < planar_.axes(); ++axis)
        if (!IsFull(axis)) count = count * CountAlong(axis, at[axis]);
      double taps = 1;
      for (size_t axis = 0; axis + 1 < planar_.axes(); ++axis)
        if (!IsFull(axis)) taps *= static_cast<double>(planar_.kernel[axis]);
      factors_.push_back(nest_.Let("factor", Constant(dtype(), taps) / Cast(dtype(), count)));
    }
  }

  Expr Scale(int row, const Expr& column) const {
    Expr scale = scales_ ? Load(*scales_, dtype(), column) : scale_;
    return factors_.empty() ? scale : scale * factors_[static_cast<size_t>(row)];
  }

  const GroupView& group_;
  ir::NodeId anchor_;
  const ir::Node& node_;
  size_t first_;  // of the window's axes in the data's
  PlanarShape planar_;
  PlanarForm form_;
  LoopKernel* kernel_;
  Nest nest_;
  InputReader reader_;
  PlanarBlocks blocks_;
  std::optional<ProductResults> results_;
  std::vector<uint32_t> outputs_;
  std::vector<Expr> leading_;  // coordinates of the plane
  Expr scale_;                 // of full windows
  std::optional<uint32_t> scales_;
  std::vector<Expr> factors_;
};

}  // namespace

bool TakesPlanarWindow(const GroupView& group) {
  ir::NodeId anchor = FindAnchor(group, ir::OpKind::kWindow);
  if (!anchor.valid()) return false;
  const ir::Node& node = group.function().node(anchor);
  return ir::SlidesAlongRows(group.function(), node) && InputOf(group, node.inputs[0]) >= 0 &&
         ProductResults::Find(group, anchor).has_value();
}

Expected<GroupProgram> SchedulePlanarWindow(const GroupView& group, const TargetInfo& target) {
  const ir::NodeId anchor = FindAnchor(group, ir::OpKind::kWindow);
  const ir::Node& node = group.function().node(anchor);
  GroupProgram program;
  PlanarForm form = FormOf(group, node);
  const std::string problem =
      fmt::format("kernel={} strides={} output={}", fmt::join(node.Ints("kernel"), ","),
                  fmt::join(node.Ints("strides"), ","), WordOf(node.DimList("dims")));
  KernelSchedule made = DecidePlanar(group, target, problem, &form.schedule);
  auto build = [&](const std::set<int>& wanted, LoopKernel* kernel, std::vector<KernelArgument>* arguments) {
    return PlanarWindowKernel(group, form, anchor, wanted, kernel).Build(arguments);
  };
  TVMVM_CHECK_OK(AddCall(1, build, &program));
  program.calls.back().schedules.push_back(std::move(made));
  return program;
}

}  // namespace tvmvm::tensor
