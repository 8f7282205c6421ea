// Convolutions as matrix products that are never written out: a row is an output pixel, the depth runs over
// taps and channels, a column is an output channel. Rows of several taps are gathered a block at a time,
// padding as zeros; single taps are read where they lie. Pictures whose channels lie apart are first brought
// into the order in which taps are gathered, by a call of its own.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/cpu/tiles/gather_operands.h"
#include "compiler/schedules/cpu/windows/taps_inside.h"
#include "compiler/schedules/product_group.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

constexpr int64_t kBytesOfVector = 64;
// Taps of pictures of few channels, in such steps, are gathered a run along the last axis at a time. What
// that saves is more than results cost that are not written in the order of pixels from so many products on.
constexpr int64_t kLeastStepOfRuns = 4, kMostChannelsOfRuns = 16, kLeastDepthOfRuns = 128;
constexpr int64_t kUnrolledTaps = 16;
// Where taps are far apart, vectors along so many channels leave more of them out than those along pixels.
constexpr int64_t kChannelsOfFarTaps = 32;

// Whether pixels so far apart are gathered for vectors along channels: what a pixel's taps see of a channel
// is a run, what a tap sees of several pixels is not.
bool GathersRuns(const ConvolutionShape& shape) {
  return !shape.channels_last && !shape.is_pointwise() && !HasFarTaps(shape) &&
         shape.strides.back() >= kLeastStepOfRuns && shape.dilations.back() == 1 &&
         LessEqual(shape.channels, kMostChannelsOfRuns).IsConstant(1) &&
         LessEqual(kLeastDepthOfRuns, shape.taps() * shape.channels).IsConstant(1);
}

// Whether vectors along pixels are never taken.
bool NeedsChannelVectors(const ConvolutionShape& shape) {
  if (GathersRuns(shape)) return true;
  const ir::Dim least = Min(shape.channels, shape.outputs);
  return shape.axes() > 1 && HasFarTaps(shape) && LessEqual(kChannelsOfFarTaps, least).IsConstant(1);
}

class ConvolutionKernel {
 public:
  ConvolutionKernel(const GroupView& group, const TargetInfo& target, ir::NodeId anchor)
      : group_(group),
        target_(target),
        anchor_(anchor),
        node_(group.function().node(anchor)),
        shape_(ShapeOf(group, node_)),
        read_(shape_) {
    rows_ = shape_.batch * ir::Product(shape_.output);
    depth_ = shape_.taps() * shape_.channels;
    accumulator_ = ProductAccumulator(group.type(node_.inputs[0]).dtype, group.type(node_.inputs[1]).dtype,
                                      group.type(node_.outputs[0]).dtype);
  }

  Expected<GroupProgram> Schedule() {
    GroupProgram program;
    PackWeights(&program);
    if (!packed_ && !coded_) TVMVM_CHECK_OK(AddPacking(&program));
    if (packed_ && !of_bytes_ && !shape_.channels_last) {
      TVMVM_CHECK_OK(AddEither(&program));
    } else {
      TVMVM_CHECK_OK(AddProduct(1, &program));
    }
    return program;
  }

 private:
  // Vectors along pixels, or along channels.
  Status AddEither(GroupProgram* program) {
    ConvolutionSchedule schedule;
    std::string problem = fmt::format("{} {}", DTypeName(accumulator_), WordsOf(shape_));
    KernelSchedule made = Decide(group_, target_, std::move(problem), &schedule);
    const ir::Dim is_planar = IsPlanar(schedule);
    if (!is_planar.IsConstant(0)) {
      auto build = [&](const std::set<int>& wanted, LoopKernel* kernel,
                       std::vector<KernelArgument>* arguments) {
        return BuildPlanarConvolution(group_, target_, anchor_, wanted, kernel, arguments, &made_);
      };
      TVMVM_CHECK_OK(AddCall(is_planar, build, program));
      program->calls.back().schedules.push_back(made_);
    }
    if (!is_planar.IsConstant(1)) TVMVM_CHECK_OK(AddProduct(Not(is_planar), program));
    program->calls[0].schedules.push_back(std::move(made));
    return {};
  }

