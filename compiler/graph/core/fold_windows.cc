#include "compiler/graph/core/fold_windows.h"

namespace tvmvm::ir {
namespace {

// [N, strides..., steps...], of each axis the positions apart by what they leave when divided by its stride,
// as [N, image...] that begins `skipped` positions behind the first.
ValueId JoinRemainders(OpBuilder& b, ValueId folded, const std::vector<int64_t>& strides, const Dims& skipped,
                       const Dims& image) {
  if (b.failed()) return folded;
  const Dims dims = b.dims(folded);
  const auto count = static_cast<int64_t>(strides.size());
  std::vector<int64_t> perm{0};
  Dims joined{dims[0]}, starts{0}, result{dims[0]};
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    perm.insert(perm.end(), {1 + count + i, 1 + i});
    joined.push_back(dims[1 + at + strides.size()] * Dim(strides[at]));
    starts.push_back(skipped[at]);
    result.push_back(image[at]);
  }
  ValueId whole = b.Reshape(b.Transpose(folded, perm), joined);
  return joined == result ? whole : b.Slice(whole, starts, Dims(starts.size(), Dim(1)), result);
}

}  // namespace

ValueId FoldWindows(OpBuilder& b, ValueId windows, const WindowPlaces& places, const Dims& image) {
  Dims first, steps, skipped;
  for (size_t i = 0; i < image.size(); ++i) {
    const Dim stride(places.strides[i]), &low = places.low[i];
    first.push_back(FloorDiv(low, stride));
    steps.push_back(CeilDiv(image[i] + low, stride) - first.back());
    skipped.push_back(low - first.back() * stride);
  }
  const ValueId folded = b.Emit(
      "fold", {windows},
      {{"strides", places.strides}, {"dilations", places.dilations}, {"first", first}, {"dims", steps}});
  return JoinRemainders(b, folded, places.strides, skipped, image);
}

}  // namespace tvmvm::ir
