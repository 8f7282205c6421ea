#include "compiler/schedules/gpu/attention_parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/schedules/attention_shape.h"
#include "compiler/schedules/row_shape.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpKind;
using ir::ValueId;

// A group of some of the nodes, in a function of its own.
struct PartGroup {
  ir::Function function;
  NodeId node;
  std::vector<ValueId> inputs;  // values of the group around
};

class PartBuilder {
 public:
  // `all`: the nodes that are in some part; each part has its own copies of the group's other ones.
  PartBuilder(const GroupView& group, const std::vector<NodeId>& all, const std::vector<NodeId>& members,
              ValueId result)
      : group_(group),
        all_(all.begin(), all.end()),
        members_(members.begin(), members.end()),
        result_(result) {}

  PartGroup Build() {
    ir::Function& made = part_.function;
    made.body = made.AddRegion();
    region_ = made.AddRegion();
    fused_.op = &ir::GetCoreOp("fused");
    fused_.regions = {region_};
    const ValueId inner = Import(result_);
    made.region(region_).results = {inner};
    fused_.outputs = {made.AddValue(made.type(inner))};
    part_.node = made.AddNode(std::move(fused_));
    return std::move(part_);
  }

 private:
  // The value in the part: made there by a member, a copy of what every part makes itself, or a parameter.
  ValueId Import(ValueId old) {
    if (!old.valid()) return old;
    if (auto found = values_.find(old); found != values_.end()) return found->second;
    const ir::Function& from = group_.function();
    const NodeId producer = from.value(old).producer;
    const bool is_inside = producer.valid() && group_.InputNumber(old) < 0;
    const bool is_made = is_inside && (members_.contains(producer) || !all_.contains(producer));
    const ValueId value = is_made ? Copy(from.node(producer), old) : Parameter(old);
    return values_[old] = value;
  }

  ValueId NewValue(ValueId old) {
    ir::Function& made = part_.function;
    const ValueId value = made.AddValue(group_.type(old));
    made.value(value).elements = group_.function().value(old).elements;
    return value;
  }

  ValueId Copy(const Node& old, ValueId output) {
    Node node;
    node.op = old.op;
    node.source = old.source;
    node.attributes = old.attributes;
    node.decided = old.decided;
    for (ValueId input : old.inputs) node.inputs.push_back(Import(input));
    const ValueId value = NewValue(output);
    node.outputs = {value};
    ir::Function& made = part_.function;
    const NodeId id = made.AddNode(std::move(node));
    made.region(region_).nodes.push_back(id);
    return value;
  }

  ValueId Parameter(ValueId old) {
    ir::Function& made = part_.function;
    const ValueId value = NewValue(old), outer = NewValue(old);
    made.region(region_).parameters.push_back(value);
    fused_.inputs.push_back(outer);
    part_.inputs.push_back(old);
    const int input = group_.InputNumber(old);
    if (input < 0) return value;
    const ValueId outside = group_.outer_inputs()[static_cast<size_t>(input)];
    if (group_.function().ConstantOf(outside) == nullptr) return value;
    Node constant;
    const Node& producer = group_.function().node(group_.function().value(outside).producer);
    constant.op = producer.op;
    constant.attributes = producer.attributes;
    constant.outputs = {outer};
    made.AddNode(std::move(constant));
    return value;
  }

  const GroupView& group_;
  std::set<NodeId> all_, members_;
  ValueId result_;
  PartGroup part_;
  ir::RegionId region_;
  Node fused_;
  std::map<ValueId, ValueId> values_;
};

class Parts {
 public:
  Parts(const GroupView& group, const Dim& when, const TargetInfo& target, GroupProgram* program)
      : group_(group), function_(group.function()), when_(when), target_(target), program_(*program) {
    for (size_t i = 0; i < group.inputs().size(); ++i)
      places_[group.inputs()[i]] = {ArgumentKind::kInput, static_cast<uint32_t>(i)};
  }

