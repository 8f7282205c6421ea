// Depthwise convolutions of channels_first data whose rows are short: vectors run along channels, of which a
// grid point takes 16 and a block of rows. It turns what their windows touch, so that a pixel's channels lie
// side by side, with padding before and behind each row; combines the taps of a few pixels of a row at a time
// in registers; and turns the results back.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/cpu/tiles/transposed_tiles.h"
#include "compiler/schedules/cpu/windows/planar_blocks.h"
#include "compiler/schedules/cpu/windows/turned_depthwise.h"
#include "compiler/schedules/product_group.h"

namespace tvmvm::tensor {
namespace {

constexpr int kLanes = static_cast<int>(kPanelColumns);
constexpr int64_t kMaxUnrolledTaps = 16;  // along a row
constexpr int64_t kPixelsAtOnce = 64;     // that are turned
constexpr DType kAccumulator = DType::kF32;

class TurnedDepthwiseKernel {
 public:
  TurnedDepthwiseKernel(const GroupView& group, const TargetInfo& target, const TurnedSchedule& schedule,
                        ir::NodeId anchor, const std::set<int>& wanted, LoopKernel* kernel)
      : group_(group),
        target_(target),
        anchor_(anchor),
        node_(group.function().node(anchor)),
        shape_(ShapeOf(group, node_)),
        planar_(PlanarShapeOf(shape_).WithoutUnitAxes()),
        kernel_(kernel),
        nest_(kernel),
        reader_(group, wanted, kernel),
        tile_pixels_(static_cast<int>(schedule.tile_pixels)),
        last_(planar_.axes() - 1) {
    const ir::Dim rows = has_rows() ? planar_.output[0] : ir::Dim(1);
    block_rows_ = Min(rows, Max(FloorDiv(schedule.block_pixels, Max(planar_.output[last_], 1)), 1));
    width_ = is_padded() ? PaddedWidth() : planar_.input[last_];
  }

  Expected<std::set<int>> Build(std::vector<KernelArgument>* arguments) {
    kernel_->name = "depthwise_conv";
    std::vector<KernelArgument> list = reader_.arguments();
    panels_ = kernel_->AddArgument("panels", group_.type(node_.inputs[1]).dtype, Access::kRead);
    list.push_back({ArgumentKind::kPacked, 0});
    outputs_ = AddOutputs(group_, kernel_, &list);
    if (arguments) *arguments = std::move(list);
    results_ = ProductResults::Find(group_, anchor_);
    if (!results_) return MakeError(Code::kInternal, "a convolution whose results cannot be placed");
    OpenGrid();
    BringPictures();
    CombineTaps();
    TurnResults();
    TVMVM_CHECK_OK(StoreResults());
    kernel_->flops = shape_.batch * ir::Product(shape_.output) * shape_.groups * shape_.taps() * 2;
    kernel_->body = nest_.Finish();
    return reader_.touched();
  }

 private:
  bool has_rows() const { return planar_.axes() > 1; }
  bool is_padded() const { return !shape_.is_unpadded(); }
  int64_t row_stride() const { return has_rows() ? planar_.strides[0] : 1; }
  int64_t row_dilation() const { return has_rows() ? planar_.dilations[0] : 1; }
  int64_t row_taps() const { return has_rows() ? planar_.kernel[0] : 1; }
  int64_t taps() const { return planar_.kernel[last_]; }
  ir::Dim output_rows() const { return has_rows() ? planar_.output[0] : ir::Dim(1); }
  ir::Dim input_rows() const { return has_rows() ? planar_.input[0] : ir::Dim(1); }
  ir::Dim row_low() const { return has_rows() ? planar_.low[0] : ir::Dim(0); }
  ir::Dim columns() const { return planar_.output[last_]; }

  // From the first to the last position that some tap of a row sees.
  ir::Dim PaddedWidth() const {
    return Max((columns() - 1) * planar_.strides[last_] + planar_.reach(last_) + 1, 0);
  }
  // What the last tile of a row may read behind it, in pixels.
  int64_t Overhang() const { return tile_pixels_ * planar_.strides[last_] + planar_.reach(last_); }
  // Of the picture, that a block's windows touch.
  ir::Dim BlockInputRows() const {
    const int64_t reach = has_rows() ? planar_.reach(0) : 0;
    return Min((block_rows_ - 1) * row_stride() + reach + 1, input_rows());
  }

  static Expr Vector(const Expr& first) { return Ramp(first, IntConstant(1), kLanes); }
  static Expr Zeros() { return Broadcast(Constant(kAccumulator, 0), kLanes); }

