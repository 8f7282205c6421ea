// Convolutions of channels_last data whose groups are narrower than a vector, those of one channel
// (depthwise) among them: vectors run along the outputs of several groups, one grid point is a row of output
// pixels. Pixels whose windows lie inside along the last axis are computed a few at a time with its taps
// unrolled; others one by one over the taps that exist. Where groups have several channels, a pixel's
// channels are read at once, and each is shuffled to the lanes of its group.
#include <algorithm>
#include <map>
#include <utility>

#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/packing.h"
#include "compiler/schedules/product_group.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

constexpr int64_t kMaxUnrolledTaps = 16;
constexpr int64_t kShuffledPixels = 8;        // of a tile, where one register holds a vector
constexpr int64_t kMaxUnrolledProducts = 64;  // of an output: taps of the last axis, and channels
constexpr int64_t kMaxWidth = 64;             // of the channels that the outputs of a vector read

// Channels that 16 outputs read.
int64_t WidthOf(const ConvolutionShape& shape) {
  return kPanelColumns / shape.outputs.value() * shape.channels.value();
}

class DepthwiseKernel {
 public:
  DepthwiseKernel(const GroupView& group, const DepthwiseSchedule& schedule, ir::NodeId anchor,
                  const std::set<int>& wanted, LoopKernel* kernel)
      : group_(group),
        tile_pixels_(static_cast<int>(schedule.tile_pixels)),
        anchor_(anchor),
        node_(group.function().node(anchor)),
        shape_(ShapeOf(group, node_)),
        kernel_(kernel),
        nest_(kernel),
        reader_(group, wanted, kernel),
        channels_(shape_.channels.value()),
        outputs_each_(shape_.outputs.value()),
        width_(WidthOf(shape_)) {
    accumulator_ = group.type(node_.inputs[0]).dtype == DType::kF64 ? DType::kF64 : DType::kF32;
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
    last_ = shape_.axes() - 1;
    TVMVM_CHECK_OK(Rows());
    kernel_->flops = shape_.batch * ir::Product(shape_.output) * all_outputs() * depth() * 2;
    kernel_->body = nest_.Finish();
    return reader_.touched();
  }

 private:
  int64_t all_outputs() const { return shape_.groups * outputs_each_; }
  ir::Dim depth() const { return shape_.taps() * channels_; }

  // One row of output pixels: all positions but the last axis' are the grid point's.
  Status Rows() {
    ir::Dims outer{shape_.batch};
    outer.insert(outer.end(), shape_.output.begin(), shape_.output.end() - 1);
    Expr row = Variable(nest_.Grid(0, "row", ir::Product(outer)));
    nest_.Grid(1, "unused", 1);
    nest_.Grid(2, "unused", 1);
    std::vector<Expr> index = Unflatten(row, outer);
    batch_ = nest_.Let("n", index[0]);
    row_ = row;
    for (size_t i = 0; i < last_; ++i) {
      position_.push_back(nest_.Let("o", index[i + 1]));
      BindTaps(i, position_[i]);
    }
    // Output positions along the last axis whose taps are all inside.
    int64_t taps = shape_.kernel[last_].value(), stride = shape_.strides[last_],
            dilation = shape_.dilations[last_];
    ir::Dim low = shape_.low[last_], count = shape_.output[last_];
    ir::Dim begin = Min(Max(CeilDiv(low, stride), 0), count);
    ir::Dim end =
        Min(Max(FloorDiv(shape_.input[last_] - 1 + low - (taps - 1) * dilation, stride) + 1, begin), count);
    ir::Dim tiles_end = begin + FloorDiv(end - begin, tile_pixels_) * tile_pixels_;

    int64_t channels = all_outputs(), whole = channels / kPanelColumns * kPanelColumns;
    auto panel = [&](const Expr& channel, bool is_tail) -> Status {
      channel_ = channel;
      first_read_ =
          width_ == kPanelColumns
              ? channel
              : nest_.Let("first_read", FloorDiv(channel, IntConstant(kPanelColumns)) * IntConstant(width_));
      is_tail_ = is_tail;
      TVMVM_CHECK_OK(Pixels(DimValue(0), DimValue(begin), 1, false));
      TVMVM_CHECK_OK(Pixels(DimValue(begin), DimValue(tiles_end), tile_pixels_, true));
      TVMVM_CHECK_OK(Pixels(DimValue(tiles_end), DimValue(end), 1, true));
      return Pixels(DimValue(end), DimValue(count), 1, false);
    };
    if (whole > 0) {
      Expr c = Variable(
          nest_.Open("channel", IntConstant(0), IntConstant(whole), LoopKind::kSerial, kPanelColumns));
      TVMVM_CHECK_OK(panel(c, false));
      nest_.Close();
    }
    return whole < channels ? panel(IntConstant(whole), true) : Status{};
  }

