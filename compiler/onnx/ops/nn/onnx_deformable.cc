// Convolutions whose kernel elements are moved by offsets that data tells.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_window.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// x [N, C, spatial...], w [M, C / group, kernel...], offsets [N, offset groups * kernel * spatial rank,
// places...], bias [M], mask [N, offset groups * kernel, places...]. Everything before the product is
// computed for [N, offset groups, kernel, places].
class DeformableConvolution {
 public:
  DeformableConvolution(OnnxContext& context, Dims kernel, WindowGeometry geometry)
      : c_(context),
        b_(context.b),
        dims_(b_.dims(c_.in(0))),
        kernel_(std::move(kernel)),
        geometry_(std::move(geometry)),
        wide_(b_.dtype(c_.in(0)) == DType::kF64 ? DType::kF64 : DType::kF32),
        groups_(c_.Int("group", 1)),
        offset_groups_(c_.Int("offset_group", 1)) {
    Dims offset = b_.dims(c_.in(2));
    out_.assign(offset.begin() + 2, offset.end());
    frame_ = {dims_[0], Dim(offset_groups_), Product(kernel_), Product(out_)};
  }

  ValueId Run() {
    auto rank = static_cast<int64_t>(kernel_.size());
    Dims apart{frame_[0], frame_[1], frame_[2], Dim(rank), frame_[3]};
    ValueId offsets = b_.Reshape(b_.Cast(c_.in(2), wide_), apart);
    std::vector<Axis> axes;
    for (int64_t i = 0; i < rank; ++i) {
      ValueId moved = b_.Squeeze(b_.SliceAxis(offsets, 3, i, 1), {3});
      axes.push_back(AxisAt(b_.Add(moved, b_.Cast(Fixed(static_cast<size_t>(i)), wide_)),
                            dims_[static_cast<size_t>(i) + 2]));
    }
    Dim channels = FloorDiv(dims_[1], offset_groups_);
    data_ =
        b_.Reshape(c_.in(0), {dims_[0], frame_[1], channels, Product(Dims(dims_.begin() + 2, dims_.end()))});
    ValueId sampled = SumOver(axes, 0, {}, {});
    if (c_.has(4)) {
      ValueId mask = b_.Cast(b_.Reshape(c_.in(4), {frame_[0], frame_[1], 1, frame_[2] * frame_[3]}), wide_);
      sampled = b_.Mul(sampled, mask);
    }
    return Contracted(b_.Cast(sampled, b_.dtype(c_.in(0))));
  }

 private:
  struct Tap {
    ValueId index, weight;
  };
  struct Axis {
    Tap low, high;
    Dim size;
  };

  // Where the elements of the kernel lie along an axis without offsets: [1, 1, kernel, places].
  ValueId Fixed(size_t axis) {
    auto along = [&](const Dims& sizes, int64_t step) {
      ValueId index = b_.Iota(DType::kI64, sizes, static_cast<int>(axis));
      return b_.Mul(b_.Reshape(index, {Product(sizes)}), b_.ScalarInt(DType::kI64, step));
    };
    ValueId window = b_.Sub(along(out_, geometry_.strides[axis]), b_.DimScalar(geometry_.low[axis]));
    return b_.Add(b_.Reshape(along(kernel_, geometry_.dilations[axis]), {1, 1, frame_[2], 1}), window);
  }

  // The two neighbours of a position; those outside count nothing.
  Axis AxisAt(ValueId position, const Dim& size) {
    ValueId base = b_.Unary(ExprOp::kFloor, position);
    ValueId share = b_.Sub(position, base);
    ValueId one = b_.Scalar(wide_, 1);
    return {TapAt(base, b_.Sub(one, share), size), TapAt(b_.Add(base, one), share, size), size};
  }

  Tap TapAt(ValueId place, ValueId weight, const Dim& size) {
    ValueId zero = b_.Scalar(wide_, 0);
    ValueId last = b_.Cast(b_.DimScalar(size - Dim(1)), wide_);
    ValueId inside = b_.Binary(ExprOp::kAnd, b_.Binary(ExprOp::kLessEqual, zero, place),
                               b_.Binary(ExprOp::kLessEqual, place, last));
    ValueId index = b_.Cast(b_.Max(b_.Min(place, last), zero), DType::kI64);
    return {index, b_.Where(inside, weight, zero)};
  }

  // The weighted elements of all combinations of neighbours along the axes from `axis` on.
  ValueId SumOver(const std::vector<Axis>& axes, size_t axis, ValueId index, ValueId weight) {
    Dim samples = frame_[2] * frame_[3];
    if (axis == axes.size()) {
      Dims dims{frame_[0], frame_[1], FloorDiv(dims_[1], offset_groups_), samples};
      ValueId spread = b_.Expand(b_.Reshape(index, {frame_[0], frame_[1], 1, samples}), dims);
      ValueId value = b_.Emit("gather_elements", {data_, spread}, {{"axis", int64_t{3}}});
      return b_.Mul(b_.Cast(value, wide_), b_.Reshape(weight, {frame_[0], frame_[1], 1, samples}));
    }
    ValueId sum;
    for (const Tap& tap : {axes[axis].low, axes[axis].high}) {
      ValueId flat =
          index.valid() ? b_.Add(b_.Mul(index, b_.DimScalar(axes[axis].size)), tap.index) : tap.index;
      ValueId part = SumOver(axes, axis + 1, flat, weight.valid() ? b_.Mul(weight, tap.weight) : tap.weight);
      sum = sum.valid() ? b_.Add(sum, part) : part;
    }
    return sum;
  }

