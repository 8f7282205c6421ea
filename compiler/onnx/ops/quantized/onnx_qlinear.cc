// com.microsoft: operators on quantized numbers. Where no integer sum is involved they go through floats and
// round once.
#include <fmt/core.h>

#include <algorithm>

#include "compiler/onnx/ops/nn/onnx_recurrent.h"
#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_quantized.h"
#include "compiler/onnx/ops/onnx_window.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// The numbers that input x, its scale and its zero point stand for.
ValueId Real(OnnxContext& c, size_t x, size_t scale, size_t zero) {
  return Dequantized(c.b, c.in(x), c.in(scale), c.in(zero));
}

// Numbers as quantized ones of type `dtype`, which the zero point has too where there is one.
ValueId Quantized(OnnxContext& c, ValueId real, size_t scale, size_t zero, DType dtype) {
  OpBuilder& b = c.b;
  ValueId scaled = b.Div(real, OneOrMany(b, c.in(scale)));
  return c.has(zero) ? Requantize(b, scaled, OneOrMany(b, c.in(zero))) : RoundTo(b, scaled, dtype);
}

// x, its scale and zero point, the result's scale and zero point.
void Unary(OnnxContext& c, ValueId (*function)(OnnxContext&, ValueId)) {
  ValueId result = function(c, Real(c, 0, 1, 2));
  c.Out(0, Quantized(c, result, 3, 4, c.b.dtype(c.in(0))));
}

void QLinearSigmoid(OnnxContext& c) {
  Unary(c, [](OnnxContext& context, ValueId x) { return Apply(context, "Sigmoid", {x}); });
}

void QLinearLeakyRelu(OnnxContext& c) {
  Unary(c, [](OnnxContext& context, ValueId x) {
    return Apply(context, "LeakyRelu", {x}, {{"alpha", FloatAttribute(context.Float("alpha", 0.01))}});
  });
}

ValueId Pooled(OnnxContext& c, ValueId x, std::string_view op) {
  bool is_last = c.Int("channels_last", 0) != 0;
  if (is_last) x = ChannelsFirst(c.b, x);
  ValueId result =
      Apply(c, op, {x}, Passed(c, "auto_pad ceil_mode count_include_pad kernel_shape pads strides"));
  return is_last ? ChannelsLast(c.b, result) : result;
}

void QLinearAveragePool(OnnxContext& c) {
  Unary(c, [](OnnxContext& context, ValueId x) { return Pooled(context, x, "AveragePool"); });
}
void QLinearGlobalAveragePool(OnnxContext& c) {
  Unary(c, [](OnnxContext& context, ValueId x) { return Pooled(context, x, "GlobalAveragePool"); });
}

// As Softmax of the opset that an attribute names: until 12 the axes from `axis` on count as one.
void QLinearSoftmax(OnnxContext& c) {
  Unary(c, [](OnnxContext& context, ValueId x) {
    OpBuilder& b = context.b;
    int axis = b.NormalizeAxis(context.Int("axis", -1), b.rank(x));
    if (b.failed() || context.Int("opset", 13) >= 13)
      return Apply(context, "Softmax", {x}, {{"axis", IntAttribute(axis)}});
    Dims dims = b.dims(x), flat(dims.begin(), dims.begin() + axis);
    flat.push_back(Product(Dims(dims.begin() + axis, dims.end())));
    return b.Reshape(Apply(context, "Softmax", {b.Reshape(x, flat)}, {{"axis", IntAttribute(-1)}}), dims);
  });
}

// The result's scale and zero point, then data, scale and zero point of each part.
void QLinearConcat(OnnxContext& c) {
  OpBuilder& b = c.b;
  size_t given = c.inputs.size();
  for (size_t i = 0; i < given; ++i)
    if (!c.has(i)) b.Fail(Code::kInvalidArgument, fmt::format("the input {} is missing", i));
  if (given < 5 || (given - 2) % 3 != 0)
    b.Fail(Code::kInvalidArgument, fmt::format("{} inputs, two and three for each part are wanted", given));
  if (b.failed()) return;
  int axis = b.NormalizeAxis(c.Int("axis", 0), b.rank(c.in(2)));
  if (b.failed()) return;
  std::vector<ValueId> parts;
  for (size_t i = 2; i < given; i += 3)
    parts.push_back(Quantized(c, Real(c, i, i + 1, i + 2), 0, 1, DType::kU8));
  c.Out(0, b.Concat(parts, axis));
}

