// Reads at computed positions.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "compiler/graph/tensor_elements.h"
#include "compiler/onnx/ops/onnx_checks.h"
#include "compiler/onnx/ops/onnx_control.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

void Gather(OnnxContext& c) {
  int axis = c.b.NormalizeAxis(c.Int("axis", 0), c.b.rank(c.in(0)));
  if (c.b.failed()) return;
  // One known index becomes a slice, which is held to its range itself.
  if (!c.b.IsKnownIndex(c.in(1))) CheckIndices(c.b, c.in(1), {c.b.dim(c.in(0), axis)});
  c.Out(0, c.b.Gather(c.in(0), c.in(1), axis));
}

void GatherElements(OnnxContext& c) {
  int axis = c.b.NormalizeAxis(c.Int("axis", 0), c.b.rank(c.in(0)));
  if (c.b.failed()) return;
  CheckIndices(c.b, c.in(1), {c.b.dim(c.in(0), axis)});
  c.Out(0, c.b.Emit("gather_elements", {c.in(0), c.in(1)}, {{"axis", int64_t{axis}}}));
}

ValueId GatherTuples(OnnxContext& c, ValueId indices) {
  CheckTuples(c.b, c.in(0), indices, c.Int("batch_dims", 0));
  return c.b.Emit("gather_nd", {c.in(0), indices}, {{"batch_dims", c.Int("batch_dims", 0)}});
}

// Indices whose number of coordinates only running tells: a branch for each, for it gives the result's rank.
ValueId GatherTuplesUpTo(OnnxContext& c, int depth) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(c.in(1));
  Dim given = dims.back();
  dims.back() = depth;
  auto gather = [&]() -> Expected<std::vector<ValueId>> {
    return std::vector{GatherTuples(c, b.Reshape(c.in(1), dims))};
  };
  if (depth == 1) return (*gather())[0];
  std::vector<ValueId> results = BuildIf(
      b, Equal(given, depth), gather,
      [&]() -> Expected<std::vector<ValueId>> { return std::vector{GatherTuplesUpTo(c, depth - 1)}; });
  return results.empty() ? c.in(0) : results[0];
}

void GatherND(OnnxContext& c) {
  int most = c.b.rank(c.in(0)) - static_cast<int>(std::clamp<int64_t>(c.Int("batch_dims", 0), 0, 1 << 10));
  if (c.b.rank(c.in(1)) == 0 || c.b.dims(c.in(1)).back().is_constant() || most < 1)
    return c.Out(0, GatherTuples(c, c.in(1)));
  c.Out(0, GatherTuplesUpTo(c, most));
}

// The first sequence_lens[b] steps of each batch entry in reverse, the others in place.
void ReverseSequence(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  int64_t time_axis = c.Int("time_axis", 0);
  int64_t batch_axis = c.Int("batch_axis", 1);
  bool are_axes = (time_axis == 0 && batch_axis == 1) || (time_axis == 1 && batch_axis == 0);
  if (b.rank(x) < 2 || b.rank(c.in(1)) != 1 || !are_axes) {
    b.Fail(Code::kInvalidArgument, fmt::format("time axis {}, batch axis {}, ranks {} and {}", time_axis,
                                               batch_axis, b.rank(x), b.rank(c.in(1))));
    return;
  }
  Dims plane{b.dim(x, 0), b.dim(x, 1)};
  ValueId step = b.Iota(DType::kI64, plane, static_cast<int>(time_axis));
  ValueId length = b.Cast(c.in(1), DType::kI64);
  Dim steps = b.dim(x, static_cast<int>(time_axis));
  RequireBetween(b, length, 0, steps, "the lengths of sequences");
  if (batch_axis == 0) length = b.Unsqueeze(length, {1});
  ValueId reversed = b.Sub(b.Sub(length, b.ScalarInt(DType::kI64, 1)), step);
  ValueId from = b.Where(b.Binary(ExprOp::kLess, step, length), reversed, step);
  Dims dims = b.dims(x);
  Dims index_dims(dims.size(), Dim(1));
  index_dims[0] = dims[0];
  index_dims[1] = dims[1];
  ValueId index = b.Expand(b.Reshape(from, index_dims), dims);
  c.Out(0, b.Emit("gather_elements", {x, index}, {{"axis", time_axis}}));
}

