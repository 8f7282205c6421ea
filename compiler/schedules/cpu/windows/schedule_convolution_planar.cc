// Convolutions of channels_first data as matrix products that are never written out: a row is an output
// channel, the depth runs over taps and channels, a column is an output pixel. Vectors run along pixels, so
// that picture and result stay as they are. Pixels are gathered a block at a time, a run of one output row
// after the other, padding as zeros: what each tap sees of them, or, where taps are neighbours, the padded
// picture once. There a tap sees the same pixels as any other one, some places further; columns are the
// positions of the padded picture, of which those behind the end of a row are no results. Zeros behind a row
// are those before the next one, as far as there are so many. Along the first axes of large pictures taps are
// too far from one another to share pixels: each of them is gathered for itself. In steps of several pixels a
// tap is a residue of the step and a place among the pixels of that residue.
#include <algorithm>
#include <utility>

#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/cpu/tiles/transposed_tiles.h"
#include "compiler/schedules/cpu/windows/taps_inside.h"
#include "compiler/schedules/product_group.h"

namespace tvmvm::tensor {
namespace {

// Gathering what each tap sees costs as much as so many rows of the product. Positions that are no results
// may cost as much, or are few.
constexpr int64_t kGatherRows = 8, kFewPositions = 24;
// In larger steps, pixels of one residue are neighbours, and taps of one residue share them: where so many
// times fewer are gathered, along rows alone or along both axes, and that is a good part of the work.
constexpr int64_t kLeastSharingRows = 3, kLeastSharing = 5, kMostSharingOutputs = 96;
// To find the taps that are all padding takes as long as products of fewer channels.
constexpr int64_t kChannelsOfFarTaps = 8;
// Along more axes than these, neighbours are planes.
constexpr size_t kSharedAxes = 2;
// Where pixels are far apart, taps are turned, that many at least.
constexpr int64_t kLeastTurnedTaps = 4, kLeastTurnedStep = 4;
// Columns, and what a side of a picture is taken for.
constexpr int64_t kUsualBlock = 256, kUsualSide = 64;
// What is done beside updates of sums, in those: for a vector of a step of the depth, of what is gathered, of
// results; for a part of one, which is stored under a mask, as some levels do slowly; for a picture.
constexpr int64_t kCostOfStep = 2, kCostOfGathered = 4, kCostOfResults = 8, kCostOfPart = 16,
                  kCostOfPicture = 50;

// Axes whose positions are those of the data become one with the axis before them: longer runs.
ConvolutionShape Collapsed(ConvolutionShape shape) {
  for (size_t i = shape.axes(); i-- > 1;) {
    auto is_plain = [&](size_t axis) {
      return shape.kernel[axis].IsConstant(1) && shape.strides[axis] == 1 && shape.low[axis].IsConstant(0) &&
             shape.input[axis] == shape.output[axis];
    };
    if (!is_plain(i) || !is_plain(i - 1)) continue;
    for (ir::Dims* sizes : {&shape.input, &shape.output}) (*sizes)[i - 1] = (*sizes)[i - 1] * (*sizes)[i];
    shape.RemoveAxis(i);
  }
  return shape;
}

class PlanarConvolution {
 public:
  PlanarConvolution(const GroupView& group, const TargetInfo& target, ir::NodeId anchor)
      : group_(group),
        target_(target),
        anchor_(anchor),
        node_(group.function().node(anchor)),
        shape_(ShapeOf(group, node_)),
        first_shared_(FirstSharedAxis(shape_)),
        padded_(Padded(shape_, first_shared_)),
        shares_(SharesPictures()),
        runs_(Collapsed(shares_ ? padded_ : shape_)) {
    last_ = runs_.axes() - 1;
    accumulator_ = ProductAccumulator(group.type(node_.inputs[0]).dtype, group.type(node_.inputs[1]).dtype,
                                      group.type(node_.outputs[0]).dtype);
  }

