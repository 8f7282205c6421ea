// conv and conv_transpose: sums of products over windows, any number of spatial axes, groups, strides,
// dilations.
//
//   conv(x, w) {strides, dilations, low, high, groups, layout, weights, dtype}     w is [M, C/groups, k...]
//   conv_transpose(x, w) {strides, dilations, low, dims, groups}          w is [C, M/groups, k...]; `dims`:
//   spatial dims of
//                                                                         the result; data is channels_first
// `low` and `high` are the padding before and after each spatial axis (dims). `layout` says where the data's
// channels are: channels_first [N, C, spatial...] (the default) or channels_last [N, spatial..., C];
// `weights` says so of the weights, by the same names: [M, k..., C/groups] are summed in that order.

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/core_values.h"
#include "compiler/graph/requirements.h"
#include "fmt/format.h"

namespace tvmvm::ir {
namespace {

using tensor::Expr;

struct Places {
  int channel;  // axis of the channels in the data
  int spatial;  // first spatial axis in the data
};

Places PlacesOf(const Node& node, int rank, const char* attribute = "layout") {
  return node.LayoutOf(attribute) == Layout::kChannelsLast ? Places{rank - 1, 1} : Places{1, 2};
}

Status CheckLayouts(const Node& node) {
  for (const char* name : {"layout", "weights"})
    if (const Attribute* attribute = node.Find(name);
        attribute && !std::holds_alternative<Layout>(*attribute))
      return MakeError(Code::kInvalidArgument,
                       fmt::format("'{}' is no layout, want channels_first or channels_last", name));
  return {};
}

Status CheckLists(const Node& node, size_t spatial, std::initializer_list<const char*> dims_lists) {
  for (const char* name : {"strides", "dilations"}) {
    if (node.Ints(name).size() != spatial)
      return MakeError(Code::kInvalidArgument, fmt::format("'{}' has {} entries, the data {} spatial axes",
                                                           name, node.Ints(name).size(), spatial));
    for (int64_t value : node.Ints(name))
      if (value < 1)
        return MakeError(Code::kInvalidArgument, fmt::format("'{}' holds {}, want at least 1", name, value));
  }
  for (const char* name : dims_lists)
    if (node.DimList(name).size() != spatial)
      return MakeError(Code::kInvalidArgument, fmt::format("'{}' has {} entries, the data {} spatial axes",
                                                           name, node.DimList(name).size(), spatial));
  if (node.Int("groups", 1) < 1)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} groups, want at least 1", node.Int("groups", 1)));
  return {};
}

Status CheckRanks(const Type& x, const Type& w) {
  if (x.rank() < 3 || w.rank() != x.rank())
    return MakeError(Code::kInvalidArgument, fmt::format("data {} and weights {}: want one rank, at least 3",
                                                         x.ToString(), w.ToString()));
  return {};
}

Expected<std::vector<Type>> InferConv(const InferContext& context) {
  const Type &x = context.inputs[0], &w = context.inputs[1];
  TVMVM_CHECK_OK(CheckRanks(x, w));
  size_t spatial = x.dims.size() - 2;
  TVMVM_CHECK_OK(CheckLists(context.node, spatial, {"low", "high"}));
  TVMVM_CHECK_OK(CheckLayouts(context.node));
  const Places layout = PlacesOf(context.node, x.rank());
  const Places weights = PlacesOf(context.node, x.rank(), "weights");
  int64_t groups = context.node.Int("groups", 1);
  Dim channels = w.dims[static_cast<size_t>(weights.channel)] * Dim(groups);
  const Dim& given = x.dims[static_cast<size_t>(layout.channel)];
  if (given.is_constant() && channels.is_constant() && !(given == channels))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("the data {} has {} channels, weights {} with {} groups want {}",
                                 x.ToString(), given.ToString(), w.ToString(), groups, channels.ToString()));
  if (w.dims[0].is_constant() && w.dims[0].value() % groups != 0)
    return MakeError(Code::kInvalidArgument, fmt::format("{} output channels do not divide into {} groups",
                                                         w.dims[0].value(), groups));
  Dims dims = x.dims;
  dims[static_cast<size_t>(layout.channel)] = w.dims[0];
  for (size_t i = 0; i < spatial; ++i) {
    Dim window =
        (w.dims[static_cast<size_t>(weights.spatial) + i] - Dim(1)) * Dim(context.node.Ints("dilations")[i]) +
        Dim(1);
    Dim& dim = dims[static_cast<size_t>(layout.spatial) + i];
    dim = FloorDiv(dim + context.node.DimList("low")[i] + context.node.DimList("high")[i] - window,
                   Dim(context.node.Ints("strides")[i])) +
          Dim(1);
    if (dim.is_constant() && dim.value() < 0)
      return MakeError(
          Code::kInvalidArgument,
          fmt::format("the window of spatial axis {} is larger than the padded data {}", i, x.ToString()));
  }
  return std::vector<Type>{Type::Tensor(DTypeOr(context.node, x.dtype), std::move(dims))};
}

