// Products whose right operand repeats its rows for several batches read what is repeated where it lies: the
// repetitions become rows of the left operand, as heads that share keys and values do.
//
//   contract(x [b, g, m, k], expand(w [b, 1, k, n]))              ->  contract(x [b, (g, m), k], w [b, k, n])
//   contract(x [b, h * g, m, k], reshape(expand(w [b, h, 1, k, n]))) ->  contract(x [b, h, (g, m), k], w [b,
//   h, k, n])

#include <algorithm>
#include <numeric>

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
using ir::OpKind;
using ir::ValueId;

using Axes = std::vector<int64_t>;

bool IsExpansion(const Node* node) {
  return node != nullptr && node->op->kind == OpKind::kMovement &&
         node->op->traits.axes == ir::AxisMap::kBroadcast;
}

void Erase(Axes* axes, int64_t axis) {
  std::erase(*axes, axis);
  for (int64_t& other : *axes) other -= other > axis;
}

// A contraction as it is rewritten.
struct Product {
  ValueId left, right;
  Axes left_batch, right_batch, left_contract, right_contract;
};

class RepetitionSharer {
 public:
  RepetitionSharer(ir::Module* module, Function* function) : old_(*function), rewriter_(module, function) {}

  Status Run() {
    rewriter_.Run([this](NodeId id) { return Visit(id); });
    return rewriter_.Finish();
  }

 private:
  const Dims& dims(ValueId value) const { return rewriter_.fresh().type(value).dims; }

  bool Visit(NodeId id) {
    const Node& node = old_.node(id);
    if (node.op == nullptr || node.op->kind != OpKind::kContraction) return false;
    product_ = {rewriter_.Map(node.inputs[0]), rewriter_.Map(node.inputs[1]), node.Ints("lhs_batch"),
                node.Ints("rhs_batch"),        node.Ints("lhs_contract"),     node.Ints("rhs_contract")};
    rewriter_.builder().SetSource(node.source);
    bool is_changed = false;
    while (ShareLastBatch()) is_changed = true;
    if (!is_changed) return false;
    ir::OpBuilder& b = rewriter_.builder();
    const ir::Type& result = old_.type(node.outputs[0]);
    ValueId made = b.Contract(product_.left, product_.right, product_.left_batch, product_.right_batch,
                              product_.left_contract, product_.right_contract, result.dtype);
    rewriter_.SetMap(node.outputs[0], b.Reshape(made, result.dims));
    return true;
  }

  // The last pair of batch axes, if the left one lies before all rows: then what it holds stays in its order
  // when it becomes rows.
  bool ShareLastBatch() {
    if (product_.left_batch.empty()) return false;
    const int64_t left = product_.left_batch.back();
    for (int64_t axis = 0; axis < left; ++axis)
      if (!Contains(product_.left_batch, axis) && !Contains(product_.left_contract, axis)) return false;
    // Through transposes, to what they read.
    ValueId source = product_.right;
    Axes perm(dims(source).size());
    std::iota(perm.begin(), perm.end(), 0);
    const Node* maker = rewriter_.Producer(source);
    for (; IsPermutation(maker); maker = rewriter_.Producer(source)) {
      const Axes& inner = maker->Ints("perm");
      for (int64_t& axis : perm) axis = inner[static_cast<size_t>(axis)];
      source = maker->inputs[0];
    }
    const int64_t axis = perm[static_cast<size_t>(product_.right_batch.back())];
    if (IsExpansion(maker)) return ShareWhole(*maker, axis, perm);
    if (maker != nullptr && maker->op->kind == OpKind::kView && !maker->inputs.empty())
      return SharePart(maker->inputs[0], dims(source), axis, perm);
    return false;
  }

  static bool Contains(const Axes& axes, int64_t axis) { return std::ranges::find(axes, axis) != axes.end(); }

  // expand(w) repeats the axis, which is 1 in w: the pair goes.
  bool ShareWhole(const Node& expansion, int64_t axis, Axes perm) {
    Dims wide = dims(expansion.outputs[0]);
    const ValueId read = expansion.inputs[0];
    const Dims& narrow = dims(read);
    if (narrow.size() != wide.size()) return false;
    const auto at = static_cast<size_t>(axis);
    if (!narrow[at].IsConstant(1) || wide[at].IsConstant(1)) return false;
    const ValueId right = WithoutAxis(read, axis);
    wide.erase(wide.begin() + axis);
    ir::OpBuilder& b = rewriter_.builder();
    Erase(&perm, axis);
    product_.right = b.Transpose(b.Expand(right, wide), perm);
    const int64_t gone = product_.right_batch.back();
    product_.right_batch.pop_back();
    for (Axes* axes : {&product_.right_batch, &product_.right_contract})
      for (int64_t& other : *axes) other -= other > gone;
    product_.left_batch.pop_back();
    return true;
  }

  // A view of an expansion merges the repeated axis into the one before it: that one stays.
  bool SharePart(ValueId wide, const Dims& merged, int64_t axis, const Axes& perm) {
    const Node* expansion = rewriter_.Producer(wide);
    if (!IsExpansion(expansion)) return false;
    const Dims &apart = dims(wide), &narrow = dims(expansion->inputs[0]);
    const auto at = static_cast<size_t>(axis);
    if (narrow.size() != apart.size() || apart.size() != merged.size() + 1 || !narrow[at + 1].IsConstant(1))
      return false;
    for (size_t i = 0; i < merged.size(); ++i) {
      const Dim from = i < at ? apart[i] : i == at ? apart[i] * apart[i + 1] : apart[i + 1];
      if (!(from == merged[i])) return false;
    }
    ir::OpBuilder& b = rewriter_.builder();
    Dims shared = apart;
    shared.erase(shared.begin() + axis + 1);
    product_.right = b.Transpose(b.Expand(WithoutAxis(expansion->inputs[0], axis + 1), shared), perm);
    const int64_t left = product_.left_batch.back();
    Dims split = dims(product_.left);
    split[static_cast<size_t>(left)] = apart[at];
    split.insert(split.begin() + left + 1, apart[at + 1]);
    product_.left = b.Reshape(product_.left, split);
    for (Axes* axes : {&product_.left_batch, &product_.left_contract})
      for (int64_t& other : *axes) other += other > left;
    return true;
  }

  // The value without an axis of size 1, which goes before it is transposed.
  ValueId WithoutAxis(ValueId value, int64_t axis) {
    ir::OpBuilder& b = rewriter_.builder();
    const Node* maker = rewriter_.Producer(value);
    if (!IsPermutation(maker)) return b.Squeeze(value, {axis});
    Axes perm = maker->Ints("perm");
    const int64_t from = perm[static_cast<size_t>(axis)];
    const ValueId source = maker->inputs[0];
    Erase(&perm, from);
    return b.Transpose(WithoutAxis(source, from), perm);
  }

  const Function& old_;
  GraphRewriter rewriter_;
  Product product_;
};

}  // namespace

Status ShareRepeated(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions) TVMVM_CHECK_OK(RepetitionSharer(&module, &function).Run());
  return {};
}

}  // namespace tvmvm::passes
