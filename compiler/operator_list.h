// The operator table (ops/onnx_op.h) as the compiler's interface shows it.
#pragma once

#include <vector>

#include "tvm-vm/compiler.h"

namespace tvmvm {

std::vector<OperatorInfo> ListOperators();
std::vector<MissingOperatorInfo> ListMissingOperators();
std::vector<ElementTypeSet> ListElementTypeSets();

}  // namespace tvmvm