  // The taps of an axis that are inside for an output position: [begin, end), and the input position of tap
  // 0.
  struct Taps {
    Expr corner, begin, end;
  };

  Taps TapsAt(size_t axis, const Expr& position) {
    int64_t dilation = shape_.dilations[axis];
    Expr corner =
        nest_.Let("corner", position * IntConstant(shape_.strides[axis]) - DimValue(shape_.low[axis]));
    Expr zero = IntConstant(0), step = IntConstant(dilation), count = DimValue(shape_.kernel[axis]);
    Expr begin = FloorDiv(zero - corner + IntConstant(dilation - 1), step);
    Expr end = FloorDiv(DimValue(shape_.input[axis]) - IntConstant(1) - corner, step) + IntConstant(1);
    return {corner, nest_.Let("begin", Max(zero, begin)), nest_.Let("end", Min(count, end))};
  }

  void BindTaps(size_t axis, const Expr& position) { taps_.push_back(TapsAt(axis, position)); }

  // Output pixels [begin, end) of the row, `tile` at a time.
  Status Pixels(const Expr& begin, const Expr& end, int tile, bool is_inside) {
    if (Same(begin, end)) return {};
    Expr first = Variable(nest_.Open("x", begin, end, LoopKind::kSerial, tile));
    uint32_t sums = nest_.Local("sums", accumulator_, Memory::kRegisters, tile * kPanelColumns);
    for (int i = 0; i < tile; ++i)
      nest_.Add(Store(sums, SumIndex(i), Broadcast(Constant(accumulator_, 0), kPanelColumns)));
    OuterTaps(0, IntConstant(0), {}, first, tile, is_inside, sums);
    for (int i = 0; i < tile; ++i) TVMVM_CHECK_OK(StorePixel(first + IntConstant(i), sums, i));
    nest_.Close();
    return {};
  }

  static Expr SumIndex(int pixel) {
    return Ramp(IntConstant(pixel * kPanelColumns), IntConstant(1), kPanelColumns);
  }

  // Loops over the taps of all axes but the last. `tap` is the flattened number of those before `axis`.
  void OuterTaps(size_t axis, const Expr& tap, std::vector<Expr> at, const Expr& first, int tile,
                 bool is_inside, uint32_t sums) {
    Expr inner = tap * DimValue(shape_.kernel[axis]);
    if (axis == last_) {
      is_inside ? UnrolledTaps(inner, at, first, tile, sums) : ExistingTaps(inner, at, first, sums);
      return;
    }
    const Taps& taps = taps_[axis];
    Expr k = Variable(nest_.Open("tap", taps.begin, taps.end));
    at.push_back(nest_.Let("at", taps.corner + k * IntConstant(shape_.dilations[axis])));
    OuterTaps(axis + 1, inner + k, std::move(at), first, tile, is_inside, sums);
    nest_.Close();
  }

  // The channels that the vector's outputs read, at a position along the last axis.
  Expr Data(std::vector<Expr> at, const Expr& last, const Expr& offset) {
    at.push_back(last);
    const int lanes = static_cast<int>(width_);
    Expr base = shape_.InputOffset(batch_, at, first_read_) + offset;
    Expr index = Ramp(base, IntConstant(1), lanes);
    DType dtype = group_.type(node_.inputs[0]).dtype;
    uint32_t buffer = reader_.Buffer(reader_.InputOf(node_.inputs[0]));
    Expr mask;
    if (is_tail_)
      mask = Less(Ramp(first_read_, IntConstant(1), lanes),
                  Broadcast(IntConstant(shape_.groups * channels_), lanes));
    return Cast(accumulator_, Load(buffer, dtype, std::move(index), std::move(mask)));
  }

  bool is_depthwise() const { return channels_ == 1 && outputs_each_ == 1; }

