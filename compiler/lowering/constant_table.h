// The constants of a program under construction: equal ones are kept once. Weights may be tied, a group may
// stand in several places (in a loop and beside it, in the variants for CPU and GPU), each with its packed
// weights.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "bytecode/builder.h"
#include "compiler/graph/graph.h"

namespace tvmvm::lowering {

class ConstantTable {
 public:
  explicit ConstantTable(Builder* builder) : builder_(builder) {}

  // As Builder::AddConstant. The name is that of the first of equal constants.
  ConstantId Add(ConstantSpec spec, std::shared_ptr<const void> owner);
  // `constant` is read by something else than launches on devices.
  void UseOnHost(ConstantId constant) { on_host_.insert(constant.index); }
  // All elements of `data` stand in `packed`, where `place` says.
  void AddPanels(ConstantId packed, const ir::TensorData& data, PanelPlace place);
  // What only devices read and stands in packed constants is not kept beside these. After all is added.
  void FindPlaces();

 private:
  using Key = std::tuple<DType, std::vector<int64_t>, std::string>;  // with the digest of the bytes
  static Key KeyOf(DType dtype, const std::vector<int64_t>& dims, std::span<const std::byte> bytes);

  Builder* builder_;
  std::map<Key, ConstantId> known_;
  std::map<Key, PanelPlace> places_;
  std::set<uint32_t> on_host_;
};

}  // namespace tvmvm::lowering