  ir::Dim Cost() const {
    const ir::Dim vectors = CeilDiv(shares_ ? SharedColumns() : ir::Product(shape_.output), kPanelColumns);
    // Weights are read as often for one vector as for two.
    const ir::Dim updates = (vectors + 1) * shape_.outputs + vectors * kCostOfStep;
    const ir::Dim gathered =
        runs_.taps() * runs_.channels * LinesOf(runs_.output) * CeilDiv(runs_.output[last_], kPanelColumns);
    // Of positions some are no results.
    const ir::Dim parts =
        shares_ ? LinesOf(shape_.output) : Min(FloorMod(ir::Product(shape_.output), kPanelColumns), 1);
    const ir::Dim results = (vectors * kCostOfResults + parts * kCostOfPart) * shape_.outputs;
    const int64_t cost_of_gathered = runs_.strides[last_] == 1 ? kCostOfGathered : 2 * kCostOfGathered;
    return updates * shape_.taps() * shape_.channels + gathered * cost_of_gathered + results + kCostOfPicture;
  }

  Expected<std::set<int>> Build(const std::set<int>& wanted, LoopKernel* kernel,
                                std::vector<KernelArgument>* arguments, KernelSchedule* made) {
    kernel->name = "conv";
    InputReader reader(group_, wanted, kernel);
    reader_ = &reader;
    std::vector<KernelArgument> list = reader.arguments();
    uint32_t weights = kernel->AddArgument("panels", group_.type(node_.inputs[1]).dtype, Access::kRead);
    list.push_back({ArgumentKind::kPacked, 0});
    std::vector<uint32_t> outputs = AddOutputs(group_, kernel, &list);
    if (arguments) *arguments = std::move(list);

    MatrixProduct product;
    product.batch = shape_.batch * shape_.groups;
    product.rows = shape_.outputs;
    product.columns = ir::Product(shape_.output);
    product.depth = shape_.taps() * shape_.channels;
    product.accumulator = accumulator_;
    product.begin = [&](Nest& nest, const Expr& number) {
      Expr groups = IntConstant(shape_.groups);
      batch_ = nest.Let("n", FloorDiv(number, groups));
      group_number_ = nest.Let("group", FloorMod(number, groups));
    };
    SetWeights(weights, &product);
    product.right.form = RightForm::kRows;
    product.right.gather = [this](Nest& nest, const Expr& first, int panels, uint32_t target) {
      Gather(nest, first, panels * kPanelColumns, GatheredPitch(panels), target);
    };
    if (shares_) SharePictures(&product);
    if (LeavesOutTaps(shape_) && LessEqual(kChannelsOfFarTaps, shape_.channels).IsConstant(1))
      product.range = [this](Nest& nest, const TileAt& at) {
        const Expr last = nest.Let("last", at.first_column + IntConstant(at.panels * kPanelColumns - 1));
        return StepsInside(nest, shape_, shares_ ? padded_.output : shape_.output, at.first_column, last);
      };
    auto results = ProductResults::Find(group_, anchor_);
    if (!results) return MakeError(Code::kInternal, "a convolution whose results cannot be placed");
    product.store = [&](Nest& nest, const Expr& row, const Expr& column, const Expr& sum) -> Status {
      Expr channel = group_number_ * DimValue(shape_.outputs) + row;
      ProductResults::Position position;
      position.coordinates = shape_.OutputCoordinates(batch_, Unflatten(column, shape_.output), channel);
      Expr plane = batch_ * DimValue(shape_.outputs * shape_.groups) + channel;
      position.flat = plane * DimValue(ir::Product(shape_.output)) + column;
      return results->Store(nest, position, sum, reader, outputs);
    };
    *made = DecideProduct(group_, target_, "planar_conv", &product);
    TVMVM_CHECK_OK(BuildMatrixProduct(product, target_, kernel));
    kernel->flops = product.batch * product.rows * ir::Product(shape_.output) * product.depth * 2;
    return reader.touched();
  }

 private:
  static ir::Dim LinesOf(const ir::Dims& sizes) {
    return ir::Product(ir::Dims(sizes.begin(), sizes.end() - 1));
  }

  // Panels hold 16 output channels side by side; each of them is a row here.
  void SetWeights(uint32_t buffer, MatrixProduct* product) {
    LeftOperand& left = product->left;
    left.buffer = buffer;
    left.dtype = group_.type(node_.inputs[1]).dtype;
    left.step = IntConstant(kPanelColumns);
    left.is_linear = false;
    const ir::Dim panel = product->depth * kPanelColumns, group = PackedPanels(shape_.outputs) * panel;
    left.offset = [this, panel, group](Nest&, const Expr& row) {
      Expr width = IntConstant(kPanelColumns);
      return group_number_ * DimValue(group) + FloorDiv(row, width) * DimValue(panel) + FloorMod(row, width);
    };
  }

