// The operands of attention by role, and which elements of them belong to a score: what its schedules share.
//
// A batch of matrices: queries [rows, depth], keys [columns, depth], values [columns, width]; scores are
// [rows, columns]. Rows, depth and width may be several axes each, as may the batch.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/attention_group.h"
#include "compiler/schedules/product_group.h"

namespace tvmvm::tensor {

class AttentionShape {
 public:
  // Nothing where the group is none around attention (attention_group.h).
  static std::optional<AttentionShape> Find(const GroupView& group, bool with_halves = false);

  const ir::AttentionGroup& attention() const { return attention_; }
  ir::Dim batch() const { return Product(batch_sizes_); }
  ir::Dim rows() const { return Product(row_sizes_); }
  ir::Dim columns() const;
  ir::Dim depth() const { return Product(depth_sizes_); }
  ir::Dim width() const { return Product(width_sizes_); }
  // Whether weights and values are f16.
  bool HasHalves() const { return group_->type(values_.value).dtype == DType::kF16; }

  // Elements of the operands: flat positions within batch, rows, ...
  Expr Query(InputReader& reader, const Expr& batch, const Expr& row, const Expr& k) const;
  Expr Key(InputReader& reader, const Expr& batch, const Expr& column, const Expr& k) const;
  Expr Value(InputReader& reader, const Expr& batch, const Expr& column, const Expr& at) const;
  // The coordinates that the element of a row of scores has in `value`, which may have other leading dims.
  std::vector<Expr> ScoreIndex(ir::ValueId value, const Expr& batch, const Expr& row,
                               const Expr& column) const;

 private:
  AttentionShape(const GroupView& group, ir::AttentionGroup attention);
  Expr Element(const ContractionOperand& operand, InputReader& reader, const Expr& batch,
               const std::vector<Expr>& free, const std::vector<Expr>& depth) const;

  const GroupView* group_;
  ir::AttentionGroup attention_;
  ContractionOperand queries_, keys_, values_;
  ir::Dims batch_sizes_, row_sizes_, depth_sizes_, width_sizes_;
};

}  // namespace tvmvm::tensor