  // A column of the picture: the vector itself, or where its channels are kept, to be shuffled.
  struct Column {
    Expr vector;
    uint32_t kept = 0;
  };
  Column Keep(Expr data) {
    if (is_depthwise()) return {nest_.Let("x", std::move(data)), 0};
    const uint32_t kept = nest_.Local("channels", accumulator_, Memory::kRegisters, width_);
    nest_.Add(Store(kept, Ramp(IntConstant(0), IntConstant(1), static_cast<int>(width_)), std::move(data)));
    return {{}, kept};
  }
  // Channel `i` of each output's group.
  Expr ChannelOf(const Column& column, int64_t i) {
    if (is_depthwise()) return column.vector;
    Expr group = FloorDiv(Ramp(IntConstant(0), IntConstant(1), kPanelColumns),
                          Broadcast(IntConstant(outputs_each_), kPanelColumns));
    Expr index =
        group * Broadcast(IntConstant(channels_), kPanelColumns) + Broadcast(IntConstant(i), kPanelColumns);
    return nest_.Let("x", Load(column.kept, accumulator_, std::move(index)));
  }

  // Of channel `i` of each output's group.
  Expr Weights(const Expr& tap, int64_t i) {
    // Panels are [outputs / 16][taps][channels][16].
    Expr row = tap * IntConstant(channels_) + IntConstant(i);
    Expr base = channel_ * DimValue(depth()) + row * IntConstant(kPanelColumns);
    Expr load = Load(panels_, group_.type(node_.inputs[1]).dtype,
                     Ramp(std::move(base), IntConstant(1), kPanelColumns));
    return Cast(accumulator_, std::move(load));
  }

  void Accumulate(uint32_t sums, int pixel, const Expr& data, const Expr& weights) {
    Expr index = SumIndex(pixel);
    nest_.Add(Store(sums, index, Fma(data, weights, Load(sums, accumulator_, index))));
  }

  void UnrolledTaps(const Expr& tap, const std::vector<Expr>& at, const Expr& first, int tile,
                    uint32_t sums) {
    int64_t stride = shape_.strides[last_], dilation = shape_.dilations[last_];
    Expr corner = nest_.Let("corner", first * IntConstant(stride) - DimValue(shape_.low[last_]));
    std::map<int64_t, Column> columns;  // by distance from the corner: neighbouring pixels share them
    for (int64_t channel = 0; channel < channels_; ++channel) {
      std::map<int64_t, Expr> vectors;
      for (int64_t k = 0; k < shape_.kernel[last_].value(); ++k) {
        Expr weights = nest_.Let("w", Weights(tap + IntConstant(k), channel));
        for (int i = 0; i < tile; ++i) {
          const int64_t distance = i * stride + k * dilation;
          if (!columns.contains(distance))
            columns[distance] = Keep(Data(at, corner, IntConstant(distance * shape_.groups * channels_)));
          Expr& vector = vectors[distance];
          if (!vector.valid()) vector = ChannelOf(columns[distance], channel);
          Accumulate(sums, i, vector, weights);
        }
      }
    }
  }

  void ExistingTaps(const Expr& tap, const std::vector<Expr>& at, const Expr& pixel, uint32_t sums) {
    Taps taps = TapsAt(last_, pixel);
    Expr k = Variable(nest_.Open("tap", taps.begin, taps.end));
    Expr place = taps.corner + k * IntConstant(shape_.dilations[last_]);
    const Column column = Keep(Data(at, place, IntConstant(0)));
    for (int64_t channel = 0; channel < channels_; ++channel)
      Accumulate(sums, 0, ChannelOf(column, channel), Weights(tap + k, channel));
    nest_.Close();
  }

  Status StorePixel(const Expr& pixel, uint32_t sums, int number) {
    Expr end = is_tail_ ? IntConstant(all_outputs() % kPanelColumns) : IntConstant(kPanelColumns);
    Expr j = Variable(nest_.Open("j", IntConstant(0), end, LoopKind::kVectorized));
    ProductResults::Position position;
    std::vector<Expr> at = position_;
    at.push_back(pixel);
    Expr channel = channel_ + j;
    position.coordinates = shape_.OutputCoordinates(batch_, at, channel);
    position.flat = (row_ * DimValue(shape_.output[last_]) + pixel) * IntConstant(all_outputs()) + channel;
    Expr sum = Load(sums, accumulator_, IntConstant(number * kPanelColumns) + j);
    const DType result = group_.type(node_.outputs[0]).dtype;
    TVMVM_CHECK_OK(results_->Store(nest_, position, SumAs(result, shape_, sum), reader_, outputs_,
                                   IsInteger(result) ? sum : Expr()));
    nest_.Close();
    return {};
  }

