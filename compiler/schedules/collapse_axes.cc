#include "compiler/schedules/collapse_axes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace tvmvm::tensor {
namespace {

using ir::AxisMap;
using ir::Dim;
using ir::Dims;
using ir::Node;
using ir::OpKind;
using ir::ValueId;

// The boundaries between neighbouring axes of all values, in classes that are kept or merged together.
class Boundaries {
 public:
  explicit Boundaries(const GroupView& group) : group_(group) {}

  void AddValue(ValueId value) {
    if (first_.contains(value)) return;
    first_[value] = static_cast<int>(parent_.size());
    for (int axis = 1; axis < group_.type(value).rank(); ++axis) {
      parent_.push_back(static_cast<int>(parent_.size()));
      kept_.push_back(false);
    }
  }
  // Boundary `axis` lies between axis - 1 and axis; those outside of the value are ignored.
  void Keep(ValueId value, int axis) {
    if (Exists(value, axis)) kept_[Root(value, axis)] = true;
  }
  void KeepAll(ValueId value) {
    for (int axis = 1; axis < group_.type(value).rank(); ++axis) Keep(value, axis);
  }
  void Tie(ValueId a, int axis_a, ValueId b, int axis_b) {
    if (!Exists(a, axis_a) || !Exists(b, axis_b)) return;
    int x = Root(a, axis_a), y = Root(b, axis_b);
    parent_[x] = y;
    kept_[y] = kept_[x] || kept_[y];
  }
  bool IsKept(ValueId value, int axis) { return kept_[Root(value, axis)]; }

 private:
  bool Exists(ValueId value, int axis) const { return axis >= 1 && axis < group_.type(value).rank(); }
  int Root(ValueId value, int axis) {
    int i = first_.at(value) + axis - 1;
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  const GroupView& group_;
  std::map<ValueId, int> first_;
  std::vector<int> parent_;
  std::vector<bool> kept_;
};

// Runs of axes that become one: [begin, end) of the old axes for each new axis.
struct AxisRun {
  int begin, end;
};

int RunOf(const std::vector<AxisRun>& runs, int axis) {
  for (size_t i = 0; i < runs.size(); ++i) {
    if (axis < runs[i].end) return static_cast<int>(i);
  }
  return static_cast<int>(runs.size()) - 1;
}

Dim ProductOf(const Dims& dims, int begin, int end) {
  return Product(Dims(dims.begin() + begin, dims.begin() + end));
}

class Collapser {
 public:
  explicit Collapser(const GroupView& group)
      : group_(group), function_(group.function()), boundaries_(group) {}

  CollapsedGroup Run() {
    for (ValueId input : group_.inputs()) {
      if (input.valid()) boundaries_.AddValue(input);
    }
    for (ir::NodeId id : group_.nodes()) {
      for (ValueId output : function_.node(id).outputs) boundaries_.AddValue(output);
    }
    FindRoots();
    for (ValueId root : roots_) MarkLive(root);
    for (ir::NodeId id : group_.nodes()) {
      if (IsLive(function_.node(id))) Constrain(function_.node(id));
    }
    for (ValueId root : roots_) TieEqual(root, roots_[0]);
    return Rewrite();
  }

 private:
  // --- which values are seen ---
  const Node* ViewOf(ValueId value) const {
    ir::NodeId producer = function_.value(value).producer;
    if (group_.InputNumber(value) >= 0 || !producer.valid()) return nullptr;
    const Node& node = function_.node(producer);
    return node.op->kind == OpKind::kView ? &node : nullptr;
  }
  // The group's input whose bytes `value` has, or -1.
  int AliasedInput(ValueId value) const {
    while (const Node* view = ViewOf(value)) value = view->inputs[0];
    return group_.InputNumber(value);
  }
  // Reshapes at the end only rename axes.
  void FindRoots() {
    for (ValueId output : group_.outputs()) {
      while (const Node* view = ViewOf(output)) output = view->inputs[0];
      roots_.push_back(output);
    }
  }

  // What the roots need, down to the inputs and their reshapes.
  void MarkLive(ValueId value) {
    ir::NodeId producer = function_.value(value).producer;
    if (!live_.insert(value).second || AliasedInput(value) >= 0 || !producer.valid()) return;
    for (ValueId input : function_.node(producer).inputs) {
      if (input.valid()) MarkLive(input);
    }
  }
  bool IsLive(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId output) { return live_.contains(output) && AliasedInput(output) < 0; });
  }

