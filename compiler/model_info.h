// What an ONNX model says of itself, without importing it.
#pragma once

#include "compiler/onnx/model/onnx_model.h"
#include "tvm-vm/compiler.h"

namespace tvmvm::ir {

ModelInfo DescribeModel(const OnnxModel& model);

}  // namespace tvmvm::ir
