// Strides, dilations and padding as convolutions and pools of ONNX give them.
#pragma once

#include <vector>

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

struct WindowGeometry {
  std::vector<int64_t> strides;  // one entry a spatial axis each
  std::vector<int64_t> dilations;
  Dims low;  // padding before and after
  Dims high;
};

// Size of a window with its holes.
Dim WindowExtent(const Dim& kernel, int64_t dilation);
// Reads strides, dilations, pads and auto_pad for spatial axes of these sizes and window sizes; records an
// error where they do not fit.
WindowGeometry ReadWindow(OnnxContext& c, const Dims& spatial, const Dims& kernel);
// An attribute with one entry a spatial axis, `otherwise` in each where absent; records an error where the
// number is wrong.
std::vector<int64_t> SpatialInts(OnnxContext& c, std::string_view name, size_t count, int64_t otherwise);
// Total padding divided as SAME_UPPER or SAME_LOWER wants it.
void DividePadding(const Dim& total, bool upper, Dim* low, Dim* high);
inline constexpr std::string_view kWindowAttributes = "auto_pad dilations group kernel_shape pads strides";

// [N, spatial..., C] as [N, C, spatial...], and back.
ValueId ChannelsFirst(OpBuilder& b, ValueId x);
ValueId ChannelsLast(OpBuilder& b, ValueId x);
// A vector of one element a channel as [C, 1, ...], to go with data [N, C, spatial...] of this rank.
ValueId PerChannel(OpBuilder& b, ValueId vector, int rank);

}  // namespace tvmvm::ir