  // From the axis on along which taps share pixels: as few as possible are gathered for a block.
  static size_t FirstSharedAxis(const ConvolutionShape& shape) {
    const size_t least = shape.axes() - std::min<size_t>(shape.axes(), kSharedAxes);
    size_t best = shape.axes();
    for (size_t first = least; first < shape.axes(); ++first) {
      if (!IsWorthSharing(shape, first)) continue;
      const ir::Dim before = GatheredOf(shape, Padded(shape, best), best),
                    now = GatheredOf(shape, Padded(shape, first), first);
      if (best == shape.axes() || Usual(now) < Usual(before)) best = first;
    }
    return best;
  }
  static bool IsWorthSharing(const ConvolutionShape& shape, size_t first) {
    const bool has_residues = std::any_of(shape.strides.begin() + static_cast<std::ptrdiff_t>(first),
                                          shape.strides.end(), [](int64_t stride) { return stride != 1; });
    const int64_t least = first + 1 == shape.axes() ? kLeastSharingRows : kLeastSharing;
    return !has_residues || (LessEqual(Padded(shape, first).taps() * least, shape.taps()).IsConstant(1) &&
                             LessEqual(shape.outputs, kMostSharingOutputs).IsConstant(1));
  }
  // With sizes that nobody knows as they often are.
  static int64_t Usual(const ir::Dim& size) {
    return Evaluate(size, [](const ir::SymbolId&) { return kUsualSide; }).value_or(INT64_MAX);
  }
  // Positions of a channel that a block needs.
  static ir::Dim GatheredOf(const ConvolutionShape& shape, const ConvolutionShape& padded, size_t first) {
    return padded.taps() * (ir::Dim(kUsualBlock) + ReachFrom(shape, padded, first));
  }
  // What the last tap is ahead of the first one, of those that share pixels.
  static ir::Dim ReachFrom(const ConvolutionShape& shape, const ConvolutionShape& padded, size_t first) {
    ir::Dim reach = 0;
    for (size_t i = first; i < shape.axes(); ++i) reach = reach + ReachAlong(shape, i) * StepOf(padded, i);
    return reach;
  }
  static ir::Dim ReachAlong(const ConvolutionShape& shape, size_t axis) {
    return FloorDiv((shape.kernel[axis] - 1) * shape.dilations[axis], shape.strides[axis]);
  }

  // The picture with its padding along the axes from `first` on, as what a convolution of one tap there
  // gives, or of a tap for each residue of the step.
  static ConvolutionShape Padded(ConvolutionShape shape, size_t first) {
    for (size_t i = first; i < shape.axes(); ++i) {
      const int64_t stride = shape.strides[i];
      const ir::Dim reach = ReachAlong(shape, i), whole = shape.output[i] + reach;
      // Positions of which all residues are outside.
      const ir::Dim before = FloorDiv(shape.low[i], stride);
      const ir::Dim behind = whole - CeilDiv(shape.input[i] + shape.low[i], stride);
      shape.output[i] = whole - Max(Min(Min(before, behind), reach), 0);
      shape.kernel[i] = stride;
      shape.dilations[i] = 1;
    }
    return shape;
  }

  // How far apart neighbours along an axis of the padded picture are.
  static ir::Dim StepOf(const ConvolutionShape& padded, size_t axis) {
    return ir::Product(
        ir::Dims(padded.output.begin() + static_cast<std::ptrdiff_t>(axis) + 1, padded.output.end()));
  }

  bool SharesPictures() const {
    if (first_shared_ == shape_.axes() || shape_.taps() == padded_.taps()) return false;
    const ir::Dim columns = SharedColumns(), wasted = columns - ir::Product(shape_.output);
    return !LessEqual(columns, wasted * kFewPositions).IsConstant(1) ||
           !LessEqual(columns * kGatherRows, wasted * shape_.outputs).IsConstant(1);
  }

  // Up to the last result.
  ir::Dim SharedColumns() const {
    ir::Dim last = 0;
    for (size_t i = 0; i < shape_.axes(); ++i) last = last + (shape_.output[i] - 1) * StepOf(padded_, i);
    return Max(last + 1, 0);
  }

  ir::Dim SharedElements(int panels) const {
    return panels * kPanelColumns + ReachFrom(shape_, padded_, first_shared_);
  }
  // With room for a vector behind them, as GatheredPitch.
  ir::Dim SharedPitch(int panels) const {
    return CeilDiv(SharedElements(panels), kPanelColumns) * kPanelColumns + kPanelColumns;
  }

