// Sampling at positions of a grid, and the grids of affine maps.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// Samples data [N, C, spatial...] at a grid [N, out..., spatial rank]. Everything is computed for [N,
// places].
class GridSampler {
 public:
  GridSampler(OnnxContext& context, std::string mode) : c_(context), b_(context.b), mode_(std::move(mode)) {
    padding_ = c_.Text("padding_mode", "zeros");
    align_ = c_.Int("align_corners", 0) != 0;
    dims_ = b_.dims(c_.in(0));
  }

  ValueId Run() {
    Dims grid = b_.dims(c_.in(1));
    Dims out(grid.begin() + 1, grid.end() - 1);
    places_ = Product(out);
    ValueId positions = b_.Cast(b_.Reshape(c_.in(1), {dims_[0], places_, grid.back()}), DType::kF32);
    auto spatial = dims_.size() - 2;
    data_ = b_.Reshape(c_.in(0), {dims_[0], dims_[1], Product(Dims(dims_.begin() + 2, dims_.end()))});
    for (size_t i = 0; i < spatial; ++i) {
      // The grid names the last axis first.
      Dim at = Dim(static_cast<int64_t>(spatial - 1 - i));
      ValueId n = b_.Reshape(b_.SliceAxis(positions, 2, at, 1), {dims_[0], places_});
      taps_.push_back(TapsOf(n, dims_[i + 2]));
    }
    ValueId sum = SumOver(0, {}, {});
    Dims result{dims_[0], dims_[1]};
    result.insert(result.end(), out.begin(), out.end());
    return b_.Reshape(sum, result);
  }

 private:
  struct Tap {
    ValueId index;   // i64, inside the axis
    ValueId weight;  // f32; none: 1
  };

  ValueId K(double value) { return b_.Scalar(DType::kF32, value); }
  ValueId Less(ValueId x, ValueId y) { return b_.Binary(ExprOp::kLess, x, y); }

  // Folds x into [low, high] by reflection at both ends.
  ValueId Reflect(ValueId x, ValueId low, ValueId high) {
    ValueId range = b_.Sub(high, low);
    ValueId below = Less(x, low);
    ValueId outside = b_.Binary(ExprOp::kOr, below, Less(high, x));
    ValueId distance = b_.Where(below, b_.Sub(low, x), b_.Sub(x, high));
    ValueId turns = b_.Unary(ExprOp::kFloor, b_.Div(distance, range));
    ValueId rest = b_.Sub(distance, b_.Mul(turns, range));
    ValueId even = b_.Binary(ExprOp::kEqual, b_.Binary(ExprOp::kFloorMod, turns, K(2)), K(0));
    ValueId from_low = b_.Binary(ExprOp::kEqual, even, below);
    ValueId folded = b_.Where(from_low, b_.Add(low, rest), b_.Sub(high, rest));
    return b_.Where(outside, folded, x);
  }

  struct Axis {
    ValueId size;
    ValueId low;
    ValueId high;
    ValueId last;
  };

  Tap Place(ValueId position, ValueId weight, const Axis& axis) {
    if (padding_ == "reflection") {
      position = b_.Unary(ExprOp::kTruncate, Reflect(position, axis.low, axis.high));
    } else if (padding_ == "zeros") {
      ValueId outside = b_.Binary(ExprOp::kOr, Less(position, K(0)), Less(axis.last, position));
      weight = b_.Where(outside, K(0), weight.valid() ? weight : K(1));
    }
    position = b_.Max(b_.Min(position, axis.last), K(0));
    return {b_.Cast(position, DType::kI64), weight};
  }

  std::vector<Tap> TapsOf(ValueId n, const Dim& dim) {
    Axis axis;
    axis.size = b_.Cast(b_.DimScalar(dim), DType::kF32);
    axis.last = b_.Sub(axis.size, K(1));
    axis.low = align_ ? K(0) : K(-0.5);
    axis.high = align_ ? axis.last : b_.Sub(axis.size, K(0.5));
    ValueId shifted = b_.Add(n, K(1));
    ValueId x = align_ ? b_.Mul(b_.Div(shifted, K(2)), axis.last)
                       : b_.Div(b_.Sub(b_.Mul(shifted, axis.size), K(1)), K(2));
    if (mode_ == "nearest") x = b_.Unary(ExprOp::kRound, x);
    ValueId outside = b_.Binary(ExprOp::kOr, Less(x, axis.low), Less(axis.high, x));
    if (padding_ == "border") x = b_.Where(outside, b_.Max(b_.Min(x, axis.last), K(0)), x);
    if (padding_ == "reflection") x = Reflect(x, axis.low, axis.high);
    if (mode_ == "nearest") return {Place(b_.Unary(ExprOp::kTruncate, x), {}, axis)};
    ValueId base = b_.Unary(ExprOp::kFloor, x);
    ValueId t = b_.Sub(x, base);
    ValueId rest = b_.Sub(K(1), t);
    if (mode_ == "linear") return {Place(base, rest, axis), Place(b_.Add(base, K(1)), t, axis)};
    return {Place(b_.Sub(base, K(1)), CubicFar(b_.Add(t, K(1))), axis), Place(base, CubicNear(t), axis),
            Place(b_.Add(base, K(1)), CubicNear(rest), axis),
            Place(b_.Add(base, K(2)), CubicFar(b_.Add(rest, K(1))), axis)};
  }

