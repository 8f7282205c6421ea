// Products with few columns and a long depth become several over parts of the depth, whose results are added:
// there are too few columns, and often rows, to divide among threads.
//
//   contract(x [..., k], w [k, n])  ->  sum over s of contract(x [..., s, k / s], w [s, k / s, n])

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
using ir::TensorData;
using ir::ValueId;

constexpr int64_t kMostColumns = 128, kMostRows = 384;
// Parts are so long that what they leave to be added costs little beside them.
constexpr int64_t kShortestPart = 2048, kMostParts = 8;

int64_t PartsOf(int64_t depth) {
  for (int64_t parts = kMostParts; parts > 1; parts /= 2)
    if (depth % parts == 0 && depth / parts >= kShortestPart) return parts;
  return 1;
}

template <class List>
List SplitAxis(const List& dims, int64_t axis, int64_t parts, int64_t length) {
  List split(dims.begin(), dims.begin() + axis);
  split.emplace_back(parts);
  split.emplace_back(length);
  split.insert(split.end(), dims.begin() + axis + 1, dims.end());
  return split;
}

class DepthSplitter {
 public:
  DepthSplitter(ir::Module* module, Function* function) : old_(*function), rewriter_(module, function) {}

  Status Run() {
    rewriter_.Run([this](NodeId id) { return Visit(id); });
    return rewriter_.Finish();
  }

 private:
  bool Visit(NodeId id) {
    const Node& node = old_.node(id);
    if (node.op == nullptr || node.op->kind != ir::OpKind::kContraction) return false;
    const TensorData* weights = old_.ConstantOf(node.inputs[1]);
    const ir::Type &data = old_.type(node.inputs[0]), &result = old_.type(node.outputs[0]);
    if (weights == nullptr || weights->dtype != DType::kF32 || data.dtype != DType::kF32 ||
        result.dtype != DType::kF32)
      return false;
    const std::vector<int64_t>&lhs = node.Ints("lhs_contract"), &rhs = node.Ints("rhs_contract");
    if (!node.Ints("lhs_batch").empty() || lhs.size() != 1 || rhs.size() != 1) return false;
    const int64_t depth = weights->dims[static_cast<size_t>(rhs[0])], parts = PartsOf(depth);
    if (parts == 1 || weights->element_count() / depth > kMostColumns) return false;
    Dim rows = 1;
    for (int64_t axis = 0; axis < data.rank(); ++axis)
      if (axis != lhs[0]) rows = rows * data.dims[static_cast<size_t>(axis)];
    if (rows.constant().value_or(0) > kMostRows) return false;

    ir::OpBuilder& b = rewriter_.builder();
    b.SetSource(node.source);
    TensorData divided = *weights;
    divided.dims = SplitAxis(weights->dims, rhs[0], parts, depth / parts);
    ValueId x = b.Reshape(rewriter_.Map(node.inputs[0]), SplitAxis(data.dims, lhs[0], parts, depth / parts));
    ValueId sums =
        b.Contract(x, b.Constant(std::move(divided)), {lhs[0]}, {rhs[0]}, {lhs[0] + 1}, {rhs[0] + 1});
    sums = b.Reduce(tensor::ReduceKind::kSum, sums, {0});
    rewriter_.SetMap(node.outputs[0], b.Reshape(sums, result.dims));
    return true;
  }

  const Function& old_;
  GraphRewriter rewriter_;
};

}  // namespace

Status SplitDepth(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions) TVMVM_CHECK_OK(DepthSplitter(&module, &function).Run());
  return {};
}

}  // namespace tvmvm::passes
