// com.microsoft: rotary embedding, by one position a token or by three of them.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// The operator of ai.onnx on data [batch, length, heads * size] or [batch, heads, length, size]. The head
// size is twice the cache's width where no number of heads is given. `angles`: cosines, sines, and positions
// where the two have a row for each of them.
ValueId Rotated(OnnxContext& c, ValueId x, std::vector<ValueId> angles) {
  OpBuilder& b = c.b;
  OnnxAttributes attributes = Passed(c, "interleaved num_heads rotary_embedding_dim");
  auto rotated = [&](ValueId data) {
    std::vector<ValueId> inputs{data};
    inputs.insert(inputs.end(), angles.begin(), angles.end());
    return Apply(c, "RotaryEmbedding", inputs, attributes);
  };
  if (b.rank(x) == 4 || c.Int("num_heads", 0) != 0) return rotated(x);
  Dims d = b.dims(x);
  Dim size = b.dim(angles[0], -1) * Dim(2);
  ValueId apart = b.Reshape(x, {d[0], d[1], FloorDiv(d[2], size), size});
  return b.Reshape(b.Transpose(rotated(b.Transpose(apart, {0, 2, 1, 3})), {0, 2, 1, 3}), d);
}

bool CheckRanks(OnnxContext& c, bool positions_fit) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  if ((rank == 3 || rank == 4) && b.rank(c.in(2)) == 2 && b.rank(c.in(3)) == 2 && positions_fit) return true;
  b.Fail(Code::kInvalidArgument,
         fmt::format("data of rank {}, positions of rank {}, caches of ranks {} and {}", rank,
                     b.rank(c.in(1)), b.rank(c.in(2)), b.rank(c.in(3))));
  return false;
}

// Positions [1], from which they count up, or [batch, length]. `scale` and `is_packed_batching` change
// nothing, as in ONNX Runtime, which defines the operator.
void RotaryEmbedding(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  if (!CheckRanks(c, b.rank(c.in(1)) == 1 || b.rank(c.in(1)) == 2)) return;
  ValueId positions = b.Cast(c.in(1), DType::kI64);
  if (b.rank(positions) == 1) {
    Dim length = b.dim(x, b.rank(x) == 3 ? 1 : 2);
    positions = b.Expand(b.Add(positions, b.Iota(DType::kI64, {length}, 0)), {b.dim(x, 0), length});
  }
  c.Out(0, Rotated(c, x, {c.in(2), c.in(3), positions}));
}

// Which columns of the caches take the position `which`, 1 or 2, and not that of time: a run of columns, or
// every third one as far as the section's size reaches.
ValueId ColumnsOf(OpBuilder& b, const Dim& columns, int64_t which, const std::vector<int64_t>& section,
                  bool interleaved) {
  auto number = [&](int64_t value) { return b.ScalarInt(DType::kI64, value); };
  auto size = section[static_cast<size_t>(which)];
  ValueId column = b.Iota(DType::kI64, {columns}, 0);
  if (interleaved) {
    ValueId is_third =
        b.Binary(ExprOp::kEqual, b.Binary(ExprOp::kFloorMod, column, number(3)), number(which));
    return b.Binary(ExprOp::kAnd, is_third, b.Binary(ExprOp::kLess, column, number(size * 3)));
  }
  int64_t start = which == 1 ? section[0] : section[0] + section[1];
  return b.Binary(ExprOp::kAnd, b.Binary(ExprOp::kLessEqual, number(start), column),
                  b.Binary(ExprOp::kLess, column, number(start + size)));
}

// Positions [3, batch, length]: of time, height and width.
void MRotaryEmbedding(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!CheckRanks(c, b.rank(c.in(1)) == 3)) return;
  std::vector<int64_t> section = c.Ints("mrope_section");
  int64_t layout = c.Int("mrope_layout", 0);
  Dim columns = b.dim(c.in(2), 1);
  bool fits = section.size() == 3 && (layout == 0 || layout == 1);
  for (int64_t size : section) fits = fits && size >= 0 && size <= INT32_MAX;
  if (!fits) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} sections, 3 of at least 0 are wanted, or layout {}", section.size(), layout));
    return;
  }
  Dim sum = section[0] + section[1] + section[2];
  b.Require(Equal(sum, columns), "sections of {0} columns in all for a cache of {1}", {sum, columns});
  auto angles = [&](size_t cache) {
    ValueId rows = b.Gather(c.in(cache), c.in(1), 0);  // [3, batch, length, columns]
    auto of = [&](int64_t which) { return b.Squeeze(b.SliceAxis(rows, 0, which, 1), {0}); };
    auto is = [&](int64_t which) { return ColumnsOf(b, columns, which, section, layout == 1); };
    return b.Where(is(2), of(2), b.Where(is(1), of(1), of(0)));
  };
  CheckIndices(b, c.in(1), {b.dim(c.in(2), 0)});
  std::vector<ValueId> both{angles(2), angles(3)};
  if (!b.failed()) c.Out(0, Rotated(c, c.in(0), both));
}

constexpr std::string_view kDomain = "com.microsoft";

constexpr OnnxOp kRows[] = {
    {kDomain, "RotaryEmbedding", 1, kLatest, 4, 4,
     "interleaved is_packed_batching num_heads rotary_embedding_dim scale", RotaryEmbedding, kFloats},
    {kDomain, "MRotaryEmbedding", 1, kLatest, 4, 4,
     "interleaved is_packed_batching mrope_layout mrope_section num_heads rotary_embedding_dim scale",
     MRotaryEmbedding, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxRotaryRows() { return kRows; }

}  // namespace tvmvm::ir
