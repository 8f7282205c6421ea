// Building `if` nodes: the types of both branches' results become one.
#include <fmt/core.h>

#include <utility>

#include "compiler/graph/core_op.h"
#include "compiler/graph/type_join.h"
#include "compiler/onnx/ops/onnx_control.h"

namespace tvmvm::ir {
namespace {

class IfBuilder {
 public:
  explicit IfBuilder(OpBuilder& b) : b_(b), inner_(b.module()) {}

  std::vector<ValueId> Run(const Dim& condition, const BuildBranch& then_branch,
                           const BuildBranch& else_branch) {
    std::string source = b_.source();
    if (!Build(then_branch, 0) || !Build(else_branch, 1)) return {};
    b_.SetSource(std::move(source));
    if (results_[0].size() != results_[1].size()) {
      b_.Fail(Code::kInvalidArgument,
              fmt::format("one branch has {} outputs, the other {}", results_[0].size(), results_[1].size()));
      return {};
    }
    node_.op = &GetCoreOp("if");
    node_.source = b_.source();
    node_.regions = {regions_[0], regions_[1]};
    node_.attributes["condition"] = condition;
    std::vector<ValueId> outputs;
    for (size_t i = 0; i < results_[0].size() && !b_.failed(); ++i) outputs.push_back(Merge(i));
    if (b_.failed()) return {};
    node_.attributes["symbols"] = std::move(symbols_);
    node_.attributes["then_values"] = std::move(values_[0]);
    node_.attributes["else_values"] = std::move(values_[1]);
    b_.function().region(b_.region()).nodes.push_back(b_.function().AddNode(std::move(node_)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      // Contents that are known as dims need no value of their own.
      if (!outputs[i].valid())
        outputs[i] =
            b_.Reshape(b_.DimsTensor(elements_[i], b_.dtype(results_[0][i])), b_.dims(results_[0][i]));
    }
    return outputs;
  }

 private:
  bool Build(const BuildBranch& build, int branch) {
    regions_[branch] = b_.function().AddRegion();
    b_.EnterRegion(regions_[branch]);
    auto results = build();
    b_.LeaveRegion();
    if (!results) {
      b_.Fail(results.error().code, results.error().message);
      return false;
    }
    results_[branch] = *results;
    return !b_.failed();
  }

  // What is `a` in one case and `b` in the other.
  Dim MergeDim(const Dim& a, const Dim& b, DimRange range) {
    if (a == b && !inner_.Mentioned(a)) return a;
    Dim merged = b_.module().FreshSymbol({.range = range});
    symbols_.push_back(merged.symbol());
    values_[0].push_back(a);
    values_[1].push_back(b);
    return merged;
  }

  // The result; invalid: it is known by its contents, which are in elements_.
  ValueId Merge(size_t number) {
    ValueId a = results_[0][number], b = results_[1][number];
    const Type x = b_.type(a), y = b_.type(b);
    const auto x_elements = b_.function().value(a).elements, y_elements = b_.function().value(b).elements;
    elements_.emplace_back();
    if (x_elements && y_elements && x == y && x_elements->size() == y_elements->size()) {
      for (size_t i = 0; i < x_elements->size(); ++i)
        elements_.back().push_back(MergeDim((*x_elements)[i], (*y_elements)[i], {INT64_MIN, INT64_MAX}));
      return {};
    }
    auto joined = Join(x, y);
    if (!joined) {
      return b_.Fail(Code::kInvalidArgument, fmt::format("output {} is {} in one branch and {} in the other",
                                                         number, x.ToString(), y.ToString()));
    }
    if (joined->kind == TypeKind::kTensor && joined->ranked)
      for (size_t axis = 0; axis < joined->dims.size(); ++axis)
        joined->dims[axis] = MergeDim(x.dims[axis], y.dims[axis], {0, INT64_MAX});
    b_.function().region(regions_[0]).results.push_back(a);
    b_.function().region(regions_[1]).results.push_back(b);
    node_.outputs.push_back(b_.function().AddValue(*std::move(joined)));
    return node_.outputs.back();
  }

  OpBuilder& b_;
  InnerSymbols inner_;
  Node node_;
  RegionId regions_[2];
  std::vector<ValueId> results_[2];
  std::vector<SymbolId> symbols_;
  Dims values_[2];
  std::vector<Dims> elements_;  // by output
};

}  // namespace

std::vector<ValueId> BuildIf(OpBuilder& b, const Dim& condition, const BuildBranch& then_branch,
                             const BuildBranch& else_branch) {
  if (!condition.is_constant()) return IfBuilder(b).Run(condition, then_branch, else_branch);
  auto results = condition.value() != 0 ? then_branch() : else_branch();
  if (results) return *std::move(results);
  b.Fail(results.error().code, results.error().message);
  return {};
}

}  // namespace tvmvm::ir
