// Resize and Upsample: one interpolation an axis, each a sum of gathers at computed positions.
#include <fmt/core.h>

#include <cmath>
#include <map>

#include "compiler/onnx/ops/onnx_checks.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

struct ResizeOptions {
  std::string mode = "nearest";
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";  // or "outward": up where the size shrinks, else down
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double extrapolation = 0;
};

// One axis to resize. Scale and region are scalars of f32; `to` is the new size.
struct ResizeAxis {
  int axis = 0;
  Dim from;
  Dim to;
  ValueId scale;
  ValueId start;  // of the region, tf_crop_and_resize only
  ValueId end;
};

// Shorthand for small computations in f32.
class Numbers {
 public:
  explicit Numbers(OpBuilder& builder) : b(builder) {}
  ValueId K(double value) { return b.Scalar(DType::kF32, value); }
  ValueId Size(const Dim& dim) { return b.Cast(b.DimScalar(dim), DType::kF32); }
  ValueId Floor(ValueId a) { return b.Unary(ExprOp::kFloor, a); }
  ValueId Ceil(ValueId a) { return b.Unary(ExprOp::kCeil, a); }
  ValueId Abs(ValueId a) { return b.Unary(ExprOp::kAbs, a); }
  ValueId Less(ValueId x, ValueId y) { return b.Binary(ExprOp::kLess, x, y); }
  OpBuilder& b;
};

// Where in the old axis each element of the new one lies: f32 of [to].
ValueId Coordinates(Numbers& n, const ResizeAxis& axis, const std::string& mode, OnnxContext& c) {
  OpBuilder& b = n.b;
  ValueId x = b.Cast(b.Iota(DType::kI64, {axis.to}, 0), DType::kF32);
  ValueId half = n.K(0.5);
  ValueId from = n.Size(axis.from);
  ValueId to = n.Size(axis.to);
  ValueId one = n.K(1);
  auto half_pixel = [&] { return b.Sub(b.Div(b.Add(x, half), axis.scale), half); };
  if (mode == "half_pixel") return half_pixel();
  if (mode == "asymmetric") return b.Div(x, axis.scale);
  if (mode == "pytorch_half_pixel") return b.Where(n.Less(one, to), half_pixel(), n.K(0));
  if (mode == "tf_half_pixel_for_nn") return b.Div(b.Add(x, half), axis.scale);
  // The new size as the scale gives it, which may have a fraction.
  ValueId exact = b.Mul(axis.scale, from);
  if (mode == "align_corners")
    return b.Where(b.Binary(ExprOp::kEqual, to, one), n.K(0),
                   b.Div(b.Mul(x, b.Sub(from, one)), b.Max(b.Sub(exact, one), n.K(1e-30))));
  if (mode == "half_pixel_symmetric") {
    ValueId adjustment = b.Div(to, exact);
    ValueId center = b.Div(from, n.K(2));
    ValueId offset = b.Mul(center, b.Sub(one, adjustment));
    return b.Add(offset, half_pixel());
  }
  if (mode == "tf_crop_and_resize") {
    ValueId last = b.Sub(from, one);
    ValueId span = b.Sub(axis.end, axis.start);
    ValueId step = b.Div(b.Mul(span, last), b.Max(b.Sub(exact, one), one));
    ValueId spread = b.Add(b.Mul(axis.start, last), b.Mul(x, step));
    ValueId middle = b.Mul(b.Mul(half, b.Add(axis.start, axis.end)), last);
    return b.Where(n.Less(one, to), spread, middle);
  }
  return c.b.Fail(Code::kInvalidArgument,
                  fmt::format("the attribute 'coordinate_transformation_mode' is '{}'", mode));
}

// Elements of x along the axis at whole positions, those outside clamped.
ValueId TakeAt(OpBuilder& b, ValueId x, const ResizeAxis& axis, ValueId positions) {
  ValueId index = b.Cast(positions, DType::kI64);
  index = b.Max(b.Min(index, b.DimScalar(axis.from - Dim(1))), b.ScalarInt(DType::kI64, 0));
  return b.Gather(x, index, axis.axis);
}

