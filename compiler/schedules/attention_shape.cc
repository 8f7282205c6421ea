#include "compiler/schedules/attention_shape.h"

#include <map>
#include <utility>

namespace tvmvm::tensor {

using ir::Dim;
using ir::Dims;

std::optional<AttentionShape> AttentionShape::Find(const GroupView& group, bool with_halves) {
  if (group.nodes().size() < 2 || group.outputs().size() != 1) return std::nullopt;
  std::map<ir::NodeId, int> positions;
  for (ir::NodeId id : group.nodes()) positions.emplace(id, static_cast<int>(positions.size()));
  ir::NodeId last = group.function().value(group.outputs()[0]).producer;
  if (with_halves && positions.contains(last) &&
      group.function().node(last).op->scalar == ExprOp::kCast)  // what rounds the result
    last = group.function().value(group.function().node(last).inputs[0]).producer;
  if (!positions.contains(last) || group.function().node(last).op == nullptr) return std::nullopt;
  std::optional<ir::AttentionGroup> attention =
      ir::FindAttention(group.function(), last, positions, with_halves);
  if (!attention) return std::nullopt;
  return AttentionShape(group, std::move(*attention));
}

AttentionShape::AttentionShape(const GroupView& group, ir::AttentionGroup attention)
    : group_(&group), attention_(std::move(attention)) {
  const ir::Node& scores = group.function().node(attention_.scores);
  const ir::Node& result = group.function().node(attention_.result);
  queries_ = MakeOperand(group, scores.inputs[0], scores.Ints("lhs_batch"), scores.Ints("lhs_contract"));
  keys_ = MakeOperand(group, scores.inputs[1], scores.Ints("rhs_batch"), scores.Ints("rhs_contract"));
  values_ = MakeOperand(group, result.inputs[1], result.Ints("rhs_batch"), result.Ints("rhs_contract"));
  batch_sizes_ = queries_.Sizes(group, queries_.axes.batch);
  row_sizes_ = queries_.Sizes(group, queries_.axes.free);
  depth_sizes_ = queries_.Sizes(group, queries_.axes.depth);
  width_sizes_ = values_.Sizes(group, values_.axes.free);
}

Dim AttentionShape::columns() const {
  return group_->type(keys_.value).dims[static_cast<size_t>(keys_.axes.free[0])];
}

Expr AttentionShape::Element(const ContractionOperand& operand, InputReader& reader, const Expr& batch,
                             const std::vector<Expr>& free, const std::vector<Expr>& depth) const {
  const std::vector<Expr> at = Unflatten(batch, operand.Sizes(*group_, operand.axes.batch));
  std::vector<Expr> index(static_cast<size_t>(group_->type(operand.value).rank()));
  for (const auto& [axes, list] : {std::pair(&operand.axes.batch, &at), std::pair(&operand.axes.free, &free),
                                   std::pair(&operand.axes.depth, &depth)})
    for (size_t i = 0; i < axes->size(); ++i) index[static_cast<size_t>((*axes)[i])] = (*list)[i];
  return reader(operand.value, index);
}

Expr AttentionShape::Query(InputReader& reader, const Expr& batch, const Expr& row, const Expr& k) const {
  return Element(queries_, reader, batch, Unflatten(row, row_sizes_), Unflatten(k, depth_sizes_));
}

Expr AttentionShape::Key(InputReader& reader, const Expr& batch, const Expr& column, const Expr& k) const {
  return Element(keys_, reader, batch, {column}, Unflatten(k, depth_sizes_));
}

Expr AttentionShape::Value(InputReader& reader, const Expr& batch, const Expr& column, const Expr& at) const {
  return Element(values_, reader, batch, Unflatten(at, width_sizes_), {column});
}

std::vector<Expr> AttentionShape::ScoreIndex(ir::ValueId value, const Expr& batch, const Expr& row,
                                             const Expr& column) const {
  Dims leading = group_->type(value).dims;
  leading.pop_back();
  Dims own = batch_sizes_;
  own.insert(own.end(), row_sizes_.begin(), row_sizes_.end());
  std::vector<Expr> index;
  if (leading == own) {
    index = Unflatten(batch, batch_sizes_);
    for (const Expr& at : Unflatten(row, row_sizes_)) index.push_back(at);
  } else {
    index = Unflatten(batch * DimValue(rows()) + row, leading);
  }
  index.push_back(column);
  return index;
}

}  // namespace tvmvm::tensor