  // --- what each operator demands ---
  void Constrain(const Node& node) {
    if (node.op->kind == OpKind::kConstant || node.op->kind == OpKind::kDimsTensor) return;
    switch (node.op->traits.axes) {
      case AxisMap::kBroadcast:
        for (ValueId input : node.inputs) Broadcast(input, node.outputs[0]);
        return;
      case AxisMap::kRegroup:
        return Reshape(node.inputs[0], node.outputs[0]);
      case AxisMap::kReduce:
        return Reduction(node);
      case AxisMap::kPermute:
        return Transpose(node);
      case AxisMap::kSlice:
        return Slice(node);
      case AxisMap::kPad:
        return Pad(node);
      case AxisMap::kConcat:
        return Concat(node);
      case AxisMap::kGather:
        return Gather(node);
      case AxisMap::kIndex:
        return KeepAxis(node.outputs[0], static_cast<int>(node.Int("axis")));
      case AxisMap::kOpaque:
        for (ValueId value : node.inputs) {
          if (value.valid()) boundaries_.KeepAll(value);
        }
        for (ValueId value : node.outputs) boundaries_.KeepAll(value);
    }
  }

  void KeepAxis(ValueId value, int axis) {
    boundaries_.Keep(value, axis);
    boundaries_.Keep(value, axis + 1);
  }

  const Dims& dims(ValueId value) const { return group_.type(value).dims; }

  void TieEqual(ValueId a, ValueId b) {
    if (dims(a) != dims(b)) return;
    for (int axis = 1; axis < static_cast<int>(dims(a).size()); ++axis) boundaries_.Tie(a, axis, b, axis);
  }

  void Broadcast(ValueId operand, ValueId result) {
    if (!operand.valid()) return;
    enum Status { kAny, kFull, kRepeated };
    const Dims &from = dims(operand), &to = dims(result);
    int shift = static_cast<int>(to.size()) - static_cast<int>(from.size());
    Status last = kAny;
    for (int axis = 0; axis < static_cast<int>(to.size()); ++axis) {
      boundaries_.Tie(operand, axis - shift, result, axis);
      if (to[axis].IsConstant(1)) continue;
      Status status = kRepeated;
      if (axis >= shift && !from[axis - shift].IsConstant(1)) {
        status = kFull;
        if (from[axis - shift] != to[axis]) {  // repeated or not: known only at run time
          boundaries_.Keep(result, axis);
          boundaries_.Keep(result, axis + 1);
        }
      }
      if (last != kAny && status != last) boundaries_.Keep(result, axis);
      last = status;
    }
  }

  // Boundaries at equal offsets are the same boundary; between two of them, all others are kept or none.
  void Reshape(ValueId operand, ValueId result) {
    const Dims &from = dims(operand), &to = dims(result);
    std::vector<std::pair<ValueId, int>> between;
    auto tie_between = [&] {
      for (size_t i = 1; i < between.size(); ++i) {
        boundaries_.Tie(between[0].first, between[0].second, between[i].first, between[i].second);
      }
      between.clear();
    };
    int next = 1;
    for (int axis = 1; axis < static_cast<int>(to.size()); ++axis) {
      Dim offset = ProductOf(to, 0, axis);
      int same = next;
      while (same < static_cast<int>(from.size()) && ProductOf(from, 0, same) != offset) ++same;
      if (same >= static_cast<int>(from.size())) {
        between.emplace_back(result, axis);
        continue;
      }
      for (; next < same; ++next) between.emplace_back(operand, next);
      tie_between();
      boundaries_.Tie(operand, same, result, axis);
      next = same + 1;
    }
    for (; next < static_cast<int>(from.size()); ++next) between.emplace_back(operand, next);
    tie_between();
  }

  void Reduction(const Node& node) {
    ValueId operand = node.inputs[0], result = node.outputs[0];
    const Dims& flags = node.DimList("flags");
    bool finds_index = node.String("kind").starts_with("arg");
    const Dim* last = nullptr;
    for (int axis = 0; axis < static_cast<int>(flags.size()); ++axis) {
      boundaries_.Tie(operand, axis, result, axis);
      if (finds_index && !flags[axis].IsConstant(0)) {
        boundaries_.Keep(result, axis);
        boundaries_.Keep(result, axis + 1);
      }
      if (dims(operand)[axis].IsConstant(1) && flags[axis].is_constant()) continue;
      if (last != nullptr && *last != flags[axis]) boundaries_.Keep(result, axis);
      if (!flags[axis].is_constant()) {
        boundaries_.Keep(result, axis);
        boundaries_.Keep(result, axis + 1);
      }
      last = &flags[axis];
    }
  }

  void Transpose(const Node& node) {
    const std::vector<int64_t>& perm = node.Ints("perm");
    int rank = static_cast<int>(perm.size());
    std::vector<bool> tied(rank + 1, false);
    for (int axis = 1; axis < rank; ++axis) {
      if (perm[axis] == perm[axis - 1] + 1) {
        boundaries_.Tie(node.inputs[0], static_cast<int>(perm[axis]), node.outputs[0], axis);
        tied[perm[axis]] = true;
      } else {
        boundaries_.Keep(node.outputs[0], axis);
      }
    }
    for (int axis = 1; axis < rank; ++axis) {
      if (!tied[axis]) boundaries_.Keep(node.inputs[0], axis);
    }
  }

