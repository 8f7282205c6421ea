// Contractions that multiply no matrices become what they are.
//
//   of a depth of 1:                contract(x [b, m, 1], w [b, 1, n])  ->  mul(x [b, m, 1], w [b, 1, n])
//   of one row and one column:      contract(x [b, 1, k], w [b, k, 1])  ->  sum over k of mul(x [b, k], w [b,
//   k])

#include <algorithm>

#include "compiler/graph/core_op.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

using Axes = std::vector<int64_t>;

bool Contains(const Axes& axes, int64_t axis) { return std::ranges::find(axes, axis) != axes.end(); }

// An operand of a contraction: its sizes by what its axes are for.
struct Operand {
  ValueId value;
  Dims batch, free, contracted;
  bool is_in_order = true;  // the axes that may be larger than 1: batch, free, contracted

  Operand(const Function& function, ValueId input, const Axes& batch_axes, const Axes& contracted_axes)
      : value(input) {
    const Dims& dims = function.type(input).dims;
    Axes order;
    auto add = [&](int64_t axis, Dims* list) {
      list->push_back(dims[static_cast<size_t>(axis)]);
      if (!list->back().IsConstant(1)) order.push_back(axis);
    };
    for (int64_t axis : batch_axes) add(axis, &batch);
    for (int64_t axis = 0; axis < static_cast<int64_t>(dims.size()); ++axis)
      if (!Contains(batch_axes, axis) && !Contains(contracted_axes, axis)) add(axis, &free);
    for (int64_t axis : contracted_axes) add(axis, &contracted);
    is_in_order = std::ranges::is_sorted(order);
  }
};

Dims Joined(const Dims& a, const Dims& b, const Dims& c) {
  Dims all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

class PlainProducts {
 public:
  PlainProducts(ir::Module* module, Function* function) : old_(*function), rewriter_(module, function) {}

  Status Run() {
    rewriter_.Run([this](NodeId id) { return Visit(id); });
    return rewriter_.Finish();
  }

 private:
  bool Visit(NodeId id) {
    const Node& node = old_.node(id);
    if (node.op == nullptr || node.op->kind != ir::OpKind::kContraction) return false;
    const ir::Type& result = old_.type(node.outputs[0]);
    if (!IsFloat(result.dtype)) return false;
    for (ValueId input : node.inputs)
      if (old_.type(input).dtype != result.dtype) return false;
    Operand left(old_, node.inputs[0], node.Ints("lhs_batch"), node.Ints("lhs_contract"));
    Operand right(old_, node.inputs[1], node.Ints("rhs_batch"), node.Ints("rhs_contract"));
    if (!left.is_in_order || !right.is_in_order) return false;
    const bool is_outer = Product(left.contracted).IsConstant(1);
    const bool is_inner = Product(left.free).IsConstant(1) && Product(right.free).IsConstant(1);
    if (!is_outer && !is_inner) return false;

    ir::OpBuilder& b = rewriter_.builder();
    b.SetSource(node.source);
    const ValueId x = rewriter_.Map(left.value), y = rewriter_.Map(right.value);
    ValueId made;
    if (is_outer) {
      const Dims rows(right.free.size(), Dim(1)), columns(left.free.size(), Dim(1));
      made = b.Mul(b.Reshape(x, Joined(left.batch, left.free, rows)),
                   b.Reshape(y, Joined(right.batch, columns, right.free)));
    } else {
      const Dims flat = Joined(left.batch, {Product(left.contracted)}, {});
      made = b.Mul(b.Reshape(x, flat), b.Reshape(y, flat));
      made = b.Reduce(tensor::ReduceKind::kSum, made, {static_cast<int64_t>(left.batch.size())});
    }
    rewriter_.SetMap(node.outputs[0], b.Reshape(made, result.dims));
    return true;
  }

  const Function& old_;
  GraphRewriter rewriter_;
};

}  // namespace

Status RewritePlainProducts(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions) TVMVM_CHECK_OK(PlainProducts(&module, &function).Run());
  return {};
}

}  // namespace tvmvm::passes
