// Batches of pictures, sample by sample: what lies between the layers of one sample stays in the caches,
// where a batch's would go through memory at each layer.
#pragma once

#include <string_view>

#include "compiler/graph/graph.h"

namespace tvmvm::memory {

inline constexpr std::string_view kSliceBatches = "slice-batches";  // in --print-after and --disable-pass

// Runs the first layers of convolutional networks in a loop over the samples of a batch, where a sample's
// values between them are large; how large, is seen at run time where sizes are open. The module's groups are
// formed; all of it runs on the CPU.
void SliceBatches(ir::Module* module);

}  // namespace tvmvm::memory
