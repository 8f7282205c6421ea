// A tensor's dimensions at run time: a fixed-capacity vector of int64, no heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "tvm-vm/export.h"
#include "tvm-vm/status.h"

namespace tvmvm {

inline constexpr int kMaxRank = 32;

// More than kMaxRank dims give a shape that cannot be: kMaxRank dims, the first of them -1, so that it has no
// element count and no tensor can have it. Whoever takes dims from outside says so better with Create.
class TVMVM_EXPORT Shape {
 public:
  Shape() {}  // not defaulted: Shape{} would fill the dims with zeros
  Shape(const Shape& other) { Take(other.dims()); }
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) {
    Take(dims.first(std::min<size_t>(dims.size(), kMaxRank)));
    if (dims.size() > kMaxRank) [[unlikely]]
      dims_[0] = -1;
  }
  // Errors: kInvalidArgument where there are more than kMaxRank dims.
  static Expected<Shape> Create(std::span<const int64_t> dims);
  Shape& operator=(const Shape& other) {
    Take(other.dims());
    return *this;
  }

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t& operator[](int axis) { return dims_[axis]; }
  std::span<const int64_t> dims() const { return {dims_, static_cast<size_t>(rank_)}; }
  void push_back(int64_t dim) {
    if (rank_ == kMaxRank) [[unlikely]] {
      dims_[0] = -1;
      return;
    }
    dims_[rank_++] = dim;
  }

  // Product of the dims; nullopt where a dim is negative or the product exceeds int64.
  std::optional<int64_t> ElementCount() const {
    int64_t count = 1, signs = 0;
    bool overflow = false;
    for (int i = 0; i < rank_; ++i) {
      signs |= dims_[i];
      overflow |= __builtin_mul_overflow(count, dims_[i], &count);
    }
    if (signs >= 0 && !overflow) [[likely]]
      return count;
    return UnusualCount();
  }
  // "[2, 3]"
  std::string ToString() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a.dims_[i] != b.dims_[i]) return false;
    return true;
  }

 private:
  std::optional<int64_t> UnusualCount() const;

  void Take(std::span<const int64_t> dims) {
    rank_ = static_cast<int>(dims.size());
    for (int axis = 0; axis < rank_; ++axis) dims_[axis] = dims[static_cast<size_t>(axis)];
  }

  // The rank and the first dims share a cache line. Dims from the rank on are not set, and not copied.
  int rank_ = 0;
  int64_t dims_[kMaxRank];
};

}  // namespace tvmvm