// A vector along the axis, to go with data of this rank.
ValueId Along(OpBuilder& b, ValueId vector, int axis, int rank, DType dtype) {
  Dims dims(static_cast<size_t>(rank), Dim(1));
  dims[static_cast<size_t>(axis)] = b.dim(vector, 0);
  return b.Cast(b.Reshape(vector, dims), dtype);
}

// How often each element stands in the result, where that is the same for all: element i is element
// floor(i / times) of the old axis. 0: another order.
int64_t TimesRepeated(OpBuilder& b, const ResizeAxis& axis, const ResizeOptions& options) {
  constexpr double kMost = 1 << 16;
  const double scale = b.ConstantScalar(axis.scale).value_or(0);
  if (scale < 1 || scale > kMost || scale != std::floor(scale)) return 0;
  const auto times = static_cast<int64_t>(scale);
  if (!(axis.to == axis.from * Dim(times))) return 0;
  const bool goes_down = options.nearest == "floor" || options.nearest == "outward";
  const bool rounds = options.nearest.starts_with("round_prefer");
  if (options.coordinates == "asymmetric" || options.coordinates == "tf_half_pixel_for_nn")
    return goes_down ? times : 0;
  // Centers lie less than half an element from those of the old axis.
  const bool is_centered = options.coordinates == "half_pixel" ||
                           options.coordinates == "half_pixel_symmetric" ||
                           options.coordinates == "pytorch_half_pixel";
  return is_centered && rounds ? times : 0;
}

// All axes whose elements are repeated, at once; those leave the list.
ValueId Repeated(OpBuilder& b, ValueId x, const ResizeOptions& options, std::vector<ResizeAxis>* axes) {
  std::map<int, int64_t> times;
  if (options.mode == "nearest")
    for (const ResizeAxis& axis : *axes)
      if (int64_t count = TimesRepeated(b, axis, options); count > 0) times[axis.axis] = count;
  std::erase_if(*axes, [&](const ResizeAxis& axis) { return times.contains(axis.axis); });
  Dims spread, joined;
  std::vector<int64_t> places;
  for (int axis = 0; axis < b.rank(x); ++axis) {
    const int64_t count = times.contains(axis) ? times[axis] : 1;
    spread.push_back(b.dim(x, axis));
    joined.push_back(spread.back() * Dim(count));
    if (count == 1) continue;
    places.push_back(static_cast<int64_t>(spread.size()));
    spread.push_back(Dim(count));
  }
  if (places.empty()) return x;
  return b.Reshape(b.Expand(b.Unsqueeze(x, places), spread), joined);
}

ValueId Nearest(Numbers& n, ValueId x, const ResizeAxis& axis, ValueId at, const ResizeOptions& options) {
  OpBuilder& b = n.b;
  ValueId half = n.K(0.5);
  ValueId position;
  if (options.nearest == "floor") {
    position = n.Floor(at);
  } else if (options.nearest == "ceil") {
    position = n.Ceil(at);
  } else if (options.nearest == "outward") {
    position = b.Where(n.Less(axis.scale, n.K(1)), n.Ceil(at), n.Floor(at));
  } else if (options.nearest == "round_prefer_ceil") {
    position = n.Floor(b.Add(at, half));
  } else {
    position = n.Ceil(b.Sub(at, half));
  }
  return TakeAt(b, x, axis, position);
}

