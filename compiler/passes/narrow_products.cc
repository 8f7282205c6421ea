// --precision fp16: factors of products and convolutions are kept as f16 between the kernels of a GPU.
//
// Half the bytes are read where most are, and devices with matrix units can use them. Nothing else changes:
// every operator computes in f32 and sums in f32, and a value is f16 only where it lies in memory. A factor
// becomes f16 where whoever makes it can store it so at no cost and all who read it can do with it:
//   - constants, but for those that f16 does not hold (half_weights.h);
//   - results of operators that a conversion fuses with; finite numbers stay finite (cast's `finite`);
//   - what moves such values: views, slices, transposes, ..., maxima of windows.
// Weights of convolutions of channels_last data become channels_last as well: then neighbours in both factors
// are summed one after the other, and can be read at once.
// Inputs and outputs of the model, what control flow carries, and whatever a sum, an exponential or the like
// reads stay f32. A product takes factors of both types, so each factor is decided by itself.

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/half_weights.h"
#include "compiler/passes/pass.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::OpBuilder;
using ir::OpKind;
using ir::ValueId;

constexpr int64_t kFewestChannels = 8;  // and multiples: what is read at once

// Weights that the model has as f16 are as wanted.
bool IsHalfConstant(const Function& function, ValueId value) {
  return function.type(value).dtype == DType::kF16 && function.ConstantOf(value) != nullptr;
}

bool IsProductNode(const Function& function, const Node& node) {
  return IsProduct(*node.op) &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) {
                       return function.type(input).dtype == DType::kF32 || IsHalfConstant(function, input);
                     }) &&
         function.type(node.outputs[0]).dtype == DType::kF32;
}

// Operators that give what they read, f16 or f32, as it is.
bool IsMove(const Node& node) {
  if (node.op->kind == OpKind::kWindow) return node.String("kind") == "max" || node.String("kind") == "min";
  return node.op->traits.moves;
}

// Operators that have a kernel anyway, which a conversion of the result joins (fuse_groups.cc).
bool TakesConversion(const Node& node) {
  const ir::Traits& traits = node.op->traits;
  switch (node.op->kind) {
    case OpKind::kElementwise:
    case OpKind::kContraction:
    case OpKind::kConvolution:
    case OpKind::kTransposedConvolution:
    case OpKind::kWindow:
    case OpKind::kReduce:
      return true;
    default:
      return (traits.pull || traits.final_move) && !traits.free && node.op->view_offset == nullptr;
  }
}

// The axis of a product's factor whose slices go into different elements of the result: -1 where there is not
// just one.
int SliceAxis(const Function& function, const Node& product, size_t factor) {
  if (product.op->kind == OpKind::kConvolution) return factor == 1 ? 0 : -1;
  if (product.op->kind != OpKind::kContraction) return -1;
  const auto& batch = product.Ints(factor == 0 ? "lhs_batch" : "rhs_batch");
  const auto& contract = product.Ints(factor == 0 ? "lhs_contract" : "rhs_contract");
  int axis = -1;
  for (int i = 0; i < function.type(product.inputs[factor]).rank(); ++i) {
    auto holds = [i](const std::vector<int64_t>& axes) {
      return std::find(axes.begin(), axes.end(), i) != axes.end();
    };
    if (holds(batch) || holds(contract)) continue;
    if (axis >= 0) return -1;
    axis = i;
  }
  return axis;
}

// [M, C, k...] as [M, k..., C].
ir::TensorData ChannelsLast(const ir::TensorData& weights) {
  std::vector<int64_t> dims = weights.dims;
  std::vector<std::byte> moved(weights.bytes.size());
  const auto channels = static_cast<size_t>(weights.dims[1]), outputs = static_cast<size_t>(weights.dims[0]);
  const size_t taps = static_cast<size_t>(weights.element_count()) / std::max<size_t>(1, outputs * channels);
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  constexpr size_t kBytes = 2;
  for (size_t m = 0; m < outputs; ++m)
    for (size_t c = 0; c < channels; ++c)
      for (size_t k = 0; k < taps; ++k)
        std::memcpy(moved.data() + ((m * taps + k) * channels + c) * kBytes,
                    weights.bytes.data() + ((m * channels + c) * taps + k) * kBytes, kBytes);
  return ir::TensorData::Owned(weights.dtype, std::move(dims), std::move(moved));
}

