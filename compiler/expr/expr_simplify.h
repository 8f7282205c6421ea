// What expressions fold to when they are built. Private to expr.cc.
#pragma once

#include <optional>

#include "compiler/expr/expr.h"
#include "compiler/expr/scalar_math.h"

namespace tvmvm::tensor {

// A constant, and the number that it is.
Expr FromScalar(DType dtype, Scalar value);
inline Scalar ScalarOf(const Expr& constant) { return {constant->integer, constant->number}; }

// The dim that an i64 or bool expression is, when it is one: dims, integers, and logic over comparisons of
// them.
std::optional<ir::Dim> AsDim(const Expr& a, int depth = 0);

// Each gives nothing where it has nothing simpler for `a op b`.
// i64 arithmetic on dims. Comparisons fold only when they are decided.
std::optional<Expr> FoldDims(ExprOp op, const Expr& a, const Expr& b);
// Identities with a constant on the right: exact for every value of `a`, NaN and -0 included.
std::optional<Expr> SimplifyRightConstant(ExprOp op, const Expr& a, const Expr& b);
// `a op a`.
std::optional<Expr> SimplifySameOperands(ExprOp op, const Expr& a);
// Not of a comparison; floats keep the Not where NaN would tell the difference.
std::optional<Expr> InvertComparison(const Expr& a);
// Ramps stay ramps under what keeps them affine, so that a load's stride remains visible. An order of known
// ones is decided where it is the same in all lanes.
std::optional<Expr> FoldRamps(ExprOp op, const Expr& a, const Expr& b);

}  // namespace tvmvm::tensor
