// Writes ONNX messages for tests, field by field; what it writes need not be valid.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace tvmvm::ir {

enum OnnxElement : int32_t {
  kOnnxFloat = 1,
  kOnnxUint8 = 2,
  kOnnxInt32 = 6,
  kOnnxInt64 = 7,
  kOnnxString = 8,
  kOnnxBool = 9,
  kOnnxFloat16 = 10,
  kOnnxUint32 = 12,
  kOnnxComplex64 = 14
};

using DimText = std::variant<int64_t, std::string>;  // a number, a symbol, or "" for unknown

template <class Write>
std::string Message(Write&& write) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  write(writer);
  return bytes;
}

inline std::string TensorMessage(const std::string& name, int32_t type, const std::vector<int64_t>& dims,
                                 const std::string& raw) {
  return Message([&](auto& w) {
    w.add_packed_int64(1, dims.begin(), dims.end());
    w.add_int32(2, type);
    w.add_string(8, name);
    w.add_bytes(9, raw);
  });
}

template <class T>
std::string RawBytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

inline std::string Int64Tensor(const std::string& name, const std::vector<int64_t>& values) {
  return TensorMessage(name, kOnnxInt64, {static_cast<int64_t>(values.size())}, RawBytes(values));
}

inline std::string StringTensor(const std::string& name, const std::vector<std::string>& texts) {
  std::vector<int64_t> dims{static_cast<int64_t>(texts.size())};
  return Message([&](auto& w) {
    w.add_packed_int64(1, dims.begin(), dims.end());
    w.add_int32(2, kOnnxString);
    for (const std::string& text : texts) w.add_bytes(6, text);
    w.add_string(8, name);
  });
}

// A TypeProto.
inline std::string TensorType(int32_t type, const std::vector<DimText>& dims) {
  std::string shape = Message([&](auto& w) {
    for (const DimText& dim : dims) {
      w.add_message(1, Message([&](auto& d) {
                      if (const auto* number = std::get_if<int64_t>(&dim)) d.add_int64(1, *number);
                      if (const auto* text = std::get_if<std::string>(&dim);
                          text != nullptr && !text->empty())
                        d.add_string(2, *text);
                    }));
    }
  });
  std::string tensor = Message([&](auto& w) {
    w.add_int32(1, type);
    w.add_message(2, shape);
  });
  return Message([&](auto& w) { w.add_message(1, tensor); });
}

inline std::string SequenceType(const std::string& element) {
  return Message([&](auto& w) { w.add_message(4, Message([&](auto& s) { s.add_message(1, element); })); });
}

inline std::string OptionalType(const std::string& element) {
  return Message([&](auto& w) { w.add_message(9, Message([&](auto& s) { s.add_message(1, element); })); });
}

inline std::string ValueOfType(const std::string& name, const std::string& type) {
  return Message([&](auto& w) {
    w.add_string(1, name);
    w.add_message(2, type);
  });
}

inline std::string ValueMessage(const std::string& name, int32_t type, const std::vector<DimText>& dims) {
  return ValueOfType(name, TensorType(type, dims));
}

inline std::string UntypedValue(const std::string& name) {
  return Message([&](auto& w) { w.add_string(1, name); });
}

inline std::string IntAttribute(const std::string& name, int64_t value) {
  return Message([&](auto& w) {
    w.add_string(1, name);
    w.add_int64(3, value);
    w.add_int32(20, 2);
  });
}

inline std::string FloatAttribute(const std::string& name, float value) {
  return Message([&](auto& w) {
    w.add_string(1, name);
    w.add_float(2, value);
    w.add_int32(20, 1);
  });
}

inline std::string IntsAttribute(const std::string& name, const std::vector<int64_t>& values) {
  return Message([&](auto& w) {
    w.add_string(1, name);
    w.add_packed_int64(8, values.begin(), values.end());
    w.add_int32(20, 7);
  });
}

