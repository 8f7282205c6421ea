// Types that a model declares of its values, beside those that its nodes compute.
#pragma once

#include <string>

#include "compiler/graph/graph.h"
#include "compiler/onnx/model/onnx_model.h"

namespace tvmvm::ir {

// Whether a value cannot be of both types: element type, rank or a size that both know differs.
bool Contradicts(const OnnxType& declared, const Type& computed);

// "f32[2,n,?]"
std::string DeclaredText(const OnnxType& declared);

}  // namespace tvmvm::ir
