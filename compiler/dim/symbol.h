// SymbolId: which symbol of a dim is meant. A handle to an immutable name: cheap to copy, safe to share and
// to use from several threads. A string is never a symbol by itself, nor the other way round.
//
// Symbols of one name are the same one, wherever they were made; copies of one handle are told to be equal
// without a look at the name. They are ordered by name, so that canonical forms and texts are reproducible.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

namespace tvmvm::ir {

class SymbolId {
 public:
  SymbolId() = default;  // none: its name is ""
  explicit SymbolId(std::string name);
  explicit SymbolId(std::string_view name) : SymbolId(std::string(name)) {}
  explicit SymbolId(const char* name) : SymbolId(std::string(name)) {}

  bool is_none() const { return node_ == nullptr; }
  const std::string& name() const;
  // As a dim is written: quoted where it is no identifier, "?" for none.
  std::string ToString() const;
  size_t Hash() const { return node_ == nullptr ? 0 : node_->hash; }

  friend bool operator==(const SymbolId& a, const SymbolId& b) {
    return a.node_ == b.node_ || (a.Hash() == b.Hash() && a.name() == b.name());
  }
  friend std::strong_ordering operator<=>(const SymbolId& a, const SymbolId& b) {
    if (a.node_ == b.node_) return std::strong_ordering::equal;
    return a.name().compare(b.name()) <=> 0;
  }

 private:
  struct Node {
    std::string name;
    size_t hash = 0;
  };
  std::shared_ptr<const Node> node_;
};

}  // namespace tvmvm::ir

template <>
struct std::hash<tvmvm::ir::SymbolId> {
  size_t operator()(const tvmvm::ir::SymbolId& symbol) const noexcept { return symbol.Hash(); }
};

namespace tvmvm::ir {
using SymbolSet = std::unordered_set<SymbolId>;
}  // namespace tvmvm::ir