  ir::Dim IsPlanar(const ConvolutionSchedule& schedule) const {
    if (NeedsChannelVectors(shape_)) return 0;
    const ir::Dim cost = CostOfPlanarConvolution(group_, target_, anchor_);
    return LessEqual(cost * 100, CostAlongChannels(shape_) * schedule.planar_percent);
  }

  Status AddProduct(const ir::Dim& when, GroupProgram* program) {
    TVMVM_CHECK_OK(AddArrangement(when, program));
    TVMVM_CHECK_OK(AddCall(when, std::bind_front(&ConvolutionKernel::BuildKernel, this), program));
    program->calls.back().schedules.push_back(made_);
    return {};
  }

  void PackWeights(GroupProgram* program) {
    coded_ = CodedWeights(group_, anchor_);
    if (coded_) return coded_->AddTo(program);
    const std::optional<ConstantInput> weights = group_.ConstantOf(node_.inputs[1]);
    auto panels = PackedPanels(shape_.outputs).constant();
    if (!weights || !panels) return;
    // [groups, outputs, channels, taps...]
    std::vector<int64_t> dims = weights->dims;
    dims[0] /= shape_.groups;
    dims.insert(dims.begin(), shape_.groups);
    OperandAxes axes = shape_.WeightAxes(1);
    axes.batch = {0};
    const bool of_bytes = IsProductOfBytes(group_.type(node_.inputs[0]).dtype, weights->dtype, accumulator_);
    const bool by_channels = !of_bytes && GathersRuns(shape_);
    if (by_channels) std::ranges::rotate(axes.depth, axes.depth.end() - 1);
    if (!CheckPackable(weights->dtype, dims, axes, *panels)) return;
    packed_ = true;
    of_bytes_ = of_bytes;
    by_channels_ = by_channels;
    program->packed.push_back(PackInPanels({weights->number, dims, axes, *panels}, of_bytes_));
  }

  // Where gathering taps would take their elements one by one.
  Status AddArrangement(const ir::Dim& when, GroupProgram* program) {
    const bool is_in_order = shape_.channels_last || shape_.is_pointwise() || shape_.channels.IsConstant(1);
    if (is_in_order || by_channels_) return {};
    TVMVM_TRY(arranged_, AddArrangedPicture(group_, target_, anchor_, when, program));
    read_.channels_last = true;
    return {};
  }

  // A call that packs weights which no one knows before, once for all grid points.
  Status AddPacking(GroupProgram* program) {
    const ir::Dim panels = PackedPanels(shape_.outputs);
    program->workspaces.push_back({accumulator_, shape_.groups * panels * depth_ * kPanelColumns});
    auto build = [&](const std::set<int>& wanted, LoopKernel* kernel,
                     std::vector<KernelArgument>* arguments) -> Expected<std::set<int>> {
      kernel->name = "pack";
      InputReader reader(group_, wanted, kernel);
      const uint32_t target = kernel->AddArgument("panels", accumulator_, Access::kWrite);
      if (arguments != nullptr) {
        *arguments = reader.arguments();
        arguments->push_back({ArgumentKind::kWorkspace, 0});
      }
      Nest nest(kernel);
      Expr panel = Variable(nest.Grid(0, "panel", panels));
      nest.Grid(1, "unused", 1);
      Expr number = Variable(nest.Grid(2, "group", shape_.groups));
      PanelGather gather = GatherOfWeights(reader, kernel, number);
      gather.first = panel * IntConstant(kPanelColumns);
      gather.panels = 1;
      gather.target = target;
      gather.base = nest.Let("to", (number * DimValue(panels) + panel) * DimValue(depth_ * kPanelColumns));
      GatherPanels(nest, gather, target_);
      kernel->flops = shape_.groups * shape_.outputs * depth_;
      kernel->body = nest.Finish();
      return reader.touched();
    };
    return AddCall(1, build, program);
  }

