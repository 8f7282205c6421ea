// Square matrices.
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

// The input, whose last two axes are required to be equal.
ValueId Square(OnnxContext& c) {
  Dims dims = c.b.dims(c.in(0));
  if (dims.size() < 2) return c.in(0);
  const Dim &rows = dims[dims.size() - 2], &columns = dims.back();
  c.b.Require(Equal(rows, columns), "matrices of {0} by {1}, square ones are wanted", {rows, columns});
  return c.in(0);
}

void Det(OnnxContext& c) { c.Out(0, c.b.Emit("determinant", {Square(c)})); }
void Inverse(OnnxContext& c) { c.Out(0, c.b.Emit("inverse", {Square(c)})); }

constexpr OnnxOp kRows[] = {
    {"", "Det", 11, kLatest, 1, 1, "", Det, kFloats},
    {"com.microsoft", "Inverse", 1, kLatest, 1, 1, "", Inverse, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxLinearAlgebraRows() { return kRows; }

}  // namespace tvmvm::ir