  void OpenGrid() {
    const int64_t channels = shape_.groups;
    const ir::Dim row_blocks = CeilDiv(output_rows(), Max(block_rows_, 1));
    Expr panel = Variable(nest_.Grid(0, "panel", (channels + kPanelColumns - 1) / kPanelColumns));
    Expr block = Variable(nest_.Grid(1, "row_block", row_blocks));
    batch_ = Variable(nest_.Grid(2, "n", shape_.batch));
    channel_ = nest_.Let("channel", panel * IntConstant(kPanelColumns));
    count_ = channels % kPanelColumns == 0
                 ? IntConstant(kPanelColumns)
                 : nest_.Let("count", Min(IntConstant(kPanelColumns), IntConstant(channels) - channel_));
    first_row_ = nest_.Let("first_row", block * DimValue(block_rows_));
    rows_ = nest_.Let("rows", Min(DimValue(block_rows_), DimValue(output_rows()) - first_row_));
    const Expr zero = IntConstant(0), corner = first_row_ * IntConstant(row_stride()) - DimValue(row_low());
    const Expr reach = IntConstant((row_taps() - 1) * row_dilation() + 1);
    const Expr end = corner + (rows_ - IntConstant(1)) * IntConstant(row_stride()) + reach;
    first_input_row_ = nest_.Let("first_input_row", Max(corner, zero));
    input_rows_ = nest_.Let("input_rows", Max(Min(end, DimValue(input_rows())) - first_input_row_, zero));
  }

  // The rows that the block's windows touch as [pixel][channel], with zeros before and behind each.
  void BringPictures() {
    const ir::Dim block = BlockInputRows();
    pixels_ = nest_.Scratch("pixels", kAccumulator, (block * width_ + Overhang()) * kPanelColumns);
    if (!is_padded()) return TurnPicture(IntConstant(0), input_rows_, pixels_);
    // A few rows at a time, which are still near when they are moved apart.
    const ir::Dim line = planar_.input[last_],
                  few = Min(Max(FloorDiv(ir::Dim(kPixelsAtOnce), Max(line, 1)), 1), block);
    const uint32_t turned = nest_.Scratch("turned_rows", kAccumulator, few * line * kPanelColumns);
    const Expr step = DimValue(few);
    Expr chunk =
        Variable(nest_.Open("chunk", IntConstant(0), FloorDiv(input_rows_ + step - IntConstant(1), step)));
    const Expr first = nest_.Let("first", chunk * step);
    const Expr count = nest_.Let("few", Min(step, input_rows_ - first));
    TurnPicture(first, count, turned);
    PadRows(first, count, turned);
    nest_.Close();
  }

  void TurnPicture(const Expr& first_row, const Expr& rows, uint32_t target) {
    const ir::Dim plane = ir::Product(planar_.input), line = planar_.input[last_];
    const VariableId channel = kernel_->NewVariable("channel"), pixel = kernel_->NewVariable("pixel");
    const Expr c = Variable(channel), p = Variable(pixel), zero = IntConstant(0);
    const Expr first_plane = batch_ * IntConstant(shape_.groups) + channel_;
    const Expr from =
        nest_.Let("from", first_plane * DimValue(plane) + (first_input_row_ + first_row) * DimValue(line));
    const Expr read = reader_.AtFlat(reader_.InputOf(node_.inputs[0]), group_.type(node_.inputs[0]).dtype,
                                     from + c * DimValue(plane) + p);
    const Expr element = Cast(kAccumulator, read), place = p * IntConstant(kPanelColumns) + c;
    const TransposedTiles tiles{channel, pixel, shape_.groups, plane, {element}, true, false};
    const Expr end = nest_.Let("end", rows * DimValue(line));
    StoreTransposedTiles(nest_, tiles, {zero, count_, zero, end, true}, std::span(&element, 1),
                         std::span(&place, 1), std::span(&target, 1), {}, target_);
  }

  void PadRows(const Expr& first_row, const Expr& rows, uint32_t from) {
    const Expr zero = IntConstant(0), low = DimValue(planar_.low[last_]), width = DimValue(width_),
               lanes = IntConstant(kPanelColumns);
    const Expr begin = nest_.Let("begin", Min(Max(low, zero), width));
    const Expr end = nest_.Let("end", Max(Min(DimValue(planar_.input[last_]) + low, width), begin));
    Expr row = Variable(nest_.Open("row", zero, rows));
    const Expr place = nest_.Let("place", (first_row + row) * width);
    const Expr source = nest_.Let("source", row * DimValue(planar_.input[last_]) - low);
    auto fill = [&](const Expr& first, const Expr& last, bool exists) {
      Expr x = Variable(nest_.Open("x", first, last));
      Expr pixel = exists ? Load(from, kAccumulator, Vector((source + x) * lanes)) : Zeros();
      nest_.Add(Store(pixels_, Vector((place + x) * lanes), std::move(pixel)));
      nest_.Close();
    };
    fill(zero, begin, false);
    fill(begin, end, true);
    fill(end, width, false);
    nest_.Close();
  }

