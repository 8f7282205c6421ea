// Weights of products stay as narrow as the model has them.
//
// Numbers that are dequantized from constants, (codes - zero) * scale, become one `dequantize`, which
// products compute as they read the codes; and widened constants of f16 and bf16 are read as they are. Both
// find their constants behind transposes, too. What is small is left to folding: it is read faster when it is
// wide.

#include <algorithm>
#include <vector>

#include "compiler/graph/core_op.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::TensorData;
using ir::ValueId;
using tensor::ExprOp;

constexpr int64_t kFewestNumbers = 16 << 10;

bool IsCode(DType dtype) { return IsInteger(dtype) && DTypeBits(dtype) <= 8; }
bool IsNarrowFloat(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }
// The products whose schedules read narrow weights.
bool ReadsNarrowWeights(const Node& node) {
  return node.op->kind == OpKind::kContraction ||
         (node.op->kind == OpKind::kConvolution && node.Int("groups", 1) == 1);
}

class NarrowedWeights {
 public:
  NarrowedWeights(ir::Module* module, Function* function)
      : old_(*function), feeds_product_(FindFeeding(*function)), rewriter_(module, function) {}

  Status Run() {
    rewriter_.Run([this](NodeId id) {
      const Node& node = old_.node(id);
      return ReadsNarrowWeights(node) ? ReadNarrow(node) : Dequantize(node);
    });
    return rewriter_.Finish();
  }

 private:
  ir::OpBuilder& b() { return rewriter_.builder(); }

  // Which values are right operands of products, perhaps transposed before.
  static std::vector<bool> FindFeeding(const Function& function) {
    std::vector<bool> feeds(function.values.size(), false);
    for (size_t i = function.nodes.size(); i-- > 0;) {
      const Node& node = function.nodes[i];
      if (node.op == nullptr) continue;
      if (ReadsNarrowWeights(node)) feeds[node.inputs[1].index] = true;
      const bool moves = IsPermutation(&node);
      if (moves && feeds[node.outputs[0].index]) feeds[node.inputs[0].index] = true;
    }
    return feeds;
  }

  bool DependsOnConstants(ValueId value) const {
    if (old_.ConstantOf(value) != nullptr) return true;
    const NodeId producer = old_.value(value).producer;
    if (!producer.valid()) return false;
    const Node& node = old_.node(producer);
    return node.op->element != nullptr && !node.inputs.empty() && node.regions.empty() &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return !input.valid() || DependsOnConstants(input); });
  }

  const TensorData* Codes(ValueId value) const {
    const TensorData* data = old_.ConstantOf(value);
    return data != nullptr && IsCode(data->dtype) && data->element_count() >= kFewestNumbers ? data : nullptr;
  }

  // A scale or zero point: one for all, or one for each index of some axes.
  bool IsParameter(ValueId value, const TensorData& codes) const {
    const ir::Dims& dims = old_.type(value).dims;
    if (dims.size() > codes.dims.size() || !DependsOnConstants(value)) return false;
    const size_t offset = codes.dims.size() - dims.size();
    for (size_t i = 0; i < dims.size(); ++i)
      if (!dims[i].IsConstant(1) && !dims[i].IsConstant(codes.dims[offset + i])) return false;
    return true;
  }

  // mul(cast(sub(cast(codes), zero)), scale) and what lacks a part of it.
  bool Dequantize(const Node& node) {
    if (node.op->scalar != ExprOp::kMul || !feeds_product_[node.outputs[0].index] ||
        old_.type(node.outputs[0]).dtype != DType::kF32)
      return false;
    for (int side = 0; side < 2; ++side) {
      const Node* number = rewriter_.OldProducer(node.inputs[side], ExprOp::kCast);
      const Node* difference =
          rewriter_.OldProducer(number ? number->inputs[0] : node.inputs[side], ExprOp::kSub);
      const Node* wide = difference ? rewriter_.OldProducer(difference->inputs[0], ExprOp::kCast) : number;
      const TensorData* codes = wide ? Codes(wide->inputs[0]) : nullptr;
      const ValueId scale = node.inputs[1 - side];
      const ValueId zero = difference ? difference->inputs[1] : ValueId();
      if (codes == nullptr || !IsParameter(scale, *codes) || (zero.valid() && !IsParameter(zero, *codes)))
        continue;
      Emit(node, wide->inputs[0], *codes, scale, zero);
      return true;
    }
    return false;
  }

  void Emit(const Node& node, ValueId data, const TensorData& codes, ValueId scale, ValueId zero) {
    std::vector<int64_t> blocks(codes.dims.size(), 1);
    auto parameter = [&](ValueId old) {
      ir::Dims dims = old_.type(old).dims;
      dims.insert(dims.begin(), codes.dims.size() - dims.size(), ir::Dim(1));
      return b().Reshape(rewriter_.Map(old), dims);
    };
    std::vector<ValueId> inputs{rewriter_.Map(data), parameter(scale)};
    if (zero.valid()) inputs.push_back(parameter(zero));
    rewriter_.SetMap(node.outputs[0],
                     b().Emit("dequantize", std::move(inputs), {{"blocks", std::move(blocks)}}));
  }

  // The right operand without the cast that widens it.
  bool ReadNarrow(const Node& node) {
    // Convolutions have work enough for each weight, and forms of their own for wide ones.
    if (node.op->kind == OpKind::kConvolution) return false;
    const ValueId narrow = WithoutCast(node.inputs[1]);
    const bool has_floats =
        old_.type(node.inputs[0]).dtype == DType::kF32 && old_.type(node.outputs[0]).dtype == DType::kF32;
    if (!narrow.valid() || !has_floats) return false;
    ir::Attributes attributes = node.attributes;
    attributes["dtype"] = DType::kF32;
    rewriter_.SetMap(node.outputs[0],
                     b().Emit(node.op->name, {rewriter_.Map(node.inputs[0]), narrow}, std::move(attributes)));
    return true;
  }

  ValueId WithoutCast(ValueId value) {
    const NodeId producer = old_.value(value).producer;
    if (!producer.valid() || old_.type(value).dtype != DType::kF32) return {};
    const Node& node = old_.node(producer);
    if (node.op->scalar == ExprOp::kCast) {
      const TensorData* data = old_.ConstantOf(node.inputs[0]);
      const bool is_wanted =
          data != nullptr && IsNarrowFloat(data->dtype) && data->element_count() >= kFewestNumbers;
      return is_wanted ? rewriter_.Map(node.inputs[0]) : ValueId();
    }
    if (!IsPermutation(&node)) return {};
    const ValueId moved = WithoutCast(node.inputs[0]);
    return moved.valid() ? b().Emit(node.op->name, {moved}, node.attributes) : ValueId();
  }

  const Function& old_;
  std::vector<bool> feeds_product_;  // by value
  GraphRewriter rewriter_;
};

}  // namespace

Status NarrowWeights(ir::Module& module, const PassContext&) {
  for (Function& function : module.functions) TVMVM_CHECK_OK(NarrowedWeights(&module, &function).Run());
  return {};
}

}  // namespace tvmvm::passes
