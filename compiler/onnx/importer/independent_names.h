// The values of a model that its Gradient nodes differentiate with respect to.
#pragma once

#include <set>
#include <string>

#include "compiler/onnx/model/onnx_model.h"

namespace tvmvm::ir {

// Named as independent variables (`xs`, `zs`) anywhere in the model, its functions and subgraphs included.
std::set<std::string> IndependentNames(const OnnxModel& model);

}  // namespace tvmvm::ir
