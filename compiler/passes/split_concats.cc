// The seams of joined tensors are cut out of a kernel's loops, as far as they are few (cut_range.h). Of many
// inputs some are joined first, and then the results: every element is moved once more for each factor of
// kMost, instead of compared with all seams.

#include <algorithm>

#include "compiler/graph/core_op.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::ValueId;

constexpr size_t kMost = 8;  // inputs of a concat

// Joins neighbours, equally many everywhere, until kMost are left.
std::vector<ValueId> Joined(ir::OpBuilder& b, std::vector<ValueId> values, int axis) {
  while (values.size() > kMost) {
    const size_t groups = (values.size() + kMost - 1) / kMost;
    std::vector<ValueId> joined;
    for (size_t group = 0; group < groups; ++group) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(group * values.size() / groups);
      const auto end = values.begin() + static_cast<std::ptrdiff_t>((group + 1) * values.size() / groups);
      joined.push_back(b.Concat({begin, end}, axis));
    }
    values = std::move(joined);
  }
  return values;
}

}  // namespace

Status SplitConcats(ir::Module& module, const PassContext&) {
  for (ir::Function& function : module.functions) {
    GraphRewriter rewriter(&module, &function);
    rewriter.Run([&](ir::NodeId id) {
      const ir::Node& node = function.node(id);
      if (node.op->traits.axes != ir::AxisMap::kConcat || node.inputs.size() <= kMost) return false;
      std::vector<ValueId> inputs;
      for (ValueId input : node.inputs) inputs.push_back(rewriter.Map(input));
      const auto axis = static_cast<int>(node.Int("axis"));
      ir::OpBuilder& b = rewriter.builder();
      rewriter.SetMap(node.outputs[0], b.Concat(Joined(b, std::move(inputs), axis), axis));
      return true;
    });
    TVMVM_CHECK_OK(rewriter.Finish());
  }
  return {};
}

}  // namespace tvmvm::passes
