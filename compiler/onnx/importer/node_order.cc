#include "compiler/onnx/importer/node_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/onnx/importer/independent_names.h"

namespace tvmvm::ir {

using Names = std::vector<std::string_view>;

class NodeSorter {
 public:
  NodeSorter(NodeOrders* orders, const std::vector<OnnxNode>& nodes)
      : orders_(*orders), nodes_(nodes), sources_(nodes.size()), states_(nodes.size()) {
    for (size_t i = 0; i < nodes.size(); ++i)
      for (const std::string& output : nodes[i].outputs)
        if (!output.empty() && !makers_.emplace(output, i).second) repeated_.emplace_back(output, i);
  }

  // `defined`: names that have values before any node.
  Expected<std::unique_ptr<NodeOrder>> Run(const Names& wanted, const Names& defined) {
    for (std::string_view name : wanted) Use(name);
    // Grows on the way.
    for (size_t i = 0; i < reached_.size(); ++i) TVMVM_CHECK_OK(Read(reached_[i]));
    for (auto [name, index] : repeated_)
      if (order_->used.contains(name))
        return MakeError(Code::kInvalidArgument,
                         fmt::format("the value '{}' is defined twice, the second time by node {}", name,
                                     DescribeNode(nodes_[index], index)));
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (states_[i] == State::kUnused) order_->unused.push_back(i);
      if (states_[i] == State::kReached) TVMVM_CHECK_OK(Place(i));
    }
    order_->is_sorted = std::ranges::is_sorted(order_->nodes);
    std::unordered_set<std::string_view> own(defined.begin(), defined.end());
    for (std::string_view name : order_->used)
      if (!own.contains(name) && !makers_.contains(name)) order_->captured.push_back(name);
    std::ranges::sort(order_->captured);
    return std::move(order_);
  }

 private:
  enum class State : uint8_t { kUnused, kReached, kOpen, kPlaced };

  // Notes that a name is read; gives the node that makes it, if one of these does.
  std::optional<size_t> Use(std::string_view name) {
    if (name.empty()) return std::nullopt;
    order_->used.insert(name);
    auto maker = makers_.find(name);
    if (maker == makers_.end()) return std::nullopt;
    if (states_[maker->second] == State::kUnused) {
      states_[maker->second] = State::kReached;
      reached_.push_back(maker->second);
    }
    return maker->second;
  }

  // Everything that the node reads, also inside its graphs.
  Status Read(size_t index) {
    auto use = [&](std::string_view name) {
      if (auto maker = Use(name)) sources_[index].push_back(*maker);
    };
    const OnnxNode& node = nodes_[index];
    for (const std::string& input : node.inputs) use(input);
    for (std::string_view name : NamesInAttributes(node)) use(name);
    for (const auto& [key, attribute] : node.attributes) {
      if (attribute.graph != nullptr) TVMVM_CHECK_OK(ReadGraph(*attribute.graph, use));
      for (const auto& graph : attribute.graphs) TVMVM_CHECK_OK(ReadGraph(*graph, use));
    }
    return {};
  }

  template <class F>
  Status ReadGraph(const OnnxGraph& graph, F&& use) {
    TVMVM_TRY(const NodeOrder* inner, orders_.Of(graph));
    for (std::string_view name : inner->captured) use(name);
    return {};
  }

  // Depth first: what a node reads, then the node.
  Status Place(size_t first) {
    std::vector<std::pair<size_t, size_t>> path{{first, 0}};  // a node, how many of its sources are placed
    states_[first] = State::kOpen;
    while (!path.empty()) {
      auto& [index, next] = path.back();
      if (next == sources_[index].size()) {
        states_[index] = State::kPlaced;
        order_->nodes.push_back(index);
        path.pop_back();
        continue;
      }
      size_t source = sources_[index][next++];
      if (states_[source] == State::kOpen) return Cycle(path, source);
      if (states_[source] == State::kPlaced) continue;
      states_[source] = State::kOpen;
      path.emplace_back(source, 0);
    }
    return {};
  }

  // From `source` to the end of the path, each node reads what the next one makes, and the last one what
  // `source` makes.
  tl::unexpected<Error> Cycle(const std::vector<std::pair<size_t, size_t>>& path, size_t source) const {
    constexpr size_t kShown = 10;
    auto begin = std::ranges::find(path, source, &std::pair<size_t, size_t>::first);
    auto length = static_cast<size_t>(path.end() - begin);
    std::string list;
    for (size_t i = 0; i < std::min(length, kShown); ++i) {
      size_t index = (path.end() - 1 - static_cast<std::ptrdiff_t>(i))->first;
      list += fmt::format("{}{}", i == 0 ? "" : ", ", DescribeNode(nodes_[index], index));
    }
    if (length > kShown) list += fmt::format(" and {} more", length - kShown);
    return MakeError(Code::kInvalidArgument,
                     length == 1 ? fmt::format("a node reads what it makes itself: {}", list)
                                 : fmt::format("nodes form a cycle, each reads what the one before it makes, "
                                               "and the first what the last one makes: {}",
                                               list));
  }

  NodeOrders& orders_;
  const std::vector<OnnxNode>& nodes_;
  std::unique_ptr<NodeOrder> order_ = std::make_unique<NodeOrder>();
  std::unordered_map<std::string_view, size_t> makers_;        // of names
  std::vector<std::pair<std::string_view, size_t>> repeated_;  // names, and nodes that make them again
  std::vector<std::vector<size_t>> sources_;                   // the nodes that a node reads from
  std::vector<State> states_;
  std::vector<size_t> reached_;
};

Expected<const NodeOrder*> NodeOrders::Of(const OnnxGraph& graph) {
  if (auto known = graphs_.find(&graph); known != graphs_.end()) return known->second.get();
  Names wanted, defined;
  for (const OnnxValueInfo& output : graph.outputs) wanted.push_back(output.name);
  for (const OnnxValueInfo& input : graph.inputs) defined.push_back(input.name);
  for (const OnnxInitializer& initializer : graph.initializers) defined.push_back(initializer.name);
  TVMVM_TRY(auto order, NodeSorter(this, graph.nodes).Run(wanted, defined));
  return (graphs_[&graph] = std::move(order)).get();
}

Expected<const NodeOrder*> NodeOrders::Of(const OnnxFunction& function, const std::vector<bool>& wanted) {
  auto key = std::pair(&function, wanted);
  if (auto known = functions_.find(key); known != functions_.end()) return known->second.get();
  Names results;
  for (size_t i = 0; i < function.outputs.size() && i < wanted.size(); ++i)
    if (wanted[i]) results.push_back(function.outputs[i]);
  TVMVM_TRY(
      auto order,
      NodeSorter(this, function.nodes).Run(results, Names(function.inputs.begin(), function.inputs.end())));
  return (functions_[std::move(key)] = std::move(order)).get();
}

std::string DescribeNode(const OnnxNode& node, size_t position) {
  return node.name.empty() ? fmt::format("the {} at position {}", node.op_type, position)
                           : fmt::format("'{}' ({})", node.name, node.op_type);
}

}  // namespace tvmvm::ir