// Which values of a function are f16 in memory.
class HalfValues {
 public:
  explicit HalfValues(const Function& function) : function_(function) {
    FindUses();
    for (const auto& [value, uses] : uses_)
      for (const Use& use : uses)
        if (IsProductNode(function_, function_.node(use.node))) Want(value, use);
    // Whatever cannot be f16 takes others with it.
    for (bool changed = true; changed;) {
      std::vector<ValueId> dropped;
      for (ValueId value : wanted_)
        if (!CanBeHalf(value)) dropped.push_back(value);
      for (ValueId value : dropped) wanted_.erase(value);
      changed = !dropped.empty();
    }
  }

  bool Holds(ValueId value) const { return wanted_.contains(value); }
  bool empty() const { return wanted_.empty(); }
  const ir::TensorData& weights(ValueId constant) const { return weights_.at(constant); }
  // Whether a node gives f16 because it reads f16.
  bool MovesHalf(const Node& node) const {
    if (!IsMove(node) || !Holds(node.outputs[0])) return false;
    return std::all_of(node.inputs.begin(),
                       node.inputs.begin() + static_cast<std::ptrdiff_t>(DataInputs(node)),
                       [&](ValueId input) { return Holds(input); });
  }

 private:
  struct Use {
    NodeId node;
    size_t input;
  };

  void FindUses() {
    for (ir::RegionId region : ir::RunningRegions(function_)) {
      for (ValueId result : function_.region(region).results) leaving_.insert(result);
      for (NodeId id : function_.region(region).nodes) {
        const Node& node = function_.node(id);
        for (size_t i = 0; i < node.inputs.size(); ++i)
          if (node.inputs[i].valid()) uses_[node.inputs[i]].push_back({id, i});
      }
    }
  }

  const Node* Producer(ValueId value) const {
    NodeId producer = function_.value(value).producer;
    return producer.valid() ? &function_.node(producer) : nullptr;
  }

  void Want(ValueId value, const Use& use) {
    const Node* producer = Producer(value);
    if (producer == nullptr || function_.type(value).dtype != DType::kF32 || wanted_.contains(value)) return;
    if (const ir::TensorData* data = function_.ConstantOf(value)) {
      auto half = HalfWeights(*data, SliceAxis(function_, function_.node(use.node), use.input));
      if (!half) return;
      weights_.emplace(value, std::move(*half));
    }
    wanted_.insert(value);
    if (!IsMove(*producer)) return;
    for (size_t i = 0; i < DataInputs(*producer); ++i)
      Want(producer->inputs[i], {function_.value(value).producer, i});
  }

  bool CanBeHalf(ValueId value) const {
    const Node& producer = *Producer(value);
    if (producer.op->kind == OpKind::kConstant) return true;  // others may read the f32 one
    if (leaving_.contains(value) || producer.outputs.size() != 1) return false;
    if (!TakesConversion(producer) && !MovesHalf(producer)) return false;
    const std::vector<Use>& uses = uses_.at(value);
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return CanRead(value, use); });
  }

  bool CanRead(ValueId value, const Use& use) const {
    const Node& node = function_.node(use.node);
    if (IsProductNode(function_, node) || MovesHalf(node)) return true;
    // The conversion joins an elementwise operator of the same dims.
    if (node.op->kind != OpKind::kElementwise) return false;
    return !node.op->traits.delicate && function_.type(node.outputs[0]).dims == function_.type(value).dims;
  }

  const Function& function_;
  std::map<ValueId, std::vector<Use>> uses_;
  std::set<ValueId> leaving_;  // results of regions
  std::set<ValueId> wanted_;
  std::map<ValueId, ir::TensorData> weights_;
};

class NarrowedProducts {
 public:
  NarrowedProducts(ir::Module* module, Function* function)
      : old_(*function), values_(old_), rewriter_(module, function) {}

  Status Run() {
    if (values_.empty()) return {};
    rewriter_.Run([this](NodeId id) { return Visit(id); });
    return rewriter_.Finish();
  }

