// Sizes of a program's inputs from the sizes of its dimensions.
#pragma once

#include <optional>
#include <vector>

#include "tvm-vm/forecast.h"
#include "vm/forecast/interval.h"

namespace tvmvm::forecast {

// By input: its dims; nullopt where the signature does not say them (no tensor, no rank).
using InputSizes = std::vector<std::optional<std::vector<Interval>>>;

// Errors: kInvalidArgument naming the dimensions that are missing, unknown, empty or out of bounds.
Expected<InputSizes> SizesOfInputs(const FunctionSpec& main, const DimRanges& dims);
// The names that sizes are wanted for.
std::vector<std::string> WantedDims(const FunctionSpec& main);

}  // namespace tvmvm::forecast
