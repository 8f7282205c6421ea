// A tensor's dimensions at run time: a fixed-capacity vector of int64, no heap.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace tvmvm {

inline constexpr int kMaxRank = 16;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) {
    assert(dims.size() <= kMaxRank);
    for (int64_t dim : dims) dims_[rank_++] = dim;
  }

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t& operator[](int axis) { return dims_[axis]; }
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  void push_back(int64_t dim) {
    assert(rank_ < kMaxRank);
    dims_[rank_++] = dim;
  }

  // Product of the dims; nullopt where a dim is negative or the product exceeds int64.
  std::optional<int64_t> ElementCount() const {
    int64_t count = 1, signs = 0;
    bool overflow = false;
    for (int i = 0; i < rank_; ++i) {
      signs |= dims_[static_cast<size_t>(i)];
      overflow |= __builtin_mul_overflow(count, dims_[static_cast<size_t>(i)], &count);
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

  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace tvmvm