// x, its scale and zero point, w, its scale and zero point, the result's scale and zero point, bias. With
// channels last the weights keep their order.
void QLinearConv(OnnxContext& c) {
  OpBuilder& b = c.b;
  bool is_last = c.Int("channels_last", 0) != 0;
  std::vector<ValueId> inputs = c.inputs;
  if (is_last) inputs[0] = ChannelsFirst(b, inputs[0]);
  ValueId result = Apply(c, "QLinearConv", inputs, Passed(c, kWindowAttributes));
  c.Out(0, is_last ? ChannelsLast(b, result) : result);
}

void NhwcMaxPool(OnnxContext& c) {
  OnnxAttributes attributes = Passed(c, "auto_pad ceil_mode dilations kernel_shape pads strides");
  c.Out(0, ChannelsLast(c.b, Apply(c, "MaxPool", {ChannelsFirst(c.b, c.in(0))}, attributes)));
}

// Condition, then x, y and the result's parameters.
void QLinearWhere(OnnxContext& c) {
  ValueId left = Quantized(c, Real(c, 1, 2, 3), 7, 8, DType::kU8);
  ValueId right = Quantized(c, Real(c, 4, 5, 6), 7, 8, DType::kU8);
  c.Out(0, c.b.Where(c.in(0), left, right));
}

// The product of integers less their zero points.
ValueId IntegerProduct(OnnxContext& c, ValueId left, ValueId left_zero, ValueId right, ValueId right_zero) {
  return Apply(c, "MatMulInteger", {left, right, left_zero, right_zero});
}

void MatMulInteger16(OnnxContext& c) {
  OpBuilder& b = c.b;
  c.Out(0, Apply(c, "MatMul", {b.Cast(c.in(0), DType::kI32), b.Cast(c.in(1), DType::kI32)}));
}

// a, its scale and zero point, b, its scale and zero point, addend, the result's scale and zero point.
void QGemm(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (b.rank(c.in(0)) != 2 || b.rank(c.in(3)) != 2) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("operands of ranks {} and {}, 2 is wanted", b.rank(c.in(0)), b.rank(c.in(3))));
    return;
  }
  ValueId left = c.Int("transA", 0) != 0 ? b.Transpose(c.in(0), {1, 0}) : c.in(0);
  ValueId right = c.Int("transB", 0) != 0 ? b.Transpose(c.in(3), {1, 0}) : c.in(3);
  ValueId sum = IntegerProduct(c, left, c.in(2), right, c.in(5));
  if (c.has(6)) sum = b.Add(sum, c.in(6));
  ValueId scale = b.Mul(OneOrMany(b, c.in(1)), OneOrMany(b, c.in(4)));
  double alpha = c.Float("alpha", 1);
  if (alpha != 1) scale = b.Mul(scale, b.Scalar(DType::kF32, alpha));
  ValueId real = b.Mul(b.Cast(sum, DType::kF32), scale);
  c.Out(0, c.has(7) ? Quantized(c, real, 7, 8, b.dtype(c.in(0))) : real);
}

// Sums as numbers: scales of both operands, and what is added at the end.
ValueId Scaled(OnnxContext& c, ValueId sum, ValueId left_scale, ValueId right_scale, size_t bias) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(right_scale);
  ValueId scale =
      b.Mul(b.Cast(OneOrMany(b, left_scale), DType::kF32), b.Cast(OneOrMany(b, right_scale), DType::kF32));
  ValueId result = b.Cast(b.Mul(b.Cast(sum, DType::kF32), scale), dtype);
  return c.has(bias) ? b.Add(result, c.in(bias)) : result;
}

// a, b, their scales, their zero points, bias.
void MatMulIntegerToFloat(OnnxContext& c) {
  ValueId sum = IntegerProduct(c, c.in(0), c.in(4), c.in(1), c.in(5));
  if (!c.b.failed()) c.Out(0, Scaled(c, sum, c.in(2), c.in(3), 6));
}

