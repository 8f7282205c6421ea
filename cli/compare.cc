#include "cli/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>

#include "cli/elements.h"
#include "cli/value_text.h"

namespace tvmvm::cli {
namespace {

struct Bound {
  double rtol, atol;
};

double LargestMagnitude(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    if (double magnitude = std::fabs(ReadFloat(tensor, i)); std::isfinite(magnitude))
      largest = std::max(largest, magnitude);
  return largest;
}

Bound BoundFor(const Tensor& want, const Tolerance& tolerance) {
  DType dtype = want.dtype();
  bool small = IsFloat(dtype) && DTypeBits(dtype) <= 16;
  Bound bound{tolerance.rtol.value_or(dtype == DType::kBF16 ? 0x1p-6 : 1e-3),
              tolerance.atol.value_or(small ? 1e-5 : 1e-7)};
  if (tolerance.of_largest > 0 && dtype == DType::kF32)
    bound.atol += tolerance.of_largest * LargestMagnitude(want);
  return bound;
}

// How far an element is beyond its bound, as a multiple of the bound's distance; 0 when it is within.
double Excess(double got, double want, const Bound& bound) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  double distance = std::fabs(got - want), allowed = bound.atol + bound.rtol * std::fabs(want);
  if (!std::isfinite(distance) || !std::isfinite(allowed)) return INFINITY;
  return distance <= allowed ? 0 : distance / std::max(allowed, 1e-300);
}

double ExcessComplex(std::complex<double> got, std::complex<double> want, const Bound& bound) {
  return std::max(Excess(got.real(), want.real(), bound), Excess(got.imag(), want.imag(), bound));
}

double ElementExcess(const Tensor& got, const Tensor& want, int64_t i, const Bound& bound) {
  DType dtype = want.dtype();
  if (IsFloat(dtype)) return Excess(ReadFloat(got, i), ReadFloat(want, i), bound);
  if (IsComplex(dtype)) return ExcessComplex(ReadComplex(got, i), ReadComplex(want, i), bound);
  if (dtype == DType::kString) return got.strings()[i] == want.strings()[i] ? 0 : 1;
  int64_t a = ReadInteger(got, i), b = ReadInteger(want, i);
  return a == b ? 0 : std::fabs(static_cast<double>(a) - static_cast<double>(b)) + 1;
}

std::string FormatIndex(int64_t flat, const Shape& shape) {
  std::vector<int64_t> index(shape.rank());
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string DescribeWorst(const Tensor& got, const Tensor& want, int64_t worst, const Bound& bound) {
  std::string text = fmt::format("at {}: {}, want {}", FormatIndex(worst, want.shape()),
                                 FormatElement(got, worst), FormatElement(want, worst));
  if (IsFloat(want.dtype())) {
    double a = ReadFloat(got, worst), b = ReadFloat(want, worst);
    text += fmt::format(" (off by {:.3g}, allowed {:.3g})", std::fabs(a - b),
                        bound.atol + bound.rtol * std::fabs(b));
  }
  return text;
}

}  // namespace

bool HasRandomOutputs(std::string_view test_name) {
  for (std::string_view word : {"bernoulli", "randomuniform", "randomnormal"})
    if (test_name.find(word) != std::string_view::npos) return true;
  return false;
}

std::optional<std::string> FindDifference(const Tensor& got, const Tensor& want, const Tolerance& tolerance) {
  if (got.dtype() != want.dtype())
    return fmt::format("dtype {}, want {}", DTypeName(got.dtype()), DTypeName(want.dtype()));
  if (got.shape() != want.shape())
    return fmt::format("shape {}, want {}", got.shape().ToString(), want.shape().ToString());
  if (tolerance.shape_only) return std::nullopt;
  Bound bound = BoundFor(want, tolerance);
  int64_t count = want.element_count(), wrong = 0, worst = 0;
  double worst_excess = 0;
  for (int64_t i = 0; i < count; ++i) {
    double excess = ElementExcess(got, want, i, bound);
    if (excess == 0) continue;
    ++wrong;
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = i;
    }
  }
  if (wrong == 0) return std::nullopt;
  return fmt::format("{} of {} elements differ, worst {}", wrong, count,
                     DescribeWorst(got, want, worst, bound));
}

std::optional<std::string> FindDifference(const Value& got, const Value& want, const Tolerance& tolerance) {
  if (got.is_tensor() && want.is_tensor()) return FindDifference(got.tensor(), want.tensor(), tolerance);
  if (got.is_none() && want.is_none()) return std::nullopt;
  bool is_same = got.is_sequence() == want.is_sequence() && got.is_tuple() == want.is_tuple() &&
                 got.is_none() == want.is_none() && !got.is_tensor() && !want.is_tensor();
  if (!is_same || got.elements().size() != want.elements().size() ||
      (got.is_tuple() && got.tag() != want.tag()))
    return fmt::format("{}, want {}", FormatType(got), FormatType(want));
  for (size_t i = 0; i < want.elements().size(); ++i)
    if (auto difference = FindDifference(got.elements()[i], want.elements()[i], tolerance))
      return fmt::format("[{}]{}{}", i, difference->starts_with("[") ? "" : ": ", *difference);
  return std::nullopt;
}

}  // namespace tvmvm::cli