constexpr OnnxOp kRows[] = {
    {"", "Gather", 1, kLatest, 2, 2, "axis", Gather, kAllTypes, StringUse::kMoved},
    {"", "GatherElements", 11, kLatest, 2, 2, "axis", GatherElements, kAllTypes, StringUse::kMoved},
    {"", "GatherND", 11, kLatest, 2, 2, "batch_dims", GatherND, kAllTypes, StringUse::kMoved},
    {"", "ReverseSequence", 10, kLatest, 2, 2, "time_axis batch_axis", ReverseSequence, kAllTypes,
     StringUse::kMoved},
};

// Whether the compiler can tell that the indices, as in CheckIndices, are in range; an error where it can
// tell that they are not.
bool AreInside(OpBuilder& b, ValueId indices, const Dims& sizes) {
  RangeLookup ranges = b.module().Ranges();
  auto is_inside = [&](const Dim& index, const Dim& size) {
    if (index.is_constant() && size.is_constant() &&
        (index.value() < -size.value() || index.value() >= size.value()))
      b.Fail(Code::kInvalidArgument, fmt::format("index {} is out of range [-{}, {})", index.ToString(),
                                                 size.ToString(), size.ToString()));
    return RangeOf(index - size, ranges).high < 0 && RangeOf(index + size, ranges).low >= 0;
  };
  if (const auto& elements = b.function().value(indices).elements) {
    bool inside = true;
    for (size_t i = 0; i < elements->size(); ++i)
      inside = is_inside((*elements)[i], sizes[i % sizes.size()]) && inside;
    return inside;
  }
  const TensorData* data = b.ConstantData(indices);
  if (data == nullptr) return false;
  // The least and the largest of each column tell for all.
  int64_t columns = static_cast<int64_t>(sizes.size());
  bool inside = true;
  for (int64_t column = 0; column < columns && column < data->element_count(); ++column) {
    int64_t least = std::numeric_limits<int64_t>::max(), largest = std::numeric_limits<int64_t>::min();
    for (int64_t i = column; i < data->element_count(); i += columns) {
      int64_t index = ReadElement(*data, i).integer;
      least = std::min(least, index);
      largest = std::max(largest, index);
    }
    const Dim& size = sizes[static_cast<size_t>(column)];
    inside = is_inside(least, size) && is_inside(largest, size) && inside;
  }
  return inside;
}

}  // namespace

void CheckIndices(OpBuilder& b, ValueId indices, const Dims& sizes) {
  DType dtype = b.dtype(indices);
  if (b.failed() || (dtype != DType::kI64 && dtype != DType::kI32)) return;
  if (AreInside(b, indices, sizes) || b.failed()) return;
  b.EmitMulti("check_indices", {indices}, {{"sizes", sizes}});
}

void CheckTuples(OpBuilder& b, ValueId x, ValueId indices, int64_t batch_dims) {
  const Dims &dims = b.dims(x), &index_dims = b.dims(indices);
  auto depth = index_dims.empty() ? std::nullopt : index_dims.back().constant();
  auto rank = static_cast<int64_t>(dims.size());
  if (!depth || *depth < 1 || *depth > rank || batch_dims < 0 || batch_dims > rank - *depth) return;
  CheckIndices(b, indices, Dims(dims.begin() + batch_dims, dims.begin() + batch_dims + *depth));
}

std::span<const OnnxOp> OnnxGatherRows() { return kRows; }

}  // namespace tvmvm::ir