inline std::string TextAttribute(const std::string& name, const std::string& text) {
  return Message([&](auto& w) {
    w.add_string(1, name);
    w.add_bytes(4, text);
    w.add_int32(20, 3);
  });
}

inline std::string TextsAttribute(const std::string& name, const std::vector<std::string>& texts) {
  return Message([&](auto& w) {
    w.add_string(1, name);
    for (const std::string& text : texts) w.add_bytes(9, text);
    w.add_int32(20, 8);
  });
}

inline std::string TensorAttribute(const std::string& name, const std::string& tensor) {
  return Message([&](auto& w) {
    w.add_string(1, name);
    w.add_message(5, tensor);
    w.add_int32(20, 4);
  });
}

inline std::string GraphAttribute(const std::string& name, const std::string& graph) {
  return Message([&](auto& w) {
    w.add_string(1, name);
    w.add_message(6, graph);
    w.add_int32(20, 5);
  });
}

inline std::string ReferenceAttribute(const std::string& name, const std::string& reference, int32_t type) {
  return Message([&](auto& w) {
    w.add_string(1, name);
    w.add_int32(20, type);
    w.add_string(21, reference);
  });
}

struct NodeText {
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes = {};
  std::string name = {};
  std::string domain = {};
};

inline std::string NodeMessage(const NodeText& node) {
  return Message([&](auto& w) {
    for (const std::string& input : node.inputs) w.add_string(1, input);
    for (const std::string& output : node.outputs) w.add_string(2, output);
    if (!node.name.empty()) w.add_string(3, node.name);
    w.add_string(4, node.op);
    for (const std::string& attribute : node.attributes) w.add_message(5, attribute);
    if (!node.domain.empty()) w.add_string(7, node.domain);
  });
}

struct GraphText {
  std::vector<NodeText> nodes;
  std::vector<std::string> inputs;  // messages
  std::vector<std::string> outputs;
  std::vector<std::string> initializers = {};
  std::vector<std::string> value_infos = {};
};

inline std::string GraphMessage(const GraphText& graph) {
  return Message([&](auto& w) {
    for (const NodeText& node : graph.nodes) w.add_message(1, NodeMessage(node));
    w.add_string(2, "test");
    for (const std::string& tensor : graph.initializers) w.add_message(5, tensor);
    for (const std::string& input : graph.inputs) w.add_message(11, input);
    for (const std::string& output : graph.outputs) w.add_message(12, output);
    for (const std::string& info : graph.value_infos) w.add_message(13, info);
  });
}

struct FunctionText {
  std::string domain;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<NodeText> nodes;
  std::vector<std::string> attributes = {};
  std::vector<std::string> defaults = {};  // attribute messages
};

inline std::string OpsetMessage(const std::string& domain, int64_t version) {
  return Message([&](auto& w) {
    if (!domain.empty()) w.add_string(1, domain);
    w.add_int64(2, version);
  });
}

inline std::string ModelMessage(const GraphText& graph, int64_t opset = 13, int64_t ir_version = 8,
                                const std::vector<FunctionText>& functions = {}) {
  return Message([&](auto& w) {
    w.add_int64(1, ir_version);
    w.add_message(7, GraphMessage(graph));
    w.add_message(8, OpsetMessage("", opset));
    for (const FunctionText& function : functions) {
      w.add_message(8, OpsetMessage(function.domain, 1));
      w.add_message(25, Message([&](auto& f) {
                      f.add_string(1, function.name);
                      for (const std::string& input : function.inputs) f.add_string(4, input);
                      for (const std::string& output : function.outputs) f.add_string(5, output);
                      for (const std::string& attribute : function.attributes) f.add_string(6, attribute);
                      for (const NodeText& node : function.nodes) f.add_message(7, NodeMessage(node));
                      f.add_message(9, OpsetMessage("", opset));
                      f.add_message(9, OpsetMessage(function.domain, 1));
                      f.add_string(10, function.domain);
                      for (const std::string& attribute : function.defaults) f.add_message(11, attribute);
                    }));
    }
  });
}

inline std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace tvmvm::ir
