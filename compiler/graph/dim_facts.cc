#include "compiler/graph/dim_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/control.h"

namespace tvmvm::ir {

Error NoSuchDim(const std::string& name, const std::set<SymbolId>& there) {
  std::string list;
  for (const SymbolId& symbol : there) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", symbol.name());
  return {Code::kInvalidArgument,
          fmt::format("no input has a dimension '{}'; there is {}", name, list.empty() ? "none" : list)};
}

Status CheckFacts(const DimFacts& facts, const Module& module) {
  const SymbolSet defined = ParameterSymbols(module.main());
  for (const auto& [name, range] : facts) {
    const SymbolId symbol(name);
    if (!defined.contains(symbol)) return tl::unexpected(NoSuchDim(name, {defined.begin(), defined.end()}));
    for (const Function& function : module.functions)
      if (&function != &module.main() && ParameterSymbols(function).contains(symbol))
        return MakeError(Code::kUnsupported,
                         fmt::format("'{}' is a dimension of @{}, too, where it may be another number", name,
                                     function.name));
    const auto known = module.symbols.find(symbol);
    if (known == module.symbols.end()) continue;
    const DimRange& declared = known->second.range;
    if (std::max(range.low, declared.low) > std::min(range.high, declared.high))
      return MakeError(Code::kInvalidArgument,
                       fmt::format("dimension '{}' is from {} to {}, not from {} to {}", name, declared.low,
                                   declared.high, range.low, range.high));
  }
  return {};
}

}  // namespace tvmvm::ir
