#include "tvm-vm/shape.h"

namespace tvmvm {

Expected<Shape> Shape::Create(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank)
    return MakeError(Code::kInvalidArgument, "rank " + std::to_string(dims.size()) + ", at most " +
                                                 std::to_string(kMaxRank) + " is possible");
  return Shape(dims);
}

// A dim is negative, or the product of some dims exceeds int64; a dim of 0 makes it 0 nevertheless.
std::optional<int64_t> Shape::UnusualCount() const {
  bool empty = false;
  for (int64_t dim : dims()) {
    if (dim < 0) return std::nullopt;
    empty |= dim == 0;
  }
  if (empty) return 0;
  return std::nullopt;
}

std::string Shape::ToString() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(dims_[axis]);
  }
  return text + "]";
}

}  // namespace tvmvm
