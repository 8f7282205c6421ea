#include "compiler/codegen/prepare_kernel.h"

#include <unordered_map>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::codegen {
namespace {

using tensor::Expr;
using tensor::StmtPtr;

// Dims as variables bound at the start. Later rewriting would fold dims into other dims, which no launch
// passes.
tensor::LoopKernel BindDims(const tensor::LoopKernel& kernel) {
  tensor::LoopKernel result = kernel;
  std::vector<StmtPtr> statements;
  std::unordered_map<ir::Dim, Expr> variables;
  for (const ir::Dim& dim : tensor::ScalarArguments(kernel)) {
    tensor::VariableId variable = result.NewVariable(dim.ToString());
    statements.push_back(tensor::Let(variable, tensor::DimValue(dim)));
    variables.emplace(dim, tensor::Variable(variable));
  }
  tensor::Rewriter rewrite(
      [&](const Expr& e) { return e.op() == tensor::ExprOp::kDim ? variables.at(e->dim) : e; });
  statements.push_back(tensor::MapExpressions(kernel.body, [&](const Expr& e) { return rewrite(e); }));
  result.body = tensor::Block(std::move(statements));
  return result;
}

class Unroller {
 public:
  StmtPtr Run(const StmtPtr& root) {
    bool is_unrolled = root->kind == tensor::StmtKind::kFor && root->loop == tensor::LoopKind::kUnrolled;
    if (is_unrolled) return Unroll(*root);
    if (root->kind == tensor::StmtKind::kBlock) return Block(*root);
    tensor::Stmt s = *root;
    for (Expr* e : {&s.begin, &s.end, &s.value, &s.index, &s.mask})
      if (e->valid() && !values_.empty()) *e = tensor::Substitute(*e, values_);
    for (StmtPtr& child : s.body) child = Run(child);
    return std::make_shared<const tensor::Stmt>(std::move(s));
  }

 private:
  // What copies of a body make constant is no variable any more: indices of registers are numbers then.
  StmtPtr Block(const tensor::Stmt& s) {
    size_t known = values_.size();
    std::vector<StmtPtr> statements;
    for (const StmtPtr& child : s.body) {
      bool is_let = child->kind == tensor::StmtKind::kLet && !values_.empty();
      Expr value = is_let ? tensor::Substitute(child->value, values_) : Expr();
      if (value.valid() && tensor::IsConstant(value)) {
        values_.emplace_back(child->variable, value);
      } else {
        statements.push_back(Run(child));
      }
    }
    values_.resize(known);
    return tensor::Block(std::move(statements));
  }

  StmtPtr Unroll(const tensor::Stmt& s) {
    Expr begin = values_.empty() ? s.begin : tensor::Substitute(s.begin, values_);
    std::vector<StmtPtr> copies;
    int64_t extent = tensor::ConstantExtent(s).value_or(0);
    for (int64_t i = 0; i < extent; ++i) {
      values_.emplace_back(s.variable, begin + tensor::IntConstant(i * s.step->integer));
      copies.push_back(Run(s.body[0]));
      values_.pop_back();
    }
    return tensor::Block(std::move(copies));
  }

  std::vector<std::pair<tensor::VariableId, Expr>> values_;
};

}  // namespace

tensor::LoopKernel PrepareKernel(const tensor::LoopKernel& kernel, tensor::MathTarget target) {
  return tensor::ExpandMath(tensor::Vectorize(BindDims(tensor::GuardLoads(kernel))), target);
}

tensor::LoopKernel UnrollLoops(const tensor::LoopKernel& kernel) {
  tensor::LoopKernel result = kernel;
  result.body = Unroller().Run(kernel.body);
  return result;
}

}  // namespace tvmvm::codegen
