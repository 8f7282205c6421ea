#include "compiler/graph/storage.h"

#include <algorithm>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::lowering {
using ir::Dim;
using ir::Dims;
using ir::Function;
using ir::Node;

namespace {

std::optional<Dim> OffsetOf(const Function& function, const Node& node) {
  return node.op->view_offset == nullptr ? std::nullopt : node.op->view_offset(function, node);
}

// What a step makes where the value is a view of it.
ir::ValueId MadeAs(const Function& function, ir::ValueId value) {
  for (ir::NodeId id = function.value(value).producer; id.valid(); id = function.value(value).producer) {
    const Node& node = function.node(id);
    if (!OffsetOf(function, node)) break;
    value = node.inputs[0];
  }
  return value;
}

}  // namespace

bool IsJoin(const Node& node) {
  return node.op->traits.axes == ir::AxisMap::kConcat && node.Int("joined") != 0;
}

bool Views::IsView(const Function& function, const Node& node) {
  return IsJoin(node) || OffsetOf(function, node).has_value();
}

Views::Views(const Function& function) { Add(function, function.body); }

// The last one first: what joins may be joined to others.
void Views::AddJoined(const Function& function, ir::RegionId region) {
  const std::vector<ir::NodeId>& nodes = function.region(region).nodes;
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = function.node(nodes[i]);
    if (!IsJoin(node)) continue;
    Place place = PlaceOf(node.outputs[0]);
    for (ir::ValueId input : node.inputs) {
      const ir::ValueId made = MadeAs(function, input);
      places_[made] = place;
      joined_.insert(made);
      place.byte_offset = place.byte_offset + BytesOf(function.type(input).dtype, function.type(input).dims);
    }
  }
}

void Views::Add(const Function& function, ir::RegionId region) {
  AddJoined(function, region);
  for (ir::NodeId id : function.region(region).nodes) {
    const Node& node = function.node(id);
    if (ir::HasControlRegions(node))
      for (ir::RegionId inner : node.regions) Add(function, inner);
    std::optional<Dim> offset = OffsetOf(function, node);
    if (!offset || IsJoin(node)) continue;
    Place place = PlaceOf(node.inputs[0]);
    place.byte_offset = place.byte_offset + *offset;
    places_[node.outputs[0]] = place;
  }
}

Place Views::PlaceOf(ir::ValueId value) const {
  auto found = places_.find(value);
  return found == places_.end() ? Place{value, 0} : found->second;
}

Dim BytesOf(DType dtype, const Dims& dims) {
  int bits = DTypeBits(dtype);
  Dim count = ir::Product(dims);
  return bits >= 8 ? count * Dim(bits / 8) : CeilDiv(count * Dim(bits), 8);
}

}  // namespace tvmvm::lowering

namespace tvmvm::ir {

bool IsTensorOfNumbers(const Type& type) {
  return type.kind == TypeKind::kTensor && type.ranked && type.dtype != DType::kString;
}

bool CollectsUnknownLength(const Function& function, const Node& loop, size_t number) {
  if (number < CarriedCount(loop)) return false;
  const std::vector<SymbolId> defined = DefinedSymbols(function, loop);
  const SymbolSet unknown(defined.begin(), defined.end());
  const Dims& dims = function.type(loop.outputs[number]).dims;
  return std::ranges::any_of(dims, [&](const Dim& dim) { return MentionsAny(dim, unknown); });
}

}  // namespace tvmvm::ir
