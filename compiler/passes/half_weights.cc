#include "compiler/passes/half_weights.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "compiler/expr/scalar_math.h"

namespace tvmvm::passes {
namespace {

constexpr double kLargestHalf = 65504;
constexpr double kUnitRoundoff = 0x1p-11;  // the most that rounding to f16 takes of a number of its range

struct Slice {
  double squares = 0, errors = 0;  // sums of squares: of the numbers, of what rounding takes
};

// How flat positions fall into the slices along an axis.
struct Slices {
  int64_t count = 1, inner = 1;
  int64_t Of(int64_t position) const { return position / inner % count; }
};

Slices SlicesAlong(const ir::TensorData& data, int axis) {
  if (axis < 0) return {};
  Slices slices{data.dims[static_cast<size_t>(axis)], 1};
  for (size_t i = static_cast<size_t>(axis) + 1; i < data.dims.size(); ++i) slices.inner *= data.dims[i];
  return slices;
}

}  // namespace

std::optional<ir::TensorData> HalfWeights(const ir::TensorData& data, int axis) {
  const int64_t count = data.element_count();
  const Slices along = SlicesAlong(data, axis);
  std::vector<Slice> slices(static_cast<size_t>(along.count));
  std::vector<uint16_t> halves(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    float number;
    std::memcpy(&number, data.bytes.data() + i * static_cast<int64_t>(sizeof number), sizeof number);
    if (!(std::fabs(number) <= kLargestHalf)) return std::nullopt;
    const double half = tensor::RoundFloat(DType::kF16, number), error = half - number;
    halves[static_cast<size_t>(i)] =
        static_cast<uint16_t>(tensor::EncodeScalar(DType::kF16, {.number = half}));
    Slice& slice = slices[static_cast<size_t>(along.Of(i))];
    slice.squares += double{number} * number;
    slice.errors += error * error;
  }
  for (const Slice& slice : slices)
    if (slice.errors > kUnitRoundoff * kUnitRoundoff * slice.squares) return std::nullopt;
  return ir::TensorData::FromVector(DType::kF16, data.dims, halves);
}

}  // namespace tvmvm::passes
