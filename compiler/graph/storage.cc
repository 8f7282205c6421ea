#include "compiler/graph/storage.h"

#include <algorithm>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::lowering {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Function;
using ir::Node;
using ir::OpKind;

// A slice with unit steps whose sliced axis has only axes of size 1 before it and only whole axes after it.
bool IsContiguousSlice(const Function& function, const Node& node) {
  if (node.op->name != "slice") return false;
  const ir::Type& type = function.type(node.inputs[0]);
  if (DTypeBits(type.dtype) < 8) return false;
  const Dims& sizes = node.DimList("dims");
  const Dims& steps = node.DimList("steps");
  int axis = type.rank() - 1;
  while (axis >= 0 && sizes[axis] == type.dims[axis] && steps[axis].IsConstant(1)) --axis;  // whole axes
  if (axis < 0) return true;
  if (!steps[axis].IsConstant(1) && !sizes[axis].IsConstant(1)) return false;
  for (int outer = 0; outer < axis; ++outer)
    if (!sizes[outer].IsConstant(1)) return false;
  return true;
}

Dim SliceOffset(const Function& function, const Node& node) {
  const ir::Type& type = function.type(node.inputs[0]);
  const Dims& starts = node.DimList("starts");
  Dim offset = 0;
  for (int axis = 0; axis < type.rank(); ++axis) {
    if (node.DimList("dims")[axis] == type.dims[axis] && node.DimList("steps")[axis].IsConstant(1)) {
      offset = offset * type.dims[axis];
      continue;
    }
    offset = offset * type.dims[axis] + starts[axis];
  }
  return offset * Dim(DTypeBits(type.dtype) / 8);
}

}  // namespace

bool Views::IsView(const Function& function, const Node& node) {
  return node.op->kind == OpKind::kView || IsContiguousSlice(function, node);
}

Views::Views(const Function& function) { Add(function, function.body); }

void Views::Add(const Function& function, ir::RegionId region) {
  for (ir::NodeId id : function.region(region).nodes) {
    const Node& node = function.node(id);
    if (ir::HasControlRegions(node))
      for (ir::RegionId inner : node.regions) Add(function, inner);
    if (!IsView(function, node)) continue;
    Place place = PlaceOf(node.inputs[0]);
    if (node.op->kind != OpKind::kView) place.byte_offset = place.byte_offset + SliceOffset(function, node);
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
  const std::vector<std::string> unknown = DefinedSymbols(function, loop);
  std::vector<std::string> symbols;
  for (const Dim& dim : function.type(loop.outputs[number]).dims) CollectSymbols(dim, &symbols);
  return std::ranges::any_of(symbols, [&](const std::string& symbol) {
    return std::find(unknown.begin(), unknown.end(), symbol) != unknown.end();
  });
}

}  // namespace tvmvm::ir
