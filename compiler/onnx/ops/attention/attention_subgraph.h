// The subgraph that attention with a softmax is, whichever operator asks for it. Everything works on
// [batch, heads, length, size]; several query heads may share a head of keys and values.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/graph/op_builder.h"

namespace tvmvm::ir {

// [batch, length, heads * size] as [batch, heads, length, size], and back. Errors call the operand `what`.
ValueId HeadsApart(OpBuilder& b, ValueId x, const Dim& heads, std::string_view what);
ValueId HeadsJoined(OpBuilder& b, ValueId x);

// What scores are multiplied by: the scale, or 1 / sqrt(size) where there is none.
ValueId AttentionFactor(OpBuilder& b, DType dtype, std::optional<double> scale, const Dim& size);

// query * key^T: [batch, query heads, queries, keys].
ValueId AttentionScores(OpBuilder& b, ValueId query, ValueId key);

// limit * tanh(scores / limit); the scores where the limit is 0 or below.
ValueId Softcapped(OpBuilder& b, ValueId scores, double limit);

// Softmax of each row of scores, in their type. `sink`: a score that takes part in the sum of a row and in
// nothing else, if any. `empty`: [..., 1], the rows that give zeros because no key counts; where it is not
// given, those whose scores are all -inf, or none at all where `may_be_empty` says so.
struct RowRules {
  ValueId sink;
  ValueId empty;
  bool may_be_empty = true;
};
ValueId AttentionWeights(OpBuilder& b, ValueId scores, const RowRules& rules);

// weights * value: [batch, query heads, queries, value size].
ValueId AttentionResult(OpBuilder& b, ValueId weights, ValueId value);

}  // namespace tvmvm::ir
