// Functions that CPUs have no instruction for, as branch-free arithmetic on expressions of any lanes: nothing
// is called.
//
// Errors are stated in ulp of the result type and tested against long double; every function is right at 0,
// infinities, NaN, denormals and beyond overflow. f16 and bf16 compute in f32 and round once.
#pragma once

#include "compiler/expr/expr.h"

namespace tvmvm::tensor {

// What a target has beyond the operations that every CPU target has.
struct MathTarget {
  // kScale, and the one of two numbers that is smaller without its sign, in f32 and f64
  bool has_scale = false;
};

// One node whose operands are expanded already: gives the same value in operations that the target has.
// Other nodes come back as they are.
Expr ExpandNode(const Expr& e, MathTarget target);

// Whether that is a chain of operations in f32, each of which waits for the one before.
bool IsChain(const Expr& e);

// All nodes of a graph.
Expr ExpandMath(const Expr& e, MathTarget target);

}  // namespace tvmvm::tensor
