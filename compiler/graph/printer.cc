#include "compiler/graph/printer.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <unordered_map>

#include "bytecode/digest.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/tensor_elements.h"

namespace tvmvm::ir {
namespace {

constexpr int64_t kMaxPrintedElements = 64;

std::string Join(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  return fmt::format("{}", value);
}

std::string ScalarText(const TensorData& data, int64_t index) {
  tensor::Scalar value = ReadElement(data, index);
  if (IsFloat(data.dtype)) return FloatText(value.number);
  if (data.dtype == DType::kU64) return fmt::format("{}", static_cast<uint64_t>(value.integer));
  return fmt::format("{}", value.integer);
}

std::string DataText(const TensorData& data) {
  std::string text = fmt::format("dense<{},[{}]>", DTypeName(data.dtype), fmt::join(data.dims, ","));
  int64_t count = data.element_count();
  if (count > kMaxPrintedElements || (data.dtype != DType::kString && !IsNumeric(data.dtype))) {
    if (data.dtype == DType::kString) return text + "#strings";
    return text + "#" + DigestOf(data.bytes).Hex().substr(0, 16);
  }
  std::vector<std::string> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(data.dtype == DType::kString ? QuoteText(data.strings[static_cast<size_t>(i)])
                                                    : ScalarText(data, i));
  return fmt::format("{}[{}]", text, Join(elements));
}

struct AttributeText {
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("float({})", FloatText(value)); }
  std::string operator()(const std::string& value) const { return QuoteText(value); }
  std::string operator()(DType value) const { return std::string(DTypeName(value)); }
  std::string operator()(Layout value) const { return std::string(LayoutName(value)); }
  std::string operator()(const Dim& value) const { return fmt::format("dim({})", value.ToString()); }
  std::string operator()(const Dims& value) const { return "dims" + ToString(value); }
  std::string operator()(const std::vector<int64_t>& value) const {
    return fmt::format("[{}]", fmt::join(value, ", "));
  }
  std::string operator()(const std::vector<double>& value) const {
    std::vector<std::string> parts;
    for (double number : value) parts.push_back(FloatText(number));
    return fmt::format("floats[{}]", Join(parts));
  }
  std::string operator()(const std::vector<std::string>& value) const {
    std::vector<std::string> parts;
    for (const std::string& text : value) parts.push_back(QuoteText(text));
    return fmt::format("strings[{}]", Join(parts));
  }
  std::string operator()(const SymbolId& value) const { return QuoteText(value.name()); }
  std::string operator()(const std::vector<SymbolId>& value) const {
    std::vector<std::string> parts;
    for (const SymbolId& symbol : value) parts.push_back(QuoteText(symbol.name()));
    return fmt::format("strings[{}]", Join(parts));
  }
  std::string operator()(const std::shared_ptr<const TensorData>& value) const {
    return value ? DataText(*value) : "none";
  }
};

class FunctionPrinter {
 public:
  // With `renumber`, values are numbered in order of definition; else they keep their ids.
  FunctionPrinter(const Function& function, bool renumber) : function_(function), renumber_(renumber) {}

  std::string Print() {
    const Region& body = function_.region(function_.body);
    text_ = fmt::format("func @{} {{\n", SymbolId(function_.name).ToString());
    for (size_t i = 0; i < body.parameters.size(); ++i)
      text_ += fmt::format("  input {} = {}\n", QuoteText(NameAt(function_.input_names, i)),
                           Definition(body.parameters[i]));
    for (NodeId node : body.nodes) PrintNode(function_.node(node), 1);
    for (size_t i = 0; i < body.results.size(); ++i)
      text_ += fmt::format("  output {} = {}\n", QuoteText(NameAt(function_.output_names, i)),
                           Use(body.results[i]));
    return text_ + "}\n";
  }

  std::string Line(const Node& node) {
    std::vector<std::string> outputs, inputs;
    for (ValueId input : node.inputs) inputs.push_back(Use(input));
    for (ValueId output : node.outputs) outputs.push_back(Definition(output));
    std::map<std::string_view, std::string> written;
    for (const auto& [name, value] : node.attributes) written[name] = std::visit(AttributeText{}, value);
    for (const DecisionField& field : DecisionFields())
      if (int64_t value = field.Get(node.decided); value != 0) written[field.name] = std::to_string(value);
    std::vector<std::string> attributes;
    for (const auto& [name, text] : written) attributes.push_back(fmt::format("{} = {}", name, text));
    std::string text = outputs.empty() ? "" : Join(outputs) + " = ";
    text += fmt::format("{}({})", node.op ? node.op->name : "?", Join(inputs));
    if (!attributes.empty()) text += fmt::format(" {{{}}}", Join(attributes));
    if (!node.source.empty()) text += " from " + QuoteText(node.source);
    return text;
  }

