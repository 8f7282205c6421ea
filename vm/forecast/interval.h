// Intervals: what is known of a scalar register before a run. A value is within [low, high]; INT64_MIN and
// INT64_MAX stand for "no end", too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "bytecode/dim_op.h"
#include "tvm-vm/dtype.h"

namespace tvmvm::forecast {

struct Interval {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  static constexpr Interval Of(int64_t value) { return {value, value}; }
  bool is_exact() const { return low == high; }
  // 1, 0, or -1 where it may be either.
  int truth() const { return low > 0 || high < 0 ? 1 : low == 0 && high == 0 ? 0 : -1; }
  Interval Join(const Interval& other) const {
    return {std::min(low, other.low), std::max(high, other.high)};
  }
  // Its part that is within `other`; nullopt where there is none.
  std::optional<Interval> Meet(const Interval& other) const {
    const Interval met{std::max(low, other.low), std::min(high, other.high)};
    return met.low <= met.high ? std::optional(met) : std::nullopt;
  }
  friend bool operator==(const Interval&, const Interval&) = default;
};

inline constexpr Interval kAnything{};
inline constexpr Interval kAnySize{0, INT64_MAX};

// `a` op `b`, of operators with two operands or fewer. What does not fit 64 bits counts as no end: a run
// fails there. nullopt: the operands are exact and there is no result.
std::optional<Interval> Compute(DimOp op, const Interval& a, const Interval& b);
// Bit by bit.
Interval AndBits(const Interval& a, const Interval& b);
Interval OrBits(const Interval& a, const Interval& b);
// a * b for sizes, both >= 0.
int64_t MultiplySizes(int64_t a, int64_t b);
int64_t AddSizes(int64_t a, int64_t b);
// Elements of a tensor of these sizes.
Interval CountOf(std::span<const Interval> dims);
// What a load of an element may give.
Interval ElementsOf(DType dtype);

}  // namespace tvmvm::forecast
