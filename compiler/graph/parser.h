// Reads the text form of modules that printer.h describes.
#pragma once

#include <string_view>

#include "compiler/dim/dim_facts.h"
#include "compiler/graph/graph.h"

namespace tvmvm::ir {

// The module, verified. Errors: kInvalidArgument "line 3, column 12: found '}', wanted ...", and what the
// verifier says.
Expected<Module> ParseModule(std::string_view text);
// With what is known of the dims of its inputs. Errors: also kInvalidArgument
// where the entry's inputs have no such dim, or one that is declared otherwise, and kUnsupported where
// another function has one of the name.
Expected<Module> ParseModule(std::string_view text, const DimFacts& facts);

}  // namespace tvmvm::ir