// Taps at floor(at) + offset with their weights; weights of taps outside become 0 where they are to be left
// out.
ValueId Taps(Numbers& n, ValueId x, const ResizeAxis& axis, ValueId at, const std::vector<int>& offsets,
             std::vector<ValueId> weights, bool exclude_outside) {
  OpBuilder& b = n.b;
  ValueId base = n.Floor(at);
  ValueId total;
  if (exclude_outside) {
    ValueId last = n.Size(axis.from - Dim(1));
    for (size_t i = 0; i < offsets.size(); ++i) {
      ValueId position = b.Add(base, n.K(offsets[i]));
      ValueId outside = b.Binary(ExprOp::kOr, n.Less(position, n.K(0)), n.Less(last, position));
      weights[i] = b.Where(outside, n.K(0), weights[i]);
      total = i == 0 ? weights[0] : b.Add(total, weights[i]);
    }
  }
  int rank = b.rank(x);
  DType dtype = b.dtype(x);
  ValueId result;
  for (size_t i = 0; i < offsets.size(); ++i) {
    ValueId weight = exclude_outside ? b.Div(weights[i], total) : weights[i];
    ValueId part =
        b.Mul(TakeAt(b, x, axis, b.Add(base, n.K(offsets[i]))), Along(b, weight, axis.axis, rank, dtype));
    result = i == 0 ? part : b.Add(result, part);
  }
  return result;
}

ValueId Linear(Numbers& n, ValueId x, const ResizeAxis& axis, ValueId at, const ResizeOptions& options) {
  ValueId fraction = n.b.Sub(at, n.Floor(at));
  return Taps(n, x, axis, at, {0, 1}, {n.b.Sub(n.K(1), fraction), fraction}, options.exclude_outside);
}

// The cubic convolution kernel at distance t in [0, 1], and in [1, 2].
ValueId CubicNear(Numbers& n, ValueId t, double a) {
  OpBuilder& b = n.b;
  ValueId inner = b.Sub(b.Mul(n.K(a + 2), t), n.K(a + 3));
  return b.Add(b.Mul(b.Mul(inner, t), t), n.K(1));
}
ValueId CubicFar(Numbers& n, ValueId t, double a) {
  OpBuilder& b = n.b;
  ValueId inner = b.Add(b.Mul(b.Sub(b.Mul(n.K(a), t), n.K(5 * a)), t), n.K(8 * a));
  return b.Sub(b.Mul(inner, t), n.K(4 * a));
}

ValueId Cubic(Numbers& n, ValueId x, const ResizeAxis& axis, ValueId at, const ResizeOptions& options) {
  OpBuilder& b = n.b;
  double a = options.cubic_a;
  ValueId t = b.Sub(at, n.Floor(at));
  ValueId rest = b.Sub(n.K(1), t);
  std::vector<ValueId> weights{CubicFar(n, b.Add(t, n.K(1)), a), CubicNear(n, t, a), CubicNear(n, rest, a),
                               CubicFar(n, b.Add(rest, n.K(1)), a)};
  return Taps(n, x, axis, at, {-1, 0, 1, 2}, std::move(weights), options.exclude_outside);
}

// With antialiasing a shrinking axis is filtered: the kernel is stretched by 1 / scale. The weights make a
// matrix over the positions that any kernel can reach; those outside read the edge elements, or count nothing
// where they are left out.
ValueId Filtered(Numbers& n, ValueId x, const ResizeAxis& axis, ValueId at, const ResizeOptions& options) {
  OpBuilder& b = n.b;
  Dim margin = options.exclude_outside ? Dim(0) : CeilDiv(axis.from * Dim(2), Max(axis.to, 1)) + Dim(3);
  Dim reach = axis.from + margin * Dim(2);
  ValueId place = b.Sub(b.Iota(DType::kI64, {reach}, 0), b.DimScalar(margin));
  ValueId stretch = b.Min(axis.scale, n.K(1));
  ValueId center = b.Reshape(at, {axis.to, Dim(1)});
  ValueId t = b.Mul(n.Abs(b.Sub(b.Cast(place, DType::kF32), center)), stretch);
  ValueId weight;
  if (options.mode == "linear") {
    weight = b.Max(b.Sub(n.K(1), t), n.K(0));
  } else {
    weight = b.Where(n.Less(t, n.K(1)), CubicNear(n, t, options.cubic_a),
                     b.Where(n.Less(t, n.K(2)), CubicFar(n, t, options.cubic_a), n.K(0)));
  }
  weight = b.Div(weight, b.Reduce(ReduceKind::kSum, weight, {1}));
  ValueId data = options.exclude_outside ? x : TakeAt(b, x, axis, place);
  int rank = b.rank(x);
  std::vector<int64_t> back;
  for (int64_t i = 0; i < rank - 1; ++i) back.push_back(i);
  back.insert(back.begin() + axis.axis, rank - 1);
  ValueId product = b.Contract(data, b.Cast(weight, b.dtype(x)), {}, {}, {axis.axis}, {1});
  return b.Transpose(product, back);
}