Expr ConvElement(ElementContext& context, std::span<const Expr> index) {
  const Node& node = context.node();
  const Type &x = context.input_type(0), &w = context.input_type(1);
  const Places layout = PlacesOf(node, x.rank()), weights = PlacesOf(node, x.rank(), "weights");
  DType dtype = context.output_type().dtype;
  tensor::Reduction reduction;
  reduction.accumulator = AccumulatorOf(dtype);
  std::vector<Expr> data(x.dims.size()), weight(w.dims.size());
  weight[0] = index[static_cast<size_t>(layout.channel)];
  for (size_t axis = 1; axis < w.dims.size(); ++axis)
    weight[axis] =
        AddAxis(context, &reduction, w.dims[axis], static_cast<int>(axis) == weights.channel ? "c" : "k");
  const Expr output_channel = weight[0], channel = weight[static_cast<size_t>(weights.channel)];
  Expr group_size = tensor::DimValue(FloorDiv(w.dims[0], Dim(node.Int("groups", 1))));
  data[0] = index[0];
  data[static_cast<size_t>(layout.channel)] =
      node.Int("groups", 1) == 1 ? channel
                                 : FloorDiv(output_channel, group_size) *
                                           tensor::DimValue(w.dims[static_cast<size_t>(weights.channel)]) +
                                       channel;
  Expr inside = tensor::BoolConstant(true);
  for (size_t i = 0; i + 2 < x.dims.size(); ++i) {
    size_t at = static_cast<size_t>(layout.spatial) + i;
    const Expr& tap = weight[static_cast<size_t>(weights.spatial) + i];
    Expr position = index[at] * tensor::IntConstant(node.Ints("strides")[i]) +
                    tap * tensor::IntConstant(node.Ints("dilations")[i]) -
                    tensor::DimValue(node.DimList("low")[i]);
    data[at] = ClampPadded(position, x.dims[at], node.DimList("low")[i], node.DimList("high")[i], &inside);
  }
  Expr value = tensor::Cast(reduction.accumulator, context.Input(0, data)) *
               tensor::Cast(reduction.accumulator, context.Input(1, weight));
  value = tensor::Select(inside, value, tensor::Constant(reduction.accumulator, 0));
  return tensor::Reduce(std::move(reduction), value, dtype);
}

Expected<std::vector<Type>> InferConvTranspose(const InferContext& context) {
  const Type &x = context.inputs[0], &w = context.inputs[1];
  TVMVM_CHECK_OK(CheckRanks(x, w));
  TVMVM_CHECK_OK(CheckLists(context.node, x.dims.size() - 2, {"low", "dims"}));
  if (x.dims[1].is_constant() && w.dims[0].is_constant() && !(x.dims[1] == w.dims[0]))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("the data {} has {} channels, weights {} want {}", x.ToString(),
                                 x.dims[1].ToString(), w.ToString(), w.dims[0].ToString()));
  const int64_t groups = context.node.Int("groups", 1);
  if (x.dims[1].is_constant() && x.dims[1].value() % groups != 0)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} channels do not divide into {} groups", x.dims[1].value(), groups));
  Dims dims{x.dims[0], w.dims[1] * Dim(groups)};
  for (const Dim& dim : context.node.DimList("dims")) dims.push_back(dim);
  return std::vector<Type>{Type::Tensor(DTypeOr(context.node, x.dtype), std::move(dims))};
}

