#include "compiler/dim/symbol.h"

#include <utility>

namespace tvmvm::ir {

SymbolId::SymbolId(std::string name) {
  if (name.empty()) return;
  const size_t hash = std::hash<std::string>{}(name);
  node_ = std::make_shared<const Node>(Node{std::move(name), hash});
}

const std::string& SymbolId::name() const {
  static const std::string kNone;
  return node_ == nullptr ? kNone : node_->name;
}

}  // namespace tvmvm::ir
