// Local rewrites, one rule each. Every rule keeps the result up to rounding. Windows are split by a pass of
// its own, later: it depends on the layout and the device.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/graph/core_op.h"
#include "compiler/graph/window_shape.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::OpBuilder;
using ir::OpKind;
using ir::ValueId;

using tensor::ExprOp;

using Rule = bool (*)(GraphRewriter& rewriter, const Node& node);

// ---- pow(x, constant) ----

bool RewritePower(GraphRewriter& rewriter, const Node& node) {
  if (node.op->scalar != ExprOp::kPow) return false;
  OpBuilder& b = rewriter.builder();
  ValueId base = rewriter.Map(node.inputs[0]);
  std::optional<double> exponent = b.ConstantScalar(rewriter.Map(node.inputs[1]));
  if (!exponent || !IsFloat(b.dtype(base)) || b.rank(rewriter.Map(node.inputs[1])) > b.rank(base))
    return false;
  ValueId result;
  if (*exponent == 1.0)
    result = base;
  else if (*exponent == 2.0)
    result = b.Mul(base, base);
  else if (*exponent == 3.0)
    result = b.Mul(b.Mul(base, base), base);
  else
    return false;
  rewriter.SetMap(node.outputs[0], result);
  return true;
}

// ---- transpose(transpose(x)) ----

bool ComposeTransposes(GraphRewriter& rewriter, const Node& node) {
  if (!IsPermutation(&node)) return false;
  const ValueId source = rewriter.Map(node.inputs[0]);
  if (!IsPermutation(rewriter.Producer(source))) return false;
  rewriter.SetMap(node.outputs[0], rewriter.builder().Transpose(source, node.Ints("perm")));
  return true;
}

// ---- an expansion that repeats nothing ----

bool DropExpansion(GraphRewriter& rewriter, const Node& node) {
  if (node.op->kind != OpKind::kMovement || node.op->traits.axes != ir::AxisMap::kBroadcast) return false;
  if (!(rewriter.old().type(node.inputs[0]) == rewriter.old().type(node.outputs[0]))) return false;
  rewriter.SetMap(node.outputs[0], rewriter.Map(node.inputs[0]));
  return true;
}

// ---- transposes of a contraction's operands become other axis lists ----

// Maps axis lists through the transpose that makes `operand`; false when the order of the free axes would
// change.
bool ReadThroughTranspose(const GraphRewriter& rewriter, ValueId* operand, std::vector<int64_t>* batch,
                          std::vector<int64_t>* contract) {
  const Node* producer = rewriter.Producer(*operand);
  if (!IsPermutation(producer)) return false;
  const std::vector<int64_t>& perm = producer->Ints("perm");
  auto is_free = [&](int64_t axis) {
    return std::find(batch->begin(), batch->end(), axis) == batch->end() &&
           std::find(contract->begin(), contract->end(), axis) == contract->end();
  };
  int64_t last = -1;
  for (int64_t axis = 0; axis < static_cast<int64_t>(perm.size()); ++axis) {
    if (!is_free(axis)) continue;
    if (perm[axis] < last) return false;
    last = perm[axis];
  }
  for (int64_t& axis : *batch) axis = perm[axis];
  for (int64_t& axis : *contract) axis = perm[axis];
  *operand = producer->inputs[0];
  return true;
}

bool AbsorbTransposes(GraphRewriter& rewriter, const Node& node) {
  if (node.op->kind != OpKind::kContraction) return false;
  ValueId a = rewriter.Map(node.inputs[0]), b = rewriter.Map(node.inputs[1]);
  std::vector<int64_t> lhs_batch = node.Ints("lhs_batch"), rhs_batch = node.Ints("rhs_batch");
  std::vector<int64_t> lhs_contract = node.Ints("lhs_contract"), rhs_contract = node.Ints("rhs_contract");
  bool left = ReadThroughTranspose(rewriter, &a, &lhs_batch, &lhs_contract);
  bool right = ReadThroughTranspose(rewriter, &b, &rhs_batch, &rhs_contract);
  if (!left && !right) return false;
  DType dtype = rewriter.old().type(node.outputs[0]).dtype;
  rewriter.SetMap(node.outputs[0],
                  rewriter.builder().Contract(a, b, lhs_batch, rhs_batch, lhs_contract, rhs_contract, dtype));
  return true;
}

