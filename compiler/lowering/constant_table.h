// The constants of a program under construction. The two variants of a model (CPU alone, with a GPU) have the
// same weights: equal constants are kept once.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "bytecode/builder.h"

namespace tvmvm::lowering {

class ConstantTable {
 public:
  // `share`: look for equal ones, which reads all bytes.
  ConstantTable(Builder* builder, bool share) : builder_(builder), share_(share) {}

  // As Builder::AddConstant. The name is that of the first of equal constants.
  ConstantId Add(ConstantSpec spec, std::shared_ptr<const void> owner);

 private:
  using Key = std::tuple<DType, std::vector<int64_t>, std::string>;  // with the digest of the bytes

  Builder* builder_;
  bool share_;
  std::map<Key, ConstantId> known_;
};

}  // namespace tvmvm::lowering
