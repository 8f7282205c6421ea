// The gradient of an elementwise operator that states none: its element is an expression, every operation of
// which is a core operator with a rule. Written out as nodes, it is differentiated like any other graph.

#include <algorithm>
#include <map>

#include "compiler/autodiff/differentiate.h"
#include "compiler/autodiff/gradient_rule.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::autodiff {
namespace {

using tensor::Expr;
using tensor::ExprOp;

// The element of a node in terms of its operands' elements, wherever they are.
class ElementOf : public ir::ElementContext {
 public:
  ElementOf(const OpBuilder& b, const ir::Node& node) : node_(node), output_(b.type(node.outputs[0])) {
    for (ValueId input : node.inputs) inputs_.push_back(input.valid() ? b.type(input) : ir::Type());
  }

  const ir::Node& node() const override { return node_; }
  const ir::Type& input_type(int input) const override { return inputs_[static_cast<size_t>(input)]; }
  const ir::Type& output_type(int) const override { return output_; }
  bool has_input(int input) const override {
    return static_cast<size_t>(input) < inputs_.size() && node_.inputs[static_cast<size_t>(input)].valid();
  }
  Expr Input(int input, std::span<const Expr>) override {
    return tensor::Element(static_cast<uint32_t>(input), input_type(input).dtype, {});
  }
  tensor::VariableId NewAxis(std::string_view) override { return next_++; }

  Expr Build() {
    std::vector<Expr> index;
    for (int axis = 0; axis < output_.rank(); ++axis) index.push_back(tensor::Variable(next_++));
    return node_.op->element(*this, index);
  }

 private:
  const ir::Node& node_;
  ir::Type output_;
  std::vector<ir::Type> inputs_;
  tensor::VariableId next_ = 0;
};

// Writes an expression as nodes, each of its parts once.
class NodeWriter {
 public:
  explicit NodeWriter(RuleContext& context) : c_(context) {}

  ValueId Write(const Expr& expr) {
    auto [place, is_new] = written_.try_emplace(expr.get());
    if (!is_new) return place->second;
    ValueId value = WriteNew(expr);
    return written_[expr.get()] = value;
  }

 private:
  ValueId WriteNew(const Expr& expr) {
    OpBuilder& b = c_.b;
    if (expr.op() == ExprOp::kElement) return c_.in(expr->id);
    if (expr.op() == ExprOp::kDim) return b.DimScalar(expr->dim);
    if (expr.op() == ExprOp::kConstant)
      return IsFloat(expr.dtype()) ? b.Scalar(expr.dtype(), expr->number)
                                   : b.ScalarInt(expr.dtype(), expr->integer);
    const ir::CoreOp* op = ir::ElementwiseOp(expr.op());
    if (op == nullptr) {
      c_.Unsupported("");
      return c_.out();
    }
    std::vector<ValueId> operands;
    for (const Expr& operand : expr->operands) operands.push_back(Write(operand));
    ir::Attributes attributes;
    if (expr.op() == ExprOp::kCast)
      attributes = {{"to", expr.dtype()}, {"saturate", int64_t{expr->saturate}}};
    if (expr.op() == ExprOp::kBitcast) attributes = {{"to", expr.dtype()}};
    return b.Emit(op->name, std::move(operands), std::move(attributes));
  }

  RuleContext& c_;
  std::map<const tensor::ExprNode*, ValueId> written_;
};

}  // namespace

void DerivedRule(RuleContext& c) {
  const Expr element = ElementOf(c.b, c.node).Build();
  ValueId y = NodeWriter(c).Write(element);
  if (c.b.failed()) return;
  std::vector<ValueId> xs;
  std::vector<size_t> places;
  for (size_t k = 0; k < c.node.inputs.size(); ++k) {
    // An operand that stands there twice has one gradient, through both.
    if (!c.wants(k) || std::find(xs.begin(), xs.end(), c.in(k)) != xs.end()) continue;
    xs.push_back(c.in(k));
    places.push_back(k);
  }
  // The gradient of sum(y * g), where g does not change, is that of y with g behind it.
  std::vector<ValueId> gradients = Gradients(c.b, c.b.Mul(y, c.gradient()), xs, {c.gradient()});
  for (size_t i = 0; i < xs.size() && !c.b.failed(); ++i) c.Add(places[i], gradients[i]);
}

}  // namespace tvmvm::autodiff