  // The weights of a group; where they go is for the caller to say.
  PanelGather GatherOfWeights(InputReader& reader, LoopKernel* kernel, const Expr& group_number) const {
    PanelGather gather{.depth = depth_, .columns = shape_.outputs};
    gather.element = [this, &reader, kernel, group_number](const Expr& k, const Expr& column) {
      std::vector<Expr> index{group_number * DimValue(shape_.outputs) + column,
                              FloorMod(k, DimValue(shape_.channels))};
      index.insert(index.end(), shape_.batches.size() - 1, IntConstant(0));
      for (const Expr& tap : Unflatten(FloorDiv(k, DimValue(shape_.channels)), shape_.kernel))
        index.push_back(tap);
      auto leaf = [&](ir::ValueId value, std::span<const Expr> at) { return reader(value, at); };
      return Cast(accumulator_, group_.Expand(node_.inputs[1], index, leaf, kernel));
    };
    return gather;
  }

  Expected<std::set<int>> BuildKernel(const std::set<int>& wanted, LoopKernel* kernel,
                                      std::vector<KernelArgument>* arguments) {
    kernel->name = "conv";
    InputReader reader(group_, wanted, kernel);
    std::vector<KernelArgument> list = reader.arguments();
    uint32_t panels = 0;
    if (packed_) {
      DType dtype = of_bytes_ ? DType::kU32 : group_.type(node_.inputs[1]).dtype;
      panels = kernel->AddArgument("panels", dtype, Access::kRead);
      list.push_back({ArgumentKind::kPacked, 0});
    } else if (!coded_) {
      panels = kernel->AddArgument("panels", accumulator_, Access::kRead);
      list.push_back({ArgumentKind::kWorkspace, 0});
    }
    CodedBuffers codes;
    if (coded_) codes = AddCodedArguments(coded_->layout(), kernel, &list);
    if (arranged_) {
      picture_ = kernel->AddArgument("arranged", group_.type(node_.inputs[0]).dtype, Access::kRead);
      list.push_back({ArgumentKind::kWorkspace, *arranged_});
    }
    std::vector<uint32_t> outputs = AddOutputs(group_, kernel, &list);
    if (arguments) *arguments = std::move(list);

    MatrixProduct product;
    product.batch = shape_.groups;
    product.rows = rows_;
    product.columns = shape_.outputs;
    product.depth = depth_;
    product.accumulator = accumulator_;
    product.of_bytes = of_bytes_;
    Expr group_number;
    product.begin = [&](Nest&, const Expr& number) {
      group_number = shape_.groups == 1 ? IntConstant(0) : number;
    };
    SetLeft(reader, group_number, &product);
    if (coded_) {
      product.right.form = RightForm::kGathered;
      product.right.gather = [&](Nest& nest, const Expr& first, int count, uint32_t target) {
        DecodePanels(nest, coded_->layout(), codes, IntConstant(0),
                     FloorDiv(first, IntConstant(kPanelColumns)), count, VectorLanes(target_, DType::kF32),
                     target);
      };
    } else {
      SetRight(panels, group_number, &product);
    }
    auto results = ProductResults::Find(group_, anchor_);
    if (!results) return MakeError(Code::kInternal, "a convolution whose results cannot be placed");
    product.store = [&](Nest& nest, const Expr& row, const Expr& column, const Expr& sum) -> Status {
      Pixel pixel = PixelOf(row);
      Expr channel = group_number * DimValue(shape_.outputs) + column;
      return results->Store(
          nest,
          {.coordinates = shape_.OutputCoordinates(pixel.batch, pixel.position, channel),
           .flat = shape_.OffsetOf(row, shape_.outputs * shape_.groups, shape_.output, channel)},
          sum, reader, outputs);
    };
    // Of three axes, the first one's taps are planes.
    if (packed_ && !of_bytes_ && !by_channels_ &&
        (LeavesOutTaps(shape_) || (shape_.axes() > 2 && !shape_.is_unpadded(0))))
      product.range = [this](Nest& nest, const TileAt& at) {
        const Expr last = nest.Let("last", at.first_row + at.height - IntConstant(1));
        return StepsInside(nest, shape_, shape_.output, at.first_row, last);
      };
    made_ = DecideProduct(group_, target_, kernel->name, &product);
    TVMVM_CHECK_OK(BuildMatrixProduct(product, target_, kernel));
    return reader.touched();
  }

