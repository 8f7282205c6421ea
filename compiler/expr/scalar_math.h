// What every operation means on one lane, dtype by dtype: used to fold constants and by the evaluator of loop
// IR, and matched bit for bit by generated code (the approximated functions excepted).
//
// - Integers wrap. Shifts by the width or more, and division by zero, are excluded by the caller; here they
// give 0.
// - f16 and bf16 compute in f32 and round once to the type; f8 and f4 types only convert.
// - float -> integer truncates, saturates, NaN gives 0; integer -> integer wraps; anything -> bool is `!= 0`.
// - Conversions between floats round to nearest even, directly from the exact value.
#pragma once

#include <cstdint>

#include "compiler/expr/expr.h"

namespace tvmvm::tensor {

// A value of some dtype: `number` for float types, `integer` (sign- or zero-extended) for integers and bool.
struct Scalar {
  int64_t integer = 0;
  double number = 0;
};

// Two's complement of `value` in the dtype's width, extended back to 64 bits; bool: != 0.
int64_t WrapInteger(DType dtype, int64_t value);
// Nearest value of the float type. `saturate` is for 8-bit floats: see Cast().
double RoundFloat(DType dtype, double value, bool saturate = true);

Scalar ConvertScalar(DType from, DType to, Scalar value, bool saturate = true);
// Memory bits of a value, low bits first, and back.
uint64_t EncodeScalar(DType dtype, Scalar value);
Scalar DecodeScalar(DType dtype, uint64_t bits);

// `dtype` is the operands' type; comparisons and tests give a bool.
Scalar EvaluateUnary(ExprOp op, DType dtype, Scalar a);
Scalar EvaluateBinary(ExprOp op, DType dtype, Scalar a, Scalar b);
Scalar EvaluateFma(DType dtype, Scalar a, Scalar b, Scalar c);
Scalar EvaluateDotBytes(Scalar a, Scalar b, Scalar c);
Scalar EvaluateScale(DType dtype, Scalar a, Scalar b);

// True for functions that generated code approximates (exp, sin, pow, ...): these are never folded, so that a
// constant operand gives the same bits as a variable one.
bool IsApproximated(ExprOp op);

}  // namespace tvmvm::tensor
