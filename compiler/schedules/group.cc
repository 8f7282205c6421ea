#include "compiler/schedules/group.h"

#include <algorithm>
#include <utility>

#include "compiler/graph/tensor_elements.h"
#include "compiler/schedules/expand.h"

namespace tvmvm::tensor {

PackConstant PackInPanels(PanelsOfInput layout, bool of_bytes) {
  auto pack = [layout, of_bytes](const GroupConstants& constants) {
    ir::TensorData split = *constants[layout.number];
    split.dims = layout.dims;
    return (of_bytes ? PackBytePanels : PackPanels)(split, layout.axes, layout.panels);
  };
  if (of_bytes) return {std::move(pack)};  // whose elements are words of four bytes
  return {std::move(pack), std::move(layout)};
}

namespace {

// The element functions of core operators see this: inputs are expanded on demand.
class InliningContext final : public ir::ElementContext {
 public:
  InliningContext(Expander& expander, const ir::Node& node) : expander_(expander), node_(node) {}

  const ir::Node& node() const override { return node_; }
  const ir::Type& input_type(int input) const override {
    return has_input(input) ? expander_.group().type(node_.inputs[input]) : absent_;
  }
  const ir::Type& output_type(int output) const override {
    return expander_.group().type(node_.outputs[output]);
  }
  bool has_input(int input) const override {
    return input >= 0 && input < static_cast<int>(node_.inputs.size()) && node_.inputs[input].valid();
  }
  Expr Input(int input, std::span<const Expr> index) override {
    return expander_.Expand(node_.inputs[input], index);
  }
  VariableId NewAxis(std::string_view name) override {
    return expander_.kernel()->NewVariable(std::string(name));
  }

