// Slices and crops.
#include <fmt/core.h>

#include <limits>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

// A bound of a slice in [low, size + high_offset]: negative ones count from the end, those outside are
// clamped.
Dim ClampBound(const Dim& bound, const Dim& size, int64_t low, int64_t high_offset,
               const RangeLookup& ranges) {
  Dim high = size + Dim(high_offset);
  Dim from_end = bound;
  if (auto known = bound.constant()) {
    // Numbers near the ends of int32 and int64 mean "as far as possible".
    if (*known >= std::numeric_limits<int32_t>::max()) return high;
    if (*known <= std::numeric_limits<int32_t>::min())
      from_end = Dim(low);
    else if (*known < 0)
      from_end = size + bound;
  } else if (RangeOf(bound, ranges).low < 0) {
    // Clamped before the addition, which is done for bounds of either sign and must not overflow.
    Dim near = Max(Min(bound, 0), Dim(std::numeric_limits<int32_t>::min()));
    from_end = Select(Less(bound, 0), near + size, bound);
  }
  DimRange range = RangeOf(from_end, ranges);
  if (range.low < low) from_end = Max(from_end, Dim(low));
  DimRange rest = RangeOf(high - from_end, ranges);
  return rest.low >= 0 ? from_end : Min(from_end, high);
}

// Longer steps, which leave one element as well, could overflow.
constexpr int64_t kLongestStep = int64_t{1} << 48;

struct AxisSlice {
  Dim start;
  Dim size;
};

AxisSlice Forward(const Dim& start, const Dim& end, const Dim& step, const Dim& size,
                  const RangeLookup& ranges) {
  Dim from = ClampBound(start, size, 0, 0, ranges);
  Dim to = ClampBound(end, size, 0, 0, ranges);
  Dim length = to - from;
  if (RangeOf(length, ranges).low < 0) length = Max(length, 0);
  return {from, step.IsConstant(1) ? length : CeilDiv(length, step)};
}

AxisSlice Backward(const Dim& start, const Dim& end, const Dim& step, const Dim& size,
                   const RangeLookup& ranges) {
  Dim from = ClampBound(start, size, 0, -1, ranges);
  Dim to = ClampBound(end, size, -1, -1, ranges);
  return {from, CeilDiv(Max(from - to, 0), Dim(0) - step)};
}

AxisSlice SliceOf(const Dim& start, const Dim& end, const Dim& step, const Dim& size,
                  const RangeLookup& ranges) {
  if (auto known = step.constant())
    return *known > 0 ? Forward(start, end, step, size, ranges) : Backward(start, end, step, size, ranges);
  Dim backward = Less(step, 0);
  // Each side sees a step of its own sign, so that no division by zero is possible.
  AxisSlice up = Forward(start, end, Max(step, 1), size, ranges);
  AxisSlice down = Backward(start, end, Min(step, -1), size, ranges);
  return {Select(backward, down.start, up.start), Select(backward, down.size, up.size)};
}

void Slice(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(c.in(0));
  bool by_input = c.has(1);  // from opset 10 on, and in DynamicSlice
  Dims starts = by_input ? b.ReadDims(c.in(1)) : DimsOf(c.Ints("starts"));
  Dims ends = by_input ? b.ReadDims(c.in(2), starts.size()) : DimsOf(c.Ints("ends"));
  Dims axes;
  if (by_input && c.has(3)) {
    axes = b.ReadDims(c.in(3), starts.size());
  } else {
    axes = DimsOf(c.Ints("axes"));
    if (axes.empty()) {
      for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
    }
  }
  Dims steps = by_input && c.has(4) ? b.ReadDims(c.in(4), starts.size()) : Dims(starts.size(), Dim(1));
  if (b.failed()) return;
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} starts, {} ends, {} axes and {} steps, equal numbers are wanted", starts.size(),
                       ends.size(), axes.size(), steps.size()));
    return;
  }
  RangeLookup ranges = b.module().Ranges();
  Dims from(dims.size(), Dim(0));
  Dims by(dims.size(), Dim(1));
  Dims sizes = dims, taken(dims.size(), Dim(0));
  for (size_t k = 0; k < starts.size(); ++k) {
    b.Require(NotEqual(steps[k], 0), fmt::format("step {} is 0", k), {});
    steps[k] = Max(Min(steps[k], kLongestStep), -kLongestStep);
    Dims flags = AxisFlags(c, {axes[k]}, static_cast<int>(dims.size()));
    if (b.failed()) return;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (flags[i].IsConstant(0)) continue;
      b.Require(Not(And(flags[i], taken[i])), fmt::format("axis {} is listed twice", i), {});
      taken[i] = Or(taken[i], flags[i]);
      AxisSlice part = SliceOf(starts[k], ends[k], steps[k], dims[i], ranges);
      from[i] = Select(flags[i], part.start, from[i]);
      by[i] = Select(flags[i], steps[k], by[i]);
      sizes[i] = Select(flags[i], part.size, sizes[i]);
    }
  }
  c.Out(0, b.Slice(c.in(0), from, by, sizes));
}