ValueId ResizeOne(OnnxContext& c, ValueId x, const ResizeAxis& axis, const ResizeOptions& options) {
  OpBuilder& b = c.b;
  Numbers n(b);
  ValueId at = Coordinates(n, axis, options.coordinates, c);
  if (b.failed()) return x;
  ValueId result;
  if (options.mode == "nearest") {
    result = Nearest(n, x, axis, at, options);
  } else if (options.antialias) {
    result = Filtered(n, x, axis, at, options);
  } else if (options.mode == "linear") {
    result = Linear(n, x, axis, at, options);
  } else {
    result = Cubic(n, x, axis, at, options);
  }
  if (options.coordinates != "tf_crop_and_resize") return result;
  ValueId last = n.Size(axis.from - Dim(1));
  ValueId outside = b.Binary(ExprOp::kOr, n.Less(at, n.K(0)), n.Less(last, at));
  Dims dims(static_cast<size_t>(b.rank(x)), Dim(1));
  dims[static_cast<size_t>(axis.axis)] = axis.to;
  return b.Where(b.Reshape(outside, dims), b.Scalar(b.dtype(x), options.extrapolation), result);
}

ValueId ResizeAll(OnnxContext& c, std::vector<ResizeAxis> axes, const ResizeOptions& options) {
  OpBuilder& b = c.b;
  if (options.mode != "nearest" && options.mode != "linear" && options.mode != "cubic")
    return b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'mode' is '{}'", options.mode));
  ValueId x = c.in(0);
  DType dtype = b.dtype(x);
  if (options.mode != "nearest" && !IsFloat(dtype)) x = b.Cast(x, DType::kF32);
  x = Repeated(b, x, options, &axes);
  for (const ResizeAxis& axis : axes) {
    // An axis that keeps its size is copied, except where a region is cut out.
    if (axis.from == axis.to && b.ConstantScalar(axis.scale).value_or(0) == 1 &&
        options.coordinates != "tf_crop_and_resize")
      continue;
    x = ResizeOne(c, x, axis, options);
    if (b.failed()) return x;
  }
  if (b.dtype(x) != dtype) x = b.Cast(b.Unary(ExprOp::kRound, x), dtype);
  return x;
}

ValueId ElementAt(OpBuilder& b, ValueId vector, size_t at) {
  return b.Cast(b.Reshape(b.SliceAxis(vector, 0, Dim(static_cast<int64_t>(at)), 1), {}), DType::kF32);
}

// floor(size * scale), at compile time where both are known.
Dim ScaledSize(OpBuilder& b, const Dim& size, ValueId scale) {
  auto known = b.ConstantScalar(scale);
  if (known.has_value() && !(*known > 0 && *known < 1e9)) {
    b.Fail(Code::kInvalidArgument, fmt::format("a scale of {}", *known));
    return Dim(1);
  }
  if (known.has_value() && *known == std::floor(*known)) return size * Dim(static_cast<int64_t>(*known));
  if (known.has_value() && size.is_constant() && size.value() < (int64_t{1} << 31))
    return Dim(
        static_cast<int64_t>(std::floor(static_cast<float>(size.value()) * static_cast<float>(*known))));
  if (known.has_value() && 1 / *known == std::floor(1 / *known))
    return FloorDiv(size, static_cast<int64_t>(1 / *known));
  ValueId product = b.Mul(b.Cast(b.DimScalar(size), DType::kF32), scale);
  Dims dims = b.ReadDims(b.Cast(b.Unary(ExprOp::kFloor, product), DType::kI64));
  return b.failed() ? Dim(1) : Max(dims[0], 0);
}

