#include "compiler/onnx/importer/flat_views.h"

namespace tvmvm::ir {

bool IsUnranked(const Type& type) { return type.kind == TypeKind::kTensor && !type.ranked; }

Dim RankOf(OpBuilder& b, ValueId value) {
  if (b.type(value).ranked) return b.rank(value);
  const Dim rank = b.module().FreshSymbol({.range = {0, Type::kMostRanks}});
  b.Host(HostFunctionId::kTensorRank, {value}, {}, {}, {rank.symbol()});
  return rank;
}

ValueId FlatViews::ShapeOf(ValueId value) const {
  auto found = shape_of_.find(value);
  return found == shape_of_.end() ? value : found->second;
}

Dims FlatViews::ProbeDims(OpBuilder& b, int rank) {
  while (probe_dims_.size() < static_cast<size_t>(rank)) probe_dims_.push_back(b.module().FreshSymbol());
  return {probe_dims_.begin(), probe_dims_.begin() + rank};
}

ValueId FlatViews::Flat(OpBuilder& b, ValueId value) {
  if (auto found = views_.find(value); found != views_.end() && b.IsOpen(found->second.region))
    return found->second.flat;
  const Type list = Type::Tensor(b.dtype(value), {b.module().FreshSymbol()});
  ValueId flat = b.Host(HostFunctionId::kTensorFlat, {value}, {list})[0];
  const ValueId shape = ShapeOf(value);
  if (auto known = lengths_.find(shape); known != lengths_.end() && b.IsOpen(known->second.region))
    flat = b.Reshape(flat, {known->second.length});
  else
    lengths_[shape] = {list.dims[0], b.region()};
  views_[value] = {flat, b.region()};
  return flat;
}

ValueId FlatViews::Shaped(OpBuilder& b, ValueId flat, ValueId like) {
  Type type = b.type(like);
  type.dtype = b.dtype(flat);
  const ValueId value = b.Host(HostFunctionId::kTensorShapedLike, {flat, ShapeOf(like)}, {type})[0];
  SetSameShape(value, like);
  views_[value] = {flat, b.region()};
  return value;
}

}  // namespace tvmvm::ir
