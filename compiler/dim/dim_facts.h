// What a caller knows of the dims of a model's inputs before anything runs.
#pragma once

#include <map>
#include <set>
#include <string>

#include "compiler/dim/dim.h"
#include "tvm-vm/status.h"

namespace tvmvm::ir {

// By name; low == high: what the dim is.
using DimFacts = std::map<std::string, DimRange>;

// kInvalidArgument: no dim of the inputs has that name.
Error NoSuchDim(const std::string& name, const std::set<SymbolId>& there);

}  // namespace tvmvm::ir
