// Pools over regions of images.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_checks.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// Until opset 15 positions had no offset of half a pixel.
void RoiAlign(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::string mode = c.Text("mode", "avg");
  std::string transform =
      c.version < 16 ? "output_half_pixel" : c.Text("coordinate_transformation_mode", "half_pixel");
  if ((mode != "avg" && mode != "max") || (transform != "half_pixel" && transform != "output_half_pixel")) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("mode '{}', coordinate_transformation_mode '{}'", mode, transform));
    return;
  }
  constexpr int64_t kMostSamples = 1 << 12;
  if (c.Int("sampling_ratio", 0) > kMostSamples) {
    b.Fail(Code::kUnsupported, fmt::format("{} samples of a bin along an axis, at most {} are possible",
                                           c.Int("sampling_ratio", 0), kMostSamples));
    return;
  }
  RequireBetween(b, c.in(2), 0, b.dim(c.in(0), 0) - Dim(1), "the numbers of images");
  c.Out(0, b.Emit("roi_align", {c.in(0), c.in(1), c.in(2)},
                  {{"mode", mode},
                   {"height", c.Int("output_height", 1)},
                   {"width", c.Int("output_width", 1)},
                   {"samples", c.Int("sampling_ratio", 0)},
                   {"scale", c.Float("spatial_scale", 1)},
                   {"half_pixel", int64_t{transform == "half_pixel"}}}));
}

void MaxRoiPool(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::vector<int64_t> size = c.Ints("pooled_shape");
  if (size.size() != 2 || b.rank(c.in(1)) != 2) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute 'pooled_shape' has {} entries for regions of rank {}, 2 is wanted",
                       size.size(), b.rank(c.in(1))));
    return;
  }
  ValueId image = b.Cast(b.SliceAxis(c.in(1), 1, 0, 1), DType::kF64);
  ValueId images = b.Cast(b.DimScalar(b.dim(c.in(0), 0)), DType::kF64);
  ValueId is_there = b.Binary(tensor::ExprOp::kAnd, IsWithin(b, image, 0, 0x1p62),
                              b.Binary(tensor::ExprOp::kLess, image, images));
  RequireAll(b, is_there, "a region of an image that is not there");
  c.Out(0, b.Emit("roi_pool", {c.in(0), c.in(1)},
                  {{"height", size[0]}, {"width", size[1]}, {"scale", c.Float("spatial_scale", 1)}}));
}

// com.microsoft: boxes [rois, (y1, x1, y2, x2)] of images, in parts of their size, which of the images each
// is of, and the size of the result. What lies outside of the image is `extrapolation_value`.
class CropsOfImages {
 public:
  explicit CropsOfImages(OnnxContext& context) : c_(context), b_(context.b) {}

  ValueId Run(const Dims& size) {
    Dims d = b_.dims(c_.in(0));
    rois_ = b_.dim(c_.in(1), 0);
    CheckIndices(b_, c_.in(2), {d[0]});
    ValueId data = b_.Transpose(c_.in(0), {0, 2, 3, 1});
    Axis rows = Places(0, d[2], size[0], 1), columns = Places(1, d[3], size[1], 2);
    bool nearest = c_.Text("mode", "bilinear") == "nearest";
    ValueId result;
    if (nearest) {
      result = Sample(data, Nearest(rows.place), Nearest(columns.place));
    } else {
      auto floor = [&](const Axis& axis) { return b_.Unary(ExprOp::kFloor, axis.place); };
      auto ceil = [&](const Axis& axis) { return b_.Unary(ExprOp::kCeil, axis.place); };
      auto mix = [&](ValueId low, ValueId high, const Axis& axis) {
        ValueId part = b_.Unsqueeze(b_.Sub(axis.place, floor(axis)), {3});
        return b_.Add(low, b_.Mul(b_.Sub(high, low), part));
      };
      auto row = [&](ValueId y) {
        return mix(Sample(data, y, floor(columns)), Sample(data, y, ceil(columns)), columns);
      };
      result = mix(row(floor(rows)), row(ceil(rows)), rows);
    }
    ValueId inside = b_.Unsqueeze(b_.Binary(ExprOp::kAnd, rows.inside, columns.inside), {3});
    ValueId outside = b_.Scalar(b_.dtype(result), c_.Float("extrapolation_value", 0));
    return b_.Transpose(b_.Where(inside, result, outside), {0, 3, 1, 2});
  }

