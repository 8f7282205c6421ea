#include "compiler/onnx/importer/node_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tvmvm::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OnnxNode Node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
              std::string name = "") {
  OnnxNode node;
  node.op_type = std::move(op);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.name = std::move(name);
  return node;
}

OnnxGraph Graph(std::vector<OnnxNode> nodes, std::vector<std::string> outputs) {
  OnnxGraph graph;
  graph.nodes = std::move(nodes);
  graph.inputs = {{"x", std::nullopt}};
  for (std::string& output : outputs) graph.outputs.push_back({std::move(output), std::nullopt});
  return graph;
}

OnnxNode WithBody(OnnxNode node, OnnxGraph body) {
  node.attributes["body"].graph = std::make_shared<const OnnxGraph>(std::move(body));
  return node;
}

std::string ErrorOf(const OnnxGraph& graph) {
  NodeOrders orders;
  auto order = orders.Of(graph);
  return order ? "no error" : order.error().message;
}

TEST(NodeOrder, KeepsAnOrderThatIsRight) {
  OnnxGraph graph = Graph({Node("A", {"x"}, {"a"}), Node("B", {"x"}, {"b"}), Node("C", {"a"}, {"c"}),
                           Node("D", {"b", "c"}, {"y"})},
                          {"y"});
  NodeOrders orders;
  auto order = orders.Of(graph);
  ASSERT_TRUE(order);
  EXPECT_THAT((*order)->nodes, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT((*order)->unused, IsEmpty());
  EXPECT_TRUE((*order)->is_sorted);
}

TEST(NodeOrder, SortsAndLeavesOutWhatNothingNeeds) {
  OnnxGraph graph =
      Graph({Node("D", {"c", "b"}, {"y", "z"}), Node("C", {"b"}, {"c"}), Node("Dead", {"dead2"}, {"dead"}),
             Node("B", {"x"}, {"b"}), Node("Dead2", {"nowhere"}, {"dead2"})},
            {"y"});
  NodeOrders orders;
  auto order = orders.Of(graph);
  ASSERT_TRUE(order);
  EXPECT_THAT((*order)->nodes, ElementsAre(3, 1, 0));
  EXPECT_THAT((*order)->unused, ElementsAre(2, 4));
  EXPECT_FALSE((*order)->is_sorted);
  EXPECT_TRUE((*order)->used.contains("y"));
  EXPECT_FALSE((*order)->used.contains("z"));
}

TEST(NodeOrder, SubgraphsReadOuterValuesThatStandLater) {
  OnnxGraph inner = Graph({Node("In", {"late"}, {"r"}), Node("Dead", {"other"}, {"d"})}, {"r"});
  OnnxGraph middle = Graph({WithBody(Node("Inner", {}, {"q"}), inner)}, {"q"});
  OnnxGraph graph = Graph({WithBody(Node("Outer", {}, {"y"}), middle), Node("Late", {"x"}, {"late"}),
                           Node("Other", {"x"}, {"other"})},
                          {"y"});
  NodeOrders orders;
  auto order = orders.Of(graph);
  ASSERT_TRUE(order);
  EXPECT_THAT((*order)->nodes, ElementsAre(1, 0));
  // What only a dead node of the subgraph reads is not needed.
  EXPECT_THAT((*order)->unused, ElementsAre(2));
}

TEST(NodeOrder, NamesOfASubgraphHideOuterOnes) {
  OnnxGraph body = Graph({Node("Use", {"t"}, {"r"}), Node("Make", {"x"}, {"t"})}, {"r"});
  OnnxGraph graph = Graph({WithBody(Node("Outer", {"x"}, {"y"}), body), Node("Other", {"x"}, {"t"})}, {"y"});
  NodeOrders orders;
  auto order = orders.Of(graph);
  ASSERT_TRUE(order);
  EXPECT_THAT((*order)->nodes, ElementsAre(0));
  EXPECT_THAT((*order)->captured, IsEmpty());
}

TEST(NodeOrder, FunctionsNeedWhatIsWantedOfThem) {
  OnnxFunction function;
  function.inputs = {"x"};
  function.outputs = {"a", "b"};
  function.nodes = {Node("B", {"t"}, {"b"}), Node("A", {"x"}, {"a"}), Node("T", {"x"}, {"t"})};
  NodeOrders orders;
  EXPECT_THAT((*orders.Of(function, {true, false}))->nodes, ElementsAre(1));
  EXPECT_THAT((*orders.Of(function, {false, true}))->nodes, ElementsAre(2, 0));
  EXPECT_THAT((*orders.Of(function, {true}))->nodes, ElementsAre(1));
}

TEST(NodeOrder, CyclesNameTheirNodes) {
  EXPECT_EQ(ErrorOf(Graph({Node("Add", {"y", "x"}, {"y"}, "loop")}, {"y"})),
            "a node reads what it makes itself: 'loop' (Add)");
  EXPECT_EQ(ErrorOf(Graph({Node("Neg", {"y"}, {"o"}, "after"), Node("Add", {"c", "x"}, {"y"}, "one"),
                           Node("Relu", {"y"}, {"b"}), Node("Abs", {"b"}, {"c"}, "three")},
                          {"o"})),
            "nodes form a cycle, each reads what the one before it makes, and the first what the last one "
            "makes: the Relu at position 2, 'three' (Abs), 'one' (Add)");
  OnnxGraph body = Graph({Node("In", {"y"}, {"r"})}, {"r"});
  EXPECT_EQ(ErrorOf(Graph({WithBody(Node("Outer", {}, {"y"}), body)}, {"y"})),
            "a node reads what it makes itself: the Outer at position 0");
  // Nothing needs it.
  EXPECT_EQ(ErrorOf(Graph({Node("Neg", {"x"}, {"o"}), Node("Add", {"y", "x"}, {"y"})}, {"o"})), "no error");
}

TEST(NodeOrder, LongCyclesAreCutShort) {
  std::vector<OnnxNode> nodes;
  for (int i = 0; i < 12; ++i)
    nodes.push_back(Node("Op", {"v" + std::to_string((i + 11) % 12)}, {"v" + std::to_string(i)}));
  EXPECT_THAT(ErrorOf(Graph(std::move(nodes), {"v0"})), ::testing::EndsWith("and 2 more"));
}

TEST(NodeOrder, ANameThatTwoNodesMakeIsAnErrorWhereItIsRead) {
  EXPECT_EQ(ErrorOf(Graph({Node("A", {"x"}, {"y"}), Node("B", {"x"}, {"y"}, "b")}, {"y"})),
            "the value 'y' is defined twice, the second time by node 'b' (B)");
  EXPECT_EQ(
      ErrorOf(Graph({Node("A", {"x"}, {"u"}), Node("B", {"x"}, {"u"}), Node("C", {"x"}, {"y"})}, {"y"})),
      "no error");
}

// A chain that is listed backwards: neither the stack nor time may grow with more than its length.
TEST(NodeOrder, LongChainsTakeLinearTime) {
  constexpr size_t kLength = 300'000;
  std::vector<OnnxNode> nodes;
  for (size_t i = kLength; i > 0; --i)
    nodes.push_back(Node("Op", {i == 1 ? "x" : "v" + std::to_string(i - 1)}, {"v" + std::to_string(i)}));
  OnnxGraph graph = Graph(std::move(nodes), {"v" + std::to_string(kLength)});
  NodeOrders orders;
  auto order = orders.Of(graph);
  ASSERT_TRUE(order);
  ASSERT_EQ((*order)->nodes.size(), kLength);
  EXPECT_EQ((*order)->nodes.front(), kLength - 1);
  EXPECT_EQ((*order)->nodes.back(), 0u);
}

}  // namespace
}  // namespace tvmvm::ir
