// TopK.
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

void EmitTopK(OnnxContext& c, const Dim& k, bool largest) {
  OpBuilder& b = c.b;
  int axis = b.NormalizeAxis(c.Int("axis", -1), b.rank(c.in(0)));
  if (b.failed()) return;
  Dim size = b.dim(c.in(0), axis);
  b.Require(And(LessEqual(0, k), LessEqual(k, size)), "k is {0}, wanted 0 to {1}", {k, size});
  std::vector<ValueId> results =
      b.EmitMulti("topk", {c.in(0)}, {{"axis", int64_t{axis}}, {"k", k}, {"largest", int64_t{largest}}});
  if (b.failed()) return;
  c.Out(0, results[0]);
  c.Out(1, results[1]);
}

void TopKOfAttribute(OnnxContext& c) { EmitTopK(c, Dim(c.Int("k", 0)), true); }

void TopK(OnnxContext& c) {
  Dim k = c.b.ReadDim(c.in(1));
  if (c.b.failed()) return;
  EmitTopK(c, k, c.Int("largest", 1) != 0);
}

constexpr OnnxOp kRows[] = {
    {"", "TopK", 1, 9, 1, 1, "axis k", TopKOfAttribute, kNumbers},
    {"", "TopK", 10, kLatest, 2, 2, "axis largest sorted", TopK, kNumbers},
};

}  // namespace

std::span<const OnnxOp> OnnxSortRows() { return kRows; }

}  // namespace tvmvm::ir
