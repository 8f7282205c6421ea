// TypeProto and ValueInfoProto. Private to the reader of ONNX files.
#pragma once

#include "compiler/onnx/model/onnx_model.h"
#include "compiler/onnx/model/onnx_tensor.h"

namespace tvmvm::ir {

// Both throw OnnxReadError or protozero's exceptions. An element type that is not known is no error here:
// OnnxType::unknown_element.
OnnxType ReadTypeProto(protozero::pbf_reader reader);
OnnxValueInfo ReadValueInfoProto(protozero::pbf_reader reader);

}  // namespace tvmvm::ir