 private:
  struct Axis {
    ValueId place;   // [rois, rows, 1] or [rois, 1, columns]; within the image, or 0
    ValueId inside;  // whether it was
  };

  // The ends of a box stand for the first and the last entry of the result; a single one is in the middle.
  Axis Places(int64_t column, const Dim& room, const Dim& count, int axis) {
    DType dtype = b_.dtype(c_.in(1));
    auto end = [&](int64_t which) { return b_.Reshape(b_.SliceAxis(c_.in(1), 1, which, 1), {rois_, 1, 1}); };
    auto number = [&](const Dim& dim) { return b_.Cast(b_.DimScalar(dim), dtype); };
    ValueId low = end(column), high = end(column + 2), last = number(room - Dim(1));
    Dims dims{1, 1, 1};
    dims[static_cast<size_t>(axis)] = count;
    ValueId step = b_.Cast(b_.Iota(DType::kI64, dims, axis), dtype);
    ValueId scale = b_.Div(b_.Mul(b_.Sub(high, low), last), number(Max(count - Dim(1), 1)));
    ValueId spread = b_.Add(b_.Mul(low, last), b_.Mul(step, scale));
    ValueId middle = b_.Mul(b_.Mul(b_.Add(low, high), b_.Scalar(dtype, 0.5)), last);
    ValueId is_single = b_.Cast(b_.DimScalar(Equal(count, 1)), DType::kBool);
    ValueId place = b_.Where(is_single, middle, spread), zero = b_.Scalar(dtype, 0);
    ValueId inside = b_.Binary(ExprOp::kAnd, b_.Binary(ExprOp::kLessEqual, zero, place),
                               b_.Binary(ExprOp::kLessEqual, place, last));
    return {b_.Where(inside, place, zero), inside};
  }

  // Halves go up: places are not negative.
  ValueId Nearest(ValueId place) {
    return b_.Unary(ExprOp::kFloor, b_.Add(place, b_.Scalar(b_.dtype(place), 0.5)));
  }

  // [rois, rows, columns, channels]
  ValueId Sample(ValueId data, ValueId y, ValueId x) {
    Dims dims{rois_, b_.dim(y, 1), b_.dim(x, 2), 1};
    auto coordinate = [&](ValueId at) {
      return b_.Expand(b_.Unsqueeze(b_.Cast(at, DType::kI64), {3}), dims);
    };
    ValueId image = b_.Reshape(b_.Cast(c_.in(2), DType::kI64), {rois_, 1, 1});
    ValueId index = b_.Concat({coordinate(image), coordinate(y), coordinate(x)}, 3);
    return b_.Emit("gather_nd", {data, index}, {{"batch_dims", int64_t{0}}});
  }

  OnnxContext& c_;
  OpBuilder& b_;
  Dim rois_;
};

void CropAndResize(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::string mode = c.Text("mode", "bilinear");
  if (b.rank(c.in(0)) != 4 || b.rank(c.in(1)) != 2 || b.rank(c.in(2)) != 1 ||
      (mode != "bilinear" && mode != "nearest")) {
    b.Fail(Code::kInvalidArgument, fmt::format("images of rank {}, boxes of rank {}, mode '{}'",
                                               b.rank(c.in(0)), b.rank(c.in(1)), mode));
    return;
  }
  Dims size = b.ReadDims(c.in(3));
  if (b.failed()) return;
  if (size.size() != 2) {
    b.Fail(Code::kInvalidArgument, fmt::format("{} sizes, 2 are wanted", size.size()));
    return;
  }
  for (const Dim& each : size) b.Require(Less(0, each), "crops of size {0}", {each});
  c.Out(0, CropsOfImages(c).Run(size));
}

constexpr OnnxOp kRows[] = {
    {"", "RoiAlign", 10, 15, 3, 3, "mode output_height output_width sampling_ratio spatial_scale", RoiAlign,
     kFloats},
    {"", "RoiAlign", 16, kLatest, 3, 3,
     "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale", RoiAlign,
     kFloats},
    {"", "MaxRoiPool", 1, kLatest, 2, 2, "pooled_shape spatial_scale", MaxRoiPool, kFloats},
    {"com.microsoft", "CropAndResize", 1, kLatest, 4, 4, "extrapolation_value mode", CropAndResize,
     kFloats - DTypeSet{DType::kBF16}},
};

}  // namespace

std::span<const OnnxOp> OnnxRoiRows() { return kRows; }

}  // namespace tvmvm::ir