  // The product with the weights: [N, M, places...].
  ValueId Contracted(ValueId sampled) {
    Dims weight_dims = b_.dims(c_.in(1));
    Dim outputs = FloorDiv(weight_dims[0], groups_);
    Dim depth = weight_dims[1] * frame_[2];
    ValueId columns = b_.Reshape(sampled, {dims_[0], Dim(groups_), depth, frame_[3]});
    ValueId weights = b_.Reshape(c_.in(1), {Dim(groups_), outputs, depth});
    ValueId product = b_.Contract(weights, columns, {0}, {1}, {2}, {2});  // [groups, outputs, N, places]
    Dims result{dims_[0], weight_dims[0]};
    result.insert(result.end(), out_.begin(), out_.end());
    return b_.Reshape(b_.Transpose(product, {2, 0, 1, 3}), result);
  }

  OnnxContext& c_;
  OpBuilder& b_;
  Dims dims_;
  Dims kernel_;
  WindowGeometry geometry_;
  DType wide_;
  int64_t groups_;
  int64_t offset_groups_;
  Dims out_;
  Dims frame_;
  ValueId data_;
};

void CheckShapes(OnnxContext& c, const Dims& kernel, const WindowGeometry& geometry) {
  OpBuilder& b = c.b;
  Dims x = b.dims(c.in(0)), w = b.dims(c.in(1)), offset = b.dims(c.in(2));
  int64_t groups = c.Int("group", 1), offset_groups = c.Int("offset_group", 1);
  auto rank = static_cast<int64_t>(kernel.size());
  std::string message = fmt::format(
      "data {}, weights {} and offsets {} with {} groups and {} groups of offsets do not go together",
      ToString(x), ToString(w), ToString(offset), groups, offset_groups);
  if (groups <= 0 || offset_groups <= 0 || groups > INT32_MAX || offset_groups > INT32_MAX) {
    b.Fail(Code::kInvalidArgument, message);
    return;
  }
  auto require_equal = [&](const Dim& left, const Dim& right) { b.Require(Equal(left, right), message, {}); };
  require_equal(x[1], w[1] * Dim(groups));
  require_equal(FloorMod(w[0], groups), 0);
  require_equal(FloorMod(x[1], offset_groups), 0);
  require_equal(offset[1], Product(kernel) * Dim(offset_groups * rank));
  require_equal(offset[0], x[0]);
  Dims places;
  for (size_t i = 0; i < kernel.size(); ++i) {
    Dim room = x[i + 2] + geometry.low[i] + geometry.high[i] - WindowExtent(kernel[i], geometry.dilations[i]);
    places.push_back(FloorDiv(room, geometry.strides[i]) + Dim(1));
    require_equal(offset[i + 2], places[i]);
  }
  if (c.has(3)) require_equal(b.rank(c.in(3)) == 1 ? b.dim(c.in(3), 0) : Dim(-1), w[0]);
  if (!c.has(4)) return;
  Dims mask = b.dims(c.in(4));
  require_equal(mask[0], x[0]);
  require_equal(mask[1], Product(kernel) * Dim(offset_groups));
  for (size_t i = 0; i < kernel.size(); ++i) require_equal(mask[i + 2], places[i]);
}

void DeformConv(OnnxContext& c) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  if (rank < 3 || b.rank(c.in(1)) != rank || b.rank(c.in(2)) != rank ||
      (c.has(4) && b.rank(c.in(4)) != rank)) {
    b.Fail(Code::kInvalidArgument, fmt::format("data, weights and offsets of ranks {}, {} and {}", rank,
                                               b.rank(c.in(1)), b.rank(c.in(2))));
    return;
  }
  Dims x = b.dims(c.in(0)), w = b.dims(c.in(1));
  Dims spatial(x.begin() + 2, x.end()), kernel(w.begin() + 2, w.end());
  if (c.HasAttribute("kernel_shape")) {
    Dims wanted = DimsOf(c.Ints("kernel_shape"));
    std::string message =
        fmt::format("the attribute 'kernel_shape' is not that of the weights {}", ToString(w));
    if (wanted.size() != kernel.size()) b.Fail(Code::kInvalidArgument, message);
    for (size_t i = 0; i < kernel.size() && !b.failed(); ++i)
      b.Require(Equal(wanted[i], kernel[i]), message, {});
  }
  WindowGeometry geometry = ReadWindow(c, spatial, kernel);
  if (!b.failed()) CheckShapes(c, kernel, geometry);
  if (b.failed()) return;
  ValueId result = DeformableConvolution(c, kernel, geometry).Run();
  if (c.has(3)) result = b.Add(result, PerChannel(b, c.in(3), rank));
  c.Out(0, result);
}

constexpr OnnxOp kRows[] = {
    {"", "DeformConv", 19, kLatest, 3, 5, "dilations group kernel_shape offset_group pads strides",
     DeformConv, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxDeformableRows() { return kRows; }

}  // namespace tvmvm::ir
