// Convolutions: which of the schedules takes a group.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/product_group.h"

namespace tvmvm::tensor {

bool ConvolutionShape::has_unit_strides() const {
  return std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 1; });
}

void ConvolutionShape::RemoveAxis(size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  for (ir::Dims* list : {&input, &output, &kernel, &low, &high}) list->erase(list->begin() + at);
  for (std::vector<int64_t>* list : {&strides, &dilations}) list->erase(list->begin() + at);
}

void ConvolutionShape::MergeBatches() {
  while (channels_last && axes() > 1 && kernel[0].IsConstant(1) && strides[0] == 1 && is_unpadded(0)) {
    batches.push_back(input[0]);
    batch = batch * input[0];
    RemoveAxis(0);
  }
}

bool ConvolutionShape::is_pointwise() const {
  for (size_t i = 0; i < axes(); ++i) {
    if (!kernel[i].IsConstant(1) || !low[i].IsConstant(0)) return false;
    // With padding behind, the last positions may lie outside.
    if (!(FloorDiv(input[i] - 1, strides[i]) + 1 == output[i])) return false;
  }
  return true;
}

Expr ConvolutionShape::OffsetOf(const Expr& number, const ir::Dim& channels_of_all, const ir::Dims& plane,
                                const Expr& channel) const {
  if (channels_last) return number * DimValue(channels_of_all) + channel;
  // The one division that there is.
  const Expr area = DimValue(ir::Product(plane));
  const Expr picture = batch.IsConstant(1) ? IntConstant(0) : FloorDiv(number, area);
  return number + (picture * DimValue(channels_of_all - 1) + channel) * area;
}

Expr ConvolutionShape::InputOffset(const Expr& batch_index, const std::vector<Expr>& position,
                                   const Expr& channel) const {
  ir::Dims dims{batch};
  std::vector<Expr> index{batch_index};
  ir::Dim all_channels = channels * groups;
  if (!channels_last) dims.push_back(all_channels), index.push_back(channel);
  dims.insert(dims.end(), input.begin(), input.end());
  index.insert(index.end(), position.begin(), position.end());
  if (channels_last) dims.push_back(all_channels), index.push_back(channel);
  return FlatIndex(dims, index);
}

std::vector<Expr> ConvolutionShape::OutputCoordinates(const Expr& batch_index,
                                                      const std::vector<Expr>& position,
                                                      const Expr& channel) const {
  std::vector<Expr> index = batches.size() == 1 ? std::vector{batch_index} : Unflatten(batch_index, batches);
  if (!channels_last) index.push_back(channel);
  index.insert(index.end(), position.begin(), position.end());
  if (channels_last) index.push_back(channel);
  return index;
}

ConvolutionShape ShapeOf(const GroupView& group, const ir::Node& node) {
  const ir::Dims &data = group.type(node.inputs[0]).dims, &weights = group.type(node.inputs[1]).dims,
                 &result = group.type(node.outputs[0]).dims;
  ConvolutionShape shape;
  shape.channels_last = node.LayoutOf("layout") == ir::Layout::kChannelsLast;
  shape.groups = node.Int("groups", 1);
  shape.batch = data[0];
  shape.batches = {data[0]};
  shape.channels = weights[1];
  shape.outputs = FloorDiv(weights[0], shape.groups);
  shape.kernel.assign(weights.begin() + 2, weights.end());
  size_t first = shape.channels_last ? 1 : 2;
  for (size_t i = 0; i < shape.kernel.size(); ++i) {
    shape.input.push_back(data[first + i]);
    shape.output.push_back(result[first + i]);
  }
  shape.strides = node.Ints("strides");
  shape.dilations = node.Ints("dilations");
  shape.low = node.DimList("low");
  shape.high = node.DimList("high");
  shape.MergeBatches();
  return shape;
}

std::string WordsOf(const ConvolutionShape& shape) {
  return fmt::format("batch={} groups={} channels={} outputs={} kernel={} strides={} output={}",
                     WordOf(shape.batch), shape.groups, WordOf(shape.channels), WordOf(shape.outputs),
                     WordOf(shape.kernel), fmt::join(shape.strides, ","), WordOf(shape.output));
}

std::optional<CodedPanels> CodedWeights(const GroupView& group, ir::NodeId anchor) {
  const ir::Node& node = group.function().node(anchor);
  const ConvolutionShape shape = ShapeOf(group, node);
  auto panels = PackedPanels(shape.outputs).constant();
  if (shape.groups != 1 || !panels || group.type(node.inputs[0]).dtype != DType::kF32) return std::nullopt;
  return CodedPanels::Find(group, node.inputs[1], shape.WeightAxes(0), *panels, BlockPanels(shape.outputs));
}

OperandAxes ConvolutionShape::WeightAxes(int64_t first) const {
  OperandAxes axes{{}, {}, {first}};
  const size_t all = batches.size() - 1 + this->axes();  // with those in front, of one tap
  for (size_t i = 0; i < all; ++i) axes.depth.push_back(first + 2 + static_cast<int64_t>(i));
  axes.depth.push_back(first + 1);
  return axes;
}

