// Numbers of AttributeProto as kinds of attributes.
#pragma once

#include <cstdint>

#include "compiler/onnx/model/onnx_attribute.h"

namespace tvmvm::ir {

OnnxAttribute::Kind AttributeKindOfType(int32_t type);
// The kind that a field stands for: what counts in files that leave the type out.
OnnxAttribute::Kind AttributeKindOfField(uint32_t tag);

}  // namespace tvmvm::ir
