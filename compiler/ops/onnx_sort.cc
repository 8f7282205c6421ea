// TopK.
#include "compiler/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

void EmitTopK(OnnxContext& c, const Dim& k, bool largest) {
  OpBuilder& b = c.b;
  int axis = b.NormalizeAxis(c.Int("axis", -1), b.rank(c.in(0)));
  if (b.failed()) return;
  std::vector<ValueId> results =
      b.EmitMulti("topk", {c.in(0)}, {{"axis", int64_t{axis}}, {"k", k}, {"largest", int64_t{largest}}});
  if (b.failed()) return;
  c.Out(0, results[0]);
  c.Out(1, results[1]);
}

void TopKOfAttribute(OnnxContext& c) { EmitTopK(c, Dim(c.Int("k", 0)), true); }

void TopK(OnnxContext& c) {
  Dims k = c.b.ReadDims(c.in(1));
  if (c.b.failed()) return;
  if (k.size() != 1) {
    c.b.Fail(Code::kInvalidArgument, "k is not a single number");
    return;
  }
  EmitTopK(c, k[0], c.Int("largest", 1) != 0);
}

constexpr OnnxOp kRows[] = {
    {"", "TopK", 1, 9, 1, 1, "axis k", TopKOfAttribute},
    {"", "TopK", 10, kLatest, 2, 2, "axis largest sorted", TopK},
};

}  // namespace

std::span<const OnnxOp> OnnxSortRows() { return kRows; }

}  // namespace tvmvm::ir
