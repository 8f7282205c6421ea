#include "bytecode/shape.h"

namespace tvmvm {

std::optional<int64_t> Shape::ElementCount() const {
  int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (int64_t dim : dims()) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) empty = true;
    overflow |= __builtin_mul_overflow(count, dim, &count);
  }
  // A dim of 0 makes the product 0, whatever the others are.
  if (empty) return 0;
  if (overflow) return std::nullopt;
  return count;
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
