#include "compiler/lowering/constant_table.h"

#include "bytecode/digest.h"

namespace tvmvm::lowering {
namespace {

constexpr size_t kMinBytesOfPlaced = 4096;  // less is not worth the words that say where it is

}  // namespace

ConstantTable::Key ConstantTable::KeyOf(DType dtype, const std::vector<int64_t>& dims,
                                        std::span<const std::byte> bytes) {
  return {dtype, dims, DigestOf(bytes).Hex()};
}

ConstantId ConstantTable::Add(ConstantSpec spec, std::shared_ptr<const void> owner) {
  if (spec.dtype == DType::kString) return builder_->AddConstant(std::move(spec), std::move(owner));
  Key key = KeyOf(spec.dtype, spec.dims, spec.bytes);
  auto found = known_.find(key);
  if (found == known_.end())
    found = known_.emplace(std::move(key), builder_->AddConstant(std::move(spec), std::move(owner))).first;
  return found->second;
}

void ConstantTable::AddPanels(ConstantId packed, const ir::TensorData& data, PanelPlace place) {
  if (data.bytes.size() < kMinBytesOfPlaced) return;
  place.constant = packed;
  places_.emplace(KeyOf(data.dtype, data.dims, data.bytes), std::move(place));
}

void ConstantTable::FindPlaces() {
  for (auto& [key, place] : places_) {
    const auto found = known_.find(key);
    if (found != known_.end() && !on_host_.contains(found->second.index))
      builder_->SetPlace(found->second, std::move(place));
  }
}

}  // namespace tvmvm::lowering