  // An axis that is taken whole belongs to the one before it, when that one is a contiguous part.
  void Slice(const Node& node) {
    const Dims &starts = node.DimList("starts"), &steps = node.DimList("steps");
    const Dims &from = dims(node.inputs[0]), &to = dims(node.outputs[0]);
    for (int axis = 1; axis < static_cast<int>(to.size()); ++axis) {
      boundaries_.Tie(node.inputs[0], axis, node.outputs[0], axis);
      bool is_whole = starts[axis].IsConstant(0) && steps[axis].IsConstant(1) && from[axis] == to[axis];
      if (!is_whole || !steps[axis - 1].IsConstant(1)) boundaries_.Keep(node.outputs[0], axis);
    }
  }

  void Pad(const Node& node) {
    const Dims &low = node.DimList("low"), &high = node.DimList("high");
    auto is_whole = [&](int axis) { return low[axis].IsConstant(0) && high[axis].IsConstant(0); };
    bool is_constant = node.String("mode") == "constant";
    for (int axis = 1; axis < static_cast<int>(low.size()); ++axis) {
      boundaries_.Tie(node.inputs[0], axis, node.outputs[0], axis);
      if (!is_whole(axis) || !(is_constant || is_whole(axis - 1))) boundaries_.Keep(node.outputs[0], axis);
    }
  }

  void Concat(const Node& node) {
    int axis = static_cast<int>(node.Int("axis"));
    int rank = static_cast<int>(dims(node.outputs[0]).size());
    for (ValueId input : node.inputs) {
      for (int i = 1; i < rank; ++i) boundaries_.Tie(input, i, node.outputs[0], i);
    }
    if (!ProductOf(dims(node.outputs[0]), 0, axis).IsConstant(1)) boundaries_.Keep(node.outputs[0], axis);
  }

  void Gather(const Node& node) {
    ValueId data = node.inputs[0], indices = node.inputs[1], result = node.outputs[0];
    int axis = static_cast<int>(node.Int("axis"));
    int count = static_cast<int>(dims(indices).size());
    for (int i = 1; i < axis; ++i) boundaries_.Tie(data, i, result, i);
    boundaries_.Keep(data, axis);
    boundaries_.Keep(data, axis + 1);
    boundaries_.Keep(result, axis);
    boundaries_.Keep(result, axis + count);
    for (int i = 1; i < count; ++i) boundaries_.Tie(indices, i, result, axis + i);
    for (int i = axis + 2; i < static_cast<int>(dims(data).size()); ++i)
      boundaries_.Tie(data, i, result, i - 1 + count);
  }

  // --- the new group ---
  std::vector<AxisRun> RunsOf(ValueId value) {
    std::vector<AxisRun> runs;
    for (int axis = 0; axis < group_.type(value).rank(); ++axis) {
      if (axis == 0 || boundaries_.IsKept(value, axis)) {
        runs.push_back({axis, axis + 1});
      } else {
        runs.back().end = axis + 1;
      }
    }
    return runs;
  }

  ir::Type NewType(ValueId value) {
    Dims merged;
    for (const AxisRun& run : RunsOf(value)) merged.push_back(ProductOf(dims(value), run.begin, run.end));
    return ir::Type::Tensor(group_.type(value).dtype, std::move(merged));
  }

  CollapsedGroup Rewrite() {
    ir::Function& made = result_.function;
    made.body = made.AddRegion();
    region_ = made.AddRegion();
    for (ir::NodeId id : group_.nodes()) {
      if (IsLive(function_.node(id))) AddNode(function_.node(id));
    }
    Node fused;
    fused.op = &ir::GetCoreOp("fused");
    fused.inputs = outer_inputs_;
    fused.regions = {region_};
    for (ValueId root : roots_) {
      ValueId inner = NewValue(root);
      made.region(region_).results.push_back(inner);
      fused.outputs.push_back(made.AddValue(made.type(inner)));
    }
    made.region(region_).parameters = inner_inputs_;
    result_.node = made.AddNode(std::move(fused));
    return std::move(result_);
  }

  // The new value for an old one; inputs and their reshapes become parameters when they are first asked for.
  ValueId NewValue(ValueId old) {
    if (auto found = new_values_.find(old); found != new_values_.end()) return found->second;
    ir::Function& made = result_.function;
    int input = AliasedInput(old);
    ValueId value = made.AddValue(NewType(old));
    made.value(value).elements = function_.value(old).elements;
    if (input >= 0) {
      inner_inputs_.push_back(value);
      outer_inputs_.push_back(NewOuterInput(group_.outer_inputs()[input]));
      result_.inputs.push_back(static_cast<uint32_t>(input));
    }
    new_values_[old] = value;
    return value;
  }

