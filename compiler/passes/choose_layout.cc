// Layout: convolutions compute on channels_last data ([N, spatial..., C]), where vectors run along channels
// whatever the picture's size. A value that such a convolution makes exists in channels_last form only; nodes
// that do not care about the order of axes follow it; a node that does gets a transpose back. Transposed
// convolutions become convolutions.

#include <algorithm>
#include <map>
#include <set>

#include "compiler/graph/core_op.h"
#include "compiler/passes/graph_rewriter.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/transposed_convolution.h"

namespace tvmvm::passes {
namespace {

constexpr int64_t kFewChannels = 12, kManyTaps = 9;
constexpr int64_t kVector = 16, kMostRead = 4 * kVector;  // outputs, and channels that they read

using ir::Attribute;
using ir::Attributes;
using ir::Dims;
using ir::Node;
using ir::NodeId;
using ir::OpBuilder;
using ir::OpKind;
using ir::Reorder;
using ir::ValueId;

std::vector<int64_t> ToLast(int rank) {
  std::vector<int64_t> perm{0};
  for (int axis = 2; axis < rank; ++axis) perm.push_back(axis);
  perm.push_back(1);
  return perm;
}

std::vector<int64_t> ToFirst(int rank) {
  std::vector<int64_t> perm{0, rank - 1};
  for (int axis = 1; axis < rank - 1; ++axis) perm.push_back(axis);
  return perm;
}

template <class List>
List Permuted(const List& list, int rank) {
  if (static_cast<int>(list.size()) != rank) return list;
  List result;
  for (int64_t axis : ToLast(rank)) result.push_back(list[static_cast<size_t>(axis)]);
  return result;
}

class LayoutChoice {
 public:
  LayoutChoice(ir::Module* module, ir::Function* function)
      : function_(*function), rewriter_(module, function) {
    FindWanted();
  }

  Status Run() {
    for (NodeId id : function_.region(function_.body).nodes) {
      if (b().failed()) break;
      const Node& node = function_.node(id);
      rewriter_.builder().SetSource(node.source);
      for (ValueId input : node.inputs) FindSource(input);
      if (!Convert(node)) {
        for (ValueId input : node.inputs) NeedFirst(input);
        for (ir::RegionId region : node.regions) NeedRegion(region);
        rewriter_.Copy(id);
      }
    }
    for (ValueId result : function_.region(function_.body).results) NeedFirst(result);
    return rewriter_.Finish();
  }

 private:
  OpBuilder& b() { return rewriter_.builder(); }
  bool HasLast(ValueId old) const { return old.valid() && last_.count(old) != 0; }

  void NeedFirst(ValueId old) {
    if (!HasLast(old) || rewriter_.Map(old).valid()) return;
    rewriter_.SetMap(old, b().Transpose(last_[old], ToFirst(function_.type(old).rank())));
  }

  void NeedRegion(ir::RegionId region) {
    for (NodeId id : function_.region(region).nodes) {
      for (ValueId input : function_.node(id).inputs) NeedFirst(input);
      for (ir::RegionId inner : function_.node(id).regions) NeedRegion(inner);
    }
    for (ValueId result : function_.region(region).results) NeedFirst(result);
  }

  // The operand in channels_last form of `rank` axes; one of fewer axes is broadcast.
  ValueId Last(ValueId old, int rank) {
    if (!old.valid()) return old;
    if (HasLast(old)) return last_[old];
    ValueId value = rewriter_.Map(old);
    int own_rank = b().rank(value);
    if (own_rank == 0) return value;
    if (own_rank < rank) {
      Dims dims(static_cast<size_t>(rank - own_rank), ir::Dim(1));
      dims.insert(dims.end(), b().dims(value).begin(), b().dims(value).end());
      return b().Transpose(b().Reshape(value, dims), ToLast(rank));
    }
    return last_[old] = b().Transpose(value, ToLast(rank));
  }

  // What came from channels_last data, as such or as a list of pixels, is read where it came from.
  void FindSource(ValueId old) {
    if (wanted_.count(old) == 0 || HasLast(old)) return;
    const ValueId value = rewriter_.Map(old);
    const Node* maker = rewriter_.Producer(value);
    if (IsPermuted(maker, ToFirst(b().rank(value)))) {
      last_[old] = maker->inputs[0];
    } else if (maker != nullptr && maker->op->kind == OpKind::kView) {
      const Node* inner = rewriter_.Producer(maker->inputs[0]);
      if (!IsPermuted(inner, ToFirst(3))) return;
      const ValueId pixels = inner->inputs[0];
      const Dims dims = b().dims(value);
      if (dims.size() > 2 && b().dims(pixels)[0] == dims[0] && b().dims(pixels)[2] == dims[1])
        last_[old] = b().Reshape(pixels, Permuted(dims, b().rank(value)));
    }
  }
  static bool IsPermuted(const Node* node, const std::vector<int64_t>& perm) {
    return IsPermutation(node) && node->Ints("perm") == perm;
  }

