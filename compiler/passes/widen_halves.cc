// What is computed of 16-bit floats is computed, and kept, in f32: kernels of the CPU compute in f32 anyway,
// and numbers that are not rounded after every operator are nearer to what the model means. Numbers are
// rounded where they are compared, become other types, are sorted or placed, leave the function or are
// carried by a loop, and where the model says so. What is only moved stays as narrow as it is.
#include <algorithm>
#include <vector>

#include "compiler/graph/core_op.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Node;
using ir::OpKind;
using ir::ValueId;
using tensor::ExprOp;

bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

class HalfWidening {
 public:
  HalfWidening(ir::Module* module, Function* function)
      : old_(*function), rewriter_(module, function), wide_(function->values.size()) {}

  Status Run() {
    rewriter_.Run([this](ir::NodeId id) {
      const Node& node = old_.node(id);
      if (node.op == nullptr || node.outputs.size() != 1 || !IsHalf(TypeOf(node.outputs[0]).dtype))
        return false;
      return Computes(node) ? Widen(node) : Moves(node) && Widen(node);
    });
    return rewriter_.Finish();
  }

 private:
  const ir::Type& TypeOf(ValueId value) const { return old_.type(value); }

  static bool Computes(const Node& node) {
    switch (node.op->kind) {
      case OpKind::kElementwise:
        return node.op->scalar != ExprOp::kCast && node.op->scalar != ExprOp::kBitcast;
      case OpKind::kReduce:
      case OpKind::kContraction:
      case OpKind::kConvolution:
      case OpKind::kTransposedConvolution:
      case OpKind::kWindow:
        return true;
      default:
        return false;
    }
  }

  // Whether what is moved is wide already; constants are, where only their axes change places.
  bool Moves(const Node& node) const {
    const bool keeps_all = node.op->kind == OpKind::kView || IsPermutation(&node);
    if (!keeps_all && node.op->kind != OpKind::kMovement) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      if (!input.valid() || !IsHalf(TypeOf(input).dtype)) return true;
      return wide_[input.index].valid() || (keeps_all && old_.ConstantOf(input) != nullptr);
    });
  }

  ValueId Wide(ValueId value) {
    if (!value.valid() || !IsHalf(TypeOf(value).dtype)) return rewriter_.Map(value);
    if (wide_[value.index].valid()) return wide_[value.index];
    return rewriter_.builder().Cast(rewriter_.Map(value), DType::kF32);
  }

  bool Widen(const Node& node) {
    ir::OpBuilder& b = rewriter_.builder();
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) inputs.push_back(Wide(input));
    ir::Attributes attributes = node.attributes;
    if (attributes.contains("dtype")) attributes["dtype"] = DType::kF32;
    const ValueId wide = b.Emit(node.op->name, std::move(inputs), std::move(attributes));
    if (b.failed() || !(b.type(wide).dims == TypeOf(node.outputs[0]).dims)) return false;
    wide_[node.outputs[0].index] = wide;
    rewriter_.SetMap(node.outputs[0], b.Cast(wide, TypeOf(node.outputs[0]).dtype));
    return true;
  }

  const Function& old_;
  GraphRewriter rewriter_;
  std::vector<ValueId> wide_;  // by old value: the same in f32
};

}  // namespace

Status WidenHalves(ir::Module& module, const PassContext& context) {
  if (context.has_gpus) return {};
  for (Function& function : module.functions) TVMVM_CHECK_OK(HalfWidening(&module, &function).Run());
  return {};
}

}  // namespace tvmvm::passes