// a, which is quantized by its range, b, its scale and zero point, bias.
void DynamicQuantizeMatMul(OnnxContext& c) {
  std::vector<ValueId> a = ApplyMany(c, "DynamicQuantizeLinear", {c.in(0)}, {}, 3);
  ValueId sum = IntegerProduct(c, a[0], a[2], c.in(1), c.in(3));
  if (!c.b.failed()) c.Out(0, Scaled(c, sum, a[1], c.in(2), 4));
}

// Weights [directions, depth, 4 * hidden] with a scale and a zero point a direction, or one a column.
RecurrentOperands::Matrix Weights(OnnxContext& c, size_t weights, size_t scale, size_t zero, int direction) {
  OpBuilder& b = c.b;
  auto part = [&](size_t input) { return b.Squeeze(b.SliceAxis(c.in(input), 0, Dim(direction), 1), {0}); };
  ValueId number = b.Sub(b.Cast(part(weights), DType::kI32), b.Cast(part(zero), DType::kI32));
  return {b.Mul(b.Cast(number, DType::kF32), part(scale)), 0};
}

// LSTM with quantized weights; data and states are quantized by their range.
void DynamicQuantizeLstm(OnnxContext& c) {
  OpBuilder& b = c.b;
  for (size_t i : {0, 1, 2, 8, 9, 10, 11})
    if (!c.has(i)) b.Fail(Code::kInvalidArgument, fmt::format("the input {} is missing", i));
  if (b.failed()) return;
  LstmOf(c, {[&](int direction) { return Weights(c, 1, 8, 9, direction); },
             [&](int direction) { return Weights(c, 2, 10, 11, direction); },
             [&](ValueId x) {
               std::vector<ValueId> quantized = ApplyMany(c, "DynamicQuantizeLinear", {x}, {}, 3);
               return Apply(c, "DequantizeLinear", quantized);
             }});
}

constexpr std::string_view kDomain = "com.microsoft";
constexpr std::string_view kConvAttributes =
    "auto_pad channels_last dilations group kernel_shape pads strides";

constexpr OnnxOp kRows[] = {
    {kDomain, "QLinearSigmoid", 1, kLatest, 4, 5, "", QLinearSigmoid, kBytes},
    {kDomain, "QLinearLeakyRelu", 1, kLatest, 4, 5, "alpha", QLinearLeakyRelu, kBytes},
    {kDomain, "QLinearAveragePool", 1, kLatest, 4, 5,
     "auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides", QLinearAveragePool,
     kBytes},
    {kDomain, "QLinearGlobalAveragePool", 1, kLatest, 5, 5, "channels_last", QLinearGlobalAveragePool,
     kBytes},
    {kDomain, "QLinearSoftmax", 1, kLatest, 5, 5, "axis opset", QLinearSoftmax, kBytes},
    {kDomain, "QLinearConcat", 1, kLatest, 3, -1, "axis", QLinearConcat, OfInput(2, kBytes)},
    {kDomain, "QLinearWhere", 1, kLatest, 9, 9, "", QLinearWhere, OfInput(1, kBytes)},
    {kDomain, "QLinearConv", 1, kLatest, 8, 9, kConvAttributes, QLinearConv, kBytes},
    {kDomain, "NhwcMaxPool", 1, kLatest, 1, 1, "auto_pad ceil_mode dilations kernel_shape pads strides",
     NhwcMaxPool, kNumbers},
    {kDomain, "MatMulInteger16", 1, kLatest, 2, 2, "", MatMulInteger16, DTypeSet{DType::kI16}},
    {kDomain, "QGemm", 1, kLatest, 6, 9, "alpha transA transB", QGemm, kBytes},
    {kDomain, "MatMulIntegerToFloat", 1, kLatest, 4, 7, "", MatMulIntegerToFloat, kBytes},
    {kDomain, "DynamicQuantizeMatMul", 1, kLatest, 3, 5, "", DynamicQuantizeMatMul, DTypeSet{DType::kF32}},
    {kDomain, "DynamicQuantizeLSTM", 1, kLatest, 3, 12,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget",
     DynamicQuantizeLstm, DTypeSet{DType::kF32}},
};

}  // namespace

std::span<const OnnxOp> OnnxQLinearRows() { return kRows; }

}  // namespace tvmvm::ir
