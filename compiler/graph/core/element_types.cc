#include "compiler/graph/core/element_types.h"

#include <fmt/ranges.h>

namespace tvmvm::ir {

std::vector<std::string> TypeNames(DTypeSet types) {
  std::vector<std::string> names;
  for (const NamedDTypes& named : kNamedDTypes) {
    if (!types.contains(named.types)) continue;
    names.emplace_back(named.name);
    types = types - named.types;
  }
  for (int i = 1; i < kDTypeCount; ++i)
    if (DType type = static_cast<DType>(i); types.contains(type)) names.emplace_back(DTypeName(type));
  return names;
}

std::string TypesText(DTypeSet types) { return fmt::format("{}", fmt::join(TypeNames(types), ", ")); }

}  // namespace tvmvm::ir
