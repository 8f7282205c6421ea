#include "vm/forecast/interval.h"

#include <array>

namespace tvmvm::forecast {
namespace {

__extension__ using Wide = __int128;

int64_t Saturate(Wide value) { return static_cast<int64_t>(std::clamp<Wide>(value, INT64_MIN, INT64_MAX)); }

// Ends that are none stay none.
int64_t AddLow(int64_t a, int64_t b) {
  return a == INT64_MIN || b == INT64_MIN ? INT64_MIN : Saturate(Wide{a} + b);
}
int64_t AddHigh(int64_t a, int64_t b) {
  return a == INT64_MAX || b == INT64_MAX ? INT64_MAX : Saturate(Wide{a} + b);
}
int64_t SubtractLow(int64_t low, int64_t high) {
  return low == INT64_MIN || high == INT64_MAX ? INT64_MIN : Saturate(Wide{low} - high);
}
int64_t SubtractHigh(int64_t high, int64_t low) {
  return high == INT64_MAX || low == INT64_MIN ? INT64_MAX : Saturate(Wide{high} - low);
}

Interval Multiply(const Interval& a, const Interval& b) {
  const std::array corners = {Saturate(Wide{a.low} * b.low), Saturate(Wide{a.low} * b.high),
                              Saturate(Wide{a.high} * b.low), Saturate(Wide{a.high} * b.high)};
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
  return {*low, *high};
}

// By what is above 0: else anything.
Interval Divide(DimOp op, const Interval& a, const Interval& b) {
  if (b.low <= 0) return kAnything;
  auto quotient = [&](int64_t of, int64_t by) {
    int64_t result = 0;
    (void)tvmvm::Compute(op, of, by, &result);
    return result;
  };
  return {a.low == INT64_MIN ? INT64_MIN : std::min(quotient(a.low, b.low), quotient(a.low, b.high)),
          a.high == INT64_MAX ? INT64_MAX : std::max(quotient(a.high, b.low), quotient(a.high, b.high))};
}

Interval Remainder(const Interval& a, const Interval& b) {
  if (b.low <= 0) return kAnything;
  if (a.low >= 0 && a.high < b.low) return a;
  if (b.is_exact() && a.low >= 0 && a.high != INT64_MAX && a.low / b.low == a.high / b.low)
    return {a.low % b.low, a.high % b.low};
  const int64_t most = b.high == INT64_MAX ? INT64_MAX : b.high - 1;
  return {0, a.low >= 0 ? std::min(most, a.high) : most};
}

Interval Decide(bool always, bool never) {
  return always ? Interval::Of(1) : never ? Interval::Of(0) : Interval{0, 1};
}

}  // namespace

std::optional<Interval> Compute(DimOp op, const Interval& a, const Interval& b) {
  if (a.is_exact() && b.is_exact()) {
    int64_t result = 0;
    if (!tvmvm::Compute(op, a.low, b.low, &result)) return std::nullopt;
    return Interval::Of(result);
  }
  switch (op) {
    case DimOp::kAdd:
      return Interval{AddLow(a.low, b.low), AddHigh(a.high, b.high)};
    case DimOp::kSub:
      return Interval{SubtractLow(a.low, b.high), SubtractHigh(a.high, b.low)};
    case DimOp::kMul:
      return Multiply(a, b);
    case DimOp::kFloorDiv:
    case DimOp::kCeilDiv:
      return Divide(op, a, b);
    case DimOp::kFloorMod:
      return Remainder(a, b);
    case DimOp::kMin:
      return Interval{std::min(a.low, b.low), std::min(a.high, b.high)};
    case DimOp::kMax:
      return Interval{std::max(a.low, b.low), std::max(a.high, b.high)};
    case DimOp::kEqual:
      return Decide(false, !a.Meet(b));
    case DimOp::kNotEqual:
      return Decide(!a.Meet(b), false);
    case DimOp::kLess:
      return Decide(a.high < b.low, a.low >= b.high);
    case DimOp::kLessEqual:
      return Decide(a.high <= b.low, a.low > b.high);
    case DimOp::kNot:
      return Decide(a.truth() == 0, a.truth() == 1);
    case DimOp::kAnd:
      return Decide(a.truth() == 1 && b.truth() == 1, a.truth() == 0 || b.truth() == 0);
    case DimOp::kOr:
      return Decide(a.truth() == 1 || b.truth() == 1, a.truth() == 0 && b.truth() == 0);
    default:
      return kAnything;
  }
}

Interval AndBits(const Interval& a, const Interval& b) {
  if (a.is_exact() && b.is_exact()) return Interval::Of(a.low & b.low);
  if (a.low < 0 || b.low < 0) return kAnything;
  return {0, std::min(a.high, b.high)};
}

Interval OrBits(const Interval& a, const Interval& b) {
  if (a.is_exact() && b.is_exact()) return Interval::Of(a.low | b.low);
  if (a.low < 0 || b.low < 0) return kAnything;
  return {std::max(a.low, b.low), AddSizes(a.high, b.high)};
}

int64_t MultiplySizes(int64_t a, int64_t b) { return Saturate(Wide{a} * b); }
int64_t AddSizes(int64_t a, int64_t b) { return Saturate(Wide{a} + b); }

Interval CountOf(std::span<const Interval> dims) {
  Interval count = Interval::Of(1);
  for (const Interval& dim : dims)
    count = {MultiplySizes(count.low, std::max<int64_t>(dim.low, 0)),
             MultiplySizes(count.high, std::max<int64_t>(dim.high, 0))};
  return count;
}

Interval ElementsOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kI8:
      return {INT8_MIN, INT8_MAX};
    case DType::kU8:
      return {0, UINT8_MAX};
    case DType::kI16:
      return {INT16_MIN, INT16_MAX};
    case DType::kU16:
      return {0, UINT16_MAX};
    case DType::kI32:
      return {INT32_MIN, INT32_MAX};
    case DType::kU32:
      return {0, UINT32_MAX};
    default:
      return kAnything;
  }
}

}  // namespace tvmvm::forecast
