// Writes a small ONNX model whose batch and length are dynamic: one transformer block with seeded weights.
//
//   x[batch, length, 64] -> LayerNormalization -> attention (one head) -> residual -> MLP with Gelu ->
//   residual -> y
//
// usage: make_demo_model FILE.onnx
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

namespace {

constexpr int64_t kWidth = 64;
constexpr int64_t kHidden = 256;

// Field numbers of onnx.proto, by message.
namespace model {
constexpr int kIrVersion = 1, kProducer = 2, kGraph = 7, kOpsetImport = 8;
}
namespace opset {
constexpr int kVersion = 2;
}
namespace graph {
constexpr int kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;
}
namespace node {
constexpr int kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5;
}
namespace attribute {
constexpr int kName = 1, kInt = 3, kInts = 8, kType = 20, kTypeInt = 2, kTypeInts = 7;
}
namespace tensor {
constexpr int kDims = 1, kDataType = 2, kName = 8, kRawData = 9, kFloat = 1;
}
namespace value {
constexpr int kName = 1, kType = 2;
}
namespace type {
constexpr int kTensor = 1, kElemType = 1, kShape = 2, kDim = 1, kDimValue = 1, kDimParam = 2;
}

// A message under construction: protozero writes into the string.
struct Message {
  std::string bytes;
  protozero::pbf_writer writer{bytes};
};

class GraphWriter {
 public:
  void AddInput(const std::string& name) { AddValue(graph::kInput, name); }
  void AddOutput(const std::string& name) { AddValue(graph::kOutput, name); }

  // A weight with values in [-scale, scale), the same on every machine.
  void AddWeight(const std::string& name, const std::vector<int64_t>& dims, float scale) {
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& number : values) number = scale * NextRandom();
    AddTensor(name, dims, values);
  }
  void AddConstant(const std::string& name, float number) { AddTensor(name, {}, {number}); }
  void AddOnes(const std::string& name, int64_t count) {
    AddTensor(name, {count}, std::vector<float>(static_cast<size_t>(count), 1.0f));
  }

  void AddNode(const std::string& op_type, std::initializer_list<std::string> inputs,
               const std::string& output, const std::string& attributes = "") {
    Message message;
    for (const std::string& input : inputs) message.writer.add_string(node::kInput, input);
    message.writer.add_string(node::kOutput, output);
    message.writer.add_string(node::kName, "/" + output);
    message.writer.add_string(node::kOpType, op_type);
    if (!attributes.empty()) message.writer.add_message(node::kAttribute, attributes);
    graph_.writer.add_message(graph::kNode, message.bytes);
  }

  static std::string IntAttribute(const std::string& name, int64_t number) {
    Message message;
    message.writer.add_string(attribute::kName, name);
    message.writer.add_int64(attribute::kInt, number);
    message.writer.add_int32(attribute::kType, attribute::kTypeInt);
    return message.bytes;
  }

  static std::string IntsAttribute(const std::string& name, std::initializer_list<int64_t> numbers) {
    Message message;
    message.writer.add_string(attribute::kName, name);
    for (int64_t number : numbers) message.writer.add_int64(attribute::kInts, number);
    message.writer.add_int32(attribute::kType, attribute::kTypeInts);
    return message.bytes;
  }

  std::string Finish(int64_t opset_version) {
    graph_.writer.add_string(graph::kName, "demo");
    Message import, model;
    import.writer.add_int64(opset::kVersion, opset_version);
    model.writer.add_int64(model::kIrVersion, 9);
    model.writer.add_string(model::kProducer, "make_demo_model");
    model.writer.add_message(model::kGraph, graph_.bytes);
    model.writer.add_message(model::kOpsetImport, import.bytes);
    return model.bytes;
  }

 private:
  void AddTensor(const std::string& name, const std::vector<int64_t>& dims,
                 const std::vector<float>& values) {
    Message message;
    message.writer.add_packed_int64(tensor::kDims, dims.begin(), dims.end());
    message.writer.add_int32(tensor::kDataType, tensor::kFloat);
    message.writer.add_string(tensor::kName, name);
    message.writer.add_bytes(tensor::kRawData, reinterpret_cast<const char*>(values.data()),
                             values.size() * sizeof(float));
    graph_.writer.add_message(graph::kInitializer, message.bytes);
  }

