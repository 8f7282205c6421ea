// One gradient rule for each core operator that has one: how the gradient of its results becomes that of its
// inputs. A rule may use the node's inputs and results, and everything that OpBuilder builds.
//
// At a kink (abs at 0, equal operands of max) the gradient is the mean of the slopes beside it, shared evenly
// between the operands: so compositions that have no kink there get their true gradient.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/op_builder.h"

namespace tvmvm::autodiff {

using ir::Dim;
using ir::Dims;
using ir::OpBuilder;
using ir::ValueId;

// What a rule sees of one node.
class RuleContext {
 public:
  // `gradients`: of the results, invalid where nothing depends on one. `wanted`: for each input, whether it
  // takes a gradient.
  RuleContext(OpBuilder& builder, const ir::Node& of, std::vector<ValueId> gradients,
              std::vector<bool> wanted);

  OpBuilder& b;
  const ir::Node& node;

  ValueId in(size_t k) const { return node.inputs[k]; }
  ValueId out(size_t k = 0) const { return node.outputs[k]; }
  ValueId gradient(size_t k = 0) const { return gradients_[k]; }
  bool wants(size_t k) const { return k < wanted_.size() && wanted_[k]; }
  ValueId Constant(double value) const { return b.Scalar(b.dtype(node.outputs[0]), value); }

  // One more term of an input's gradient, in the input's type; nothing where it is not wanted.
  void Add(size_t k, ValueId gradient);
  // The same of a gradient in the shape that the input was broadcast to: summed back.
  void AddBroadcast(size_t k, ValueId gradient);
  void Unsupported(std::string_view what);  // the builder fails, naming the node

  const std::vector<ValueId>& terms() const { return terms_; }  // by input; invalid: none

 private:
  std::vector<ValueId> gradients_;
  std::vector<bool> wanted_;
  std::vector<ValueId> terms_;
};

struct GradientRule {
  std::string_view op;
  void (*rule)(RuleContext&);
};

// The rule of the families below; an elementwise operator that they leave out and that is no single operation
// has one all the same, which follows from its element (derived_rule.cc). Null: the operator has none.
using Rule = void (*)(RuleContext&);
Rule FindRule(const ir::CoreOp& op);

// ---- what rules share (gradient_rule.cc) ----

// x summed over the axes along which `dims` was broadcast to its shape; the result has shape `dims`.
ValueId SumTo(OpBuilder& b, ValueId x, const Dims& dims);
// x in a shape that is its own when the model runs.
ValueId InShape(OpBuilder& b, ValueId x, const Dims& dims);
ValueId Zeros(OpBuilder& b, DType dtype, const Dims& dims);

// ---- families, one file each ----

std::span<const GradientRule> ElementwiseRules();  // elementwise_rules.cc
std::span<const GradientRule> MovementRules();     // movement_rules.cc
std::span<const GradientRule> IndexingRules();     // indexing_rules.cc
std::span<const GradientRule> ReductionRules();    // reduction_rules.cc
void DerivedRule(RuleContext& context);            // derived_rule.cc
std::span<const GradientRule> ProductRules();      // product_rules.cc

}  // namespace tvmvm::autodiff
