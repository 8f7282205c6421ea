// Convolutions of channels_first data as matrix products that are never written out: a row is an output
// channel, the depth runs over taps and channels, a column is an output pixel. Vectors run along pixels, so
// that picture and result stay as they are. Pixels are gathered a block at a time, a run of one output row
// after the other, padding as zeros.
#include <algorithm>
#include <utility>

#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/product_group.h"

namespace tvmvm::tensor {
namespace {

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
        runs_(Collapsed(shape_)) {
    last_ = runs_.axes() - 1;
    accumulator_ = ProductAccumulator(group.type(node_.inputs[0]).dtype, group.type(node_.inputs[1]).dtype,
                                      group.type(node_.outputs[0]).dtype);
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
      Gather(nest, first, panels, target);
    };
    auto results = ProductResults::Find(group_, anchor_);
    if (!results) return MakeError(Code::kInternal, "a convolution whose results cannot be placed");
    product.store = [&](Nest& nest, const Expr& row, const Expr& column, const Expr& sum) -> Status {
      Expr channel = group_number_ * DimValue(shape_.outputs) + row;
      ProductResults::Position position;
      position.coordinates = shape_.OutputCoordinates(batch_, Unflatten(column, shape_.output), channel);
      Expr plane = batch_ * DimValue(shape_.outputs * shape_.groups) + channel;
      position.flat = plane * DimValue(product.columns) + column;
      return results->Store(nest, position, sum, reader, outputs);
    };
    *made = DecideProduct(group_, target_, "planar_conv", &product);
    TVMVM_CHECK_OK(BuildMatrixProduct(product, target_, kernel));
    return reader.touched();
  }

 private:
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

  // Output pixels [first, first + 16 * panels), a run of each output row that they touch.
  void Gather(Nest& nest, const Expr& first, int panels, uint32_t target) {
    const Expr count = IntConstant(panels * kPanelColumns), length = DimValue(runs_.output[last_]);
    Expr end = nest.Let("end", Min(first + count, DimValue(ir::Product(runs_.output))));
    Expr row = Variable(nest.Open("pixel_row", FloorDiv(first, length),
                                  FloorDiv(end - IntConstant(1), length) + IntConstant(1)));
    Run run{.target = target, .pitch = GatheredPitch(panels)};
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
    if (!FloorMod(ir::Product(runs_.output), panels * kPanelColumns).IsConstant(0))
      Clear(nest, run, end - first, count);
  }

  // Part of one output row, and where it goes.
  struct Run {
    uint32_t target = 0;
    int64_t pitch = 0;
    Expr first, count;  // along the last axis
    Expr to;            // of the block's columns
  };

  // Loops over the taps of one axis and of those after it. `tap` counts the taps of the axes before.
  void GatherTaps(Nest& nest, const Run& run, const std::vector<Expr>& corner, const Expr& tap,
                  const Expr& inside, std::vector<Expr> position) {
    const size_t axis = position.size();
    Expr k = Variable(nest.Open("tap", IntConstant(0), DimValue(runs_.kernel[axis])));
    Expr inner = tap * DimValue(runs_.kernel[axis]) + k;
    Expr step = k * IntConstant(runs_.dilations[axis]);
    if (axis == last_) {
      GatherChannels(nest, run, std::move(position), step - DimValue(runs_.low[axis]), inner, inside);
    } else {
      Expr at = nest.Let("at", corner[axis] + step);
      Expr here = And(LessEqual(IntConstant(0), at), Less(at, DimValue(runs_.input[axis])));
      Expr all = nest.Let("inside", IsConstant(inside) ? here : And(inside, here));
      position.push_back(at);
      GatherTaps(nest, run, corner, inner, all, std::move(position));
    }
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
    end = nest.Let("end", IsConstant(inside) ? end : Select(inside, end, zero));
    position.push_back(nest.Let("from_x", run.first * step + shift));
    // Channels inside: what the edges mask is the same for all of them.
    Expr chunk = Variable(nest.Open("chunk", zero, run.count, LoopKind::kSerial, kPanelColumns));
    Expr c = Variable(nest.Open("channel", zero, DimValue(runs_.channels)));
    Expr channel = group_number_ * DimValue(runs_.channels) + c;
    Expr from = nest.Let("from", runs_.InputOffset(batch_, position, channel) + chunk * step);
    Expr to = nest.Let("to", (tap * DimValue(runs_.channels) + c) * IntConstant(run.pitch) + run.to + chunk);
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
    nest.Add(Store(run.target, k * IntConstant(run.pitch) + chunk + lane, Constant(accumulator_, 0)));
    for (int i = 0; i < 4; ++i) nest.Close();
  }

  const GroupView& group_;
  const TargetInfo& target_;
  ir::NodeId anchor_;
  const ir::Node& node_;
  ConvolutionShape shape_;
  ConvolutionShape runs_;  // the same with as few axes as possible
  size_t last_ = 0;
  DType accumulator_ = DType::kInvalid;
  InputReader* reader_ = nullptr;
  Expr batch_, group_number_;
};

}  // namespace

Expected<std::set<int>> BuildPlanarConvolution(const GroupView& group, const TargetInfo& target,
                                               ir::NodeId anchor, const std::set<int>& wanted,
                                               LoopKernel* kernel, std::vector<KernelArgument>* arguments,
                                               KernelSchedule* made) {
  return PlanarConvolution(group, target, anchor).Build(wanted, kernel, arguments, made);
}

}  // namespace tvmvm::tensor