  // Only small constants are looked into; of the others the type is enough.
  ValueId NewOuterInput(ValueId old) {
    ir::Function& made = result_.function;
    ValueId value = made.AddValue(function_.type(old));
    made.value(value).elements = function_.value(old).elements;
    const ir::TensorData* data = function_.ConstantOf(old);
    if (data == nullptr || data->element_count() != 1) return value;
    const Node& producer = function_.node(function_.value(old).producer);
    Node constant;
    constant.op = producer.op;
    constant.attributes = producer.attributes;
    constant.outputs = {value};
    made.AddNode(std::move(constant));
    return value;
  }

  void AddNode(const Node& old) {
    if (old.op->kind == OpKind::kView && NewType(old.inputs[0]) == NewType(old.outputs[0])) {
      new_values_[old.outputs[0]] = NewValue(old.inputs[0]);
      return;
    }
    Node node;
    node.op = old.op;
    node.source = old.source;
    node.attributes = old.attributes;
    node.decided = old.decided;
    for (ValueId input : old.inputs) node.inputs.push_back(input.valid() ? NewValue(input) : ValueId{});
    for (ValueId output : old.outputs) node.outputs.push_back(NewValue(output));
    RewriteAttributes(old, &node);
    ir::NodeId id = result_.function.AddNode(std::move(node));
    result_.function.region(region_).nodes.push_back(id);
  }

  void RewriteAttributes(const Node& old, Node* node) {
    ValueId result = old.outputs[0];
    auto new_axis = [&](ValueId value) {
      return int64_t{RunOf(RunsOf(value), static_cast<int>(old.Int("axis")))};
    };
    if (old.op->traits.axes != AxisMap::kOpaque && old.Find("dims") != nullptr)
      node->attributes["dims"] = NewType(result).dims;
    switch (old.op->traits.axes) {
      case AxisMap::kIndex:
      case AxisMap::kConcat:
        node->attributes["axis"] = new_axis(result);
        break;
      case AxisMap::kGather:
        node->attributes["axis"] = new_axis(old.inputs[0]);
        break;
      case AxisMap::kReduce:
        node->attributes["flags"] = NewFlags(old);
        break;
      case AxisMap::kPermute:
        node->attributes["perm"] = NewPermutation(old);
        break;
      case AxisMap::kSlice: {
        Dims steps;
        for (const AxisRun& run : RunsOf(result)) steps.push_back(old.DimList("steps")[run.begin]);
        node->attributes["starts"] = Scaled(old, "starts");
        node->attributes["steps"] = std::move(steps);
        break;
      }
      case AxisMap::kPad:
        node->attributes["low"] = Scaled(old, "low");
        node->attributes["high"] = Scaled(old, "high");
        break;
      default:
        break;
    }
  }

  // Counts along the first axis of each run, in elements of the whole run.
  Dims Scaled(const Node& old, std::string_view attribute) {
    Dims scaled;
    for (const AxisRun& run : RunsOf(old.outputs[0])) {
      scaled.push_back(old.DimList(attribute)[run.begin] *
                       ProductOf(dims(old.inputs[0]), run.begin + 1, run.end));
    }
    return scaled;
  }

  Dims NewFlags(const Node& old) {
    const Dims& flags = old.DimList("flags");
    Dims merged;
    for (const AxisRun& run : RunsOf(old.inputs[0])) {
      Dim flag = flags[run.begin];
      for (int axis = run.begin; axis < run.end; ++axis) {
        if (!dims(old.inputs[0])[axis].IsConstant(1)) flag = flags[axis];
      }
      merged.push_back(flag);
    }
    return merged;
  }

  std::vector<int64_t> NewPermutation(const Node& old) {
    std::vector<AxisRun> from = RunsOf(old.inputs[0]);
    std::vector<int64_t> perm;
    for (const AxisRun& run : RunsOf(old.outputs[0])) {
      perm.push_back(RunOf(from, static_cast<int>(old.Ints("perm")[run.begin])));
    }
    return perm;
  }

  const GroupView& group_;
  const ir::Function& function_;
  Boundaries boundaries_;
  std::vector<ValueId> roots_;
  std::set<ValueId> live_;
  CollapsedGroup result_;
  ir::RegionId region_;
  std::map<ValueId, ValueId> new_values_;
  std::vector<ValueId> inner_inputs_, outer_inputs_;
};

}  // namespace

CollapsedGroup CollapseAxes(const GroupView& group) { return Collapser(group).Run(); }

void CollapsedGroup::ReadOriginals(KernelCall* call) const {
  for (KernelArgument& argument : call->arguments)
    if (argument.kind == ArgumentKind::kInput) argument.index = inputs[argument.index];
}

}  // namespace tvmvm::tensor