  // The last tile of a row reaches over the first pixels of the next, which come after it.
  void CombineTaps() {
    sums_ = nest_.Scratch("sums", kAccumulator,
                          (RoundUp(block_rows_ * columns(), kPanelColumns) + tile_pixels_) * kPanelColumns);
    const Expr zero = IntConstant(0), lanes = IntConstant(kPanelColumns);
    Expr row = Variable(nest_.Open("row", zero, rows_));
    const Expr corner =
        nest_.Let("corner", (first_row_ + row) * IntConstant(row_stride()) - DimValue(row_low()));
    const Expr dilation = IntConstant(row_dilation()), one = IntConstant(1);
    const Expr begin = nest_.Let("begin", Max(FloorDiv(zero - corner + dilation - one, dilation), zero));
    const Expr last = FloorDiv(DimValue(input_rows()) - one - corner, dilation) + one;
    const Expr end = nest_.Let("end", Min(last, IntConstant(row_taps())));
    Expr x = Variable(nest_.Open("x", zero, DimValue(columns()), LoopKind::kSerial, tile_pixels_));
    const uint32_t tile = nest_.Local("tile", kAccumulator, Memory::kRegisters, tile_pixels_ * kPanelColumns);
    for (int i = 0; i < tile_pixels_; ++i) nest_.Add(Store(tile, OfPixel(i), Zeros()));
    Expr k = Variable(nest_.Open("tap", begin, end));
    const Expr line = (corner - first_input_row_ + k * dilation) * DimValue(width_);
    const Expr from = nest_.Let("from", (line + x * IntConstant(planar_.strides[last_])) * lanes);
    const Expr weights =
        nest_.Let("weights", channel_ * DimValue(shape_.taps()) + k * IntConstant(taps() * kPanelColumns));
    UnrolledTaps(from, weights, tile);
    nest_.Close();
    const Expr to = nest_.Let("to", (row * DimValue(columns()) + x) * lanes);
    for (int i = 0; i < tile_pixels_; ++i)
      nest_.Add(
          Store(sums_, Vector(to + IntConstant(i * kPanelColumns)), Load(tile, kAccumulator, OfPixel(i))));
    nest_.Close();
    nest_.Close();
  }

  static Expr OfPixel(int number) { return Vector(IntConstant(number * kPanelColumns)); }

  void UnrolledTaps(const Expr& from, const Expr& weights, uint32_t tile) {
    std::map<int64_t, Expr> pixels;  // by distance: neighbours share them
    for (int64_t k = 0; k < taps(); ++k) {
      const Expr at = Vector(weights + IntConstant(k * kPanelColumns));
      const Expr weight =
          nest_.Let("w", Cast(kAccumulator, Load(panels_, group_.type(node_.inputs[1]).dtype, at)));
      for (int i = 0; i < tile_pixels_; ++i) {
        const int64_t distance = i * planar_.strides[last_] + k * planar_.dilations[last_];
        Expr& pixel = pixels[distance];
        if (!pixel.valid())
          pixel = nest_.Let(
              "x", Load(pixels_, kAccumulator, Vector(from + IntConstant(distance * kPanelColumns))));
        nest_.Add(Store(tile, OfPixel(i), Fma(pixel, weight, Load(tile, kAccumulator, OfPixel(i)))));
      }
    }
  }

  // [channel][pixel].
  void TurnResults() {
    const ir::Dim pitch = RoundUp(block_rows_ * columns(), kPanelColumns);
    turned_ = nest_.Scratch("turned", kAccumulator, pitch * kPanelColumns);
    const VariableId channel = kernel_->NewVariable("channel"), pixel = kernel_->NewVariable("pixel");
    const Expr c = Variable(channel), p = Variable(pixel), lanes = IntConstant(kPanelColumns);
    const Expr element = Load(sums_, kAccumulator, p * lanes + c), place = c * DimValue(pitch) + p;
    const TransposedTiles tiles{pixel, channel, pitch, kPanelColumns, {element}, false, false};
    pixel_count_ = nest_.Let("pixel_count", rows_ * DimValue(columns()));
    const Expr end = nest_.Let("end", FloorDiv(pixel_count_ + lanes - IntConstant(1), lanes) * lanes);
    StoreTransposedTiles(nest_, tiles, {IntConstant(0), end, IntConstant(0), lanes, true},
                         std::span(&element, 1), std::span(&place, 1), std::span(&turned_, 1), {}, target_);
  }

