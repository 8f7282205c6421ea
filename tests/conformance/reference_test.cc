// Operators on numbers that other implementations computed: tests/conformance/references/*.json. Each file is
// a list of cases: an operator, its attributes, inputs and outputs, or what its error says; it begins with
// who computed them. A map has "keys" and "values"; a sequence of maps is a list of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tests/folders.h"
#include "tests/golden/golden.h"
#include "tests/sanitizer.h"
#include "tvm-vm/compiler.h"
#include "tvm-vm/vm.h"

namespace tvmvm {
namespace {

using nlohmann::json;

// Numbers in JSON: NaN and the infinities are texts.
double NumberOf(const json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

std::vector<double> NumbersOf(const json& values) {
  std::vector<double> numbers;
  for (const json& value : values) numbers.push_back(NumberOf(value));
  return numbers;
}

struct Element {
  const char* name;
  DType dtype;
  int32_t onnx;
};
constexpr Element kElements[] = {{"f32", DType::kF32, 1}, {"f64", DType::kF64, 11},   {"i32", DType::kI32, 6},
                                 {"i64", DType::kI64, 7}, {"str", DType::kString, 8}, {"u8", DType::kU8, 2}};

const Element& ElementOf(const json& tensor) {
  for (const Element& element : kElements)
    if (tensor["type"] == element.name) return element;
  ADD_FAILURE() << "no type " << tensor["type"];
  return kElements[0];
}

template <class T>
std::string Bytes(const json& values) {
  std::vector<T> elements;
  for (const json& value : values)
    elements.push_back(std::is_floating_point_v<T> ? static_cast<T>(NumberOf(value)) : value.get<T>());
  return ir::RawBytes(elements);
}

std::string BytesOf(DType dtype, const json& values) {
  if (dtype == DType::kF64) return Bytes<double>(values);
  if (dtype == DType::kI32) return Bytes<int32_t>(values);
  if (dtype == DType::kI64) return Bytes<int64_t>(values);
  if (dtype == DType::kU8) return Bytes<uint8_t>(values);
  return Bytes<float>(values);
}

std::string AttributeMessage(const std::string& name, const json& value) {
  const std::string kind = value.begin().key();
  const json& content = *value.begin();
  if (kind == "int") return ir::IntAttribute(name, content);
  if (kind == "float") return ir::FloatAttribute(name, static_cast<float>(NumberOf(content)));
  if (kind == "text") return ir::TextAttribute(name, content);
  if (kind == "texts") return ir::TextsAttribute(name, content.get<std::vector<std::string>>());
  if (kind == "ints") return ir::IntsAttribute(name, content.get<std::vector<int64_t>>());
  return ir::Message([&](auto& w) {
    w.add_string(1, name);
    if (kind == "floats") {
      std::vector<double> numbers = NumbersOf(content);
      std::vector<float> floats(numbers.begin(), numbers.end());
      w.add_packed_float(7, floats.begin(), floats.end());
      w.add_int32(20, 6);
    } else {
      const Element& element = ElementOf(content);
      w.add_message(
          5, ir::TensorMessage("", element.onnx, content["dims"], BytesOf(element.dtype, content["values"])));
      w.add_int32(20, 4);
    }
  });
}

std::string MapType(const json& map) {
  const std::string values = ir::TensorType(ElementOf(map["values"]).onnx, {});
  return ir::Message([&](auto& w) {
    w.add_message(5, ir::Message([&](auto& m) {
                    m.add_int32(1, ElementOf(map["keys"]).onnx);
                    m.add_message(2, values);
                  }));
  });
}

std::string OutputType(const json& value) {
  if (value.is_array()) return ir::SequenceType(MapType(value.at(0)));
  return ir::TensorType(ElementOf(value).onnx, std::vector<ir::DimText>(value["dims"].size(), ""));
}

// The case as a model of one node; dims of the inputs as numbers or as symbols.
std::string ModelOf(const json& test, bool is_symbolic) {
  ir::GraphText graph;
  ir::NodeText node{test["op"], {}, {}, {}, "node", test["domain"]};
  for (const auto& [name, value] : test["attributes"].items())
    node.attributes.push_back(AttributeMessage(name, value));
  for (const json& tensor : test["inputs"]) {
    std::string name = "x" + std::to_string(node.inputs.size());
    node.inputs.push_back(name);
    if (tensor.contains("keys")) {
      graph.inputs.push_back(ir::ValueOfType(name, MapType(tensor)));
      continue;
    }
    std::vector<ir::DimText> dims;
    for (int64_t dim : tensor["dims"]) {
      std::string symbol = name + "_" + std::to_string(dims.size());
      dims.push_back(is_symbolic ? ir::DimText(symbol) : ir::DimText(dim));
    }
    graph.inputs.push_back(ir::ValueMessage(name, ElementOf(tensor).onnx, dims));
  }
  for (const json& value : test["outputs"]) {
    node.outputs.push_back("y" + std::to_string(node.outputs.size()));
    graph.outputs.push_back(ir::ValueOfType(node.outputs.back(), OutputType(value)));
  }
  graph.nodes = {node};
  std::string domain = test["domain"];
  if (domain.empty()) return ir::ModelMessage(graph, test["version"]);
  // Messages one after another are one message.
  return ir::ModelMessage(graph, 18) +
         ir::Message([&](auto& w) { w.add_message(8, ir::OpsetMessage(domain, test["version"])); });
}

Tensor TensorOf(const json& tensor) {
  std::vector<int64_t> dims = tensor["dims"];
  Shape shape(dims);
  if (tensor["type"] == "str")
    return Tensor::FromStrings(shape, tensor["values"].get<std::vector<std::string>>());
  DType dtype = ElementOf(tensor).dtype;
  auto made = Tensor::Allocate(dtype, shape);
  EXPECT_TRUE(made);
  std::string bytes = BytesOf(dtype, tensor["values"]);
  if (!bytes.empty()) std::memcpy(made->data(), bytes.data(), bytes.size());
  return *made;
}

Value ValueOf(const json& value) {
  if (!value.contains("keys")) return TensorOf(value);
  return Value::Tuple(0, {TensorOf(value["keys"]), TensorOf(value["values"])});
}

template <class T>
void CompareNumbers(const Tensor& got, const json& want) {
  const T* elements = static_cast<const T*>(got.data());
  for (size_t i = 0; i < want.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      EXPECT_EQ(elements[i], want[i].get<T>()) << "element " << i;
    } else {
      const double number = NumberOf(want[i]), found = elements[i];
      const bool is_same = (std::isnan(number) && std::isnan(found)) || number == found ||
                           std::abs(found - number) <= 2e-5 + 2e-5 * std::abs(number);
      EXPECT_TRUE(is_same) << "element " << i << ": " << found << ", want " << number;
    }
  }
}

void CompareTensor(const Tensor& got, const json& want) {
  const Element& element = ElementOf(want);
  ASSERT_EQ(got.dtype(), element.dtype);
  ASSERT_EQ(got.shape(), Shape(want["dims"].get<std::vector<int64_t>>()));
  if (element.dtype == DType::kString)
    EXPECT_EQ(got.strings(), want["values"].get<std::vector<std::string>>());
  else if (element.dtype == DType::kF64)
    CompareNumbers<double>(got, want["values"]);
  else if (element.dtype == DType::kI64)
    CompareNumbers<int64_t>(got, want["values"]);
  else if (element.dtype == DType::kI32)
    CompareNumbers<int32_t>(got, want["values"]);
  else if (element.dtype == DType::kU8)
    CompareNumbers<uint8_t>(got, want["values"]);
  else
    CompareNumbers<float>(got, want["values"]);
}

void CompareValue(const Value& got, const json& want) {
  if (want.is_array()) {
    ASSERT_TRUE(got.is_sequence());
    ASSERT_EQ(got.elements().size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_TRUE(got.elements()[i].is_tuple());
      CompareTensor(got.elements()[i].elements().at(0).tensor(), want[i]["keys"]);
      CompareTensor(got.elements()[i].elements().at(1).tensor(), want[i]["values"]);
    }
  } else {
    ASSERT_TRUE(got.is_tensor());
    CompareTensor(got.tensor(), want);
  }
}

// The outputs, or the error of compiling or running.
Expected<std::vector<Value>> Run(const json& test, bool is_symbolic) {
  std::string model = ModelOf(test, is_symbolic);
  TVMVM_TRY(CompileResult compiled, GetCompiler().CompileBytes(ir::BytesOf(model), {.targets = {"host"}}));
  TVMVM_TRY(std::shared_ptr<Vm> vm, Vm::Create(compiled.program));
  std::vector<Value> inputs, outputs(test["outputs"].size());
  for (const json& value : test["inputs"]) inputs.push_back(ValueOf(value));
  TVMVM_CHECK_OK(vm->NewInvocation().Run(inputs, outputs));
  return outputs;
}

void RunCase(const json& test, bool is_symbolic) {
  SCOPED_TRACE(test["op"].get<std::string>() + ": " + test["name"].get<std::string>() +
               (is_symbolic ? ", symbolic" : ""));
  auto outputs = Run(test, is_symbolic);
  if (test.contains("error")) {
    ASSERT_FALSE(outputs);
    EXPECT_THAT(outputs.error().message, ::testing::HasSubstr(test["error"].get<std::string>()));
    return;
  }
  ASSERT_TRUE(outputs) << outputs.error().message;
  for (size_t i = 0; i < outputs->size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    CompareValue((*outputs)[i], test["outputs"][i]);
  }
}

TEST(References, NumbersOfOtherImplementations) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(SourcePath("tests/conformance/references")))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  ASSERT_FALSE(paths.empty());
  for (const auto& path : paths) {
    json file = json::parse(ReadText(path), nullptr, false);
    ASSERT_TRUE(file.is_object() && file["cases"].is_array()) << path;
    int index = 0;
    for (const json& test : file["cases"]) {
      // Under a sanitizer every fourth case, for time.
      if (kSanitized && index++ % 4 != 0) continue;
      RunCase(test, false);
      RunCase(test, true);
    }
  }
}

}  // namespace
}  // namespace tvmvm
