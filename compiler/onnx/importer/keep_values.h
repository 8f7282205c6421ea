// Values inside of a model as outputs of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/onnx/model/onnx_model.h"
#include "tvm-vm/status.h"

namespace tvmvm::ir {

// Adds outputs to the model for all names: of a value, or of a node, which is all that it makes; unnamed
// nodes are called OPERATOR_0, OPERATOR_1, .... What the body of a loop makes, however deep, is collected
// along a new axis in front: an element for each step, all of one shape. It is called NAME_steps. Gives the
// names of the outputs, without the graph's inputs among `names`. Errors: kInvalidArgument naming what is not
// there.
Expected<std::vector<std::string>> KeepValues(std::span<const std::string> names, OnnxModel* model);

}  // namespace tvmvm::ir
