// com.microsoft and ai.onnx: causal convolutions, which carry the end of what came before.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

// [batch, length, channels...] as [batch, channels, length].
ValueId LengthLast(OpBuilder& b, ValueId x) {
  Dims d = b.dims(x);
  if (d.size() < 3) return x;
  return b.Transpose(b.Reshape(x, {d[0], d[1], Product(Dims(d.begin() + 2, d.end()))}), {0, 2, 1});
}

// A depthwise convolution of data [batch, channels, length] by weights [channels, 1, taps]. Where only
// running tells the number of channels, it is a sum over windows.
ValueId Depthwise(OnnxContext& c, ValueId x, ValueId w, ValueId bias, int64_t dilation) {
  OpBuilder& b = c.b;
  if (auto channels = b.dim(w, 0).constant())
    return Apply(c, "Conv", {x, w, bias},
                 {{"group", IntAttribute(*channels)}, {"dilations", IntsAttribute({dilation})}});
  Dim taps = b.dim(w, 2);
  Dims windows{b.dim(x, 2) - (taps - Dim(1)) * Dim(dilation), taps};
  ValueId step = b.Mul(b.Iota(DType::kI64, windows, 1), b.ScalarInt(DType::kI64, dilation));
  ValueId spread = b.Gather(x, b.Add(b.Iota(DType::kI64, windows, 0), step), 2);
  ValueId sum = b.Reduce(tensor::ReduceKind::kSum, b.Mul(spread, w), {3});
  sum = b.Squeeze(sum, {3});
  return bias.valid() ? b.Add(sum, b.Reshape(bias, {b.dim(w, 0), Dim(1)})) : sum;
}

// A depthwise convolution over what came before and the data: [batch, channels, length]; with channels last
// [batch, length, channels...]. Weights [channels, 1, taps], bias, what came before.
void CausalConvWithState(OnnxContext& c) {
  OpBuilder& b = c.b;
  bool is_last = c.Int("channels_last", 0) != 0;
  std::string activation = c.Text("activation", "none");
  bool gated = activation == "silu" || activation == "swish";
  int64_t dilation = c.Int("dilation", 1);
  int rank = b.rank(c.in(0));
  bool fits = is_last ? rank >= 3 : rank == 3;
  if (!fits || b.rank(c.in(1)) != 3 || dilation < 1 || (!gated && activation != "none") ||
      (c.has(3) && b.rank(c.in(3)) != rank)) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("data of rank {}, weights of rank {}, activation '{}', dilation {}", rank,
                       b.rank(c.in(1)), activation, dilation));
    return;
  }
  if (c.Int("ndim", 1) != 1) {
    b.Fail(Code::kUnsupported, fmt::format("{} spatial axes", c.Int("ndim", 1)));
    return;
  }
  auto inward = [&](ValueId x) { return is_last ? LengthLast(b, x) : x; };
  ValueId x = inward(c.in(0));
  Dim reach = (b.dim(c.in(1), 2) - Dim(1)) * Dim(dilation);
  Dims d = b.dims(x);
  ValueId before = c.has(3) ? inward(c.in(3)) : b.Expand(b.Scalar(b.dtype(x), 0), {d[0], d[1], reach});
  ValueId padded = b.Concat({before, x}, 2);
  ValueId result = Depthwise(c, padded, c.in(1), c.in(2), dilation);
  if (gated) result = b.Cast(Apply(c, "Swish", {b.Cast(result, DType::kF32)}), b.dtype(x));
  Dims outer = b.dims(c.in(0));
  auto outward = [&](ValueId y, const Dim& length) {
    if (!is_last || b.failed()) return y;
    Dims dims = outer;
    dims[1] = length;
    return b.Reshape(b.Transpose(y, {0, 2, 1}), dims);
  };
  c.Out(0, outward(result, d[2]));
  c.Out(1, outward(b.SliceAxis(padded, 2, d[2], reach), reach));
}

constexpr OnnxOp kRows[] = {
    {"", "CausalConvWithState", 27, kLatest, 2, 4, "activation", CausalConvWithState, kFloats},
    {"com.microsoft", "CausalConvWithState", 1, kLatest, 2, 4, "activation channels_last dilation ndim",
     CausalConvWithState, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxCausalConvolutionRows() { return kRows; }

}  // namespace tvmvm::ir
