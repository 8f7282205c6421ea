#include "compiler/autodiff/gradient_rule.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "compiler/graph/core_op.h"

namespace tvmvm::autodiff {

RuleContext::RuleContext(OpBuilder& builder, const ir::Node& of, std::vector<ValueId> gradients,
                         std::vector<bool> wanted)
    : b(builder),
      node(of),
      gradients_(std::move(gradients)),
      wanted_(std::move(wanted)),
      terms_(of.inputs.size()) {}

void RuleContext::Add(size_t k, ValueId gradient) {
  if (!wants(k) || b.failed()) return;
  gradient = InShape(b, gradient, b.dims(in(k)));
  terms_[k] = terms_[k].valid() ? b.Add(terms_[k], gradient) : gradient;
}

void RuleContext::AddBroadcast(size_t k, ValueId gradient) {
  if (!wants(k) || b.failed()) return;
  Add(k, SumTo(b, gradient, b.dims(in(k))));
}

void RuleContext::Unsupported(std::string_view what) {
  b.Fail(Code::kUnsupported, fmt::format("no gradient is known of core operator {}{}{} (node '{}')",
                                         node.op->name, what.empty() ? "" : " ", what, node.source));
}

ValueId SumTo(OpBuilder& b, ValueId x, const Dims& dims) {
  if (b.failed() || b.dims(x) == dims) return x;
  const Dims from = b.dims(x);
  size_t added = from.size() - dims.size();
  Dims flags(from.size(), Dim(1));
  for (size_t axis = added; axis < from.size(); ++axis) {
    const Dim& size = dims[axis - added];
    flags[axis] = size == from[axis] ? Dim(0) : Equal(size, 1);
  }
  return b.Reshape(b.ReduceFlags(tensor::ReduceKind::kSum, x, flags), dims);
}

ValueId InShape(OpBuilder& b, ValueId x, const Dims& dims) {
  return b.failed() || b.dims(x) == dims ? x : b.Reshape(x, dims);
}

ValueId Zeros(OpBuilder& b, DType dtype, const Dims& dims) { return b.Expand(b.Scalar(dtype, 0), dims); }

namespace {

using RulesByRow = std::map<const ir::CoreOp*, Rule>;

const RulesByRow& StatedRules() {
  static const RulesByRow* const kRules = [] {
    auto* rules = new RulesByRow;
    for (std::span<const GradientRule> family :
         {ElementwiseRules(), MovementRules(), IndexingRules(), ReductionRules(), ProductRules()})
      for (const GradientRule& row : family) rules->emplace(&ir::GetCoreOp(row.op), row.rule);
    return rules;
  }();
  return *kRules;
}

}  // namespace

Rule FindRule(const ir::CoreOp& op) {
  if (auto found = StatedRules().find(&op); found != StatedRules().end()) return found->second;
  bool is_composed = op.kind == ir::OpKind::kElementwise && op.scalar == tensor::ExprOp::kConstant;
  return is_composed ? DerivedRule : nullptr;
}

}  // namespace tvmvm::autodiff