  bool Convert(const Node& node) {
    if (node.op->kind == OpKind::kConvolution && node.LayoutOf("layout") != ir::Layout::kChannelsLast)
      return ConvertConvolution(node);
    if (node.op->kind == OpKind::kTransposedConvolution) return ConvertTransposedConvolution(node);
    if (IsPermutation(&node) && HasLast(node.inputs[0])) return ConvertPermutation(node);
    int rank = 0;
    for (ValueId input : node.inputs)
      if (HasLast(input)) rank = function_.type(input).rank();
    if (rank != 0 && (IsOnlyScaled(node) || IsOnlyGathered(node))) return false;
    if (rank == 0 || node.outputs.size() != 1 || function_.type(node.outputs[0]).rank() != rank) return false;
    // Its result counts elements row by row: the order of the axes has a meaning.
    if (node.op->kind == OpKind::kWindow && node.String("kind") == "argmax") return false;
    Attributes attributes = node.attributes;
    switch (node.op->traits.reorder) {
      case Reorder::kNever:
        return false;
      case Reorder::kFreely:
        break;
      case Reorder::kLists:
        PermuteLists(&attributes, rank);
        break;
      case Reorder::kAxis:
        attributes["axis"] = PermutedAxis(node.Int("axis"), rank);
        break;
      case Reorder::kLayout:
        if (!HasLast(node.inputs[0])) return false;
        attributes["layout"] = ir::Layout::kChannelsLast;
        break;
    }
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_data = i < ir::DataInputs(node);
      if (!is_data) NeedFirst(node.inputs[i]);
      inputs.push_back(is_data ? Last(node.inputs[i], rank) : rewriter_.Map(node.inputs[i]));
    }
    const ValueId result = b().Emit(node.op->name, std::move(inputs), std::move(attributes));
    if (node.op->traits.reorder == Reorder::kLayout)
      rewriter_.SetMap(node.outputs[0], result);
    else
      Define(node, result);
    return true;
  }

  // All that is channels_last is broadcast to the result, as the scale of each channel is, which costs less
  // to bring back than the picture costs to follow.
  bool IsOnlyScaled(const Node& node) const {
    if (node.op->kind != OpKind::kElementwise || wanted_.count(node.outputs[0]) != 0) return false;
    const Dims& dims = function_.type(node.outputs[0]).dims;
    return std::none_of(node.inputs.begin(), node.inputs.end(),
                        [&](ValueId input) { return HasLast(input) && function_.type(input).dims == dims; });
  }

  // Pictures that grow to be a result are brought back before they do.
  bool IsOnlyGathered(const Node& node) const {
    return node.op->traits.axes == ir::AxisMap::kGather && wanted_.count(node.outputs[0]) == 0;
  }

  bool IsDepthwise(const Node& node) const {
    return node.Int("groups", 1) > 1 && function_.type(node.inputs[1]).dims[1].IsConstant(1);
  }

  // Values that a convolution or a transpose will want as channels_last, be it through nodes that follow.
  void FindWanted() {
    const std::vector<NodeId>& nodes = function_.region(function_.body).nodes;
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
      const Node& node = function_.node(*id);
      if (IsPermuted(&node, ToLast(static_cast<int>(node.Ints("perm").size())))) {
        wanted_.insert(node.inputs[0]);
        continue;
      }
      const bool convolves = node.op->kind == OpKind::kConvolution,
                 transposed = node.op->kind == OpKind::kTransposedConvolution;
      const bool follows = node.outputs.size() == 1 && wanted_.count(node.outputs[0]) != 0 &&
                           (convolves || node.op->traits.reorder != Reorder::kNever);
      if (!follows && !transposed && !(convolves && !IsDepthwise(node))) continue;
      if ((convolves || transposed) && KeepsFirst(node)) continue;
      const size_t count = convolves || transposed ? 1 : ir::DataInputs(node);
      wanted_.insert(node.inputs.begin(),
                     node.inputs.begin() + static_cast<std::ptrdiff_t>(std::min(count, node.inputs.size())));
    }
  }

  // Vectors along the channels would have empty lanes: those along pixels do not.
  bool KeepsFirst(const Node& node) const { return MakesFewChannels(node) || SplitsVectors(node); }

  // They would hold parts of groups, or many empty lanes.
  bool SplitsVectors(const Node& node) const {
    if (node.op->kind != OpKind::kConvolution) return false;
    const Dims& weights = function_.type(node.inputs[1]).dims;
    const int64_t groups = node.Int("groups", 1), outputs = weights[0].constant().value_or(0) / groups,
                  channels = weights[1].constant().value_or(0), taps = weights.back().constant().value_or(0);
    if (groups == 1 || outputs == 0 || channels == 0 || !IsFloat(function_.type(node.inputs[0]).dtype))
      return false;
    if (outputs < kVector)
      return kVector % outputs != 0 || kVector / outputs * channels > kMostRead ||
             taps * channels > kMostRead;
    return channels == 1 || outputs * 5 < (outputs + kVector - 1) / kVector * kVector * 4;
  }