// CNTK's experimental operator of opset 1: takes a border off, or a window of `scale` = [height, width] at
// the border's corner.
void Crop(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(c.in(0));
  std::vector<int64_t> border = c.Ints("border");  // left, top, right, bottom
  std::vector<int64_t> scale = c.Ints("scale");
  if (b.failed()) return;
  if (dims.size() != 4 || border.size() != 4 || (!scale.empty() && scale.size() != 2)) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("rank {}, {} borders and {} scales; 4, 4 and none or 2 are wanted", dims.size(),
                       border.size(), scale.size()));
    return;
  }
  Dim height = scale.empty() ? dims[2] - Dim(border[1]) - Dim(border[3]) : Dim(scale[0]);
  Dim width = scale.empty() ? dims[3] - Dim(border[0]) - Dim(border[2]) : Dim(scale[1]);
  c.Out(0,
        b.Slice(c.in(0), {0, 0, border[1], border[0]}, Dims(4, Dim(1)), {dims[0], dims[1], height, width}));
}

// Cut or padded to the wanted sizes around the centre; where it is uneven, the end gets the odd element.
void CenterCropPad(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(c.in(0));
  std::vector<int64_t> axes = c.Ints("axes");
  if (axes.empty()) {
    for (size_t i = 0; i < dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  Dims wanted = b.ReadDims(c.in(1), axes.size());
  if (b.failed()) return;
  if (axes.size() != wanted.size()) {
    b.Fail(Code::kInvalidArgument, fmt::format("{} sizes for {} axes", wanted.size(), axes.size()));
    return;
  }
  size_t rank = dims.size();
  Dims starts(rank, Dim(0)), sizes = dims, low(rank, Dim(0)), high(rank, Dim(0));
  for (size_t k = 0; k < axes.size(); ++k) {
    auto axis = static_cast<size_t>(b.NormalizeAxis(axes[k], static_cast<int>(rank)));
    if (b.failed()) return;
    b.Require(LessEqual(0, wanted[k]), fmt::format("element {} of the shape is {{0}}", k), {wanted[k]});
    Dim surplus = Max(dims[axis] - wanted[k], 0);
    Dim missing = Max(wanted[k] - dims[axis], 0);
    starts[axis] = FloorDiv(surplus, 2);
    sizes[axis] = Min(dims[axis], wanted[k]);
    low[axis] = FloorDiv(missing, 2);
    high[axis] = missing - low[axis];
  }
  ValueId cut = b.Slice(c.in(0), starts, Dims(rank, Dim(1)), sizes);
  c.Out(0, b.Pad(cut, b.Scalar(b.dtype(cut), 0), low, high));
}

constexpr OnnxOp kRows[] = {
    {"", "Slice", 1, 9, 1, 1, "starts ends axes", Slice, kAllTypes, StringUse::kMoved},
    {"", "Slice", 10, kLatest, 3, 5, "", Slice, kAllTypes, StringUse::kMoved},
    {"", "DynamicSlice", 1, 9, 3, 4, "", Slice, kAllTypes, StringUse::kMoved},
    {"", "Crop", 1, 9, 1, 1, "border scale", Crop, kFloats},
    {"", "CenterCropPad", 18, kLatest, 2, 2, "axes", CenterCropPad, kAllTypes - kStrings - kComplex},
};

}  // namespace

std::span<const OnnxOp> OnnxSliceRows() { return kRows; }

}  // namespace tvmvm::ir