 private:
  Expander& expander_;
  const ir::Node& node_;
  const ir::Type absent_;
};

// The one element of a constant as an immediate; invalid for strings and complex numbers.
Expr ImmediateOf(const ir::TensorData& data) {
  if (data.element_count() != 1 || static_cast<int64_t>(data.bytes.size()) < DTypeBytes(data.dtype, 1))
    return {};
  return ir::IsNumeric(data.dtype) ? ir::ElementConstant(data, 0) : Expr();
}

// The element of a value whose contents are known without memory: a constant of one element, or dims.
Expr KnownElement(const ir::Function& function, ir::ValueId value, std::span<const Expr> index) {
  if (const ir::TensorData* data = function.ConstantOf(value)) return ImmediateOf(*data);
  const ir::Value& info = function.value(value);
  if (!info.elements || (!IsInteger(info.type.dtype) && info.type.dtype != DType::kBool)) return {};
  if (info.elements->size() == 1) return Cast(info.type.dtype, DimValue(info.elements->front()));
  if (index.size() != 1 || !IsConstant(index[0])) return {};
  int64_t position = index[0]->integer;
  if (position < 0 || position >= static_cast<int64_t>(info.elements->size())) return {};
  return Cast(info.type.dtype, DimValue((*info.elements)[position]));
}

// A small tensor made of dims, at an index known only at run time: a chain of selections over the flat
// position.
Expr DimsElement(const ir::Value& info, std::span<const Expr> index) {
  Expr position = FlatIndex(info.type.dims, index);
  Expr result;
  for (size_t i = 0; i < info.elements->size(); ++i) {
    Expr element = Cast(info.type.dtype, DimValue((*info.elements)[i]));
    result = result.valid() ? Select(Equal(position, IntConstant(static_cast<int64_t>(i))), element, result)
                            : element;
  }
  return result;
}

// The node that makes a value; null: it is an input.
const ir::Node* ProducerOf(const ir::Function& function, ir::ValueId value) {
  const ir::NodeId producer = function.value(value).producer;
  return producer.valid() ? &function.node(producer) : nullptr;
}

// Whether `bound` is the largest of the elements of `value` along some axes, or the larger of that and more.
bool IsLargestOf(const ir::Function& function, ir::ValueId bound, ir::ValueId value) {
  const ir::Node* node = ProducerOf(function, bound);
  if (node == nullptr || node->op == nullptr) return false;
  if (node->op->kind == ir::OpKind::kReduce) return node->String("kind") == "max" && node->inputs[0] == value;
  if (node->op->scalar != ExprOp::kMax) return false;
  return std::ranges::any_of(node->inputs,
                             [&](ir::ValueId input) { return IsLargestOf(function, input, value); });
}

// Whether a value is how far elements are below the largest: 0 at most, or NaN.
bool IsBelowLargest(const ir::Function& function, ir::ValueId value) {
  const ir::Node* node = ProducerOf(function, value);
  return node != nullptr && node->op != nullptr && node->op->scalar == ExprOp::kSub &&
         IsLargestOf(function, node->inputs[1], node->inputs[0]);
}

}  // namespace

Expr Expander::Expand(ir::ValueId value, std::span<const Expr> index) {
  std::vector<uint32_t> numbers;
  numbers.reserve(index.size());
  for (const Expr& i : index) numbers.push_back(numbering_.Number(i));
  std::pair key(value.index, std::move(numbers));
  if (auto found = done_.find(key); found != done_.end()) return found->second;
  Expr result = ExpandNew(value, index);
  if (!result.valid()) {
    missing_ = value;
    result = Constant(group_.type(value).dtype, 0);
  }
  done_.emplace(std::move(key), result);
  return result;
}

Expr Expander::ExpandNew(ir::ValueId value, std::span<const Expr> index) {
  const ir::Function& function = group_.function();
  if (Expr known = KnownElement(function, value, index); known.valid()) return known;
  int input = group_.InputNumber(value);
  if (input >= 0) {
    Expr known = KnownElement(function, group_.outer_inputs()[input], index);
    if (known.valid()) return known;
  }
  if (Expr leaf = leaf_(value, index); leaf.valid()) return leaf;
  const ir::Value& info = function.value(value);
  if (info.elements && !info.elements->empty()) return DimsElement(info, index);
  if (input >= 0 || !info.producer.valid()) return {};
  const ir::Node& node = function.node(info.producer);
  if (node.op == nullptr || node.op->element == nullptr) return {};
  InliningContext context(*this, node);
  Expr element = node.op->element(context, index);
  const bool is_falling = element.valid() && element.op() == ExprOp::kExp &&
                          node.op->scalar == ExprOp::kExp && IsBelowLargest(function, node.inputs[0]);
  return is_falling ? FallingExp(element->operands[0]) : element;
}

GroupView::GroupView(const ir::Function& function, ir::NodeId group, const ScheduleOverrides* overrides)
    : function_(&function), overrides_(overrides) {
  const ir::Node& node = function.node(group);
  if (node.regions.empty()) {
    nodes_ = {group};
    outputs_ = node.outputs;
    inputs_ = outer_inputs_ = node.inputs;
    return;
  }
  const ir::Region& region = function.region(node.regions[0]);
  nodes_ = region.nodes;
  inputs_ = region.parameters;
  outer_inputs_ = node.inputs;
  outputs_ = region.results;
}

std::optional<ConstantInput> GroupView::ConstantOf(ir::ValueId value) const {
  const int input = InputNumber(value);
  if (input < 0) return std::nullopt;
  const auto number = static_cast<size_t>(input);
  const ir::TensorData* data = function_->ConstantOf(outer_inputs_[number]);
  if (data == nullptr) return std::nullopt;
  return ConstantInput{number, data->dtype, data->dims};
}

GroupConstants ConstantsOf(const ir::Function& function, ir::NodeId group) {
  GroupConstants constants;
  for (ir::ValueId input : function.node(group).inputs) {
    constants.emplace_back();
    if (!input.valid() || function.ConstantOf(input) == nullptr) continue;
    const ir::Node& constant = function.node(function.value(input).producer);
    constants.back() = std::get<std::shared_ptr<const ir::TensorData>>(*constant.Find("data"));
  }
  return constants;
}

int GroupView::InputNumber(ir::ValueId value) const {
  auto found = std::find(inputs_.begin(), inputs_.end(), value);
  return found == inputs_.end() ? -1 : static_cast<int>(found - inputs_.begin());
}

Expr GroupView::Expand(ir::ValueId value, std::span<const Expr> index, const Leaf& leaf,
                       LoopKernel* kernel) const {
  Expander expander(*this, leaf, kernel);
  Expr result = expander.Expand(value, index);
  return expander.missing().valid() ? Expr() : result;
}

std::string WordsOf(const GroupView& group) {
  auto types_of = [&](const std::vector<ir::ValueId>& values) {
    std::string text;
    for (ir::ValueId value : values)
      if (value.valid()) text += (text.empty() ? "" : ",") + std::string(DTypeName(group.type(value).dtype));
    return WordOf(std::move(text));
  };
  std::string operators;
  for (ir::NodeId node : group.nodes())
    operators += (operators.empty() ? "" : "+") + std::string(group.function().node(node).op->name);
  return types_of(group.inputs()) + "->" + types_of(group.outputs()) + " ops=" + WordOf(std::move(operators));
}

Expr FlatIndex(const ir::Dims& dims, std::span<const Expr> index) {
  if (index.empty()) return IntConstant(0);
  Expr flat = index[0];
  for (size_t axis = 1; axis < index.size(); ++axis) flat = flat * DimValue(dims[axis]) + index[axis];
  return flat;
}

}  // namespace tvmvm::tensor