  void SharePictures(MatrixProduct* product) {
    product->columns = SharedColumns();
    product->right.form = RightForm::kShared;
    // Those of residues are twice as dear: neighbours of a vector are every other element at best.
    const int64_t dear = shape_.strides.back() == 1 ? 1 : 2;
    product->right.taps = Max(FloorDiv(shape_.taps(), padded_.taps() * dear), 1).constant().value_or(1);
    product->right.elements = [this](int panels) {
      return padded_.taps() * shape_.channels * SharedPitch(panels);
    };
    product->right.gather = [this](Nest& nest, const Expr& first, int count, uint32_t target) {
      Gather(nest, first, SharedElements(count), SharedPitch(count), target);
    };
    product->right.offsets = [this](Nest& nest, int count, uint32_t target) {
      AddOffsets(nest, IntConstant(0), IntConstant(0), 0, SharedPitch(count), target);
    };
    product->runs = [this](Nest& nest, const Expr& column, const MatrixProduct::Run& run) {
      return ForResults(nest, column, run);
    };
  }

  // Where the channels of each tap begin; `tap` and `offset`: of the taps of the axes before.
  void AddOffsets(Nest& nest, const Expr& tap, const Expr& offset, size_t axis, const ir::Dim& pitch,
                  uint32_t target) {
    const bool is_channel = axis == shape_.axes();
    const ir::Dim extent = is_channel ? shape_.channels : shape_.kernel[axis];
    Expr k = Variable(nest.Open(is_channel ? "channel" : "tap", IntConstant(0), DimValue(extent)));
    Expr number = tap * DimValue(extent) + k;
    if (is_channel) {
      nest.Add(Store(target, number, offset + k * DimValue(pitch)));
    } else {
      const auto behind = static_cast<std::ptrdiff_t>(axis) + 1;
      const ir::Dim tap_step = ir::Product(ir::Dims(padded_.kernel.begin() + behind, padded_.kernel.end())) *
                               shape_.channels * pitch;
      Expr moved = k * DimValue(tap_step);
      if (axis >= first_shared_) {
        const Expr stride = IntConstant(shape_.strides[axis]), at = k * IntConstant(shape_.dilations[axis]);
        moved = FloorDiv(at, stride) * DimValue(StepOf(padded_, axis)) +
                FloorMod(at, stride) * DimValue(tap_step);
      }
      AddOffsets(nest, number, offset + moved, axis + 1, pitch, target);
    }
    nest.Close();
  }

  // The results among columns [column, column + 16), those of each row that they touch.
  Status ForResults(Nest& nest, const Expr& column, const MatrixProduct::Run& run) {
    const size_t last = shape_.axes() - 1;
    const Expr length = DimValue(padded_.output[last]), count = DimValue(shape_.output[last]);
    ir::Dims outer(padded_.output.begin(), padded_.output.end() - 1);
    ir::Dims results(shape_.output.begin(), shape_.output.end() - 1);
    if (outer.empty()) outer = results = {ir::Dim(1)};
    const Expr begin_row = nest.Let("begin_row", FloorDiv(column, length));
    // Columns behind the last row are of none, which an axis of size 1 does not tell.
    const Expr end_row = Min(FloorDiv(column + IntConstant(kPanelColumns - 1), length) + IntConstant(1),
                             DimValue(ir::Product(outer)));
    Expr row = Variable(nest.Open("result_row", begin_row, nest.Let("end_row", end_row)));
    const std::vector<Expr> at = Unflatten(row, outer);
    Expr exists = BoolConstant(true);
    for (size_t i = 0; i < at.size(); ++i) exists = And(exists, Less(at[i], DimValue(results[i])));
    nest.OpenIf(exists);
    const Expr start = nest.Let("row_start", row * length - column);  // among the 16
    const Expr begin = nest.Let("begin", Max(start, IntConstant(0)));
    const Expr end = nest.Let("end", Min(start + count, IntConstant(kPanelColumns)));
    nest.OpenIf(Less(begin, end));
    TVMVM_CHECK_OK(run(begin, end, nest.Let("first_result", FlatIndex(results, at) * count - start)));
    for (int i = 0; i < 3; ++i) nest.Close();
    return {};
  }