// Results are written one by one, and the taps of a pixel are gathered for themselves.
ir::Dim CostAlongChannels(const ConvolutionShape& shape) {
  constexpr int64_t kCostOfResult = 3, kCostOfPixel = 8, kCostOfTap = 4;
  const ir::Dim panels = CeilDiv(shape.outputs, kPanelColumns), taps = shape.taps();
  const ir::Dim gathered = taps.IsConstant(1) ? ir::Dim(0) : taps * kCostOfTap;
  return ir::Product(shape.output) *
         (panels * taps * shape.channels + shape.outputs * kCostOfResult + gathered + kCostOfPixel);
}

constexpr int64_t kMostProduct = 255 * 255;  // of two bytes

bool SumsOfBytesAreExact(const ConvolutionShape& shape, DType data, DType weights) {
  constexpr int64_t kMaxTaps = (int64_t{1} << 24) / kMostProduct;
  auto is_byte = [](DType t) { return t == DType::kI8 || t == DType::kU8; };
  return is_byte(data) && is_byte(weights) && shape.taps().constant().value_or(INT64_MAX) <= kMaxTaps;
}

// Beside 1.5 * 2^23 the bits of an f32 count ones: the sum is a difference of bits.
Expr SumAs(DType result, const ConvolutionShape& shape, const Expr& sum) {
  constexpr int64_t kMaxTaps = (int64_t{1} << 22) / kMostProduct;
  constexpr double kBeside = 12582912;
  constexpr int64_t kBesideBits = 0x4b400000;
  if (result != DType::kI32 || sum.dtype() != DType::kF32 ||
      shape.taps().constant().value_or(INT64_MAX) > kMaxTaps)
    return Cast(result, sum);
  return Bitcast(DType::kI32, sum + Constant(DType::kF32, kBeside)) - IntConstant(kBesideBits, DType::kI32);
}

bool TakesConvolution(const GroupView& group) {
  ir::NodeId anchor = FindAnchor(group, ir::OpKind::kConvolution);
  if (!anchor.valid()) return false;
  const ir::Node& node = group.function().node(anchor);
  if (node.LayoutOf("weights") == ir::Layout::kChannelsLast || !ProductResults::Find(group, anchor))
    return false;
  const ir::NodeId weights = group.function().value(node.inputs[1]).producer;
  const bool decodes = weights.valid() && group.function().node(weights).op->traits.decodes;
  if (InputOf(group, node.inputs[0]) < 0 || (InputOf(group, node.inputs[1]) < 0 && !decodes)) return false;
  DType a = group.type(node.inputs[0]).dtype, b = group.type(node.inputs[1]).dtype;
  if (ProductAccumulator(a, b, group.type(node.outputs[0]).dtype) == DType::kInvalid) return false;
  ConvolutionShape shape = ShapeOf(group, node);
  if (TakesDepthwise(group, anchor) || TakesPlanarDepthwise(group, anchor)) return true;
  // One channel in, a few out: a product would leave most of a panel empty.
  return !(shape.channels.IsConstant(1) && shape.groups > 1);
}

namespace {

// Adds another program, each for its own sizes: `program` where `when` is not 0, `other` elsewhere.
void AddOther(const ir::Dim& when, GroupProgram other, GroupProgram* program) {
  auto restrict_to = [](const ir::Dim& condition, GroupProgram* to) {
    for (KernelCall& call : to->calls) call.when = And(condition, call.when);
    for (Workspace& workspace : to->workspaces) workspace.elements = condition * workspace.elements;
  };
  restrict_to(when, program);
  restrict_to(Not(when), &other);
  for (KernelCall& call : other.calls) {
    for (KernelArgument& argument : call.arguments) {
      if (argument.kind == ArgumentKind::kWorkspace)
        argument.index += static_cast<uint32_t>(program->workspaces.size());
      if (argument.kind == ArgumentKind::kPacked)
        argument.index += static_cast<uint32_t>(program->packed.size());
    }
    program->calls.push_back(std::move(call));
  }
  std::ranges::move(other.workspaces, std::back_inserter(program->workspaces));
  std::ranges::move(other.packed, std::back_inserter(program->packed));
}

Expected<GroupProgram> ScheduleWinogradOrProduct(const GroupView& group, const TargetInfo& target,
                                                 ir::NodeId anchor) {
  GroupProgram program, other;
  TVMVM_TRY(program, ScheduleWinograd(group, target, anchor));
  const ir::Dim fills = FillsWinogradTiles(group, anchor);
  if (fills.IsConstant(1)) return program;
  TVMVM_TRY(other, ScheduleImplicitProduct(group, target, anchor));
  AddOther(fills, std::move(other), &program);
  return program;
}

}  // namespace

Expected<GroupProgram> ScheduleConvolution(const GroupView& group, const TargetInfo& target) {
  ir::NodeId anchor = FindAnchor(group, ir::OpKind::kConvolution);
  if (!anchor.valid()) return MakeError(Code::kInternal, "not a group around a convolution");
  if (TakesDepthwise(group, anchor)) return ScheduleDepthwise(group, target, anchor);
  if (TakesPlanarDepthwise(group, anchor)) return SchedulePlanarDepthwise(group, target, anchor);
  if (TakesWinograd(group, anchor)) return ScheduleWinogradOrProduct(group, target, anchor);
  return ScheduleImplicitProduct(group, target, anchor);
}

}  // namespace tvmvm::tensor
