// The names of values that Gradient nodes have in their attributes.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/onnx/model/onnx_model.h"

namespace tvmvm::ir {

// Named as independent variables (`xs`, `zs`) anywhere in the model, its functions and subgraphs included.
std::set<std::string> IndependentNames(const OnnxModel& model);

// Of the values that the node reads although they are not among its inputs: `xs`, `zs` and `y` of a Gradient.
std::vector<std::string_view> NamesInAttributes(const OnnxNode& node);

}  // namespace tvmvm::ir
