// What a caller knows of the dims of a module's inputs before anything runs.
#pragma once

#include <map>
#include <set>
#include <string>

#include "compiler/dim/dim.h"
#include "compiler/graph/graph.h"
#include "tvm-vm/status.h"

namespace tvmvm::ir {

// By name; low == high: what the dim is.
using DimFacts = std::map<std::string, DimRange>;

// That each fact is about a symbol which the entry's inputs define, that no other function defines one of the
// name, and that it agrees with what is known. Errors: kInvalidArgument, kUnsupported.
Status CheckFacts(const DimFacts& facts, const Module& module);

// kInvalidArgument: no dim of the inputs has that name.
Error NoSuchDim(const std::string& name, const std::set<SymbolId>& there);

}  // namespace tvmvm::ir
