#include "compiler/schedules/group_signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "compiler/graph/core_op.h"
#include "compiler/graph/tensor_elements.h"
#include "compiler/schedules/group.h"

namespace tvmvm::tensor {
namespace {

using ir::ValueId;
using Data = std::shared_ptr<const ir::TensorData>;

// Texts are preceded by their length, so that none can look like something else.
std::string Quoted(const std::string& text) { return fmt::format("{}:{}", text.size(), text); }

struct AttributeText {
  std::vector<Data>& data;

  std::string operator()(int64_t value) const { return fmt::format("i{}", value); }
  std::string operator()(double value) const { return fmt::format("f{:a}", value); }
  std::string operator()(const std::string& value) const { return Quoted(value); }
  std::string operator()(ir::Layout value) const { return std::string(LayoutName(value)); }
  std::string operator()(DType value) const { return std::string(DTypeName(value)); }
  std::string operator()(const ir::Dim& value) const { return value.ToString(); }
  std::string operator()(const ir::Dims& value) const { return ir::ToString(value); }
  std::string operator()(const std::vector<int64_t>& value) const {
    return fmt::format("[{}]", fmt::join(value, ","));
  }
  std::string operator()(const std::vector<double>& value) const {
    return fmt::format("[{:a}]", fmt::join(value, ","));
  }
  std::string operator()(const std::vector<std::string>& value) const {
    std::string text;
    for (const std::string& element : value) text += Quoted(element);
    return text;
  }
  std::string operator()(const ir::SymbolId& value) const { return Quoted(value.name()); }
  std::string operator()(const std::vector<ir::SymbolId>& value) const {
    std::string text;
    for (const ir::SymbolId& symbol : value) text += Quoted(symbol.name());
    return text;
  }
  std::string operator()(const Data& value) const {
    if (value) data.push_back(value);
    return fmt::format("@{}", static_cast<const void*>(value.get()));
  }
};

class Writer {
 public:
  Writer(const ir::Function& function, const TargetInfo& target) : function_(function) {
    const TargetInfo& t = target;
    Write("{} {} {} {} {}{}{} {} {} {} {} {} {}{}{}{}{}{}{}{} {}\n", static_cast<int>(t.device),
          static_cast<int>(t.cpu_level), t.vector_bits, t.vector_registers, t.has_vnni, t.has_bf16, t.has_f16,
          t.l1_bytes, t.l2_bytes, t.shared_memory_bytes, t.max_group_size, t.subgroup_size, t.has_subgroups,
          t.has_f64, t.has_i64, t.has_f16_storage, t.has_i8_storage, t.has_matrices, t.awaits_matrices,
          t.shares_memory, t.max_block_bytes);
  }

  GroupSignature Group(ir::NodeId group) {
    const GroupView view(function_, group);
    for (ir::NodeId id : view.nodes()) {
      const ir::Node& node = function_.node(id);
      if (node.op->traits.decodes) decoded_.insert(node.inputs.begin(), node.inputs.end());
    }
    for (size_t i = 0; i < view.inputs().size(); ++i) {
      const ValueId inside = view.inputs()[i], outside = view.outer_inputs()[i];
      Value(inside);
      Elements(inside);
      if (!(inside == outside)) Elements(outside);
      if (outside.valid()) Constant(outside, decoded_.contains(inside));
      Write("\n");
    }
    for (ir::NodeId node : view.nodes()) Node(function_.node(node));
    for (ValueId output : view.outputs()) Value(output);
    return std::move(signature_);
  }

 private:
  template <class... Arguments>
  void Write(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(signature_.text), format, std::forward<Arguments>(arguments)...);
  }

  // A value by its number in the group; its type where it is seen for the first time.
  void Value(ValueId value) {
    if (!value.valid()) return Write(" none");
    auto [number, is_new] = numbers_.emplace(value, numbers_.size());
    Write(" %{}", number->second);
    if (is_new) Write(":{}", function_.type(value).ToString());
  }

  // What is known of an integer tensor's elements.
  void Elements(ValueId value) {
    if (!value.valid()) return;
    if (const auto& elements = function_.value(value).elements) Write("={}", ir::ToString(*elements));
  }

  // That the group is given a constant, and which one where that matters.
  void Constant(ValueId value, bool is_decoded) {
    const ir::TensorData* data = function_.ConstantOf(value);
    if (data == nullptr) return;
    Write("=constant {}[{}]", DTypeName(data->dtype), fmt::join(data->dims, ","));
    if (!is_decoded && data->element_count() != 1) return;
    if (!is_decoded && ir::IsNumeric(data->dtype)) {
      Write(" ");
      for (std::byte byte : data->bytes) Write("{:02x}", std::to_integer<unsigned>(byte));
      return;
    }
    const ir::Node& constant = function_.node(function_.value(value).producer);
    Write(" {}", AttributeText{signature_.data}(std::get<Data>(*constant.Find("data"))));
  }

  void Node(const ir::Node& node) {
    Write("{}", node.op->name);
    for (ValueId input : node.inputs) Value(input);
    for (const auto& [name, attribute] : node.attributes)
      Write(" {}={}", name, std::visit(AttributeText{signature_.data}, attribute));
    for (const ir::DecisionField& field : ir::DecisionFields())
      if (const int64_t value = field.Get(node.decided)) Write(" {}={}", field.name, value);
    Write(" ->");
    for (ValueId output : node.outputs) {
      Value(output);
      Elements(output);
    }
    Write("\n");
  }

  const ir::Function& function_;
  GroupSignature signature_;
  std::set<ValueId> decoded_;  // inputs of nodes that decode, as seen inside
  std::map<ValueId, size_t> numbers_;
};

}  // namespace

GroupSignature SignatureOf(const ir::Function& function, ir::NodeId group, const TargetInfo& target) {
  return Writer(function, target).Group(group);
}

}  // namespace tvmvm::tensor