  // f32[batch, length, kWidth]
  void AddValue(int field, const std::string& name) {
    Message shape;
    for (const char* symbol : {"batch", "length"}) {
      Message dim;
      dim.writer.add_string(type::kDimParam, symbol);
      shape.writer.add_message(type::kDim, dim.bytes);
    }
    Message width, tensor_type, whole, info;
    width.writer.add_int64(type::kDimValue, kWidth);
    shape.writer.add_message(type::kDim, width.bytes);
    tensor_type.writer.add_int32(type::kElemType, tensor::kFloat);
    tensor_type.writer.add_message(type::kShape, shape.bytes);
    whole.writer.add_message(type::kTensor, tensor_type.bytes);
    info.writer.add_string(value::kName, name);
    info.writer.add_message(value::kType, whole.bytes);
    graph_.writer.add_message(field, info.bytes);
  }

  // In [-1, 1): a linear congruential generator (Knuth's MMIX constants).
  float NextRandom() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(state_ >> 40) * 0x1p-23f - 1.0f;
  }

  Message graph_;
  uint64_t state_ = 1;
};

std::string MakeModel() {
  GraphWriter g;
  const float scale = 1.0f / std::sqrt(static_cast<float>(kWidth));
  g.AddInput("x");
  g.AddOutput("y");
  for (const char* name : {"wq", "wk", "wv", "wo"}) g.AddWeight(name, {kWidth, kWidth}, scale);
  g.AddOnes("scale1", kWidth);
  g.AddOnes("scale2", kWidth);
  g.AddWeight("shift1", {kWidth}, 0.1f);
  g.AddWeight("shift2", {kWidth}, 0.1f);
  g.AddWeight("w1", {kWidth, kHidden}, scale);
  g.AddWeight("b1", {kHidden}, 0.1f);
  g.AddWeight("w2", {kHidden, kWidth}, scale / 2);
  g.AddWeight("b2", {kWidth}, 0.1f);
  g.AddConstant("root_of_width_inverse", scale);

  g.AddNode("LayerNormalization", {"x", "scale1", "shift1"}, "normed");
  g.AddNode("MatMul", {"normed", "wq"}, "queries");
  g.AddNode("MatMul", {"normed", "wk"}, "keys");
  g.AddNode("MatMul", {"normed", "wv"}, "values");
  g.AddNode("Transpose", {"keys"}, "keys_transposed", GraphWriter::IntsAttribute("perm", {0, 2, 1}));
  g.AddNode("MatMul", {"queries", "keys_transposed"}, "scores");
  g.AddNode("Mul", {"scores", "root_of_width_inverse"}, "scaled_scores");
  g.AddNode("Softmax", {"scaled_scores"}, "weights", GraphWriter::IntAttribute("axis", -1));
  g.AddNode("MatMul", {"weights", "values"}, "mixed");
  g.AddNode("MatMul", {"mixed", "wo"}, "projected");
  g.AddNode("Add", {"x", "projected"}, "attended");

  g.AddNode("LayerNormalization", {"attended", "scale2", "shift2"}, "normed_again");
  g.AddNode("MatMul", {"normed_again", "w1"}, "hidden");
  g.AddNode("Add", {"hidden", "b1"}, "hidden_biased");
  g.AddNode("Gelu", {"hidden_biased"}, "activated");
  g.AddNode("MatMul", {"activated", "w2"}, "contracted");
  g.AddNode("Add", {"contracted", "b2"}, "contracted_biased");
  g.AddNode("Add", {"attended", "contracted_biased"}, "y");
  return g.Finish(20);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_demo_model FILE.onnx\n");
    return 2;
  }
  std::ofstream file(argv[1], std::ios::binary);
  file << MakeModel();
  file.close();
  if (!file) {
    std::fprintf(stderr, "make_demo_model: cannot write '%s'\n", argv[1]);
    return 1;
  }
  return 0;
}