  // Columns [first, first + columns), a run of each output row that they touch.
  void Gather(Nest& nest, const Expr& first, const ir::Dim& columns, const ir::Dim& pitch, uint32_t target) {
    const Expr count = DimValue(columns), length = DimValue(runs_.output[last_]);
    Expr end = nest.Let("end", Min(first + count, DimValue(ir::Product(runs_.output))));
    Expr row = Variable(nest.Open("pixel_row", FloorDiv(first, length),
                                  FloorDiv(end - IntConstant(1), length) + IntConstant(1)));
    Run run{.target = target, .pitch = pitch};
    Expr row_first = nest.Let("row_first", row * length);
    run.first = nest.Let("x", Max(first - row_first, IntConstant(0)));
    run.count = nest.Let("count", Min(end - row_first, length) - run.first);
    run.to = nest.Let("to", row_first + run.first - first);
    ir::Dims outer(runs_.output.begin(), runs_.output.end() - 1);
    std::vector<Expr> corner;
    for (const Expr& position : Unflatten(row, outer)) {
      const size_t axis = corner.size();
      corner.push_back(
          nest.Let("corner", position * IntConstant(runs_.strides[axis]) - DimValue(runs_.low[axis])));
    }
    GatherTaps(nest, run, corner, IntConstant(0), BoolConstant(true), {});
    nest.Close();
    if (shares_ || !FloorMod(ir::Product(runs_.output), columns).IsConstant(0))
      Clear(nest, run, end - first, count);
  }

  // Part of one output row, and where it goes.
  struct Run {
    uint32_t target = 0;
    ir::Dim pitch;
    Expr first, count;  // along the last axis
    Expr to;            // of the block's columns
  };

  // Loops over the taps of one axis and of those after it. `tap` counts the taps of the axes before.
  void GatherTaps(Nest& nest, const Run& run, const std::vector<Expr>& corner, const Expr& tap,
                  const Expr& inside, std::vector<Expr> position) {
    const size_t axis = position.size();
    if (axis == last_ && TurnsTaps()) return TurnChannels(nest, run, std::move(position), tap);
    Expr k = Variable(nest.Open("tap", IntConstant(0), DimValue(runs_.kernel[axis])));
    Expr inner = tap * DimValue(runs_.kernel[axis]) + k;
    Expr step = k * IntConstant(runs_.dilations[axis]);
    if (axis == last_) {
      GatherChannels(nest, run, std::move(position), step - DimValue(runs_.low[axis]), inner, inside);
    } else {
      Expr at = nest.Let("at", corner[axis] + step);
      Expr here = And(LessEqual(IntConstant(0), at), Less(at, DimValue(runs_.input[axis])));
      Expr all = nest.Let("inside", And(inside, here));
      position.push_back(at);
      GatherTaps(nest, run, corner, inner, all, std::move(position));
    }
    nest.Close();
  }

  // Whether what is read side by side is what several taps see.
  bool TurnsTaps() const {
    return runs_.strides[last_] >= kLeastTurnedStep && runs_.is_unpadded() && runs_.dilations[last_] == 1 &&
           LessEqual(kLeastTurnedTaps, runs_.kernel[last_]).IsConstant(1);
  }

  // The run as all taps of the last axis see it, of each channel.
  void TurnChannels(Nest& nest, const Run& run, std::vector<Expr> position, const Expr& tap) {
    position.push_back(nest.Let("from_x", run.first * IntConstant(runs_.strides[last_])));
    Expr c = Variable(nest.Open("channel", IntConstant(0), DimValue(runs_.channels)));
    const Expr channel = group_number_ * DimValue(runs_.channels) + c;
    const Expr from = nest.Let("from", runs_.InputOffset(batch_, position, channel));
    const VariableId taps = nest.kernel()->NewVariable("k"), pixels = nest.kernel()->NewVariable("j");
    const Expr k = Variable(taps), j = Variable(pixels), count = DimValue(runs_.kernel[last_]);
    const Expr row = (tap * count + k) * DimValue(runs_.channels) + c;
    const Expr place = row * DimValue(run.pitch) + run.to + j;
    const int input = reader_->InputOf(node_.inputs[0]);
    const Expr at = from + j * IntConstant(runs_.strides[last_]) + k;
    const Expr element = Cast(accumulator_, reader_->AtFlat(input, group_.type(node_.inputs[0]).dtype, at));
    const TransposedTiles tiles{pixels, taps, runs_.output[last_], runs_.kernel[last_], {element},
                                false,  false};
    StoreTransposedTiles(nest, tiles, {IntConstant(0), run.count, IntConstant(0), count, true},
                         std::span(&element, 1), std::span(&place, 1), std::span(&run.target, 1), {},
                         target_);
    nest.Close();
  }

