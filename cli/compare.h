// Whether a tensor is what was expected, by the rules of the ONNX backend tests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tvm-vm/value.h"

namespace tvmvm::cli {

// |got - want| <= atol + rtol * |want|. Unset: rtol 1e-3 (bf16: 2^-6) and atol 1e-7 (floats of 16 bits and
// fewer: 1e-5). Integers, bools and strings must be equal; NaN equals NaN; infinities must agree.
struct Tolerance {
  std::optional<double> rtol;
  std::optional<double> atol;
  // And this much of the largest finite number that is wanted, in a tensor of f32: what --precision fp16 may
  // take (kHalfPrecision).
  double of_largest = 0;
  bool shape_only = false;  // random outputs: only dtype and shape are compared
};

// Rounding a factor to f16 takes up to 2^-11 of it; a sum of products of two such factors is off by 2^-10 of
// the sum of magnitudes at most, and by the root of their number less where signs differ. Two bits are left
// for layers that add up.
inline constexpr double kHalfPrecision = 0x1p-8;

// True for names of tests whose outputs are random.
bool HasRandomOutputs(std::string_view test_name);

// nullopt when `got` is good; else what is wrong: dtype, shape, or how many elements differ and the worst of
// them.
std::optional<std::string> FindDifference(const Tensor& got, const Tensor& want, const Tolerance& tolerance);
// Of sequences and tuples the first difference, "[2]: shape [3], want [4]".
std::optional<std::string> FindDifference(const Value& got, const Value& want, const Tolerance& tolerance);

}  // namespace tvmvm::cli