 private:
  static std::string NameAt(const std::vector<std::string>& names, size_t i) {
    return i < names.size() ? names[i] : "";
  }

  void PrintNode(const Node& node, int depth) {
    std::string indent(static_cast<size_t>(depth) * 2, ' ');
    text_ += indent + Line(node);
    for (RegionId id : node.regions) {
      const Region& region = function_.region(id);
      std::vector<std::string> parameters, results;
      for (ValueId parameter : region.parameters) parameters.push_back(Definition(parameter));
      text_ += fmt::format(" ({}) {{\n", Join(parameters));
      for (NodeId inner : region.nodes) PrintNode(function_.node(inner), depth + 1);
      for (ValueId result : region.results) results.push_back(Use(result));
      text_ += fmt::format("{}  yield {}\n{}}}", indent, Join(results), indent);
    }
    text_ += "\n";
  }

  std::string Use(ValueId value) {
    if (!value.valid()) return "_";
    if (!renumber_) return fmt::format("%{}", value.index);
    auto found = numbers_.find(value.index);
    return found == numbers_.end() ? fmt::format("%undefined.{}", value.index)
                                   : fmt::format("%{}", found->second);
  }

  std::string Definition(ValueId id) {
    numbers_.emplace(id.index, numbers_.size());
    const Value& value = function_.value(id);
    std::string text = Use(id);
    if (!value.name.empty()) text += " " + QuoteText(value.name);
    text += ": " + value.type.ToString();
    if (value.elements) text += " of " + ToString(*value.elements);
    if (value.device != kHostDevice) text += " on " + DeviceText(value.device);
    return text;
  }

  const Function& function_;
  bool renumber_;
  std::string text_;
  std::unordered_map<uint32_t, size_t> numbers_;
};

// All named expressions of the module, those first that others are built of.
std::vector<Dim> NamedDims(const Module& module) {
  std::vector<Dim> named;
  auto add = [&named](const Dims& dims) {
    for (const Dim& dim : dims)
      if (dim.depth() > 0) CollectNamed(dim, &named);
  };
  for (const Function& function : module.functions) {
    for (const Value& value : function.values) {
      add(value.type.dims);
      if (value.elements) add(*value.elements);
    }
    for (const Node& node : function.nodes)
      for (const auto& [name, attribute] : node.attributes) {
        if (const auto* dim = std::get_if<Dim>(&attribute)) add({*dim});
        if (const auto* dims = std::get_if<Dims>(&attribute)) add(*dims);
      }
  }
  return named;
}

std::string BoundText(int64_t bound) {
  return bound == INT64_MIN ? "-inf" : bound == INT64_MAX ? "inf" : fmt::format("{}", bound);
}

}  // namespace

std::string QuoteText(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += {'\\', c};
    else if (byte < 0x20 || byte >= 0x7f)
      quoted += fmt::format("\\x{:02x}", byte);
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string PrintFunction(const Function& function) { return FunctionPrinter(function, true).Print(); }

std::string PrintNode(const Function& function, const Node& node) {
  return FunctionPrinter(function, false).Line(node);
}

std::string PrintModule(const Module& module) {
  std::string text;
  const std::map<SymbolId, SymbolInfo> by_name(module.symbols.begin(), module.symbols.end());
  for (const auto& [symbol, info] : by_name) {
    text += fmt::format("symbol {}: [{}, {}]{}\n", symbol.ToString(), BoundText(info.range.low),
                        BoundText(info.range.high), info.scope == SymbolScope::kInput ? " input" : "");
  }
  for (const Dim& named : NamedDims(module))
    text += fmt::format("let {}: [{}, {}] = {}\n", named.ToString(), BoundText(named.range().low),
                        BoundText(named.range().high), named.operands()[0].ToString());
  for (const Function& function : module.functions) text += PrintFunction(function);
  return text;
}

}  // namespace tvmvm::ir
