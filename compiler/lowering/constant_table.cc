#include "compiler/lowering/constant_table.h"

#include "bytecode/digest.h"

namespace tvmvm::lowering {

ConstantId ConstantTable::Add(ConstantSpec spec, std::shared_ptr<const void> owner) {
  if (spec.dtype == DType::kString) return builder_->AddConstant(std::move(spec), std::move(owner));
  Key key{spec.dtype, spec.dims, DigestOf(spec.bytes).Hex()};
  auto found = known_.find(key);
  if (found == known_.end())
    found = known_.emplace(std::move(key), builder_->AddConstant(std::move(spec), std::move(owner))).first;
  return found->second;
}

}  // namespace tvmvm::lowering