  Status StoreResults() {
    const Expr zero = IntConstant(0), lanes = IntConstant(kPanelColumns);
    const ir::Dim pitch = RoundUp(block_rows_ * columns(), kPanelColumns);
    const Expr whole = nest_.Let("whole", FloorDiv(pixel_count_, lanes) * lanes);
    Expr c = Variable(nest_.Open("c", zero, count_));
    const Expr channel = nest_.Let("of_all", channel_ + c), from = nest_.Let("from", c * DimValue(pitch));
    const Expr first_pixel = first_row_ * DimValue(columns());
    const Expr plane = batch_ * IntConstant(shape_.groups) + channel;
    const Expr to = nest_.Let("to", plane * DimValue(ir::Product(planar_.output)) + first_pixel);
    for (bool is_whole : {true, false}) {
      Expr x = Variable(nest_.Open("x", is_whole ? zero : whole, is_whole ? whole : pixel_count_,
                                   LoopKind::kSerial, kPanelColumns));
      Expr lane = Variable(nest_.Open("lane", zero, lanes, LoopKind::kVectorized));
      if (!is_whole) nest_.OpenIf(Less(x + lane, pixel_count_));
      const std::vector<Expr> at =
          has_rows() ? Unflatten(first_pixel + x + lane, planar_.output) : std::vector<Expr>{x + lane};
      const ProductResults::Position position{
          shape_.OutputCoordinates(batch_, PlanarShapeOf(shape_).WithUnitAxes(at), channel), to + x + lane};
      const Expr sum = Load(turned_, kAccumulator, from + x + lane);
      const DType result = group_.type(node_.outputs[0]).dtype;
      TVMVM_CHECK_OK(results_->Store(nest_, position, SumAs(result, shape_, sum), reader_, outputs_,
                                     IsInteger(result) ? sum : Expr()));
      if (!is_whole) nest_.Close();
      nest_.Close();
      nest_.Close();
    }
    nest_.Close();
    return {};
  }

  const GroupView& group_;
  const TargetInfo& target_;
  ir::NodeId anchor_;
  const ir::Node& node_;
  ConvolutionShape shape_;
  PlanarShape planar_;  // without unit axes
  LoopKernel* kernel_;
  Nest nest_;
  InputReader reader_;
  const int tile_pixels_;
  const size_t last_;
  ir::Dim block_rows_;  // of results, in a grid point
  ir::Dim width_;       // of a row of pixels_
  std::optional<ProductResults> results_;
  std::vector<uint32_t> outputs_;
  uint32_t panels_ = 0, pixels_ = 0, sums_ = 0, turned_ = 0;
  Expr batch_, channel_, count_;                          // the first of the channels, and how many there are
  Expr first_row_, rows_, first_input_row_, input_rows_;  // of the block
  Expr pixel_count_;                                      // of its results
};

}  // namespace

bool TakesTurnedDepthwise(const GroupView& group, ir::NodeId anchor) {
  const ir::Node& node = group.function().node(anchor);
  const ConvolutionShape shape = ShapeOf(group, node);
  const PlanarShape planar = PlanarShapeOf(shape).WithoutUnitAxes();
  auto is_f32 = [&](ir::ValueId value) { return group.type(value).dtype == DType::kF32; };
  return shape.outputs.IsConstant(1) && planar.axes() <= 2 && planar.kernel.back() <= kMaxUnrolledTaps &&
         is_f32(node.inputs[0]) && is_f32(node.inputs[1]) && group.ConstantOf(node.inputs[1]).has_value();
}

ir::Dim CostOfTurnedDepthwise(const PlanarShape& shape) {
  constexpr int64_t kCostOfRead = 8, kCostOfResult = 10, kCostOfChannels = 150;
  return ir::Product(shape.input) * kCostOfRead + ir::Product(shape.output) * (shape.taps() + kCostOfResult) +
         kCostOfChannels;
}

Status AddTurnedDepthwise(const GroupView& group, const TargetInfo& target, const TurnedSchedule& schedule,
                          ir::NodeId anchor, const ir::Dim& when, GroupProgram* program) {
  TVMVM_CHECK_OK(PackDepthwise(group, anchor, program));
  auto build = [&](const std::set<int>& wanted, LoopKernel* kernel, std::vector<KernelArgument>* arguments) {
    return TurnedDepthwiseKernel(group, target, schedule, anchor, wanted, kernel).Build(arguments);
  };
  return AddCall(when, build, program);
}

}  // namespace tvmvm::tensor
