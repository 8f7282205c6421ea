#include "compiler/passes/graph_rewriter.h"

#include <utility>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::passes {
namespace {

using ir::Function;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

Function EmptyCopy(const Function& old) {
  Function fresh;
  fresh.name = old.name;
  fresh.input_names = old.input_names;
  fresh.output_names = old.output_names;
  fresh.body = fresh.AddRegion();
  return fresh;
}

}  // namespace

GraphRewriter::GraphRewriter(ir::Module* module, Function* old)
    : old_(old),
      fresh_(EmptyCopy(*old)),
      builder_(module, &fresh_, fresh_.body),
      map_(old->values.size()),
      uses_(old->values.size(), 0) {
  for (ValueId parameter : old->region(old->body).parameters) {
    ValueId copy = CopyValue(parameter);
    fresh_.region(fresh_.body).parameters.push_back(copy);
  }
  for (const ir::Region& region : old->regions) {
    for (NodeId id : region.nodes)
      for (ValueId input : old->node(id).inputs)
        if (input.valid()) ++uses_[input.index];
    for (ValueId result : region.results)
      if (result.valid()) ++uses_[result.index];
  }
}

const Node* GraphRewriter::OldProducer(ValueId old) const {
  const NodeId producer = old_->value(old).producer;
  return producer.valid() ? &old_->node(producer) : nullptr;
}

const Node* GraphRewriter::OldProducer(ValueId old, tensor::ExprOp op) const {
  const Node* node = OldProducer(old);
  return node != nullptr && node->op->scalar == op ? node : nullptr;
}

const Node* GraphRewriter::Producer(ValueId fresh) const {
  if (!fresh.valid() || !fresh_.value(fresh).producer.valid()) return nullptr;
  return &fresh_.node(fresh_.value(fresh).producer);
}

ValueId GraphRewriter::Map(ValueId old) const { return old.valid() ? map_[old.index] : old; }

void GraphRewriter::SetMap(ValueId old, ValueId fresh) {
  map_[old.index] = fresh;
  SetName(fresh, old);
}

void GraphRewriter::SetName(ValueId fresh, ValueId old) {
  if (fresh.valid() && fresh_.value(fresh).name.empty()) fresh_.value(fresh).name = old_->value(old).name;
}

int GraphRewriter::UseCount(ValueId old) const { return uses_[old.index]; }

ValueId GraphRewriter::CopyValue(ValueId value) {
  ir::Value copy = old_->value(value);
  copy.producer = {};
  fresh_.values.push_back(std::move(copy));
  ValueId id{static_cast<uint32_t>(fresh_.values.size() - 1)};
  map_[value.index] = id;
  return id;
}

void GraphRewriter::Copy(NodeId id) {
  std::vector<ValueId> inputs = old_->node(id).inputs;
  for (ValueId& input : inputs) input = Map(input);
  Copy(id, std::move(inputs));
}

void GraphRewriter::Copy(NodeId id, std::vector<ValueId> inputs) {
  Node copy = old_->node(id);
  copy.inputs = std::move(inputs);
  for (ValueId& output : copy.outputs)
    if (output.valid()) output = CopyValue(output);
  bool visited = visit_ != nullptr && ir::HasControlRegions(copy);
  for (RegionId& region : copy.regions) region = CopyRegion(region, visited);
  // The contents that define_dims gave a name to belong to its input.
  if (copy.op->kind == ir::OpKind::kDefineDims && old_->value(old_->node(id).inputs[0]).elements)
    fresh_.value(copy.inputs[0]).elements = old_->value(old_->node(id).inputs[0]).elements;
  fresh_.region(builder_.region()).nodes.push_back(fresh_.AddNode(std::move(copy)));
}

void GraphRewriter::Run(Visit visit, Scope scope) {
  visit_ = std::move(visit);
  scope_ = std::move(scope);
  VisitNodes(old_->region(old_->body).nodes);
}

void GraphRewriter::VisitNodes(const std::vector<NodeId>& nodes) {
  for (NodeId id : nodes) {
    if (builder_.failed()) return;  // the types of what did not come about are not there to be asked
    builder_.SetSource(old_->node(id).source);
    if (!visit_(id)) Copy(id);
  }
}

RegionId GraphRewriter::CopyRegion(RegionId region, bool visited) {
  RegionId copy = fresh_.AddRegion();
  builder_.EnterRegion(copy);
  for (ValueId parameter : old_->region(region).parameters) {
    ValueId fresh = CopyValue(parameter);
    fresh_.region(copy).parameters.push_back(fresh);
  }
  if (visited && scope_) scope_(true);
  if (visited)
    VisitNodes(old_->region(region).nodes);
  else
    for (NodeId node : old_->region(region).nodes) Copy(node);
  if (visited && scope_) scope_(false);
  for (ValueId result : old_->region(region).results) fresh_.region(copy).results.push_back(Map(result));
  builder_.LeaveRegion();
  return copy;
}

Status GraphRewriter::Finish() {
  if (auto error = builder_.TakeError()) return tl::unexpected<Error>(*error);
  for (ValueId result : old_->region(old_->body).results)
    fresh_.region(fresh_.body).results.push_back(Map(result));
  *old_ = std::move(fresh_);
  return {};
}

}  // namespace tvmvm::passes