  // The cubic convolution kernel with a = -0.75 at distance up to 1, and up to 2.
  ValueId CubicNear(ValueId t) {
    return b_.Add(b_.Mul(b_.Mul(b_.Sub(b_.Mul(K(1.25), t), K(2.25)), t), t), K(1));
  }
  ValueId CubicFar(ValueId t) {
    ValueId inner = b_.Sub(b_.Mul(b_.Add(b_.Mul(K(-0.75), t), K(3.75)), t), K(6));
    return b_.Add(b_.Mul(inner, t), K(3));
  }

  // The weighted elements of all combinations of taps of the axes from `axis` on.
  ValueId SumOver(size_t axis, ValueId index, ValueId weight) {
    if (axis == taps_.size()) {
      ValueId spread = b_.Expand(b_.Unsqueeze(index, {1}), {dims_[0], dims_[1], places_});
      ValueId value = b_.Emit("gather_elements", {data_, spread}, {{"axis", int64_t{2}}, {"inside", int64_t{1}}});
      if (!weight.valid()) return value;
      return b_.Mul(value, b_.Cast(b_.Unsqueeze(weight, {1}), b_.dtype(value)));
    }
    ValueId sum;
    for (const Tap& tap : taps_[axis]) {
      ValueId flat = tap.index;
      if (index.valid()) flat = b_.Add(b_.Mul(index, b_.DimScalar(dims_[axis + 2])), tap.index);
      ValueId product = weight;
      if (tap.weight.valid()) product = weight.valid() ? b_.Mul(weight, tap.weight) : tap.weight;
      ValueId part = SumOver(axis + 1, flat, product);
      sum = sum.valid() ? b_.Add(sum, part) : part;
    }
    return sum;
  }

  OnnxContext& c_;
  OpBuilder& b_;
  std::string mode_;
  std::string padding_;
  bool align_ = false;
  Dims dims_;
  Dim places_;
  ValueId data_;
  std::vector<std::vector<Tap>> taps_;
};

void GridSample(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::string mode = c.Text("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  std::string padding = c.Text("padding_mode", "zeros");
  bool known_mode = mode == "linear" || mode == "cubic" || mode == "nearest";
  bool known_padding = padding == "zeros" || padding == "border" || padding == "reflection";
  if (!known_mode || !known_padding || b.rank(c.in(0)) < 3 || b.rank(c.in(1)) != b.rank(c.in(0))) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("mode '{}', padding_mode '{}', data of rank {} and grid of rank {}", mode, padding,
                       b.rank(c.in(0)), b.rank(c.in(1))));
    return;
  }
  c.Out(0, GridSampler(c, mode).Run());
}

// The grid of an affine map theta [N, 2, 3] or [N, 3, 4] over an image of the given size.
void AffineGrid(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims size = b.ReadDims(c.in(1));
  if (b.failed()) return;
  bool align = c.Int("align_corners", 0) != 0;
  auto spatial = static_cast<int>(size.size()) - 2;
  if ((spatial != 2 && spatial != 3) || b.rank(c.in(0)) != 3) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("a size of {} elements and a map of rank {}", size.size(), b.rank(c.in(0))));
    return;
  }
  DType dtype = b.dtype(c.in(0));
  Dims out(size.begin() + 2, size.end());
  b.Require(Equal(size[0], b.dim(c.in(0), 0)), "a size for {0} images with maps for {1}",
            {size[0], b.dim(c.in(0), 0)});
  for (const Dim& side : out) b.Require(LessEqual(1, side), "a grid of {0} points along an axis", {side});
  ValueId theta = c.in(0);
  auto column = [&](int at) {  // [N, 1, ..., rows]
    Dims dims(static_cast<size_t>(spatial) + 2, Dim(1));
    dims.front() = b.dim(theta, 0);
    dims.back() = b.dim(theta, 1);
    return b.Reshape(b.SliceAxis(theta, 2, at, 1), dims);
  };
  ValueId sum = column(spatial);
  for (int i = 0; i < spatial; ++i) {
    // Coordinates in [-1, 1]; the last axis of the image is the first of the map.
    int axis = spatial - 1 - i;
    Dims dims(static_cast<size_t>(spatial) + 2, Dim(1));
    dims[static_cast<size_t>(axis) + 1] = out[static_cast<size_t>(axis)];
    ValueId index = b.Cast(b.Iota(DType::kI64, dims, axis + 1), dtype);
    ValueId length = b.Cast(b.DimScalar(out[static_cast<size_t>(axis)]), dtype);
    ValueId two = b.Scalar(dtype, 2);
    ValueId one = b.Scalar(dtype, 1);
    ValueId place =
        align ? b.Div(b.Mul(index, two), b.Sub(length, one)) : b.Div(b.Add(b.Mul(index, two), one), length);
    sum = b.Add(sum, b.Mul(column(i), b.Sub(place, one)));
  }
  c.Out(0, sum);
}

constexpr OnnxOp kRows[] = {
    {"", "GridSample", 16, kLatest, 2, 2, "align_corners mode padding_mode", GridSample, kNumbers},
    {"", "AffineGrid", 20, kLatest, 2, 2, "align_corners", AffineGrid, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxGridRows() { return kRows; }

}  // namespace tvmvm::ir
