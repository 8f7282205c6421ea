// Equal expressions have equal numbers.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/expr/expr.h"

namespace tvmvm::tensor {

// Numbers expressions so that equal structure means equal number. Linear in the size of the graph.
class ExprNumbering {
 public:
  uint32_t Number(const Expr& a);

 private:
  struct Key {
    ExprOp op;
    DType dtype;
    int lanes;
    uint32_t id;
    int64_t integer;
    uint64_t number;
    bool saturate;
    bool is_falling;
    uint32_t dim;
    const Reduction* reduction;
    std::vector<uint32_t> operands;
    auto operator<=>(const Key&) const = default;
  };
  std::unordered_map<const ExprNode*, uint32_t> by_node_;
  std::vector<Expr> kept_;  // keeps the nodes of by_node_ alive
  std::map<Key, uint32_t> by_key_;
  std::unordered_map<ir::Dim, uint32_t> dims_;
};

}  // namespace tvmvm::tensor
