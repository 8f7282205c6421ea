// Control flow that is decided at compile time.
#include <fmt/core.h>

#include "compiler/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

void If(OnnxContext& c) {
  OpBuilder& b = c.b;
  const OnnxAttribute* then_branch = c.Attr("then_branch");
  const OnnxAttribute* else_branch = c.Attr("else_branch");
  if (then_branch == nullptr || else_branch == nullptr || then_branch->graph == nullptr ||
      else_branch->graph == nullptr) {
    b.Fail(Code::kInvalidArgument, "a branch is missing");
    return;
  }
  auto condition = b.ConstantScalar(c.in(0));
  if (!condition.has_value()) {
    b.Fail(Code::kUnsupported, "a condition that is known only at run time");
    return;
  }
  auto results = c.import_inline(*condition != 0 ? *then_branch->graph : *else_branch->graph, {});
  if (!results) {
    b.Fail(results.error().code, results.error().message);
    return;
  }
  for (size_t i = 0; i < results->size(); ++i) c.Out(i, (*results)[i]);
}

constexpr OnnxOp kRows[] = {
    {"", "If", 1, kLatest, 1, 1, "then_branch else_branch", If},
};

}  // namespace

std::span<const OnnxOp> OnnxControlRows() { return kRows; }

}  // namespace tvmvm::ir
