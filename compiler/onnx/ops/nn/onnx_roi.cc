// Pools over regions of images.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_checks.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

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

constexpr OnnxOp kRows[] = {
    {"", "RoiAlign", 10, 15, 3, 3, "mode output_height output_width sampling_ratio spatial_scale", RoiAlign,
     kFloats},
    {"", "RoiAlign", 16, kLatest, 3, 3,
     "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale", RoiAlign,
     kFloats},
    {"", "MaxRoiPool", 1, kLatest, 2, 2, "pooled_shape spatial_scale", MaxRoiPool, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxRoiRows() { return kRows; }

}  // namespace tvmvm::ir