  // The run as one tap sees it, of each channel: `shift` from where the output's position times the stride
  // is.
  void GatherChannels(Nest& nest, const Run& run, std::vector<Expr> position, const Expr& shift,
                      const Expr& tap, const Expr& inside) {
    const int64_t stride = runs_.strides[last_];
    const Expr zero = IntConstant(0), step = IntConstant(stride);
    auto first_from = [&](const Expr& at) {  // of the run's elements, at or behind `at`
      return FloorDiv(at - shift + IntConstant(stride - 1), step) - run.first;
    };
    Expr begin = nest.Let("begin", Max(first_from(zero), zero));
    Expr end = Min(first_from(DimValue(runs_.input[last_])), run.count);
    end = nest.Let("end", Select(inside, end, zero));
    position.push_back(nest.Let("from_x", run.first * step + shift));
    // Channels inside: what the edges mask is the same for all of them.
    Expr chunk = Variable(nest.Open("chunk", zero, run.count, LoopKind::kSerial, kPanelColumns));
    Expr c = Variable(nest.Open("channel", zero, DimValue(runs_.channels)));
    Expr channel = group_number_ * DimValue(runs_.channels) + c;
    Expr from = nest.Let("from", runs_.InputOffset(batch_, position, channel) + chunk * step);
    Expr to = nest.Let("to", (tap * DimValue(runs_.channels) + c) * DimValue(run.pitch) + run.to + chunk);
    Expr lane = Variable(nest.Open("lane", zero, IntConstant(kPanelColumns), LoopKind::kVectorized));
    Expr j = chunk + lane;
    int input = reader_->InputOf(node_.inputs[0]);
    DType dtype = group_.type(node_.inputs[0]).dtype;
    Expr element = Cast(accumulator_, reader_->AtFlat(input, dtype, from + lane * step));
    element = Select(And(LessEqual(begin, j), Less(j, end)), element, Constant(accumulator_, 0));
    nest.Add(Store(run.target, to + lane, std::move(element)));
    for (int i = 0; i < 3; ++i) nest.Close();
  }

  // Columns that do not exist.
  void Clear(Nest& nest, const Run& run, const Expr& begin, const Expr& end) {
    nest.OpenIf(Less(begin, end));
    Expr k = Variable(nest.Open("k", IntConstant(0), DimValue(runs_.taps() * runs_.channels)));
    Expr chunk = Variable(nest.Open("chunk", begin, end, LoopKind::kSerial, kPanelColumns));
    Expr lane =
        Variable(nest.Open("lane", IntConstant(0), IntConstant(kPanelColumns), LoopKind::kVectorized));
    nest.Add(Store(run.target, k * DimValue(run.pitch) + chunk + lane, Constant(accumulator_, 0)));
    for (int i = 0; i < 4; ++i) nest.Close();
  }

  const GroupView& group_;
  const TargetInfo& target_;
  ir::NodeId anchor_;
  const ir::Node& node_;
  ConvolutionShape shape_;
  const size_t first_shared_;  // of the axes along which taps share pixels
  const ConvolutionShape padded_;
  const bool shares_ = false;  // the padded picture is gathered
  ConvolutionShape runs_;      // what is gathered, with as few axes as possible
  size_t last_ = 0;
  DType accumulator_ = DType::kInvalid;
  InputReader* reader_ = nullptr;
  Expr batch_, group_number_;
};

}  // namespace

ir::Dim CostOfPlanarConvolution(const GroupView& group, const TargetInfo& target, ir::NodeId anchor) {
  return PlanarConvolution(group, target, anchor).Cost();
}

Expected<std::set<int>> BuildPlanarConvolution(const GroupView& group, const TargetInfo& target,
                                               ir::NodeId anchor, const std::set<int>& wanted,
                                               LoopKernel* kernel, std::vector<KernelArgument>* arguments,
                                               KernelSchedule* made) {
  return PlanarConvolution(group, target, anchor).Build(wanted, kernel, arguments, made);
}

}  // namespace tvmvm::tensor
