// Windows put back into the images that they were cut out of, overlaps added.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/graph/op_builder.h"

namespace tvmvm::ir {

// Where windows lie along each axis of an image.
struct WindowPlaces {
  std::vector<int64_t> strides, dilations;
  Dims low;  // positions of padding before the image
};

// `windows`: [N, k..., places...] -> [N, image...].
ValueId FoldWindows(OpBuilder& builder, ValueId windows, const WindowPlaces& places, const Dims& image);

}  // namespace tvmvm::ir
