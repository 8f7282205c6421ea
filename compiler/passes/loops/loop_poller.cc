#include "compiler/passes/loops/loop_poller.h"

#include <algorithm>

#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::passes {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Function;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::OpBuilder;
using ir::RegionId;
using ir::SymbolId;
using ir::Type;
using ir::ValueId;
using SymbolIds = std::vector<SymbolId>;

constexpr int64_t kFirstWidth = 2;

template <class T>
std::vector<T> Joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class LoopPoller {
 public:
  LoopPoller(PolledFunction* in, NodeId loop, DeviceLoop plan, int64_t most_steps)
      : in_(*in),
        module_(in->module),
        function_(in->function),
        loop_(loop),
        plan_(std::move(plan)),
        most_steps_(most_steps),
        maker_(in, in->function.node(loop).source) {}

  // The nodes that take the loop's place.
  Expected<std::vector<NodeId>> Run() {
    const Node loop = function_.node(loop_);  // as it was
    outputs_ = loop.outputs;
    TVMVM_CHECK_OK(DeviceLoopBody(&in_, loop_, plan_).Rewrite());
    SplitSymbols(loop);
    std::vector<NodeId> nodes = Initial(loop);
    if (plan_.polls()) {
      nodes.push_back(Outer(loop));
      nodes = Joined(nodes, Cut(loop));
    } else {
      Carry(loop);
      nodes.push_back(loop_);
    }
    nodes = Joined(nodes, Finals(loop));
    if (maker_.builder().failed())
      return MakeError(Code::kInternal, "poll-loops: " + maker_.builder().TakeError()->message);
    return nodes;
  }

  // What was collected of all steps: its length is known after the loop only, so it grows on the host.
  const std::set<ValueId>& rows_on_host() const { return rows_on_host_; }

 private:
  struct Symbols {
    SymbolIds ids, finals;
    Dims initial, next;

    void Add(SymbolId symbol, SymbolId last, Dim first, Dim after) {
      ids.push_back(std::move(symbol));
      finals.push_back(std::move(last));
      initial.push_back(std::move(first));
      next.push_back(std::move(after));
    }
    void Give(Node* node) const {
      node->attributes["symbols"] = ids;
      node->attributes["finals"] = finals;
      node->attributes["initial"] = initial;
      node->attributes["next"] = next;
    }
  };

  SymbolId Fresh(ir::DimRange range = {}) { return module_.FreshSymbol({.range = range}).symbol(); }
  SymbolId Like(const SymbolId& symbol) { return Fresh(module_.symbols.at(symbol).range); }
  size_t CarriedCount() const { return function_.region(Body()).parameters.size(); }
  RegionId Body() const { return function_.node(loop_).regions[0]; }

  void SplitSymbols(const Node& loop) {
    const SymbolIds &symbols = loop.Symbols("symbols"), &finals = loop.Symbols("finals");
    for (size_t i = 0; i < symbols.size(); ++i) {
      const bool on_device = std::find(plan_.carried.begin(), plan_.carried.end(), i) != plan_.carried.end();
      Symbols& side = on_device ? device_ : host_;
      side.Add(symbols[i], finals[i], loop.DimList("initial")[i], loop.DimList("next")[i]);
    }
  }

  // The values that all carried ones begin with.
  std::vector<NodeId> Initial(const Node& loop) {
    OpBuilder& b = maker_.builder();
    initial_ = loop.inputs;
    for (const Dim& first : device_.initial) initial_.push_back(b.DimScalar(first));
    if (plan_.polls()) initial_.push_back(b.ScalarInt(DType::kI64, 0));
    for (size_t i = loop.inputs.size(); plan_.polls() && i < outputs_.size(); ++i) {
      Dims none = function_.type(outputs_[i]).dims;
      none[0] = 0;
      initial_.push_back(b.Expand(b.ScalarInt(function_.type(outputs_[i]).dtype, 0), none));
      rows_on_host_.insert(initial_.back());
    }
    return maker_.Take();
  }

  // One loop still: the carried symbols of the device are carried as tensors.
  void Carry(const Node& loop) {
    for (size_t i = loop.inputs.size(); i < CarriedCount(); ++i)
      carried_out_.push_back(function_.AddValue(Type::Tensor(DType::kI64, {})));
    Node node = loop;
    node.inputs = initial_;
    node.outputs.insert(node.outputs.begin() + static_cast<std::ptrdiff_t>(loop.inputs.size()),
                        carried_out_.begin(), carried_out_.end());
    host_.Give(&node);
    Put(loop_, std::move(node));
  }

  void Put(NodeId id, Node node) {
    for (ValueId output : node.outputs) function_.value(output).producer = id;
    function_.node(id) = std::move(node);
  }

  // ---- a condition of the device ----

  NodeId Outer(const Node& loop) {
    base_ = Fresh(), width_ = Fresh({1, INT64_MAX}), rows_ = Fresh();
    const Dim trip = ir::DimAttribute(loop, "trip"), base = Dim::Symbol(base_);
    outer_ = function_.AddRegion();
    NameHost(loop);
    steps_ = Min(Dim::Symbol(width_), trip - base);
    std::vector<NodeId> nodes{Inner(loop)};
    const std::vector<ValueId> appended = Append(loop.inputs.size());
    const Dim counter = maker_.builder().ReadDim(counter_);
    nodes = Joined(nodes, maker_.Take());
    function_.region(outer_).nodes = std::move(nodes);
    function_.region(outer_).results = Joined(inner_carried_, appended);
    return OuterNode(loop, counter);
  }

  // The names of the host's carried symbols in the outer loop, and after the inner one.
  void NameHost(const Node& loop) {
    for (const SymbolId& symbol : host_.ids) {
      between_.push_back(Like(symbol));
      after_.push_back(Like(symbol));
    }
    has_host_condition_ = !plan_.host_condition.IsConstant(1);
    if (has_host_condition_) host_goes_on_ = Fresh({0, 1}), host_count_ = Fresh();
    const SymbolId& count = loop.Symbol("count");
    count_ = count.is_none() ? Fresh() : count;
  }

  // The loop itself, from `base` on.
  NodeId Inner(const Node& loop) {
    Node node = loop;
    const SymbolId& index = loop.Symbol("index");
    Symbols symbols;
    symbols.Add(index, Like(index), Dim::Symbol(base_), Dim::Symbol(index) + 1);
    for (size_t i = 0; i < host_.ids.size(); ++i)
      symbols.Add(host_.ids[i], after_[i], Dim::Symbol(between_[i]), host_.next[i]);
    if (has_host_condition_) symbols.Add(Fresh({0, 1}), host_goes_on_, 1, plan_.host_condition);
    node.attributes = {{"trip", steps_},
                       {"start", Dim(1)},
                       {"continue", plan_.host_condition},
                       {"index", Fresh()},
                       {"count", host_count_}};
    node.decided = {.expected_steps = most_steps_};
    symbols.Give(&node);
    if (has_host_condition_) steps_ = Dim::Symbol(host_count_);
    node.inputs.clear();
    node.outputs.clear();
    const ir::Region body = function_.region(Body());
    for (size_t i = 0; i < body.results.size(); ++i) {
      Type type = function_.type(body.results[i]);
      if (i < body.parameters.size()) {
        node.inputs.push_back(function_.AddValue(type));
        inner_carried_.push_back(function_.AddValue(type));
        node.outputs.push_back(inner_carried_.back());
      } else {
        type.dims.insert(type.dims.begin(), ir::DimAttribute(node, "trip"));
        chunks_.push_back(function_.AddValue(type));
        node.outputs.push_back(chunks_.back());
      }
    }
    function_.region(outer_).parameters = node.inputs;
    counter_ = inner_carried_.back();
    Put(loop_, std::move(node));
    return loop_;
  }

  // What the inner loop collected, behind what was collected before.
  std::vector<ValueId> Append(size_t carried) {
    std::vector<ValueId> appended;
    for (size_t i = 0; i < chunks_.size(); ++i) {
      Type type = function_.type(outputs_[carried + i]);
      type.dims[0] = Dim::Symbol(rows_);
      const ValueId parameter = function_.AddValue(type);
      function_.region(outer_).parameters.push_back(parameter);
      const ValueId made = maker_.builder().SliceAxis(chunks_[i], 0, 0, steps_);
      appended.push_back(maker_.builder().Concat({parameter, made}, 0));
      rows_on_host_.insert({parameter, appended.back()});
    }
    return appended;
  }

  NodeId OuterNode(const Node& loop, const Dim& counter) {
    const Dim base = Dim::Symbol(base_), width = Dim::Symbol(width_), trip = ir::DimAttribute(loop, "trip");
    const Dim lives = LessEqual(0, counter);
    Symbols symbols;
    symbols.Add(base_, Fresh(), 0, base + steps_);
    symbols.Add(width_, Fresh(), std::min(kFirstWidth, most_steps_), Min(width * 2, most_steps_));
    symbols.Add(Fresh(), count_, 0, Select(lives, counter, 0 - counter));
    for (size_t i = 0; i < host_.ids.size(); ++i)
      symbols.Add(between_[i], Fresh(), host_.initial[i], Dim::Symbol(after_[i]));
    if (!chunks_.empty()) {
      rows_after_ = Fresh();
      symbols.Add(rows_, rows_after_, 0, Dim::Symbol(rows_) + steps_);
    }
    Node node;
    node.op = loop.op;
    node.source = loop.source;
    node.regions = {outer_};
    node.inputs = initial_;
    Dim go_on = And(lives, Less(base + steps_, trip));
    if (has_host_condition_) go_on = And(go_on, Dim::Symbol(host_goes_on_));
    node.attributes = {{"trip", Dim(INT64_MAX)},
                       {"start", And(ir::DimAttribute(loop, "start"), Less(0, trip))},
                       {"continue", go_on},
                       {"index", Fresh()},
                       {"count", SymbolId()}};
    node.decided.polls = true;
    symbols.Give(&node);
    const ir::Region region = function_.region(outer_);
    for (size_t i = 0; i < region.parameters.size(); ++i) node.outputs.push_back(OuterOutput(loop, i));
    return function_.AddNode(std::move(node));
  }

  ValueId OuterOutput(const Node& loop, size_t number) {
    if (number < loop.inputs.size()) return outputs_[number];
    Type type = function_.type(function_.region(outer_).parameters[number]);
    const bool is_symbol = number < loop.inputs.size() + device_.ids.size();
    const bool is_counter = number == loop.inputs.size() + device_.ids.size();
    if (!is_symbol && !is_counter) type.dims[0] = Dim::Symbol(rows_after_);
    const ValueId value = function_.AddValue(std::move(type));
    if (is_symbol) carried_out_.push_back(value);
    if (!is_symbol && !is_counter) {
      collected_.push_back(value);
      rows_on_host_.insert(value);
    }
    return value;
  }

  // Without the rows of steps after the end.
  std::vector<NodeId> Cut(const Node& loop) {
    OpBuilder& b = maker_.builder();
    for (size_t i = 0; i < collected_.size() && !b.failed(); ++i)
      in_.uses.Replace(outputs_[loop.inputs.size() + i],
                       b.SliceAxis(collected_[i], 0, 0, Dim::Symbol(count_)));
    return maker_.Take();
  }

  // ---- symbols after the loop ----

  std::vector<NodeId> Finals(const Node& loop) {
    std::vector<NodeId> nodes;
    OpBuilder& b = maker_.builder();
    for (size_t i = 0; i < device_.ids.size(); ++i)
      if (in_.mentioned.contains(device_.finals[i]))
        b.EmitMulti("define_dims", {carried_out_[i]}, {{"symbols", SymbolIds{device_.finals[i]}}});
    if (plan_.polls() && std::ranges::any_of(host_.finals, [&](const SymbolId& symbol) {
          return in_.mentioned.contains(symbol);
        }))
      nodes.push_back(CountAgain(loop));
    return Joined(maker_.Take(), nodes);
  }

  NodeId CountAgain(const Node& loop) {
    Node node;
    node.op = loop.op;
    node.source = loop.source;
    node.regions = {function_.AddRegion()};
    const SymbolId index = Like(loop.Symbol("index"));
    SymbolIds again;
    for (const SymbolId& symbol : host_.ids) again.push_back(Like(symbol));
    auto rename = [&](const SymbolId& symbol) -> std::optional<Dim> {
      if (symbol == loop.Symbol("index")) return Dim::Symbol(index);
      const auto found = std::find(host_.ids.begin(), host_.ids.end(), symbol);
      if (found == host_.ids.end()) return std::nullopt;
      return Dim::Symbol(again[static_cast<size_t>(found - host_.ids.begin())]);
    };
    Symbols symbols;
    for (size_t i = 0; i < again.size(); ++i)
      symbols.Add(again[i], host_.finals[i], host_.initial[i], Substitute(host_.next[i], rename));
    node.attributes = {{"trip", Dim::Symbol(count_)},
                       {"start", Dim(1)},
                       {"continue", Dim(1)},
                       {"index", index},
                       {"count", SymbolId()}};
    symbols.Give(&node);
    return function_.AddNode(std::move(node));
  }

  PolledFunction& in_;
  Module& module_;
  Function& function_;
  const NodeId loop_;
  const DeviceLoop plan_;
  const int64_t most_steps_;
  NodeMaker maker_;
  Symbols host_, device_;         // the loop's carried symbols
  std::vector<ValueId> outputs_;  // of the loop as it was
  std::vector<ValueId> initial_, carried_out_, inner_carried_, chunks_, collected_;
  ValueId counter_;
  RegionId outer_;
  SymbolId base_, width_, rows_, rows_after_, count_, host_goes_on_, host_count_;
  SymbolIds between_, after_;
  Dim steps_;  // of the inner loop
  std::set<ValueId> rows_on_host_;
  bool has_host_condition_ = false;
};

}  // namespace

Expected<PolledLoop> PollLoop(PolledFunction* in, NodeId loop, DeviceLoop plan, int64_t most_steps) {
  LoopPoller poller(in, loop, std::move(plan), most_steps);
  TVMVM_TRY(std::vector<NodeId> nodes, poller.Run());
  return PolledLoop{std::move(nodes), poller.rows_on_host()};
}

}  // namespace tvmvm::passes
