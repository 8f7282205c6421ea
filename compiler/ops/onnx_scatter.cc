// Writes at computed positions. Scatter is the old name of ScatterElements.
#include "compiler/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

void ScatterElements(OnnxContext& c) {
  int axis = c.b.NormalizeAxis(c.Int("axis", 0), c.b.rank(c.in(0)));
  if (c.b.failed()) return;
  CheckIndices(c.b, c.in(1), {c.b.dim(c.in(0), axis)});
  c.Out(0, c.b.Emit("scatter_elements", {c.in(0), c.in(1), c.in(2)},
                    {{"axis", int64_t{axis}}, {"reduction", c.Text("reduction", "none")}}));
}

void ScatterNd(OnnxContext& c) {
  CheckTuples(c.b, c.in(0), c.in(1), 0);
  c.Out(0, c.b.Emit("scatter_nd", {c.in(0), c.in(1), c.in(2)}, {{"reduction", c.Text("reduction", "none")}}));
}

constexpr OnnxOp kRows[] = {
    {"", "Scatter", 9, 10, 3, 3, "axis", ScatterElements, StringUse::kMoved},
    {"", "ScatterElements", 11, kLatest, 3, 3, "axis reduction", ScatterElements, StringUse::kMoved},
    {"", "ScatterND", 11, kLatest, 3, 3, "reduction", ScatterNd, StringUse::kMoved},
};

}  // namespace

std::span<const OnnxOp> OnnxScatterRows() { return kRows; }

}  // namespace tvmvm::ir