 private:
  OpBuilder& b() { return rewriter_.builder(); }

  bool Visit(NodeId id) {
    const Node& node = old_.node(id);
    if (IsProductNode(old_, node)) {
      VisitProduct(node);
    } else if (values_.MovesHalf(node)) {
      Move(node);
      return true;
    } else if (IsPermutation(&node) && values_.Holds(node.outputs[0])) {
      // In this order, so that the conversion joins the transpose.
      half_[node.outputs[0]] =
          b().Emit("transpose", {Narrow(rewriter_.Map(node.inputs[0]))}, node.attributes);
      return true;
    } else {
      VisitOther(id);
    }
    if (node.outputs.size() == 1 && values_.Holds(node.outputs[0])) Hold(node);
    return true;
  }

  // The value as a product reads it.
  ValueId Factor(ValueId old) { return values_.Holds(old) ? half_.at(old) : rewriter_.Map(old); }

  void VisitProduct(const Node& node) {
    ir::Attributes attributes = node.attributes;
    attributes["dtype"] = DType::kF32;
    std::vector<ValueId> factors;
    for (ValueId input : node.inputs) factors.push_back(Factor(input));
    if (TakesWeightsByChannels(node)) {
      const ValueId weights = node.inputs[1];
      factors[1] = b().Constant(
          ChannelsLast(values_.Holds(weights) ? values_.weights(weights) : *old_.ConstantOf(weights)));
      attributes["weights"] = ir::Layout::kChannelsLast;
    }
    rewriter_.SetMap(node.outputs[0], b().Emit(node.op->name, std::move(factors), std::move(attributes)));
  }

  bool TakesWeightsByChannels(const Node& node) const {
    if (node.op->kind != OpKind::kConvolution || node.LayoutOf("layout") != ir::Layout::kChannelsLast)
      return false;
    ValueId weights = node.inputs[1];
    if (old_.ConstantOf(weights) == nullptr) return false;
    if (!values_.Holds(weights) && !IsHalfConstant(old_, weights)) return false;
    const std::vector<int64_t>& dims = old_.ConstantOf(weights)->dims;
    int64_t taps = 1;
    for (size_t i = 2; i < dims.size(); ++i) taps *= dims[i];
    return taps > 1 && dims[1] % kFewestChannels == 0 && node.Int("groups", 1) == 1;
  }

  void Move(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs)
      inputs.push_back(values_.Holds(input) ? half_.at(input) : b().Cast(rewriter_.Map(input), DType::kF16));
    half_[node.outputs[0]] = b().Emit(node.op->name, std::move(inputs), node.attributes);
    rewriter_.SetName(half_[node.outputs[0]], node.outputs[0]);
  }

  // Each reader has a conversion of its own, which becomes part of it.
  void VisitOther(NodeId id) {
    std::vector<ValueId> inputs;
    for (ValueId input : old_.node(id).inputs) {
      bool is_half_only = input.valid() && values_.Holds(input) && old_.ConstantOf(input) == nullptr;
      inputs.push_back(is_half_only ? b().Cast(half_.at(input), DType::kF32) : rewriter_.Map(input));
    }
    rewriter_.Copy(id, std::move(inputs));
  }

  void Hold(const Node& node) {
    ValueId old = node.outputs[0];
    bool is_constant = node.op->kind == OpKind::kConstant;
    half_[old] = is_constant ? b().Constant(values_.weights(old)) : Narrow(rewriter_.Map(old));
    rewriter_.SetName(half_[old], old);
  }

  ValueId Narrow(ValueId value) {
    return b().Emit("cast", {value}, {{"finite", int64_t{1}}, {"to", DType::kF16}});
  }

  const Function& old_;
  HalfValues values_;
  GraphRewriter rewriter_;
  std::map<ValueId, ValueId> half_;  // old value -> its f16 form in the new function
};

}  // namespace

Status NarrowProducts(ir::Module& module, const PassContext& context) {
  if (!context.half_factors) return {};
  for (Function& function : module.functions) TVMVM_CHECK_OK(NarrowedProducts(&module, &function).Run());
  return {};
}

}  // namespace tvmvm::passes
