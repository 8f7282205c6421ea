#include "compiler/graph/window_shape.h"

#include <algorithm>

namespace tvmvm::ir {
namespace {

constexpr int64_t kLeastColumns = 4;  // of results in a row
// Without padding, fewer taps or shorter rows are read where they lie at no more cost; so are more taps where
// no launch has to ask whether they are inside.
constexpr int64_t kLeastTapsUnpadded = 5, kLeastTapsInside = 10, kLeastColumnsUnpadded = 8;

bool IsTaken(DType dtype, bool is_average) {
  const int bits = DTypeBits(dtype);
  if (IsFloat(dtype)) return bits >= 16;
  return !is_average && dtype != DType::kBool && bits >= 8;
}

}  // namespace

bool SlidesAlongRows(const Function& function, const Node& window) {
  const std::string& kind = window.String("kind");
  if (kind == "argmax") return false;
  if (!IsTaken(function.type(window.outputs[0]).dtype, kind == "average")) return false;
  const std::vector<int64_t>&kernel = window.Ints("kernel"), &strides = window.Ints("strides"),
        &dilations = window.Ints("dilations");
  if (kernel.empty() || kernel.back() < 2) return false;
  int axes = 0;
  int64_t taps = 1;
  bool shares = false, is_padded = false;
  for (size_t axis = 0; axis < kernel.size(); ++axis) {
    if (kernel[axis] == 1) continue;
    ++axes;
    taps *= kernel[axis];
    shares = shares || (kernel[axis] - 1) * dilations[axis] + 1 > strides[axis];
    is_padded = is_padded || !window.DimList("low")[axis].IsConstant(0);
  }
  const Dim& columns = window.DimList("dims").back();
  const int64_t least = is_padded ? kLeastColumns : kLeastColumnsUnpadded;
  if (columns.is_constant() && columns.value() < least) return false;
  // Vectors of narrow types have no masks, and strides of theirs cost more than a way through scratch.
  if (DTypeBits(function.type(window.inputs[0]).dtype) < 32) return true;
  const int64_t least_taps =
      columns.is_constant() && strides.back() > 1 ? kLeastTapsInside : kLeastTapsUnpadded;
  return axes > 1 && (is_padded || (shares && taps >= least_taps));
}

}  // namespace tvmvm::ir
