// Reads the text form of modules that printer.h describes.
#pragma once

#include <string_view>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

// The module, verified. Errors: kInvalidArgument "line 3, column 12: found '}', wanted ...", and what the
// verifier says.
Expected<Module> ParseModule(std::string_view text);

}  // namespace tvmvm::ir