// The least scale that is positive.
constexpr double kLeastScale = 0x1p-126;

std::vector<int64_t> ResizedAxes(OnnxContext& c) {
  int rank = c.b.rank(c.in(0));
  std::vector<int64_t> axes = c.Ints("axes");
  if (!c.HasAttribute("axes")) {
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  for (int64_t& axis : axes) axis = c.b.NormalizeAxis(axis, rank);
  return axes;
}

void FromScales(OnnxContext& c, ValueId scales, double least, std::vector<ResizeAxis>* axes) {
  OpBuilder& b = c.b;
  auto count = static_cast<int64_t>(axes->size());
  Dim given = b.rank(scales) == 1 ? b.dim(scales, 0) : Dim(-1);
  b.Require(Equal(given, count), fmt::format("{{0}} scales for {} axes", count), {given});
  if (!given.is_constant()) scales = b.Reshape(scales, {count});
  if (b.failed()) return;
  RequireAll(b, IsWithin(b, b.Cast(scales, DType::kF32), least, 0x1p60),
             fmt::format("a scale that is not {} and finite", least == 1 ? "at least 1" : "positive"));
  for (size_t i = 0; i < axes->size(); ++i) {
    (*axes)[i].scale = ElementAt(b, scales, i);
    (*axes)[i].to = ScaledSize(b, (*axes)[i].from, (*axes)[i].scale);
  }
}

// Sizes, stretched or to be kept within (not_larger) or around (not_smaller) the wanted ones at one scale.
void FromSizes(OnnxContext& c, ValueId sizes, std::vector<ResizeAxis>* axes) {
  OpBuilder& b = c.b;
  Numbers n(b);
  Dims wanted = b.ReadDims(sizes, axes->size());
  if (b.failed()) return;
  if (wanted.size() != axes->size()) {
    b.Fail(Code::kInvalidArgument, fmt::format("{} sizes for {} axes", wanted.size(), axes->size()));
    return;
  }
  std::string policy = c.Text("keep_aspect_ratio_policy", "stretch");
  ValueId common;
  for (size_t i = 0; i < axes->size(); ++i) {
    ResizeAxis& axis = (*axes)[i];
    b.Require(LessEqual(1, wanted[i]), fmt::format("element {} of the sizes is {{0}}", i), {wanted[i]});
    axis.to = wanted[i];
    axis.scale = axis.to == axis.from ? n.K(1) : b.Div(n.Size(axis.to), n.Size(axis.from));
    if (policy == "not_larger") common = i == 0 ? axis.scale : b.Min(common, axis.scale);
    if (policy == "not_smaller") common = i == 0 ? axis.scale : b.Max(common, axis.scale);
  }
  if (!common.valid()) return;
  for (ResizeAxis& axis : *axes) {
    axis.scale = common;
    ValueId exact = n.Floor(b.Add(b.Mul(n.Size(axis.from), common), n.K(0.5)));
    Dims size = b.ReadDims(b.Cast(exact, DType::kI64));
    if (b.failed()) return;
    axis.to = Max(size[0], 0);
  }
}

ResizeOptions ReadOptions(OnnxContext& c) {
  ResizeOptions options;
  options.mode = c.Text("mode", "nearest");
  if (options.mode == "bilinear") options.mode = "linear";
  options.coordinates = c.Text("coordinate_transformation_mode", "half_pixel");
  options.nearest = c.Text("nearest_mode", "round_prefer_floor");
  options.cubic_a = c.Float("cubic_coeff_a", -0.75);
  options.exclude_outside = c.Int("exclude_outside", 0) != 0;
  options.antialias = c.Int("antialias", 0) != 0;
  options.extrapolation = c.Float("extrapolation_value", 0);
  return options;
}

bool IsEmpty(OpBuilder& b, ValueId value) { return b.rank(value) == 1 && b.dim(value, 0).IsConstant(0); }

void Resize(OnnxContext& c) {
  OpBuilder& b = c.b;
  ResizeOptions options = ReadOptions(c);
  std::vector<ResizeAxis> axes;
  for (int64_t axis : ResizedAxes(c)) {
    if (b.failed()) return;
    axes.push_back({static_cast<int>(axis), b.dim(c.in(0), static_cast<int>(axis)), Dim(1), {}, {}, {}});
  }
  // Opset 10 had no region.
  size_t scales = c.version < 11 ? 1 : 2;
  bool by_sizes = c.version >= 11 && c.has(3) && !IsEmpty(b, c.in(3));
  if (c.version < 11) {
    options.coordinates = "asymmetric";
    options.nearest = "outward";
  }
  if (!by_sizes && !(c.has(scales) && !IsEmpty(b, c.in(scales)))) {
    b.Fail(Code::kInvalidArgument, "neither scales nor sizes are given");
    return;
  }
  if (by_sizes) {
    FromSizes(c, c.in(3), &axes);
  } else {
    FromScales(c, c.in(scales), kLeastScale, &axes);
  }
  if (b.failed()) return;
  if (options.coordinates == "tf_crop_and_resize") {
    if (!c.has(1) || b.rank(c.in(1)) != 1) {
      b.Fail(Code::kInvalidArgument, "tf_crop_and_resize wants a region, a list of numbers");
      return;
    }
    auto numbers = static_cast<int64_t>(2 * axes.size());
    Dim given = b.dim(c.in(1), 0);
    b.Require(Equal(given, numbers), fmt::format("a region of {{0}} numbers, want {}", numbers), {given});
    if (b.failed()) return;
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].start = ElementAt(b, c.in(1), i);
      axes[i].end = ElementAt(b, c.in(1), i + axes.size());
    }
  }
  c.Out(0, ResizeAll(c, axes, options));
}

