// The part of the text form between a node's braces: attributes, and what passes have decided.
#pragma once

#include "compiler/graph/graph.h"
#include "compiler/graph/text_reader.h"

namespace tvmvm::ir {

// "{axis = 1, dims = dims[n, 4]}", or nothing. Errors say where.
Status ReadAttributes(TextReader& in, Node* node);
Expected<DType> ReadDType(TextReader& in);

}  // namespace tvmvm::ir
