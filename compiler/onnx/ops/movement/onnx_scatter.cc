// Writes at computed positions. Scatter is the old name of ScatterElements.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

void ScatterElements(OnnxContext& c) {
  int axis = c.b.NormalizeAxis(c.Int("axis", 0), c.b.rank(c.in(0)));
  if (c.b.failed()) return;
  CheckIndices(c.b, c.in(1), {c.b.dim(c.in(0), axis)});
  c.Out(0, c.b.Emit("scatter_elements", {c.in(0), c.in(1), c.in(2)},
                    {{"axis", int64_t{axis}}, {"reduction", c.Text("reduction", "none")}}));
}

// The ranks tell how many coordinates each index has, where the indices' dims do not.
void ScatterNd(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId indices = c.in(1);
  int depth = b.rank(indices) - 1 + b.rank(c.in(0)) - b.rank(c.in(2));
  if (b.rank(indices) > 0 && !b.dims(indices).back().is_constant() && depth >= 0) {
    Dims dims = b.dims(indices);
    dims.back() = depth;
    indices = b.Reshape(indices, dims);
  }
  CheckTuples(b, c.in(0), indices, 0);
  c.Out(0, b.Emit("scatter_nd", {c.in(0), indices, c.in(2)}, {{"reduction", c.Text("reduction", "none")}}));
}

// Writes entries of an update one after another along an axis of a cache [batch, ...], from a place that each
// batch entry has: none is 0. In a circular cache they go on at its beginning.
void TensorScatter(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::string mode = c.Text("mode", "linear");
  int axis = b.NormalizeAxis(c.Int("axis", -2), b.rank(c.in(0)));
  if (b.failed()) return;
  if (axis == 0 || b.rank(c.in(1)) != b.rank(c.in(0)) || (mode != "linear" && mode != "circular")) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("axis {}, mode '{}', a cache of rank {} and an update of rank {}", axis, mode,
                       b.rank(c.in(0)), b.rank(c.in(1))));
    return;
  }
  Dims dims = b.dims(c.in(1));
  Dim size = b.dim(c.in(0), axis);
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    const Dim &found = dims[static_cast<size_t>(i)], wanted = b.dim(c.in(0), i);
    if (i != axis && !(found == wanted))
      b.Require(Equal(found, wanted),
                fmt::format("an update of size {{0}} along axis {}, the cache has {{1}}", i),
                {found, wanted});
  }
  Dims along(dims.size(), Dim(1)), batch = along;
  along[static_cast<size_t>(axis)] = dims[static_cast<size_t>(axis)];
  batch[0] = dims[0];
  ValueId place = b.Iota(DType::kI64, along, axis);
  if (c.has(2)) place = b.Add(b.Reshape(b.Cast(c.in(2), DType::kI64), batch), place);
  ValueId length = b.DimScalar(size);
  if (mode == "circular") {
    place = b.Binary(tensor::ExprOp::kFloorMod, place, length);
  } else {
    // A negative place does not count from the end.
    ValueId negative = b.Binary(tensor::ExprOp::kLess, place, b.ScalarInt(DType::kI64, 0));
    CheckIndices(b, b.Where(negative, length, place), {size});
  }
  c.Out(0, b.Emit("scatter_elements", {c.in(0), b.Expand(place, dims), c.in(1)},
                  {{"axis", int64_t{axis}}, {"reduction", std::string("none")}}));
}

constexpr OnnxOp kRows[] = {
    {"", "Scatter", 9, 10, 3, 3, "axis", ScatterElements, kAllTypes, StringUse::kMoved},
    {"", "ScatterElements", 11, kLatest, 3, 3, "axis reduction", ScatterElements, kAllTypes,
     StringUse::kMoved},
    {"", "TensorScatter", 24, kLatest, 2, 3, "axis mode", TensorScatter, kAllTypes, StringUse::kMoved},
    {"", "ScatterND", 11, kLatest, 3, 3, "reduction", ScatterNd, kAllTypes, StringUse::kMoved},
};

}  // namespace

std::span<const OnnxOp> OnnxScatterRows() { return kRows; }

}  // namespace tvmvm::ir
