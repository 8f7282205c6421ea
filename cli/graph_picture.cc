#include "cli/graph_picture.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace tvmvm::cli {
namespace {

// As a string of DOT.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n' || c == '\r' || c == '\0') c = ' ';
    quoted += c;
  }
  return quoted + '"';
}

class Picture {
 public:
  std::string Draw(const GraphInfo& graph) && {
    Line(0, "digraph {} {{", Quoted(graph.name));
    Line(1, "node [shape=box, fontname=\"sans-serif\"]");
    Line(1, "edge [fontname=\"sans-serif\", fontsize=9]");
    DrawInside(graph, {}, 1);
    out_ += edges_;
    return std::move(out_) + "}\n";
  }

 private:
  using Makers = std::map<std::string, std::string>;  // value, box

  // `makers`: of the values that the graph sees around it.
  void DrawInside(const GraphInfo& graph, Makers makers, int depth) {
    for (const std::string& input : graph.inputs)
      makers[input] = Box(input, "shape=ellipse, style=filled, fillcolor=\"#dcebdc\"", depth);
    // Nodes may stand in any order.
    std::vector<std::string> boxes;
    for (const NodeInfo& node : graph.nodes) {
      boxes.push_back(Box(node.domain.empty() ? node.op : node.domain + "." + node.op,
                          fmt::format("tooltip={}", Quoted(node.name)), depth));
      for (const std::string& output : node.outputs)
        if (!output.empty()) makers[output] = boxes.back();
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const NodeInfo& node = graph.nodes[i];
      for (const std::string& input : node.inputs) Arrow(input, boxes[i], makers);
      for (const GraphInfo& inner : node.graphs) {
        Line(depth, "subgraph cluster_{} {{", clusters_++);
        const std::string& owner = node.name.empty() ? node.op : node.name;
        Line(depth + 1, "label={}", Quoted(inner.name + " of " + owner));
        const std::string first = fmt::format("n{}", next_);
        DrawInside(inner, makers, depth + 1);
        Line(depth, "}}");
        if (first != fmt::format("n{}", next_))
          Line(1, &edges_, "{} -> {} [style=dotted, arrowhead=none]", boxes[i], first);
      }
    }
    for (const std::string& output : graph.outputs) {
      const std::string box = Box(output, "shape=ellipse, style=filled, fillcolor=\"#dce3f0\"", depth);
      Arrow(output, box, makers);
    }
  }

  std::string Box(const std::string& label, const std::string& look, int depth) {
    std::string box = fmt::format("n{}", next_++);
    Line(depth, "{} [label={}, {}]", box, Quoted(label), look);
    return box;
  }

  // Weights have no box.
  void Arrow(const std::string& value, const std::string& to, const Makers& makers) {
    const auto from = makers.find(value);
    if (from != makers.end()) Line(1, &edges_, "{} -> {} [label={}]", from->second, to, Quoted(value));
  }

  template <typename... Parts>
  void Line(int depth, fmt::format_string<Parts...> format, Parts&&... parts) {
    Line(depth, &out_, format, std::forward<Parts>(parts)...);
  }
  template <typename... Parts>
  static void Line(int depth, std::string* to, fmt::format_string<Parts...> format, Parts&&... parts) {
    to->append(static_cast<size_t>(depth) * 2, ' ');
    fmt::format_to(std::back_inserter(*to), format, std::forward<Parts>(parts)...);
    *to += '\n';
  }

  std::string out_, edges_;
  int next_ = 0, clusters_ = 0;
};

}  // namespace

std::string DrawGraph(const GraphInfo& graph) { return Picture().Draw(graph); }

}  // namespace tvmvm::cli
