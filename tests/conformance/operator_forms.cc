#include "tests/conformance/operator_forms.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/compiler/onnx/importer/onnx_writer.h"

namespace tvmvm {
namespace {

using nlohmann::json;

// The text up to the next '|', which is taken away with it.
std::string TakeColumn(std::string_view* text) {
  size_t end = std::min(text->find('|'), text->size());
  std::string column(text->substr(0, end));
  text->remove_prefix(std::min(end + 1, text->size()));
  return column;
}

OperandForm ReadOperand(std::string text) {
  OperandForm form;
  if (text == "-") return form;
  form.kind = OperandForm::Kind::kTensor;
  if (text.starts_with("seq(")) form.kind = OperandForm::Kind::kSequence;
  if (text.starts_with("opt(")) form.kind = OperandForm::Kind::kOptional;
  if (form.kind != OperandForm::Kind::kTensor) text = text.substr(4, text.size() - 5);
  size_t open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos) {
    ADD_FAILURE() << "no operand: " << text;
    return form;
  }
  std::string type = text.substr(0, open);
  if (type == "?") {
    form.dtype = DType::kInvalid;
  } else if (type != "T") {
    form.dtype = DTypeFromName(type);
    EXPECT_TRUE(form.dtype) << "no type: " << type;
  }
  std::istringstream dims(text.substr(open + 1, close - open - 1));
  for (std::string dim; std::getline(dims, dim, ',');) form.dims.push_back(dim == "?" ? -1 : std::stoll(dim));
  if (text.substr(close + 1).starts_with("=")) {
    std::istringstream values(text.substr(close + 2));
    form.values.emplace();
    for (std::string value; std::getline(values, value, ',');) form.values->push_back(std::stod(value));
  }
  return form;
}

std::vector<OperandForm> ReadOperands(const std::string& text) {
  std::vector<OperandForm> operands;
  std::istringstream words(text);
  for (std::string word; words >> word;) operands.push_back(ReadOperand(word));
  return operands;
}

OperatorForm ReadForm(const std::string& line) {
  OperatorForm form;
  form.text = line;
  std::string_view rest = line;
  std::istringstream head(TakeColumn(&rest));
  std::string name;
  head >> name >> form.version;
  size_t dot = name.rfind('.');
  form.domain = dot == std::string::npos ? "" : name.substr(0, dot);
  form.name = dot == std::string::npos ? name : name.substr(dot + 1);
  form.inputs = ReadOperands(TakeColumn(&rest));
  form.outputs = ReadOperands(TakeColumn(&rest));
  form.attributes = json::parse(rest.empty() ? "{}" : rest, nullptr, false);
  EXPECT_TRUE(form.attributes.is_object()) << line;
  return form;
}

template <class T>
std::string Bytes(const std::vector<double>& values) {
  return ir::RawBytes(std::vector<T>(values.begin(), values.end()));
}

// Of the types that constants have; others are zeros.
std::string BytesOf(DType dtype, const std::vector<double>& values) {
  switch (dtype) {
    case DType::kF32:
      return Bytes<float>(values);
    case DType::kF64:
      return Bytes<double>(values);
    case DType::kI32:
      return Bytes<int32_t>(values);
    case DType::kI64:
      return Bytes<int64_t>(values);
    case DType::kU8:
      return Bytes<uint8_t>(values);
    default: {
      auto count = static_cast<int64_t>(values.size());
      int64_t bytes = IsFloat6(dtype) ? PackedFloat6Bytes(count) : DTypeBytes(dtype, count);
      return std::string(static_cast<size_t>(bytes), '\0');
    }
  }
}

std::string TensorOf(const std::string& name, DType dtype, const std::vector<int64_t>& dims,
                     const std::vector<double>& values) {
  if (dtype != DType::kString)
    return ir::TensorMessage(name, DTypeToOnnx(dtype), dims, BytesOf(dtype, values));
  return ir::Message([&](auto& w) {
    w.add_packed_int64(1, dims.begin(), dims.end());
    w.add_int32(2, ir::kOnnxString);
    for (double value : values) w.add_bytes(6, std::to_string(value));
    w.add_string(8, name);
  });
}

std::string AttributeOf(const std::string& name, const json& value, DType type) {
  if (value == "T") return ir::IntAttribute(name, DTypeToOnnx(type));
  if (value.is_number_integer()) return ir::IntAttribute(name, value);
  if (value.is_number_float()) return ir::FloatAttribute(name, value);
  if (value.is_string()) return ir::TextAttribute(name, value);
  if (value.is_object()) {
    DType dtype = value["type"] == "T" ? type : DTypeFromName(value["type"].get<std::string>()).value();
    return ir::Message([&](auto& w) {
      w.add_string(1, name);
      w.add_message(5, TensorOf("", dtype, value["dims"], value["values"]));
      w.add_int32(20, 4);
    });
  }
  if (!value.empty() && value[0].is_string()) return ir::TextsAttribute(name, value);
  if (value.empty() || value[0].is_number_integer()) return ir::IntsAttribute(name, value);
  std::vector<float> numbers = value;
  return ir::Message([&](auto& w) {
    w.add_string(1, name);
    w.add_packed_float(7, numbers.begin(), numbers.end());
    w.add_int32(20, 6);
  });
}

std::string TypeOf(const OperandForm& form, DType dtype) {
  std::vector<ir::DimText> dims;
  for (int64_t dim : form.dims) dims.push_back(dim < 0 ? ir::DimText("") : ir::DimText(dim));
  std::string tensor = ir::TensorType(DTypeToOnnx(dtype), dims);
  if (form.kind == OperandForm::Kind::kSequence) return ir::SequenceType(tensor);
  return form.kind == OperandForm::Kind::kOptional ? ir::OptionalType(tensor) : tensor;
}

void AddNode(const OperatorForm& form, DType type, ir::GraphText* graph) {
  ir::NodeText node{form.name, {}, {}};
  node.domain = form.domain;
  const std::string suffix = "_" + std::string(DTypeName(type));
  for (const OperandForm& input : form.inputs) {
    std::string name = "x" + std::to_string(node.inputs.size()) + suffix;
    node.inputs.push_back(input.kind == OperandForm::Kind::kAbsent ? "" : name);
    if (input.kind == OperandForm::Kind::kAbsent) continue;
    DType dtype = input.dtype.value_or(type);
    if (input.values)
      graph->initializers.push_back(TensorOf(name, dtype, input.dims, *input.values));
    else
      graph->inputs.push_back(ir::ValueOfType(name, TypeOf(input, dtype)));
  }
  for (const OperandForm& output : form.outputs) {
    std::string name = "y" + std::to_string(node.outputs.size()) + suffix;
    node.outputs.push_back(output.kind == OperandForm::Kind::kAbsent ? "" : name);
    if (output.kind == OperandForm::Kind::kAbsent) continue;
    DType dtype = output.dtype.value_or(type);
    graph->outputs.push_back(ir::ValueOfType(name, TypeOf(output, dtype == DType::kInvalid ? type : dtype)));
  }
  for (const auto& [name, value] : form.attributes.items())
    node.attributes.push_back(AttributeOf(name, value, type));
  graph->nodes.push_back(node);
}

}  // namespace

std::vector<OperatorForm> ReadOperatorForms() {
  std::ifstream file(TVMVM_OPERATOR_FORMS);
  std::vector<OperatorForm> forms;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && !line.starts_with("#")) forms.push_back(ReadForm(line));
  EXPECT_FALSE(forms.empty());
  return forms;
}

std::string ModelOf(const OperatorForm& form, const std::vector<DType>& types) {
  constexpr int kOtherOpset = 21;  // of ai.onnx where the operator is of another domain
  ir::GraphText graph;
  for (DType type : types) AddNode(form, type, &graph);
  std::string model = ir::ModelMessage(graph, form.domain.empty() ? form.version : kOtherOpset);
  // Messages one after another are one message.
  if (!form.domain.empty())
    model += ir::Message([&](auto& w) { w.add_message(8, ir::OpsetMessage(form.domain, form.version)); });
  return model;
}

}  // namespace tvmvm
