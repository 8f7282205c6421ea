// The constants of a program under construction: equal ones are kept once. Weights may be tied, a group may
// stand in several places (in a loop and beside it, in the variants for CPU and GPU), each with its packed
// weights.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "bytecode/builder.h"

namespace tvmvm::lowering {

class ConstantTable {
 public:
  explicit ConstantTable(Builder* builder) : builder_(builder) {}

  // As Builder::AddConstant. The name is that of the first of equal constants.
  ConstantId Add(ConstantSpec spec, std::shared_ptr<const void> owner);

 private:
  using Key = std::tuple<DType, std::vector<int64_t>, std::string>;  // with the digest of the bytes

  Builder* builder_;
  std::map<Key, ConstantId> known_;
};

}  // namespace tvmvm::lowering
