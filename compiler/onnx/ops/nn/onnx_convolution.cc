// Convolutions and their transposes.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_quantized.h"
#include "compiler/onnx/ops/onnx_window.h"

namespace tvmvm::ir {
namespace {

bool CheckRanks(OnnxContext& c, ValueId x, ValueId w) {
  if (c.b.failed()) return false;
  if (c.b.rank(x) >= 3 && c.b.rank(w) == c.b.rank(x)) return true;
  c.b.Fail(Code::kInvalidArgument,
           fmt::format("data of rank {} and weights of rank {}; one rank of at least 3 is wanted",
                       c.b.rank(x), c.b.rank(w)));
  return false;
}

Dims Spatial(OpBuilder& b, ValueId value) { return Dims(b.dims(value).begin() + 2, b.dims(value).end()); }

bool CheckKernelShape(OnnxContext& c, const Dims& kernel) {
  std::vector<int64_t> given = c.Ints("kernel_shape");
  bool fits = given.empty() || given.size() == kernel.size();
  for (size_t i = 0; fits && i < given.size(); ++i)
    fits = !kernel[i].is_constant() || kernel[i].IsConstant(given[i]);
  if (!fits) c.b.Fail(Code::kInvalidArgument, "the attribute 'kernel_shape' differs from the weights");
  return fits && !c.b.failed();
}

ValueId Convolve(OnnxContext& c, ValueId x, ValueId w, DType dtype) {
  OpBuilder& b = c.b;
  if (!CheckRanks(c, x, w)) return x;
  Dims kernel = Spatial(b, w);
  if (!CheckKernelShape(c, kernel)) return x;
  WindowGeometry geometry = ReadWindow(c, Spatial(b, x), kernel);
  if (b.failed()) return x;
  return b.Emit("conv", {x, w},
                {{"strides", geometry.strides},
                 {"dilations", geometry.dilations},
                 {"low", geometry.low},
                 {"high", geometry.high},
                 {"groups", c.Int("group", 1)},
                 {"dtype", dtype}});
}

ValueId WithBias(OnnxContext& c, ValueId result, size_t bias) {
  if (!c.has(bias) || c.b.failed()) return result;
  return c.b.Add(result, PerChannel(c.b, c.in(bias), c.b.rank(result)));
}

void Conv(OnnxContext& c) { c.Out(0, WithBias(c, Convolve(c, c.in(0), c.in(1), c.b.dtype(c.in(0))), 2)); }

// Zero points are one number, or one an output channel of the weights. Padding is with the zero point: 0 once
// it is taken off.
ValueId IntegerConvolve(OnnxContext& c, size_t x, size_t x_zero, size_t w, size_t w_zero) {
  OpBuilder& b = c.b;
  ValueId weights = b.Cast(c.in(w), DType::kI32);
  if (c.has(w_zero)) {
    Dims dims(static_cast<size_t>(b.rank(weights)), Dim(1));
    if (!dims.empty()) dims[0] = Product(b.dims(c.in(w_zero)));
    weights = b.Sub(weights, b.Cast(b.Reshape(c.in(w_zero), dims), DType::kI32));
  }
  ValueId data = b.Cast(c.in(x), DType::kI32);
  if (c.has(x_zero)) data = b.Sub(data, b.Cast(b.Reshape(c.in(x_zero), {}), DType::kI32));
  return Convolve(c, data, weights, DType::kI32);
}

void ConvInteger(OnnxContext& c) { c.Out(0, IntegerConvolve(c, 0, 2, 1, 3)); }

// x, its scale and zero point, w, its scale and zero point, the result's scale and zero point, bias.
void QLinearConv(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId sum = WithBias(c, IntegerConvolve(c, 0, 2, 3, 5), 8);
  if (b.failed()) return;
  ValueId scale = b.Div(b.Mul(c.in(1), c.in(4)), c.in(6));
  scale = PerChannel(b, scale, b.rank(sum));
  c.Out(0,
        Requantize(b, b.Mul(b.Cast(sum, DType::kF32), b.Cast(scale, DType::kF32)), b.Reshape(c.in(7), {})));
}

// Sizes of the result: from output_shape (which may hold batch and channels too), or from strides and
// padding.
struct TransposedGeometry {
  Dims low;
  Dims dims;
};

TransposedGeometry TransposedOutput(OnnxContext& c, const Dims& spatial, const Dims& kernel,
                                    const WindowGeometry& geometry) {
  size_t count = spatial.size();
  std::vector<int64_t> extra = SpatialInts(c, "output_padding", count, 0);
  std::vector<int64_t> wanted = c.Ints("output_shape");
  if (wanted.size() == count + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != count) {
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("the attribute 'output_shape' has {} entries, {} are wanted", wanted.size(), count));
    wanted.clear();
  }
  std::string mode = c.Text("auto_pad", "NOTSET");
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  TransposedGeometry result;
  for (size_t i = 0; i < count; ++i) {
    Dim full = (spatial[i] - Dim(1)) * Dim(geometry.strides[i]) + Dim(extra[i]) +
               WindowExtent(kernel[i], geometry.dilations[i]);
    if (wanted.empty() && !same) {
      const auto all = full.constant(), low = geometry.low[i].constant(), high = geometry.high[i].constant();
      if (all && low && high && (*low > *all || *high > *all || *low < -*all || *high < -*all))
        c.b.Fail(Code::kInvalidArgument,
                 fmt::format("pads {} and {} for spatial axis {}, of {} elements without them", *low, *high,
                             i, *all));
      result.low.push_back(geometry.low[i]);
      result.dims.push_back(full - geometry.low[i] - geometry.high[i]);
      continue;
    }
    Dim size = wanted.empty() ? spatial[i] * Dim(geometry.strides[i]) : Dim(wanted[i]);
    Dim low, high;
    DividePadding(Max(full - size, 0), mode == "SAME_UPPER", &low, &high);
    result.low.push_back(low);
    result.dims.push_back(size);
  }
  return result;
}

// `pads`: instead of those of the attributes.
void TransposedConvolution(OnnxContext& c, const std::optional<Dims>& pads, size_t bias) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  ValueId w = c.in(1);
  if (!CheckRanks(c, x, w)) return;
  Dims kernel = Spatial(b, w);
  if (!CheckKernelShape(c, kernel)) return;
  WindowGeometry geometry = ReadWindow(c, Spatial(b, x), kernel);
  if (pads.has_value() && pads->size() != 2 * kernel.size()) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} pads for {} spatial axes, two for each are wanted", pads->size(), kernel.size()));
  } else if (pads.has_value()) {
    auto half = pads->begin() + static_cast<std::ptrdiff_t>(kernel.size());
    geometry.low = Dims(pads->begin(), half);
    geometry.high = Dims(half, pads->end());
  }
  if (b.failed()) return;
  TransposedGeometry output = TransposedOutput(c, Spatial(b, x), kernel, geometry);
  if (b.failed()) return;
  ValueId result = b.Emit("conv_transpose", {x, w},
                          {{"strides", geometry.strides},
                           {"dilations", geometry.dilations},
                           {"low", output.low},
                           {"dims", output.dims},
                           {"groups", c.Int("group", 1)}});
  c.Out(0, WithBias(c, result, bias));
}

