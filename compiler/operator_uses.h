// What operators a model is made of, without importing it.
#pragma once

#include <vector>

#include "compiler/onnx/model/onnx_model.h"
#include "tvm-vm/compiler.h"

namespace tvmvm::ir {

// By domain, name and version; nodes of subgraphs and of the functions that are called count, each where it
// is written, and calls of functions do not.
std::vector<OperatorUse> ListOperatorUses(const OnnxModel& model);

}  // namespace tvmvm::ir
