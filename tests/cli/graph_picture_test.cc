#include "cli/graph_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(GraphPicture, ArrowsGoFromMakersToReaders) {
  GraphInfo graph{"g", {"x"}, {"z"}, {}};
  graph.nodes.push_back({"second", "", "Relu", {"y"}, {"z"}, {}});  // in any order
  graph.nodes.push_back({"first", "com.example", "Mix", {"x", "", "weight"}, {"y", ""}, {}});
  EXPECT_EQ(DrawGraph(graph),
            "digraph \"g\" {\n"
            "  node [shape=box, fontname=\"sans-serif\"]\n"
            "  edge [fontname=\"sans-serif\", fontsize=9]\n"
            "  n0 [label=\"x\", shape=ellipse, style=filled, fillcolor=\"#dcebdc\"]\n"
            "  n1 [label=\"Relu\", tooltip=\"second\"]\n"
            "  n2 [label=\"com.example.Mix\", tooltip=\"first\"]\n"
            "  n3 [label=\"z\", shape=ellipse, style=filled, fillcolor=\"#dce3f0\"]\n"
            "  n2 -> n1 [label=\"y\"]\n"
            "  n0 -> n2 [label=\"x\"]\n"
            "  n1 -> n3 [label=\"z\"]\n"
            "}\n");
}

// Graphs inside see what is around them, and nothing of them is seen outside.
TEST(GraphPicture, GraphsOfNodesAreFramed) {
  GraphInfo body{"body", {"i"}, {"out"}, {}};
  body.nodes.push_back({"add", "", "Add", {"i", "x"}, {"out"}, {}});
  GraphInfo graph{"g", {"x"}, {"out"}, {}};
  graph.nodes.push_back({"loop", "", "Loop", {"x"}, {"y"}, {body}});
  const std::string drawn = DrawGraph(graph);
  EXPECT_THAT(drawn, HasSubstr("  subgraph cluster_0 {\n    label=\"body of loop\"\n    n2 [label=\"i\""));
  EXPECT_THAT(drawn, HasSubstr("  n0 -> n3 [label=\"x\"]\n"));
  EXPECT_THAT(drawn, HasSubstr("  n1 -> n2 [style=dotted, arrowhead=none]\n"));
  EXPECT_THAT(drawn, Not(HasSubstr("-> n5"))) << "the output of the same name outside is nobody's";
}

TEST(GraphPicture, NamesAreQuoted) {
  const GraphInfo graph{"a\"b\\c\nd", {}, {}, {}};
  EXPECT_THAT(DrawGraph(graph), HasSubstr("digraph \"a\\\"b\\\\c d\" {"));
}

}  // namespace
}  // namespace tvmvm::cli