  struct Pixel {
    Expr batch;
    std::vector<Expr> position;
  };

  // The output pixel that a row stands for, and the line of them, without the place in it.
  Pixel PixelOf(const Expr& row) const { return PixelAt(row, shape_.axes()); }
  Pixel LineOf(const Expr& line) const { return PixelAt(line, shape_.axes() - 1); }
  Pixel PixelAt(const Expr& flat, size_t axes) const {
    ir::Dims dims{shape_.batch};
    dims.insert(dims.end(), shape_.output.begin(), shape_.output.begin() + static_cast<ptrdiff_t>(axes));
    std::vector<Expr> index = Unflatten(flat, dims);
    return {index[0], {index.begin() + 1, index.end()}};
  }

  void SetLeft(InputReader& reader, Expr& group_number, MatrixProduct* product) {
    int input = reader.InputOf(node_.inputs[0]);
    DType dtype = group_.type(node_.inputs[0]).dtype;
    if (!of_bytes_ && shape_.is_pointwise() && dtype == accumulator_) {
      LeftOperand& left = product->left;
      left.buffer = reader.Buffer(input);
      left.dtype = dtype;
      left.step = shape_.channels_last ? IntConstant(1) : DimValue(ir::Product(shape_.input));
      left.is_linear = (shape_.channels_last || shape_.batch.IsConstant(1)) && shape_.has_unit_strides();
      left.offset = [this, &group_number](Nest&, const Expr& row) {
        Expr channel = group_number * DimValue(shape_.channels);
        if (shape_.has_unit_strides())
          return shape_.OffsetOf(row, shape_.channels * shape_.groups, shape_.input, channel);
        Pixel pixel = PixelOf(row);
        for (size_t i = 0; i < shape_.axes(); ++i)
          pixel.position[i] = pixel.position[i] * IntConstant(shape_.strides[i]);
        return shape_.InputOffset(pixel.batch, pixel.position, channel);
      };
      return;
    }
    product->left.is_dear = true;
    product->left.gather = [this, &reader, &group_number](Nest& nest, const Expr& row, uint32_t target,
                                                          const Expr& base) {
      if (!IsPicture()) return GatherPixel(nest, PixelOf(row), target, base, reader, group_number);
      const Expr from = row * DimValue(shape_.channels * shape_.groups);
      CopyFrom(nest, from + group_number * DimValue(shape_.channels), nest.Let("to", base), shape_.channels,
               target, reader);
    };
    if (IsPicture()) return;
    product->left.line = shape_.output.back();
    product->left.gather_in_line = [this, &reader, &group_number](Nest& nest, const Expr& line,
                                                                  const Expr& at, uint32_t target,
                                                                  const Expr& base) {
      Pixel pixel = LineOf(line);
      pixel.position.push_back(at);
      GatherPixel(nest, std::move(pixel), target, base, reader, group_number);
    };
  }

  // Whether the rows are those of the picture itself.
  bool IsPicture() const { return shape_.is_pointwise() && read_.channels_last && shape_.has_unit_strides(); }

