#include "compiler/onnx/ops/onnx_axes.h"

#include <algorithm>

#include "compiler/onnx/ops/onnx_control.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// For `kept` axes or more that stay.
ValueId DropAllBut(OnnxContext& c, ValueId x, const Dims& flags, int kept) {
  OpBuilder& b = c.b;
  int rank = b.rank(x);
  Dims dims = KeptDims(b.dims(x), flags, kept);
  if (kept == rank) return b.Reshape(x, dims);
  std::vector<ValueId> results = BuildIf(
      b, Equal(Dim(rank) - CountOf(flags), kept),
      [&]() -> Expected<std::vector<ValueId>> { return std::vector{b.Reshape(x, dims)}; },
      [&]() -> Expected<std::vector<ValueId>> { return std::vector{DropAllBut(c, x, flags, kept + 1)}; });
  return results.empty() ? x : results[0];
}

}  // namespace

bool IsListOfAnyLength(OnnxContext& c, size_t input) {
  if (!c.has(input)) return false;
  const Type& type = c.b.type(c.in(input));
  return type.kind == TypeKind::kTensor && IsInteger(type.dtype) && type.rank() == 1 &&
         !type.dims[0].is_constant();
}

Dims FlagsOfList(OnnxContext& c, ValueId list, int rank, const Dim& of_none) {
  OpBuilder& b = c.b;
  Dim length = b.dim(list, 0);
  list = b.Cast(list, DType::kI64);
  CheckIndices(b, list, {Dim(rank)});
  if (rank == 0) return {};
  ValueId is_negative = b.Binary(ExprOp::kLess, list, b.ScalarInt(DType::kI64, 0));
  ValueId place = b.Where(is_negative, b.Add(list, b.ScalarInt(DType::kI64, rank)), list);
  ValueId hits = b.Binary(ExprOp::kEqual, b.Iota(DType::kI64, {rank, 1}, 0), b.Unsqueeze(place, {0}));
  Dims flags = b.ReadDims(b.Reshape(b.Reduce(tensor::ReduceKind::kOr, hits, {1}), {rank}));
  if (b.failed()) return Dims(static_cast<size_t>(rank), Dim(0));
  for (Dim& flag : flags) flag = Select(Equal(length, 0), of_none, flag);
  return flags;
}

Dim CountOf(const Dims& flags) {
  Dim count = 0;
  for (const Dim& flag : flags) count = count + flag;
  return count;
}

ValueId DropAxes(OnnxContext& c, ValueId x, const Dims& flags) {
  if (auto known = ConstantFlags(flags)) return c.b.Squeeze(x, *known);
  // Whoever sees to it that only axes of size 1 go leaves at least the others.
  const RangeLookup ranges = c.b.module().Ranges();
  auto stays = [&](const Dim& dim) {
    const DimRange range = RangeOf(dim, ranges);
    return range.high < 1 || range.low > 1;
  };
  return DropAllBut(c, x, flags, static_cast<int>(std::ranges::count_if(c.b.dims(x), stays)));
}

}  // namespace tvmvm::ir
