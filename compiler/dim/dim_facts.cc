#include "compiler/dim/dim_facts.h"

#include <fmt/format.h>

namespace tvmvm::ir {

Error NoSuchDim(const std::string& name, const std::set<SymbolId>& there) {
  std::string list;
  for (const SymbolId& symbol : there) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", symbol.name());
  return {Code::kInvalidArgument,
          fmt::format("no input has a dimension '{}'; there is {}", name, list.empty() ? "none" : list)};
}

}  // namespace tvmvm::ir
