// What depends on constants alone is computed here, once. Results much larger than their inputs (a broadcast
// constant) and long computations are left to run time.

#include "compiler/graph/core_op.h"
#include "compiler/graph/evaluate.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::TensorData;
using ir::Type;
using ir::ValueId;

constexpr int64_t kSmallBytes = 64 << 10;
constexpr int64_t kMaxSteps = 20'000'000;

bool IsFoldable(const Node& node) {
  return node.op->element != nullptr && !node.inputs.empty() && node.outputs.size() == 1 &&
         node.regions.empty();
}

// The size of the result, where all of its dims are known.
std::optional<int64_t> BytesOf(const Type& type) {
  int64_t count = 1;
  for (const ir::Dim& dim : type.dims) {
    if (!dim.is_constant() || dim.value() < 0 || __builtin_mul_overflow(count, dim.value(), &count))
      return std::nullopt;
  }
  if (count > INT64_MAX / 16) return std::nullopt;
  return DTypeBytes(type.dtype, count);
}

// The node's result, when its inputs are constants and it is worth computing.
std::optional<TensorData> Fold(const GraphRewriter& rewriter, const Node& node) {
  std::vector<const TensorData*> inputs;
  std::vector<Type> types;
  int64_t input_bytes = 0;
  for (ValueId input : node.inputs) {
    ValueId fresh = rewriter.Map(input);
    inputs.push_back(fresh.valid() ? rewriter.fresh().ConstantOf(fresh) : nullptr);
    if (fresh.valid() && inputs.back() == nullptr) return std::nullopt;
    types.push_back(fresh.valid() ? rewriter.fresh().type(fresh) : Type());
    if (fresh.valid()) input_bytes += static_cast<int64_t>(inputs.back()->bytes.size());
  }
  const Type& type = rewriter.old().type(node.outputs[0]);
  std::optional<int64_t> bytes = BytesOf(type);
  if (!bytes || (*bytes > kSmallBytes && *bytes > 2 * input_bytes)) return std::nullopt;
  auto no_symbols = [](const ir::SymbolId&) { return std::optional<int64_t>(); };
  auto results = ir::EvaluateNode(node, types, {type}, inputs, no_symbols, kMaxSteps);
  if (!results) return std::nullopt;  // left to run time
  return std::move(results->front());
}

// A transpose of weights that others read as they are: a product takes it over, and they stand there once.
bool TurnsSharedWeights(const GraphRewriter& rewriter, const Node& node) {
  if (!IsPermutation(&node) || rewriter.UseCount(node.inputs[0]) < 2) return false;
  const ValueId fresh = rewriter.Map(node.inputs[0]);
  const TensorData* data = rewriter.fresh().ConstantOf(fresh);
  return data != nullptr && static_cast<int64_t>(data->bytes.size()) > kSmallBytes;
}

Status FoldAll(ir::Module& module, bool turns_shared_weights) {
  for (Function& function : module.functions) {
    GraphRewriter rewriter(&module, &function);
    rewriter.Run([&](NodeId id) {
      const Node& node = function.node(id);
      if (!IsFoldable(node) || (!turns_shared_weights && TurnsSharedWeights(rewriter, node))) return false;
      std::optional<TensorData> folded = Fold(rewriter, node);
      if (!folded) return false;
      rewriter.SetMap(node.outputs[0], rewriter.builder().Constant(std::move(*folded)));
      return true;
    });
    TVMVM_CHECK_OK(rewriter.Finish());
  }
  return {};
}

}  // namespace

Status FoldConstants(ir::Module& module, const PassContext&) { return FoldAll(module, false); }
Status FoldWeights(ir::Module& module, const PassContext&) { return FoldAll(module, true); }

}  // namespace tvmvm::passes
