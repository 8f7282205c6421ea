#include "compiler/schedules/cpu/windows/taps_inside.h"

#include <algorithm>

namespace tvmvm::tensor {
namespace {

constexpr int64_t kFarTaps = 4, kChannelsOfTapsApart = 32;
constexpr size_t kAxes = 2;  // along which taps are left out

ir::Dim ProductBehind(const ir::Dims& dims, size_t axis) {
  return ir::Product(ir::Dims(dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end()));
}

// Along an axis, [begin, end).
struct Taps {
  Expr begin, end;
};

Taps TapsInside(Nest& nest, const ConvolutionShape& shape, const ir::Dims& sizes, size_t axis,
                const Expr& first, const Expr& last) {
  const Expr count = DimValue(shape.kernel[axis]), zero = IntConstant(0), one = IntConstant(1);
  if (shape.is_unpadded(axis)) return {zero, count};
  const Expr inner = DimValue(Max(ProductBehind(sizes, axis), 1)), side = DimValue(Max(sizes[axis], 1));
  const Expr dilation = IntConstant(shape.dilations[axis]);
  const Expr from_line = nest.Let("from_line", FloorDiv(first, inner));
  const Expr to_line = nest.Let("to_line", FloorDiv(last, inner));
  const Expr is_one = nest.Let("is_one", Equal(FloorDiv(from_line, side), FloorDiv(to_line, side)));
  auto corner = [&](const Expr& line) {
    return FloorMod(line, side) * IntConstant(shape.strides[axis]) - DimValue(shape.low[axis]);
  };
  const Expr begin = FloorDiv(zero - corner(to_line) + dilation - one, dilation);
  const Expr end = FloorDiv(DimValue(shape.input[axis]) - one - corner(from_line), dilation) + one;
  const Expr from = nest.Let("from", Select(is_one, Min(Max(begin, zero), count), zero));
  return {from, nest.Let("to", Select(is_one, Max(from, Min(end, count)), count))};
}

bool HasTapsApart(const ConvolutionShape& shape, int64_t least) {
  for (size_t i = 0; i < std::min(shape.axes(), kAxes); ++i)
    if (shape.dilations[i] >= least && !shape.is_unpadded(i) && !shape.kernel[i].IsConstant(1)) return true;
  return false;
}

}  // namespace

bool HasFarTaps(const ConvolutionShape& shape) { return HasTapsApart(shape, kFarTaps); }

bool LeavesOutTaps(const ConvolutionShape& shape) {
  return HasFarTaps(shape) ||
         (HasTapsApart(shape, 2) && LessEqual(kChannelsOfTapsApart, shape.channels).IsConstant(1));
}

DepthRange StepsInside(Nest& nest, const ConvolutionShape& shape, const ir::Dims& sizes, const Expr& first,
                       const Expr& last) {
  const Taps outer = TapsInside(nest, shape, sizes, 0, first, last);
  const Expr part_steps = DimValue(ProductBehind(shape.kernel, 0) * shape.channels);
  const Expr before = nest.Let("before", outer.begin * part_steps);
  if (shape.axes() == 1) return {.begin = before, .end = nest.Let("end", outer.end * part_steps)};
  const Taps inner = TapsInside(nest, shape, sizes, 1, first, last);
  const Expr step = DimValue(ProductBehind(shape.kernel, 1) * shape.channels);
  return {.begin = nest.Let("begin", before + inner.begin * step),
          .end = nest.Let("end", before + inner.end * step),
          .parts = nest.Let("parts", outer.end - outer.begin),
          .part_steps = part_steps};
}

}  // namespace tvmvm::tensor