// Scales are height and width attributes in opset 1, a list of attributes in opset 7 and 8, an input in
// opset 9.
void Upsample(OnnxContext& c) {
  OpBuilder& b = c.b;
  ResizeOptions options = ReadOptions(c);
  options.coordinates = "asymmetric";
  options.nearest = "floor";
  std::vector<ResizeAxis> axes;
  int rank = b.rank(c.in(0));
  for (int axis = 0; axis < rank; ++axis) axes.push_back({axis, b.dim(c.in(0), axis), Dim(1), {}, {}, {}});
  ValueId scales;
  if (c.version >= 9) {
    scales = c.in(1);
  } else {
    std::vector<float> values;
    for (double scale : c.Floats("scales")) values.push_back(static_cast<float>(scale));
    if (c.version < 7)
      values = {1, 1, static_cast<float>(c.Float("height_scale", 1)),
                static_cast<float>(c.Float("width_scale", 1))};
    scales = b.Constant(TensorData::FromVector(DType::kF32, {static_cast<int64_t>(values.size())}, values));
  }
  FromScales(c, scales, 1, &axes);
  if (!b.failed()) c.Out(0, ResizeAll(c, axes, options));
}

constexpr OnnxOp kRows[] = {
    {"", "Resize", 10, 10, 2, 2, "mode", Resize, kAllTypes - kStrings},
    {"", "Resize", 11, kLatest, 1, 4,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
     "keep_aspect_ratio_policy mode nearest_mode",
     Resize, kAllTypes - kStrings},
    {"", "Upsample", 1, 6, 1, 1, "height_scale mode width_scale", Upsample, kAllTypes - kStrings},
    {"", "Upsample", 7, 8, 1, 1, "mode scales", Upsample, kAllTypes - kStrings},
    {"", "Upsample", 9, 9, 2, 2, "mode", Upsample, kAllTypes - kStrings},
};

}  // namespace

std::span<const OnnxOp> OnnxResizeRows() { return kRows; }

}  // namespace tvmvm::ir