// ---- a scale of a convolution's channels goes into its constant weights ----

// The values of a constant that varies along the channel axis (1) only, one for each of `channels`; empty:
// not so.
std::vector<float> ChannelValues(const ir::TensorData* data, int rank, int64_t channels) {
  if (data == nullptr || data->dtype != DType::kF32 || static_cast<int>(data->dims.size()) > rank) return {};
  int64_t count = data->element_count();
  if (count != 1 && count != channels) return {};
  int axis = static_cast<int>(data->dims.size()) - (rank - 1);  // of the channels in the constant's own dims
  if (count != 1 && (axis < 0 || data->dims[axis] != channels)) return {};
  std::vector<float> values(static_cast<size_t>(count));
  std::memcpy(values.data(), data->bytes.data(), values.size() * sizeof(float));
  if (count == 1) values.assign(static_cast<size_t>(channels), values[0]);
  return values;
}

ValueId ScaledWeights(GraphRewriter& rewriter, const ir::TensorData& weights,
                      const std::vector<float>& scale) {
  std::vector<float> values(static_cast<size_t>(weights.element_count()));
  std::memcpy(values.data(), weights.bytes.data(), values.size() * sizeof(float));
  size_t per_channel = values.size() / scale.size();
  for (size_t channel = 0; channel < scale.size(); ++channel)
    for (size_t i = 0; i < per_channel; ++i) values[channel * per_channel + i] *= scale[channel];
  return rewriter.builder().Constant(ir::TensorData::FromVector(DType::kF32, weights.dims, values));
}

// mul(conv(x, w), c) -> conv(x, w * c);  mul(add(conv(x, w), b), c) -> add(conv(x, w * c), b * c)
bool FoldScale(GraphRewriter& rewriter, const Node& node) {
  if (node.op->scalar != ExprOp::kMul) return false;
  const ir::Function& old = rewriter.old();
  for (int side = 0; side < 2; ++side) {
    const ir::TensorData* scale_data = old.ConstantOf(node.inputs[side]);
    const Node* scaled = rewriter.OldProducer(node.inputs[1 - side]);
    if (scale_data == nullptr || scaled == nullptr || rewriter.UseCount(node.inputs[1 - side]) != 1) continue;
    const Node* convolution = scaled;
    ValueId bias;
    if (scaled->op->scalar == ExprOp::kAdd) {
      int constant_side = old.ConstantOf(scaled->inputs[1]) != nullptr ? 1 : 0;
      bias = scaled->inputs[constant_side];
      convolution = rewriter.OldProducer(scaled->inputs[1 - constant_side]);
      if (old.ConstantOf(bias) == nullptr || rewriter.UseCount(scaled->inputs[1 - constant_side]) != 1)
        continue;
    }
    if (convolution == nullptr || convolution->op->kind != OpKind::kConvolution) continue;
    if (convolution->LayoutOf("layout") == ir::Layout::kChannelsLast) continue;
    const ir::TensorData* weights = old.ConstantOf(convolution->inputs[1]);
    const ir::Type& type = old.type(convolution->outputs[0]);
    if (weights == nullptr || weights->dtype != DType::kF32 || weights->dims.empty() || weights->dims[0] == 0)
      continue;
    if (!(old.type(node.outputs[0]).dims == type.dims)) continue;
    std::vector<float> scale = ChannelValues(scale_data, type.rank(), weights->dims[0]);
    if (scale.empty()) continue;
    OpBuilder& b = rewriter.builder();
    b.SetSource(convolution->source);  // it is still that node's work
    ValueId result =
        b.Emit("conv", {rewriter.Map(convolution->inputs[0]), ScaledWeights(rewriter, *weights, scale)},
               convolution->attributes);
    b.SetSource(node.source);
    if (bias.valid()) result = b.Add(result, b.Mul(rewriter.Map(bias), rewriter.Map(node.inputs[side])));
    rewriter.SetMap(node.outputs[0], result);
    return true;
  }
  return false;
}

// ---- a window of several axes is a window along the last one, then one along the others ----