void ConvTranspose(OnnxContext& c) { TransposedConvolution(c, std::nullopt, 2); }

// com.microsoft: the pads are an input.
void ConvTransposeWithDynamicPads(OnnxContext& c) {
  if (!c.has(2)) {
    c.b.Fail(Code::kInvalidArgument, "the pads are missing");
    return;
  }
  Dims pads = c.b.ReadDims(c.in(2));
  if (!c.b.failed()) TransposedConvolution(c, pads, 3);
}

// Columns of blocks back to images, overlaps added. Channels are independent: they count as batch entries.
void Col2Im(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims image = b.ReadDims(c.in(1));
  Dims block = b.ReadDims(c.in(2));
  if (b.failed()) return;
  Dims d = b.dims(c.in(0));
  WindowGeometry geometry = ReadWindow(c, image, block);
  if (b.failed()) return;
  if (d.size() != 3 || block.size() != image.size() || block.empty()) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("data {} with blocks {} of images {}", ToString(d), ToString(block), ToString(image)));
    return;
  }
  Dim channels = FloorDiv(d[1], Product(block));
  Dims columns{d[0] * channels};
  columns.insert(columns.end(), block.begin(), block.end());
  for (size_t i = 0; i < image.size(); ++i) {
    Dim room = image[i] + geometry.low[i] + geometry.high[i] - WindowExtent(block[i], geometry.dilations[i]);
    columns.push_back(FloorDiv(room, Dim(geometry.strides[i])) + Dim(1));
  }
  ValueId images =
      b.FoldWindows(b.Reshape(c.in(0), columns), {geometry.strides, geometry.dilations, geometry.low}, image);
  Dims result{d[0], channels};
  result.insert(result.end(), image.begin(), image.end());
  c.Out(0, b.Reshape(images, result));
}

constexpr OnnxOp kRows[] = {
    {"", "Conv", 1, kLatest, 2, 3, kWindowAttributes, Conv, kFloats},
    {"", "ConvInteger", 10, kLatest, 2, 4, kWindowAttributes, ConvInteger, kBytes},
    {"", "QLinearConv", 10, kLatest, 8, 9, kWindowAttributes, QLinearConv, kBytes},
    {"", "ConvTranspose", 1, kLatest, 2, 3,
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides", ConvTranspose,
     kFloats},
    {"com.microsoft", "ConvTransposeWithDynamicPads", 1, kLatest, 2, 4,
     "auto_pad dilations group kernel_shape output_padding strides", ConvTransposeWithDynamicPads, kFloats},
    {"", "Col2Im", 18, kLatest, 3, 3, "dilations pads strides", Col2Im, kNumbers | kBools},
};

}  // namespace

std::span<const OnnxOp> OnnxConvolutionRows() { return kRows; }

}  // namespace tvmvm::ir