  // Writes all taps of one output pixel.
  void GatherPixel(Nest& nest, Pixel pixel, uint32_t target, const Expr& base, InputReader& reader,
                   const Expr& group_number) {
    pixel.batch = nest.Let("n", pixel.batch);
    std::vector<Expr> corner;  // position of the first tap
    for (size_t i = 0; i < shape_.axes(); ++i) {
      Expr first = pixel.position[i] * IntConstant(shape_.strides[i]) - DimValue(shape_.low[i]);
      corner.push_back(nest.Let("corner", std::move(first)));
    }
    std::vector<Expr> position;
    const Expr first = group_number * DimValue(shape_.channels), tap = IntConstant(0);
    if (!by_channels_)
      return GatherAxis(nest, 0, pixel.batch, corner, BoolConstant(true), &position, tap, target, base,
                        reader, first);
    const Expr channel = Variable(nest.Open("channel", IntConstant(0), DimValue(shape_.channels)));
    GatherAxis(nest, 0, pixel.batch, corner, BoolConstant(true), &position, tap, target,
               nest.Let("to", base + channel * DimValue(shape_.taps())), reader, first + channel);
    nest.Close();
  }

  // What is gathered of a tap.
  ir::Dim ChannelsOfTap() const { return by_channels_ ? ir::Dim(1) : shape_.channels; }

  // Loops over the taps of one axis and, inside, of those after it. `tap` counts the taps of the axes before.
  void GatherAxis(Nest& nest, size_t axis, const Expr& batch, const std::vector<Expr>& corner,
                  const Expr& inside, std::vector<Expr>* position, const Expr& tap, uint32_t target,
                  const Expr& base, InputReader& reader, const Expr& channel) {
    if (axis == shape_.axes()) {
      CopyTap(nest, batch, *position, inside, nest.Let("to", base + tap * DimValue(ChannelsOfTap())),
              ChannelsOfTap(), target, reader, channel);
      return;
    }
    bool is_last = axis + 1 == shape_.axes();
    if (is_last && LastAxisIsContiguous()) {
      // All taps of the row at once where they are all inside.
      Expr first = corner[axis], end = first + DimValue(shape_.kernel[axis]);
      Expr whole = And(LessEqual(IntConstant(0), first), LessEqual(end, DimValue(shape_.input[axis])));
      if (shape_.is_unpadded(axis)) whole = BoolConstant(true);
      Expr is_whole = nest.Let("is_whole", And(inside, whole));
      position->push_back(first);
      Expr to = nest.Let("to", base + tap * DimValue(shape_.kernel[axis] * ChannelsOfTap()));
      nest.OpenIf(is_whole);
      CopyRun(nest, batch, *position, to, shape_.kernel[axis] * ChannelsOfTap(), target, reader, channel);
      nest.Close();
      position->pop_back();
      nest.OpenIf(Unary(ExprOp::kNot, is_whole));
      TapLoop(nest, axis, batch, corner, inside, position, tap, target, base, reader, channel);
      nest.Close();
      return;
    }
    TapLoop(nest, axis, batch, corner, inside, position, tap, target, base, reader, channel);
  }

  void TapLoop(Nest& nest, size_t axis, const Expr& batch, const std::vector<Expr>& corner,
               const Expr& inside, std::vector<Expr>* position, const Expr& tap, uint32_t target,
               const Expr& base, InputReader& reader, const Expr& channel) {
    const bool is_short = by_channels_ && axis + 1 < shape_.axes() && shape_.is_unpadded() &&
                          LessEqual(shape_.kernel[axis], kUnrolledTaps).IsConstant(1);
    const LoopKind kind = is_short ? LoopKind::kUnrolled : LoopKind::kSerial;
    Expr k = Variable(nest.Open("tap", IntConstant(0), DimValue(shape_.kernel[axis]), kind));
    Expr at = nest.Let("at", corner[axis] + k * IntConstant(shape_.dilations[axis]));
    Expr here = And(LessEqual(IntConstant(0), at), Less(at, DimValue(shape_.input[axis])));
    if (shape_.is_unpadded(axis)) here = BoolConstant(true);
    Expr all_inside = nest.Let("inside", And(inside, here));
    position->push_back(at);
    GatherAxis(nest, axis + 1, batch, corner, all_inside, position, tap * DimValue(shape_.kernel[axis]) + k,
               target, base, reader, channel);
    position->pop_back();
    nest.Close();
  }

