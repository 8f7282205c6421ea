// Reads at computed positions.
#include <fmt/core.h>

#include "compiler/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

void Gather(OnnxContext& c) {
  int axis = c.b.NormalizeAxis(c.Int("axis", 0), c.b.rank(c.in(0)));
  if (c.b.failed()) return;
  CheckIndices(c.b, c.in(1), {c.b.dim(c.in(0), axis)});
  c.Out(0, c.b.Gather(c.in(0), c.in(1), axis));
}

void GatherElements(OnnxContext& c) {
  int axis = c.b.NormalizeAxis(c.Int("axis", 0), c.b.rank(c.in(0)));
  if (c.b.failed()) return;
  CheckIndices(c.b, c.in(1), {c.b.dim(c.in(0), axis)});
  c.Out(0, c.b.Emit("gather_elements", {c.in(0), c.in(1)}, {{"axis", int64_t{axis}}}));
}

void GatherND(OnnxContext& c) {
  CheckTuples(c.b, c.in(0), c.in(1), c.Int("batch_dims", 0));
  c.Out(0, c.b.Emit("gather_nd", {c.in(0), c.in(1)}, {{"batch_dims", c.Int("batch_dims", 0)}}));
}

// The first sequence_lens[b] steps of each batch entry in reverse, the others in place.
void ReverseSequence(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  int64_t time_axis = c.Int("time_axis", 0);
  int64_t batch_axis = c.Int("batch_axis", 1);
  if (b.rank(x) < 2 || b.rank(c.in(1)) != 1 || time_axis + batch_axis != 1 || time_axis * batch_axis != 0) {
    b.Fail(Code::kInvalidArgument, fmt::format("time axis {}, batch axis {}, ranks {} and {}", time_axis,
                                               batch_axis, b.rank(x), b.rank(c.in(1))));
    return;
  }
  Dims plane{b.dim(x, 0), b.dim(x, 1)};
  ValueId step = b.Iota(DType::kI64, plane, static_cast<int>(time_axis));
  ValueId length = b.Cast(c.in(1), DType::kI64);
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

// Rows of a matrix of features, as ai.onnx.ml names them.
void ArrayFeatureExtractor(OnnxContext& c) {
  OpBuilder& b = c.b;
  int axis = b.rank(c.in(0)) - 1;
  ValueId indices = b.Reshape(c.in(1), {Product(b.dims(c.in(1)))});
  ValueId x = c.in(0);
  if (axis == 0) {
    x = b.Unsqueeze(x, {0});
    axis = 1;
  }
  c.Out(0, b.Gather(x, indices, axis));
}

constexpr OnnxOp kRows[] = {
    {"", "Gather", 1, kLatest, 2, 2, "axis", Gather, StringUse::kMoved},
    {"", "GatherElements", 11, kLatest, 2, 2, "axis", GatherElements, StringUse::kMoved},
    {"", "GatherND", 11, kLatest, 2, 2, "batch_dims", GatherND, StringUse::kMoved},
    {"", "ReverseSequence", 10, kLatest, 2, 2, "time_axis batch_axis", ReverseSequence, StringUse::kMoved},
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, kLatest, 2, 2, "", ArrayFeatureExtractor, StringUse::kMoved},
};

}  // namespace

void CheckIndices(OpBuilder& b, ValueId indices, const Dims& sizes) {
  DType dtype = b.dtype(indices);
  if (b.failed() || b.function().value(indices).elements || b.ConstantData(indices) != nullptr) return;
  if (dtype != DType::kI64 && dtype != DType::kI32) return;
  b.Host(HostFunctionId::kIndicesCheck, {indices, b.DimsTensor(sizes)}, {});
}

void CheckTuples(OpBuilder& b, ValueId x, ValueId indices, int64_t batch_dims) {
  const Dims &dims = b.dims(x), &index_dims = b.dims(indices);
  auto depth = index_dims.empty() ? std::nullopt : index_dims.back().constant();
  if (!depth || *depth < 1 || batch_dims < 0 || batch_dims + *depth > static_cast<int64_t>(dims.size()))
    return;
  CheckIndices(b, indices, Dims(dims.begin() + batch_dims, dims.begin() + batch_dims + *depth));
}

std::span<const OnnxOp> OnnxGatherRows() { return kRows; }

}  // namespace tvmvm::ir
