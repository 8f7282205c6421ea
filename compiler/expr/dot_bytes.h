// Dot products of bytes of which one factor is small.
#pragma once

#include <span>

#include "compiler/expr/expr.h"

namespace tvmvm::tensor {

// The most dot products whose sums of two products each fit in 16 bits: 8 * 2 * 15 * 128 < 2^15.
inline constexpr size_t kMostSmallDots = 8;
inline constexpr int kMostSmallByte = 15;

// DotBytes(a, b, DotBytes(..., c)) of operands a, b, ..., c, of which at most kMostSmallDots are a; the caller
// knows that no byte of an `a` is above kMostSmallByte.
Expr DotSmallBytes(std::span<const Expr> operands);

}  // namespace tvmvm::tensor