  const GroupView& group_;
  int tile_pixels_;
  ir::NodeId anchor_;
  const ir::Node& node_;
  ConvolutionShape shape_;
  LoopKernel* kernel_;
  Nest nest_;
  InputReader reader_;
  const int64_t channels_, outputs_each_;  // of a group
  const int64_t width_;
  std::optional<ProductResults> results_;
  DType accumulator_ = DType::kInvalid;
  uint32_t panels_ = 0;
  std::vector<uint32_t> outputs_;
  size_t last_ = 0;
  Expr batch_, row_;
  Expr channel_, first_read_;  // the first output of the vector, and the first channel that it reads
  bool is_tail_ = false;
  std::vector<Expr> position_;  // along all axes but the last
  std::vector<Taps> taps_;
};

}  // namespace

namespace {

// Whether groups are narrower than vectors, which hold whole ones.
bool HasNarrowGroups(const ConvolutionShape& shape) {
  const int64_t channels = shape.channels.constant().value_or(0),
                outputs = shape.outputs.constant().value_or(0);
  if (shape.groups < 2 || channels < 1 || outputs < 1) return false;
  if (outputs >= kPanelColumns || kPanelColumns % outputs != 0 || WidthOf(shape) > kMaxWidth) return false;
  return shape.kernel.back().constant().value_or(INT64_MAX) <= kMaxUnrolledProducts / channels;
}

}  // namespace

bool TakesDepthwise(const GroupView& group, ir::NodeId anchor) {
  const ir::Node& node = group.function().node(anchor);
  ConvolutionShape shape = ShapeOf(group, node);
  DType dtype = group.type(node.inputs[0]).dtype;
  if (!shape.channels_last || !group.ConstantOf(node.inputs[1])) return false;
  if (shape.kernel.back().constant().value_or(INT64_MAX) > kMaxUnrolledTaps) return false;
  DType weight_type = group.type(node.inputs[1]).dtype;
  bool of_floats = IsFloat(dtype) && DTypeBits(dtype) >= 16 && weight_type == dtype;
  if (shape.channels.IsConstant(1) && shape.outputs.IsConstant(1))
    return of_floats || SumsOfBytesAreExact(shape, dtype, weight_type);
  return of_floats && HasNarrowGroups(shape);
}

Status PackDepthwise(const GroupView& group, ir::NodeId anchor, GroupProgram* program) {
  const ir::Node& node = group.function().node(anchor);
  const ConstantInput weights = group.ConstantOf(node.inputs[1]).value();
  const OperandAxes axes = ShapeOf(group, node).WeightAxes(0);
  const int64_t panels = (weights.dims[0] + kPanelColumns - 1) / kPanelColumns;
  TVMVM_CHECK_OK(CheckPackable(weights.dtype, weights.dims, axes, panels));
  program->packed.push_back(PackInPanels({weights.number, weights.dims, axes, panels}, false));
  return {};
}

Expected<GroupProgram> ScheduleDepthwise(const GroupView& group, const TargetInfo& target,
                                         ir::NodeId anchor) {
  GroupProgram program;
  TVMVM_CHECK_OK(PackDepthwise(group, anchor, &program));
  const ConvolutionShape shape = ShapeOf(group, group.function().node(anchor));
  DepthwiseSchedule schedule;
  const bool is_wide = target.vector_bits >= kPanelColumns * DTypeBits(DType::kF32);
  if (!shape.channels.IsConstant(1) && is_wide) schedule.tile_pixels = kShuffledPixels;
  KernelSchedule made = Decide(group, target, WordsOf(group) + " " + WordsOf(shape), &schedule);
  auto build = [&](const std::set<int>& wanted, LoopKernel* kernel, std::vector<KernelArgument>* arguments) {
    return DepthwiseKernel(group, schedule, anchor, wanted, kernel).Build(arguments);
  };
  TVMVM_CHECK_OK(AddCall(1, build, &program));
  program.calls.back().schedules.push_back(std::move(made));
  return program;
}

}  // namespace tvmvm::tensor