// The least ratio of operations before and after: the taps that are left out pay for writing and reading what
// lies between.
constexpr double kGain = 1.5;

// Maxima, sums, and averages, because what counts of a window is a rectangle. The last axis that has a
// window, where splitting pays; else -1.
int AxisToSplit(const ir::Function& function, const Node& node) {
  if (node.op->kind != ir::OpKind::kWindow || node.String("kind") == "argmax") return -1;
  const DType dtype = function.type(node.outputs[0]).dtype;
  const bool is_exact = node.String("kind") == "max" || node.String("kind") == "min";
  if (!is_exact && dtype != DType::kF32 && dtype != DType::kF64) return -1;
  const std::vector<int64_t>& kernel = node.Ints("kernel");
  int last = -1, axes = 0;
  for (size_t axis = 0; axis < kernel.size(); ++axis) {
    if (kernel[axis] == 1) continue;
    last = static_cast<int>(axis);
    ++axes;
  }
  if (axes < 2) return -1;
  double outer = 1, outer_stride = 1;
  for (int axis = 0; axis < last; ++axis) {
    outer *= static_cast<double>(kernel[static_cast<size_t>(axis)]);
    outer_stride *= static_cast<double>(node.Ints("strides")[static_cast<size_t>(axis)]);
  }
  const auto inner = static_cast<double>(kernel[static_cast<size_t>(last)]);
  return inner * outer > kGain * (inner * outer_stride + outer) ? last : -1;
}

// The attributes of a window that has only the axes that `keeps` says.
template <class Keeps>
ir::Attributes Only(const Node& node, const Keeps& keeps) {
  ir::Attributes attributes = node.attributes;
  for (const char* name : {"kernel", "strides", "dilations"}) {
    std::vector<int64_t> list = node.Ints(name);
    for (size_t axis = 0; axis < list.size(); ++axis)
      if (!keeps(axis)) list[axis] = 1;
    attributes[name] = std::move(list);
  }
  for (const char* name : {"low", "high"}) {
    ir::Dims list = node.DimList(name);
    for (size_t axis = 0; axis < list.size(); ++axis)
      if (!keeps(axis)) list[axis] = ir::Dim(0);
    attributes[name] = std::move(list);
  }
  return attributes;
}

bool Split(GraphRewriter& rewriter, const Node& node, bool keeps_rows) {
  const ir::Function& old = rewriter.old();
  const int axis = AxisToSplit(old, node);
  if (axis < 0 || (keeps_rows && ir::SlidesAlongRows(old, node))) return false;
  const auto last = static_cast<size_t>(axis);
  ir::Attributes along = Only(node, [&](size_t i) { return i == last; });
  ir::Attributes across = Only(node, [&](size_t i) { return i != last; });
  ir::Dims between = old.type(node.inputs[0]).dims;
  between[last] = node.DimList("dims")[last];
  along["dims"] = std::move(between);
  ir::OpBuilder& b = rewriter.builder();
  ir::ValueId rows = b.Emit("window", {rewriter.Map(node.inputs[0])}, std::move(along));
  rewriter.SetMap(node.outputs[0], b.Emit("window", {rows}, std::move(across)));
  return true;
}

constexpr Rule kRules[] = {RewritePower, ComposeTransposes, DropExpansion, AbsorbTransposes, FoldScale};

}  // namespace

Status RewriteAlgebra(ir::Module& module, const PassContext&) {
  for (ir::Function& function : module.functions) {
    GraphRewriter rewriter(&module, &function);
    rewriter.Run([&](NodeId id) {
      return std::any_of(std::begin(kRules), std::end(kRules),
                         [&](Rule rule) { return rule(rewriter, function.node(id)); });
    });
    TVMVM_CHECK_OK(rewriter.Finish());
  }
  return {};
}

// CPUs have a kernel for windows along rows that does both.
Status SplitWindows(ir::Module& module, const PassContext& context) {
  for (ir::Function& function : module.functions) {
    GraphRewriter rewriter(&module, &function);
    rewriter.Run([&](NodeId id) { return Split(rewriter, function.node(id), !context.for_gpus); });
    TVMVM_CHECK_OK(rewriter.Finish());
  }
  return {};
}

}  // namespace tvmvm::passes
