// Models of cases: the nodes that a case in JSON tells of, as ONNX bytes, with the tensors to run them on.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/conformance/case_text.h"

namespace tvmvm {

struct CaseModel {
  std::string bytes;
  std::vector<Tensor> inputs, outputs;  // outputs: those that the case wants
};

// The input i is "input<i>"; the node's outputs "output<i>" are the model's. Where the case has "nodes",
// those are the model's nodes, and what they call "output<i>" comes out. With symbols, each size is a symbol
// of its own.
inline CaseModel ModelOfCase(const nlohmann::json& text, bool has_symbols) {
  CaseModel model;
  ir::NodeText node{text.value("op", ""), {}, {}};
  node.domain = text.value("domain", "");
  ir::GraphText graph;
  for (const nlohmann::json& input : text["inputs"]) {
    std::string name = input.is_null() ? "" : "input" + std::to_string(node.inputs.size());
    node.inputs.push_back(name);
    if (input.is_null()) continue;
    Tensor tensor = TensorOf(input);
    int32_t type = DTypeToOnnx(tensor.dtype());
    std::vector<int64_t> sizes = input["dims"];
    if (input.value("constant", false)) {
      graph.initializers.push_back(ir::TensorMessage(name, type, sizes, BytesOfTensor(tensor)));
      continue;
    }
    std::vector<ir::DimText> dims;
    for (size_t i = 0; i < sizes.size(); ++i)
      dims.push_back(has_symbols ? ir::DimText(name + "_" + std::to_string(i)) : ir::DimText(sizes[i]));
    graph.inputs.push_back(ir::ValueMessage(name, type, dims));
    model.inputs.push_back(tensor);
  }
  for (const nlohmann::json& output : text["outputs"]) {
    std::string name = output.is_null() ? "" : "output" + std::to_string(node.outputs.size());
    node.outputs.push_back(name);
    if (output.is_null()) continue;
    model.outputs.push_back(TensorOf(output));
    std::vector<ir::DimText> dims(output["dims"].size());
    graph.outputs.push_back(ir::ValueMessage(name, DTypeToOnnx(model.outputs.back().dtype()), dims));
  }
  if (text.contains("nodes")) {
    for (const nlohmann::json& part : text["nodes"]) {
      ir::NodeText inner{part["op"], part["inputs"], part["outputs"]};
      for (const auto& [name, value] : part["attributes"].items())
        inner.attributes.push_back(AttributeOf(name, value));
      graph.nodes.push_back(inner);
    }
  } else {
    for (const auto& [name, value] : text["attributes"].items())
      node.attributes.push_back(AttributeOf(name, value));
    graph.nodes.push_back(node);
  }
  model.bytes = ir::Message([&](auto& w) {
    w.add_int64(1, 10);
    w.add_message(7, ir::GraphMessage(graph));
    w.add_message(8, ir::OpsetMessage("", node.domain.empty() ? text["opset"].get<int64_t>() : 21));
    if (!node.domain.empty()) w.add_message(8, ir::OpsetMessage(node.domain, text["opset"]));
  });
  return model;
}

}  // namespace tvmvm