  // Most lanes of vectors along the channels would be empty, and bringing the data here costs less than that.
  bool MakesFewChannels(const Node& node) const {
    const Dims& weights = function_.type(node.inputs[1]).dims;
    const ir::Dim taps = ir::Product(Dims(weights.begin() + 2, weights.end()));
    ir::Dim strides = 1;  // all of them
    for (int64_t stride : node.Ints("strides")) strides = strides * ir::Dim(stride);
    const bool transposed = node.op->kind == OpKind::kTransposedConvolution;
    // A transposed convolution computes the phases of a stride as channels.
    const ir::Dim channels = transposed ? weights[1] * strides : weights[0];
    return channels.constant().value_or(kFewChannels + 1) <= kFewChannels && node.Int("groups", 1) == 1 &&
           taps.constant().value_or(0) >= kManyTaps && IsFloat(function_.type(node.inputs[0]).dtype) &&
           (transposed || strides.IsConstant(1)) && function_.ConstantOf(node.inputs[1]) != nullptr;
  }

  // No other convolution shares the layout. With packed weights there are vectors along pixels, too, and what
  // these cost more is less than two transposes.
  bool IsAlone(const Node& node) const {
    if (HasLast(node.inputs[0]) || wanted_.count(node.outputs[0]) != 0) return false;
    return function_.ConstantOf(node.inputs[1]) != nullptr && IsFloat(function_.type(node.inputs[0]).dtype);
  }

  bool ConvertConvolution(const Node& node) {
    int rank = function_.type(node.inputs[0]).rank();
    if (rank < 3) return false;
    // What computes each channel for itself has vectors along either axis: it follows what lies around it.
    if (IsDepthwise(node) && !HasLast(node.inputs[0]) && wanted_.count(node.inputs[0]) == 0) return false;
    if (IsAlone(node) || KeepsFirst(node)) return false;
    NeedFirst(node.inputs[1]);
    Attributes attributes = node.attributes;
    attributes["layout"] = ir::Layout::kChannelsLast;
    Define(node, b().Emit("conv", {Last(node.inputs[0], rank), rewriter_.Map(node.inputs[1])},
                          std::move(attributes)));
    return true;
  }

  // The builder makes one of it and of the transpose back.
  bool ConvertPermutation(const Node& node) {
    NeedFirst(node.inputs[0]);
    rewriter_.SetMap(node.outputs[0], b().Transpose(rewriter_.Map(node.inputs[0]), node.Ints("perm")));
    return true;
  }

  bool ConvertTransposedConvolution(const Node& node) {
    NeedFirst(node.inputs[1]);
    const ValueId weights = rewriter_.Map(node.inputs[1]);
    if (IsAlone(node) || KeepsFirst(node)) {
      NeedFirst(node.inputs[0]);
      ValueId value =
          ConvolvePhases(b(), node, rewriter_.Map(node.inputs[0]), weights, ir::Layout::kChannelsFirst);
      rewriter_.SetMap(node.outputs[0], value);
      rewriter_.SetName(value, node.outputs[0]);
      return true;
    }
    ValueId x = Last(node.inputs[0], function_.type(node.inputs[0]).rank());
    Define(node, ConvolvePhases(b(), node, x, weights, ir::Layout::kChannelsLast));
    return true;
  }

  void Define(const Node& node, ValueId value) {
    last_[node.outputs[0]] = value;
    rewriter_.SetName(value, node.outputs[0]);
  }

  static int64_t PermutedAxis(int64_t axis, int rank) {
    std::vector<int64_t> first = ToFirst(rank);
    return first[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  }

  static void PermuteLists(Attributes* attributes, int rank) {
    for (auto& [name, attribute] : *attributes) {
      if (auto* dims = std::get_if<Dims>(&attribute))
        *dims = Permuted(*dims, rank);
      else if (auto* list = std::get_if<std::vector<int64_t>>(&attribute))
        *list = Permuted(*list, rank);
    }
  }

  ir::Function& function_;
  GraphRewriter rewriter_;
  std::set<ValueId> wanted_;         // old values that something will want as channels_last
  std::map<ValueId, ValueId> last_;  // old value -> its channels_last form in the new function
};

}  // namespace

Status ChooseLayout(ir::Module& module, const PassContext&) {
  for (ir::Function& function : module.functions) TVMVM_CHECK_OK(LayoutChoice(&module, &function).Run());
  return {};
}

}  // namespace tvmvm::passes
