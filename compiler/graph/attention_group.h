// Attention: two contractions with arithmetic on rows between them, softmax(f(q k)) v. Whatever exporters
// write around the scores - scales, masks, guards - is part of it as long as it is elementwise or reduces a
// row of scores.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace tvmvm::ir {

struct AttentionGroup {
  NodeId scores, result;  // the contractions
  // What the row arithmetic starts from, elementwise in the scores, and what it ends in. Views may lie before
  // and behind, which keep a row together: the values of one row may have other leading dims than the scores.
  ValueId first, weights;
  // The reductions, and elementwise nodes of one element a row, in order.
  std::vector<NodeId> row_nodes;
  // Everything from `scores` to `result`, in order. Only the result may be used elsewhere.
  std::vector<NodeId> members;
};

// The group that ends in contraction `result`, whose left operand the scores become, of nodes that
// `positions` holds, in whose order they run. Every row can be computed where its scores lie: no element is
// needed again once what is made of it is in its place. Nothing where the contraction ends no such group. All
// is f32; with `with_halves`, factors of the contractions may be f16.
std::optional<AttentionGroup> FindAttention(const Function& function, NodeId result,
                                            const std::map<NodeId, int>& positions, bool with_halves = false);

// Attention whose row arithmetic is a softmax: weights are exp(first - shift(max)) times or by something that
// depends on the row alone. Then parts of a row can be taken one after the other: what was summed so far is
// scaled by exp(shift(old max) - shift(new max)).
struct OnlineSoftmax {
  ValueId maximum, shift;     // the row's largest score, and what is made of it
  ValueId exponentials, sum;  // elements, and their sum
  ValueId weights;            // before they are rounded to f16
};
std::optional<OnlineSoftmax> FindOnlineSoftmax(const Function& function, const AttentionGroup& group);

}  // namespace tvmvm::ir