  Status Add(const ir::AttentionGroup& attention) {
    all_ = attention.members;
    const NodeId tail = function_.value(group_.outputs()[0]).producer;
    if (tail != attention.result) all_.push_back(tail);
    std::vector<NodeId> rest = all_;
    std::vector<NodeId> scores = TakeScores(&rest);
    TVMVM_CHECK_OK(AddPart(scores));
    AddViews(&rest);
    std::vector<NodeId> rows(rest.begin(), std::ranges::find(rest, attention.result));
    while (!rows.empty() && IsView(rows.back())) rows.pop_back();
    if (IsOneKernel(rows)) {
      TVMVM_CHECK_OK(AddPart(rows));
      rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(rows.size()));
    }
    for (AddViews(&rest); rest.front() != attention.result; AddViews(&rest)) {
      TVMVM_CHECK_OK(AddPart({rest.front()}));
      rest.erase(rest.begin());
    }
    return AddPart(rest);
  }

 private:
  bool IsView(NodeId id) const { return function_.node(id).op->kind == OpKind::kView; }
  ValueId ResultOf(NodeId id) const { return function_.node(id).outputs[0]; }

  // Whether a value is read by nodes of the group that are not among `members`.
  bool Leaves(ValueId value, const std::vector<NodeId>& members) const {
    return std::ranges::any_of(group_.nodes(), [&](NodeId id) {
      return std::ranges::find(members, id) == members.end() &&
             std::ranges::count(function_.node(id).inputs, value) > 0;
    });
  }

  // The product and what is elementwise behind it, as long as one value leaves.
  std::vector<NodeId> TakeScores(std::vector<NodeId>* rest) const {
    const ir::Dims& dims = group_.type(ResultOf(rest->front())).dims;
    std::vector<NodeId> taken{rest->front()};
    size_t whole = 1;
    for (size_t i = 1; i < rest->size(); ++i) {
      const Node& node = function_.node((*rest)[i]);
      if (node.op->kind != OpKind::kElementwise || group_.type(node.outputs[0]).dims != dims) break;
      taken.push_back((*rest)[i]);
      const bool is_closed = std::none_of(taken.begin(), taken.end() - 1,
                                          [&](NodeId id) { return Leaves(ResultOf(id), taken); });
      if (is_closed) whole = taken.size();
    }
    taken.resize(whole);
    rest->erase(rest->begin(), rest->begin() + static_cast<std::ptrdiff_t>(whole));
    return taken;
  }

  // Views at the front lie where what they see does.
  void AddViews(std::vector<NodeId>* rest) {
    while (!rest->empty() && IsView(rest->front())) {
      const Node& node = function_.node(rest->front());
      places_[node.outputs[0]] = places_.at(node.inputs[0]);
      rest->erase(rest->begin());
    }
  }

  bool IsOneKernel(const std::vector<NodeId>& members) const {
    if (members.empty()) return false;
    const bool is_closed = std::none_of(members.begin(), members.end() - 1,
                                        [&](NodeId id) { return Leaves(ResultOf(id), members); });
    if (!is_closed) return false;
    const PartGroup part = PartBuilder(group_, all_, members, ResultOf(members.back())).Build();
    return FindRowShape(GroupView(part.function, part.node)).has_value();
  }

  // What a part makes of its constants, made of the whole group's.
  PackConstant OfWhole(PackConstant packed, const PartGroup& part) const {
    std::vector<int> numbers;
    for (ValueId input : part.inputs) numbers.push_back(group_.InputNumber(input));
    return {[packed = std::move(packed), numbers](const GroupConstants& whole) {
      GroupConstants constants;
      for (int number : numbers)
        constants.push_back(number < 0 ? nullptr : whole[static_cast<size_t>(number)]);
      return packed(constants);
    }};
  }

  KernelArgument PlaceOf(ValueId result) {
    if (result == group_.outputs()[0]) return {ArgumentKind::kOutput, 0};
    const ir::Type& type = group_.type(result);
    program_.workspaces.push_back({type.dtype, when_ * Product(type.dims)});
    return {ArgumentKind::kWorkspace, static_cast<uint32_t>(program_.workspaces.size() - 1)};
  }

  Status AddPart(const std::vector<NodeId>& members) {
    const ValueId result = ResultOf(members.back());
    const PartGroup part = PartBuilder(group_, all_, members, result).Build();
    TVMVM_TRY(GroupProgram made, ScheduleForGpu(GroupView(part.function, part.node), target_));
    const auto first_space = static_cast<uint32_t>(program_.workspaces.size());
    const auto first_packed = static_cast<uint32_t>(program_.packed.size());
    for (Workspace& space : made.workspaces)
      program_.workspaces.push_back({space.dtype, when_ * space.elements});
    for (PackConstant& packed : made.packed) program_.packed.push_back(OfWhole(std::move(packed), part));
    const KernelArgument place = places_[result] = PlaceOf(result);
    for (KernelCall& call : made.calls) {
      call.when = And(when_, call.when);
      for (KernelArgument& argument : call.arguments) {
        if (argument.kind == ArgumentKind::kWorkspace) argument.index += first_space;
        if (argument.kind == ArgumentKind::kPacked) argument.index += first_packed;
        if (argument.kind == ArgumentKind::kOutput)
          argument = place;
        else if (argument.kind == ArgumentKind::kInput)
          argument = places_.at(part.inputs[argument.index]);
      }
      program_.calls.push_back(std::move(call));
    }
    return {};
  }

  const GroupView& group_;
  const ir::Function& function_;
  Dim when_;
  const TargetInfo& target_;
  GroupProgram& program_;
  std::vector<NodeId> all_;
  std::map<ValueId, KernelArgument> places_;
};

}  // namespace

Status AddAttentionParts(const GroupView& group, const Dim& when, const TargetInfo& target,
                         GroupProgram* program) {
  const std::optional<AttentionShape> shape = AttentionShape::Find(group, true);
  if (!shape) return MakeError(Code::kInternal, "not a group around attention");
  return Parts(group, when, target, program).Add(shape->attention());
}

}  // namespace tvmvm::tensor
