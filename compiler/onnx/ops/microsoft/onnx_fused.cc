// com.microsoft: products, convolutions, activations and normalizations that optimizers fuse.
#include <fmt/core.h>

#include <algorithm>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_window.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// The activation that an attribute names; "" is none. `parameters` are its numbers in the order of its
// attributes' names.
ValueId Activated(OnnxContext& c, ValueId x, const std::string& name, const std::vector<double>& parameters) {
  auto parameter = [&](size_t k, double otherwise) {
    return k < parameters.size() ? parameters[k] : otherwise;
  };
  if (name.empty() || name == "Identity") return x;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "HardSwish" || name == "Gelu" ||
      name == "Softplus" || name == "Softsign")
    return Apply(c, name, {x});
  if (name == "LeakyRelu") return Apply(c, name, {x}, {{"alpha", FloatAttribute(parameter(0, 0.01))}});
  if (name == "HardSigmoid")
    return Apply(c, name, {x},
                 {{"alpha", FloatAttribute(parameter(0, 0.2))}, {"beta", FloatAttribute(parameter(1, 0.5))}});
  if (name == "Clip" && parameters.size() == 2) {
    DType dtype = c.b.dtype(x);
    return c.b.Min(c.b.Max(x, c.b.Scalar(dtype, parameters[0])), c.b.Scalar(dtype, parameters[1]));
  }
  return c.b.Fail(Code::kUnsupported,
                  fmt::format("the activation '{}' with {} parameters", name, parameters.size()));
}

void FusedConv(OnnxContext& c) {
  ValueId result = Apply(c, "Conv", {c.in(0), c.in(1), c.in(2)}, Passed(c, kWindowAttributes));
  if (c.has(3)) result = c.b.Add(result, c.in(3));
  c.Out(0, Activated(c, result, c.Text("activation", ""), c.Floats("activation_params")));
}

// Channels last: x [N, spatial..., C], w [M, spatial..., C / group].
void NhwcConv(OnnxContext& c) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  if (rank < 3 || b.rank(c.in(1)) != rank) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("data of rank {} and weights of rank {}", rank, b.rank(c.in(1))));
    return;
  }
  ValueId result = Apply(c, "Conv", {ChannelsFirst(b, c.in(0)), ChannelsFirst(b, c.in(1)), c.in(2)},
                         Passed(c, kWindowAttributes));
  c.Out(0, ChannelsLast(b, result));
}

// The first axis becomes the last but one, then the last two are swapped, each where it is asked for.
ValueId Arranged(OpBuilder& b, ValueId x, bool batch, bool matrix) {
  int64_t rank = b.rank(x);
  if (rank < 2 || (!batch && !matrix)) return x;
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (matrix) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return b.Transpose(x, perm);
}

void FusedMatMul(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId left = Arranged(b, c.in(0), c.Int("transBatchA", 0) != 0, c.Int("transA", 0) != 0);
  ValueId right = Arranged(b, c.in(1), c.Int("transBatchB", 0) != 0, c.Int("transB", 0) != 0);
  ValueId product = Apply(c, "MatMul", {left, right});
  double alpha = c.Float("alpha", 1);
  c.Out(0, alpha == 1 ? product : b.Mul(product, b.Scalar(b.dtype(product), alpha)));
}

void FusedGemm(OnnxContext& c) {
  ValueId result = Apply(c, "Gemm", {c.in(0), c.in(1), c.in(2)}, Passed(c, "alpha beta transA transB"));
  std::vector<double> parameters;
  for (std::string_view name : {"activation_alpha", "activation_beta"})
    if (c.HasAttribute(name)) parameters.push_back(c.Float(name, 0));
  c.Out(0, Activated(c, result, c.Text("activation", ""), parameters));
}

void BiasGelu(OnnxContext& c) { c.Out(0, Apply(c, "Gelu", {c.b.Add(c.in(0), c.in(1))})); }

void FastGelu(OnnxContext& c) {
  ValueId x = c.has(1) ? c.b.Add(c.in(0), c.in(1)) : c.in(0);
  c.Out(0, Apply(c, "Gelu", {x}, {{"approximate", TextAttribute("tanh")}}));
}

void QuickGelu(OnnxContext& c) {
  c.Out(0, Apply(c, "Swish", {c.in(0)}, {{"alpha", FloatAttribute(c.Float("alpha", 1.702))}}));
}

// A normalization over the last axis of a sum: the result, mean, inverse deviation.
std::vector<ValueId> Normalized(OnnxContext& c, ValueId sum, ValueId scale, ValueId bias) {
  return ApplyMany(c, "LayerNormalization", {sum, scale, bias},
                   {{"epsilon", FloatAttribute(c.Float("epsilon", 1e-12))}}, 3);
}

// Data, skip, scale, bias of the normalization, bias of the sum.
void SkipLayerNormalization(OnnxContext& c) {
  ValueId sum = c.b.Add(c.in(0), c.in(1));
  if (c.has(4)) sum = c.b.Add(sum, c.in(4));
  std::vector<ValueId> results = Normalized(c, sum, c.in(2), c.in(3));
  for (size_t i = 0; i < 3; ++i) c.Out(i, results[i]);
  c.Out(3, sum);
}

// Data, skip, scale, bias of the sum. There is no mean.
void SkipSimplifiedLayerNormalization(OnnxContext& c) {
  ValueId sum = c.b.Add(c.in(0), c.in(1));
  if (c.has(3)) sum = c.b.Add(sum, c.in(3));
  std::vector<ValueId> results = ApplyMany(c, "SimplifiedLayerNormalization", {sum, c.in(2)},
                                           {{"epsilon", FloatAttribute(c.Float("epsilon", 1e-12))}}, 2);
  c.Out(0, results[0]);
  c.Out(2, results[1]);
  c.Out(3, sum);
}

constexpr std::string_view kDomain = "com.microsoft";

constexpr OnnxOp kRows[] = {
    {kDomain, "FusedConv", 1, kLatest, 2, 4,
     "activation activation_params auto_pad dilations group kernel_shape pads strides", FusedConv, kFloats},
    {kDomain, "NhwcConv", 1, kLatest, 2, 3, kWindowAttributes, NhwcConv, kFloats},
    {kDomain, "FusedMatMul", 1, kLatest, 2, 2, "alpha transA transB transBatchA transBatchB", FusedMatMul,
     kFloats},
    {kDomain, "TransposeMatMul", 1, kLatest, 2, 2, "alpha transA transB", FusedMatMul, kFloats},
    {kDomain, "FusedGemm", 1, kLatest, 2, 3,
     "activation activation_alpha activation_beta activation_gamma alpha beta transA transB", FusedGemm,
     kFloats},
    {kDomain, "BiasGelu", 1, kLatest, 2, 2, "", BiasGelu, kFloats},
    {kDomain, "FastGelu", 1, kLatest, 1, 2, "", FastGelu, kFloats},
    {kDomain, "QuickGelu", 1, kLatest, 1, 1, "alpha", QuickGelu, kFloats},
    {kDomain, "SkipLayerNormalization", 1, kLatest, 3, 5, "epsilon", SkipLayerNormalization, kFloats},
    {kDomain, "SkipSimplifiedLayerNormalization", 1, kLatest, 3, 4, "epsilon",
     SkipSimplifiedLayerNormalization, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxFusedRows() { return kRows; }

}  // namespace tvmvm::ir
