// Symbols that stand for numbers of tensors which may be negative. Their names say so: what is asked without
// the facts of a module then takes no such number for a size.
#pragma once

#include <string_view>

#include "compiler/dim/symbol.h"

namespace tvmvm::ir {

inline constexpr std::string_view kSignedPrefix = "signed_";

inline bool MayBeNegative(const SymbolId& symbol) { return symbol.name().starts_with(kSignedPrefix); }

}  // namespace tvmvm::ir
