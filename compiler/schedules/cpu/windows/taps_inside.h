// Taps of convolutions that read nothing but padding, which a product leaves out.
#pragma once

#include "compiler/loops/nest.h"
#include "compiler/schedules/convolution_shape.h"
#include "compiler/schedules/cpu/matrix_product.h"

namespace tvmvm::tensor {

// Whether taps along one of the first two axes are so far apart that they are outside for many pixels.
bool HasFarTaps(const ConvolutionShape& shape);
// Whether they are far apart, or lie apart in so deep a product that to look for those outside costs nothing
// beside it: low pictures have many.
bool LeavesOutTaps(const ConvolutionShape& shape);

// The steps of the depth, which runs over taps and the channels of each, whose taps along the first two axes
// are inside for some of the pixels from `first` to `last`. These are flat places in pictures of `sizes`, one
// behind the other; of an axis along which they are of several lines, all taps.
DepthRange StepsInside(Nest& nest, const ConvolutionShape& shape, const ir::Dims& sizes, const Expr& first,
                       const Expr& last);

}  // namespace tvmvm::tensor