// Pull form: the result at y gathers x at (y + low - k * dilation) / stride where that divides and lies
// inside.
Expr ConvTransposeElement(ElementContext& context, std::span<const Expr> index) {
  const Node& node = context.node();
  const Type &x = context.input_type(0), &w = context.input_type(1);
  DType dtype = context.output_type().dtype;
  int64_t groups = node.Int("groups", 1);
  tensor::Reduction reduction;
  reduction.accumulator = AccumulatorOf(dtype);
  Dim group_channels = FloorDiv(x.dims[1], Dim(groups));
  Expr channel = AddAxis(context, &reduction, group_channels, "c");
  std::vector<Expr> data(x.dims.size()), weight(w.dims.size());
  data[0] = index[0];
  Expr group = groups == 1 ? tensor::IntConstant(0) : FloorDiv(index[1], tensor::DimValue(w.dims[1]));
  data[1] = weight[0] = group * tensor::DimValue(group_channels) + channel;
  weight[1] = groups == 1 ? index[1] : index[1] - group * tensor::DimValue(w.dims[1]);
  Expr inside = tensor::BoolConstant(true);
  for (size_t i = 0; i + 2 < x.dims.size(); ++i) {
    Expr tap = AddAxis(context, &reduction, w.dims[i + 2], "k");
    Expr stride = tensor::IntConstant(node.Ints("strides")[i]);
    Expr scaled = index[i + 2] + tensor::DimValue(node.DimList("low")[i]) -
                  tap * tensor::IntConstant(node.Ints("dilations")[i]);
    Expr position = FloorDiv(scaled, stride);
    inside = And(inside, Equal(FloorMod(scaled, stride), tensor::IntConstant(0)));
    weight[i + 2] = tap;
    data[i + 2] = ClampInside(position, x.dims[i + 2], &inside);
  }
  Expr value = tensor::Cast(reduction.accumulator, context.Input(0, data)) *
               tensor::Cast(reduction.accumulator, context.Input(1, weight));
  value = tensor::Select(inside, value, tensor::Constant(reduction.accumulator, 0));
  return tensor::Reduce(std::move(reduction), value, dtype);
}

constexpr std::string_view kChannels = "the number of channels";

void RequireChannels(const Function& function, const Node& node, Requirements* list) {
  const Dims &x = function.type(node.inputs[0]).dims, &w = function.type(node.inputs[1]).dims;
  const int rank = static_cast<int>(x.size());
  const Dim& given = x[static_cast<size_t>(PlacesOf(node, rank).channel)];
  const Dim& wanted = w[static_cast<size_t>(PlacesOf(node, rank, "weights").channel)];
  RequireEqual(list, given, wanted * Dim(node.Int("groups", 1)), std::string(kChannels));
}

void RequireTransposedChannels(const Function& function, const Node& node, Requirements* list) {
  RequireEqual(list, function.type(node.inputs[0]).dims[1], function.type(node.inputs[1]).dims[0],
               std::string(kChannels));
}

constexpr CoreOp kConvolutionOps[] = {
    {.name = "conv",
     .kind = OpKind::kConvolution,
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = InferConv,
     .element = ConvElement,
     .meaning = "convolution of data with weights [M, C/groups, k...]; padding reads as 0",
     .attributes = "strides dilations low high groups layout weights dtype tile",
     .requirements = RequireChannels},
    {.name = "conv_transpose",
     .kind = OpKind::kTransposedConvolution,
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = InferConvTranspose,
     .element = ConvTransposeElement,
     .meaning = "the transposed convolution with weights [C, M/groups, k...]",
     .attributes = "strides dilations low dims groups dtype",
     .requirements = RequireTransposedChannels},
};

}  // namespace

std::span<const CoreOp> ConvolutionFamily() { return kConvolutionOps; }

}  // namespace tvmvm::ir