  // Bytes that are copied as they are fill vectors.
  int64_t MostInChunks() const {
    const bool is_copy = read_.channels_last && group_.type(node_.inputs[0]).dtype == DType::kU8;
    return of_bytes_ && is_copy ? kBytesOfVector : 16;
  }
  DType gathered_type() const { return of_bytes_ ? DType::kU8 : accumulator_; }

  bool LastAxisIsContiguous() const {
    return by_channels_ || (read_.channels_last && read_.groups == 1 && read_.dilations.back() == 1);
  }

  void CopyTap(Nest& nest, const Expr& batch, const std::vector<Expr>& position, const Expr& inside,
               const Expr& to, const ir::Dim& count, uint32_t target, InputReader& reader,
               const Expr& channel) {
    nest.OpenIf(inside);
    CopyRun(nest, batch, position, to, count, target, reader, channel);
    nest.Close();
    nest.OpenIf(Unary(ExprOp::kNot, inside));
    InChunks(
        nest, count, [&](const Expr& c) { nest.Add(Store(target, to + c, Constant(gathered_type(), 0))); },
        MostInChunks());
    nest.Close();
  }

  // `count` elements from a pixel's first channel (of the group) on.
  void CopyRun(Nest& nest, const Expr& batch, const std::vector<Expr>& position, const Expr& to,
               const ir::Dim& count, uint32_t target, InputReader& reader, const Expr& channel) {
    CopyFrom(nest, read_.InputOffset(batch, position, channel), to, count, target, reader);
  }

  void CopyFrom(Nest& nest, const Expr& offset, const Expr& to, const ir::Dim& count, uint32_t target,
                InputReader& reader) {
    Expr from = nest.Let("from", offset);
    const bool is_run = read_.channels_last || by_channels_;
    Expr step = is_run ? IntConstant(1) : DimValue(ir::Product(shape_.input));
    int input = reader.InputOf(node_.inputs[0]);
    DType dtype = group_.type(node_.inputs[0]).dtype;
    InChunks(
        nest, count,
        [&](const Expr& c) {
          const Expr at = from + c * step;
          Expr element = arranged_ ? Load(picture_, dtype, at) : reader.AtFlat(input, dtype, at);
          nest.Add(Store(target, to + c, Cast(gathered_type(), std::move(element))));
        },
        MostInChunks());
  }

  void SetRight(uint32_t panels, Expr& group_number, MatrixProduct* product) {
    RightOperand& right = product->right;
    right.form = RightForm::kPanels;
    right.buffer = panels;
    right.dtype = of_bytes_ ? DType::kU32 : packed_ ? group_.type(node_.inputs[1]).dtype : accumulator_;
    right.base = [&group_number, elements = product->packed_elements()](Nest&) {
      return group_number * DimValue(elements);
    };
  }

  const GroupView& group_;
  const TargetInfo& target_;
  ir::NodeId anchor_;
  const ir::Node& node_;
  ConvolutionShape shape_;
  ConvolutionShape read_;             // the same as taps are gathered from
  std::optional<uint32_t> arranged_;  // the workspace of the picture in that order
  uint32_t picture_ = 0;
  ir::Dim rows_, depth_;
  DType accumulator_ = DType::kInvalid;
  bool packed_ = false, of_bytes_ = false;
  bool by_channels_ = false;          // the depth runs over channels, and over the taps of each
  KernelSchedule made_;               // of the last kernel built
  std::optional<CodedPanels> coded_;  // the weights, where they are kept as codes
};

}  // namespace

Expected<GroupProgram> ScheduleImplicitProduct(const GroupView& group, const TargetInfo& target,
                                               ir::NodeId anchor) {
  return ConvolutionKernel(group, target, anchor).Schedule();
}

}  // namespace tvmvm::tensor
