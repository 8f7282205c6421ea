#include "compiler/onnx/ops/onnx_window.h"

#include <fmt/core.h>

namespace tvmvm::ir {

Dim WindowExtent(const Dim& kernel, int64_t dilation) { return (kernel - Dim(1)) * Dim(dilation) + Dim(1); }

std::vector<int64_t> SpatialInts(OnnxContext& c, std::string_view name, size_t count, int64_t otherwise) {
  std::vector<int64_t> values = c.Ints(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) {
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("the attribute '{}' has {} entries, {} are wanted", name, values.size(), count));
    values.assign(count, otherwise);
  }
  return values;
}

void DividePadding(const Dim& total, bool upper, Dim* low, Dim* high) {
  Dim half = FloorDiv(total, 2);
  *low = upper ? half : total - half;
  *high = upper ? total - half : half;
}

WindowGeometry ReadWindow(OnnxContext& c, const Dims& spatial, const Dims& kernel) {
  constexpr int64_t kLimit = int64_t{1} << 31;  // below, no extent of a window overflows
  size_t count = spatial.size();
  WindowGeometry geometry;
  geometry.strides = SpatialInts(c, "strides", count, 1);
  geometry.dilations = SpatialInts(c, "dilations", count, 1);
  for (size_t i = 0; i < count; ++i) {
    int64_t stride = geometry.strides[i];
    int64_t dilation = geometry.dilations[i];
    if (stride > 0 && dilation > 0 && stride < kLimit && dilation < kLimit) continue;
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("stride {} and dilation {}, positive ones are wanted", stride, dilation));
    geometry.strides[i] = geometry.dilations[i] = 1;
  }
  for (const Dim& size : kernel) {
    if (size.constant().value_or(0) < kLimit) continue;
    c.b.Fail(Code::kInvalidArgument, fmt::format("a window of {} elements along an axis", size.ToString()));
    return geometry;
  }
  std::vector<int64_t> pads = SpatialInts(c, "pads", 2 * count, 0);
  geometry.low = Dims(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(count));
  geometry.high = Dims(pads.begin() + static_cast<std::ptrdiff_t>(count), pads.end());
  std::string mode = c.Text("auto_pad", "NOTSET");
  if (mode == "NOTSET" || mode.empty()) return geometry;
  if (mode == "VALID") {
    geometry.low.assign(count, Dim(0));
    geometry.high.assign(count, Dim(0));
    return geometry;
  }
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'auto_pad' is '{}'", mode));
    return geometry;
  }
  for (size_t i = 0; i < count; ++i) {
    Dim steps = CeilDiv(spatial[i], geometry.strides[i]) - Dim(1);
    Dim covered = steps * Dim(geometry.strides[i]) + WindowExtent(kernel[i], geometry.dilations[i]);
    DividePadding(Max(covered - spatial[i], 0), mode == "SAME_UPPER", &geometry.low[i], &geometry.high[i]);
  }
  return geometry;
}

ValueId PerChannel(OpBuilder& b, ValueId vector, int rank) {
  Dims dims(static_cast<size_t>(std::max(rank - 1, 1)), Dim(1));
  dims[0] = Product(b.dims(vector));
  return b.Reshape(vector, dims);
}

ValueId ChannelsFirst(OpBuilder& b, ValueId x) {
  std::vector<int64_t> order{0, b.rank(x) - 1};
  for (int64_t i = 1; i < b.rank(x) - 1; ++i) order.push_back(i);
  return b.rank(x) < 3 ? x : b.Transpose(x, order);
}

ValueId ChannelsLast(OpBuilder& b, ValueId x) {
  std::vector<int64_t> order{0};
  for (int64_t i = 2; i < b.rank(x); ++i) order.push_back(i);
  order.push_back(1);
  return b.rank(x) < 3 ? x : b.Transpose(x, order);
}

}  // namespace tvmvm::ir
