// com.microsoft: attention as exporters fuse it. Everything works on [batch, heads, length, size].
#include "compiler/onnx/ops/attention/onnx_fused_attention.h"

#include <fmt/core.h>

#include <cmath>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

ValueId Sum(OpBuilder& b, ValueId x, ValueId y) {
  if (!x.valid() || !y.valid()) return x.valid() ? x : y;
  return b.Add(b.Cast(x, DType::kF32), b.Cast(y, DType::kF32));
}

// Queries are the last ones of the keys; none attends what comes after it.
ValueId Causal(OpBuilder& b, const Dim& queries, const Dim& keys) {
  ValueId row = b.Add(b.Iota(DType::kI64, {queries, keys}, 0), b.DimScalar(keys - queries));
  return BiasUnless(b, b.Binary(ExprOp::kLessEqual, b.Iota(DType::kI64, {queries, keys}, 1), row),
                    kNeverAttended);
}

// Keys that count: numbers [batch, keys] or [batch, queries, keys] that are not 0; or lengths [batch], or
// where the sequences end and, after that, where they start [2 * batch].
ValueId PaddingBias(OnnxContext& c, ValueId mask, const Dim& batch, const Dim& keys) {
  OpBuilder& b = c.b;
  double filter = c.Float("mask_filter_value", -10000);
  Dims d = b.dims(mask);
  if (d.size() == 1) {
    Dim has_starts = Equal(d[0], batch * Dim(2));
    b.Require(Or(has_starts, Equal(d[0], batch)), "a mask of {0} numbers for {1} sequences", {d[0], batch});
    auto part = [&](const Dim& start) {
      return b.Reshape(b.Cast(b.SliceAxis(mask, 0, start, batch), DType::kI64), {batch, 1, 1, 1});
    };
    ValueId key = b.Iota(DType::kI64, {keys}, 0);
    ValueId counts = b.Binary(ExprOp::kLess, key, part(0));
    if (!Simplify(has_starts, b.module().Ranges()).IsConstant(0)) {
      // Without starts everything begins at 0.
      ValueId starts = b.Mul(part(Select(has_starts, batch, 0)), b.DimScalar(has_starts));
      counts = b.Binary(ExprOp::kAnd, counts, b.Binary(ExprOp::kLessEqual, starts, key));
    }
    return BiasUnless(b, counts, filter);
  }
  if (d.size() != 2 && d.size() != 3)
    return b.Fail(Code::kUnsupported, fmt::format("a mask of rank {}", d.size()));
  ValueId counts = b.Binary(ExprOp::kLess, b.ScalarInt(b.dtype(mask), 0), mask);
  return BiasUnless(
      b, b.Unsqueeze(counts, d.size() == 2 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1}), filter);
}

// Data [batch, length, inputs], weights [inputs, query + key + value], their bias, mask, past keys and values
// [2, batch, heads, length, size], bias of the scores.
void Attention(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!HasHeads(c, "num_heads") || Refuses(c, 6, "keys and values that share a buffer")) return;
  if (c.Int("do_rotary", 0) != 0) {
    b.Fail(Code::kUnsupported, "do_rotary");
    return;
  }
  if (b.rank(c.in(0)) != 3 || b.rank(c.in(1)) != 2) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("data of rank {} and weights of rank {}", b.rank(c.in(0)), b.rank(c.in(1))));
    return;
  }
  int64_t heads = c.Int("num_heads", 1);
  ValueId projected = b.Contract(c.in(0), c.in(1), {}, {}, {2}, {0});
  if (c.has(2)) projected = b.Add(projected, c.in(2));
  if (b.failed()) return;
  Dim third = FloorDiv(b.dim(c.in(1), 1), 3);
  Dims sizes{third, third, third};
  if (c.HasAttribute("qkv_hidden_sizes")) sizes = DimsOf(c.Ints("qkv_hidden_sizes"));
  if (sizes.size() != 3) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute 'qkv_hidden_sizes' has {} entries, 3 are wanted", sizes.size()));
    return;
  }
  auto part = [&](const Dim& start, const Dim& size) {
    return HeadsApart(b, b.SliceAxis(projected, 2, start, size), heads);
  };
  AttentionOperands operands;
  operands.query = part(0, sizes[0]);
  operands.key = part(sizes[0], sizes[1]);
  operands.value = part(sizes[0] + sizes[1], sizes[2]);
  if (c.has(4)) {
    auto past = [&](int64_t which) { return b.Squeeze(b.SliceAxis(c.in(4), 0, which, 1), {0}); };
    operands.key = b.Concat({past(0), operands.key}, 2);
    operands.value = b.Concat({past(1), operands.value}, 2);
  }
  if (b.failed()) return;
  Dim queries = b.dim(operands.query, 2), keys = b.dim(operands.key, 2);
  if (c.has(3)) operands.bias = PaddingBias(c, c.in(3), b.dim(c.in(0), 0), keys);
  if (c.Int("unidirectional", 0) != 0) operands.bias = Sum(b, operands.bias, Causal(b, queries, keys));
  if (c.has(5)) operands.bias = Sum(b, operands.bias, c.in(5));
  Attended attended = Attend(c, operands);
  if (b.failed()) return;
  c.Out(0, HeadsJoined(b, attended.result));
  if (c.wants(1)) c.Out(1, b.Concat({b.Unsqueeze(operands.key, {0}), b.Unsqueeze(operands.value, {0})}, 0));
}

// Query, key and value of MultiHeadAttention, which may be packed: [batch, length, heads, 3 or 2, size].
bool ReadOperands(OnnxContext& c, AttentionOperands* operands) {
  OpBuilder& b = c.b;
  int64_t heads = c.Int("num_heads", 1);
  auto unpacked = [&](size_t input, int64_t which) {
    return b.Transpose(b.Squeeze(b.SliceAxis(c.in(input), 3, which, 1), {3}), {0, 2, 1, 3});
  };
  // Biases of the projections, one after another.
  Dim start = 0;
  auto biased = [&](ValueId x) {
    if (!c.has(3) || b.failed()) return x;
    Dim size = b.dim(x, 1) * b.dim(x, 3);
    ValueId bias = b.Reshape(b.SliceAxis(c.in(3), 0, start, size), {b.dim(x, 1), Dim(1), b.dim(x, 3)});
    start = start + size;
    return b.Add(x, bias);
  };
  auto read = [&](size_t input) {
    return b.rank(c.in(input)) == 4 ? c.in(input) : biased(HeadsApart(b, c.in(input), heads));
  };
  int rank = b.rank(c.in(0));
  bool packs_key = c.has(1) && b.rank(c.in(1)) == 5;
  auto fits = [&](size_t input) {
    return c.has(input) && (b.rank(c.in(input)) == 3 || b.rank(c.in(input)) == 4);
  };
  if (!(rank == 5 || (rank == 3 && (packs_key || (fits(1) && fits(2)))))) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("a query of rank {} without key and value that suit it", rank));
    return false;
  }
  operands->query = rank == 5 ? biased(unpacked(0, 0)) : read(0);
  operands->key = rank == 5 ? biased(unpacked(0, 1)) : packs_key ? unpacked(1, 0) : read(1);
  operands->value = rank == 5 ? biased(unpacked(0, 2)) : packs_key ? unpacked(1, 1) : read(2);
  return !b.failed();
}

// Query, key, value, biases, padding of the keys, bias of the scores, past key and value.
void MultiHeadAttention(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!HasHeads(c, "num_heads") || Refuses(c, 8, "keys and values that share a buffer") ||
      Refuses(c, 9, "cache_indirection"))
    return;
  AttentionOperands operands;
  if (!ReadOperands(c, &operands)) return;
  if (c.has(6)) operands.key = b.Concat({c.in(6), operands.key}, 2);
  if (c.has(7)) operands.value = b.Concat({c.in(7), operands.value}, 2);
  if (b.failed()) return;
  Dim queries = b.dim(operands.query, 2), keys = b.dim(operands.key, 2);
  if (c.has(4)) operands.bias = PaddingBias(c, c.in(4), b.dim(operands.query, 0), keys);
  if (c.Int("unidirectional", 0) != 0) operands.bias = Sum(b, operands.bias, Causal(b, queries, keys));
  if (c.has(5)) operands.bias = Sum(b, operands.bias, c.in(5));
  Attended attended = Attend(c, operands);
  if (b.failed()) return;
  c.Out(0, HeadsJoined(b, attended.result));
  c.Out(1, operands.key);
  c.Out(2, operands.value);
  c.Out(3, attended.weights);
}

// Positions [1], from which they count up, or [batch, length]. The head size is twice the cache's width where
// no number of heads is given. `scale` changes nothing, as in ONNX Runtime, which defines the operator.
void RotaryEmbedding(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  int rank = b.rank(x);
  if ((rank != 3 && rank != 4) || b.rank(c.in(2)) != 2 || (b.rank(c.in(1)) != 1 && b.rank(c.in(1)) != 2)) {
    b.Fail(Code::kInvalidArgument, fmt::format("data of rank {}, positions of rank {}, a cache of rank {}",
                                               rank, b.rank(c.in(1)), b.rank(c.in(2))));
    return;
  }
  if (c.Int("is_packed_batching", 0) != 0) {
    b.Fail(Code::kUnsupported, "packed batches");
    return;
  }
  Dim length = b.dim(x, rank == 3 ? 1 : 2);
  ValueId positions = b.Cast(c.in(1), DType::kI64);
  if (b.rank(positions) == 1)
    positions = b.Expand(b.Add(positions, b.Iota(DType::kI64, {length}, 0)), {b.dim(x, 0), length});
  OnnxAttributes attributes = Passed(c, "interleaved num_heads rotary_embedding_dim");
  auto rotated = [&](ValueId data) {
    return Apply(c, "RotaryEmbedding", {data, c.in(2), c.in(3), positions}, attributes);
  };
  if (rank == 4 || c.Int("num_heads", 0) != 0) return c.Out(0, rotated(x));
  Dims d = b.dims(x);
  Dim size = b.dim(c.in(2), 1) * Dim(2);
  ValueId apart = b.Reshape(x, {d[0], d[1], FloorDiv(d[2], size), size});
  c.Out(0, b.Reshape(b.Transpose(rotated(b.Transpose(apart, {0, 2, 1, 3})), {0, 2, 1, 3}), d));
}

constexpr std::string_view kDomain = "com.microsoft";

constexpr OnnxOp kRows[] = {
    {kDomain, "Attention", 1, kLatest, 2, 7,
     "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes rotary_embedding_dim "
     "scale "
     "unidirectional",
     Attention, kFloats},
    {kDomain, "MultiHeadAttention", 1, kLatest, 1, 10, "mask_filter_value num_heads scale unidirectional",
     MultiHeadAttention, kFloats},
    {kDomain, "RotaryEmbedding", 1, kLatest, 4, 4,
     "interleaved is_packed_batching num_heads rotary_embedding_dim scale", RotaryEmbedding, kFloats},
};

}  // namespace

// [batch, length, heads * size] as [batch, heads, length, size], and back.
ValueId HeadsApart(OpBuilder& b, ValueId x, int64_t heads) {
  Dims d = b.dims(x);
  return b.Transpose(b.Reshape(x, {d[0], d[1], Dim(heads), FloorDiv(d[2], heads)}), {0, 2, 1, 3});
}
ValueId HeadsJoined(OpBuilder& b, ValueId x) {
  Dims d = b.dims(x);
  return b.Reshape(b.Transpose(x, {0, 2, 1, 3}), {d[0], d[2], d[1] * d[3]});
}

// softmax(scale * query * key^T + bias) * value, by groups of query heads that share a key head. Narrow
// floats are computed in f32.
Attended Attend(OnnxContext& c, const AttentionOperands& given) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(given.query);
  DType wide = WideType(dtype);
  Dims d = b.dims(given.query);
  Dim heads = b.dim(given.key, 1);
  Dim groups = d[1] == heads ? Dim(1) : FloorDiv(d[1], heads);
  double scale = c.Float("scale", 0);
  ValueId factor = b.Scalar(wide, scale);
  if (scale == 0) {
    ValueId size = b.Cast(b.DimScalar(d[3]), wide);
    factor = b.Div(b.Scalar(wide, 1), b.Unary(ExprOp::kSqrt, size));
  }
  ValueId query = b.Reshape(b.Cast(given.query, wide), {d[0], heads, groups, d[2], d[3]});
  ValueId product = b.Contract(query, b.Cast(given.key, wide), {0, 1}, {0, 1}, {4}, {3});
  if (b.failed()) return {};
  Dims square{d[0], d[1], d[2], b.dim(given.key, 2)};
  ValueId scores = b.Mul(b.Reshape(product, square), factor);
  if (given.softcap > 0) {
    ValueId cap = b.Scalar(wide, given.softcap);
    scores = b.Mul(b.Unary(ExprOp::kTanh, b.Div(scores, cap)), cap);
  }
  if (given.bias.valid()) scores = b.Add(scores, b.Cast(given.bias, wide));
  ValueId largest = b.Reduce(ReduceKind::kMax, scores, {3});
  ValueId sink = given.sink.valid() ? b.Cast(given.sink, wide) : ValueId();
  if (sink.valid()) largest = b.Max(largest, sink);
  // A row without any key gives zeros.
  ValueId none = b.Binary(ExprOp::kEqual, largest, b.Scalar(wide, kNeverAttended));
  ValueId exponentials = b.Unary(ExprOp::kExp, b.Sub(scores, b.Where(none, b.Scalar(wide, 0), largest)));
  ValueId sum = b.Reduce(ReduceKind::kSum, exponentials, {3});
  if (sink.valid()) sum = b.Add(sum, b.Unary(ExprOp::kExp, b.Sub(sink, largest)));
  ValueId weights = b.Div(exponentials, b.Where(none, b.Scalar(wide, 1), sum));
  ValueId grouped = b.Reshape(weights, {d[0], heads, groups, d[2], square[3]});
  ValueId result = b.Contract(grouped, b.Cast(given.value, wide), {0, 1}, {0, 1}, {4}, {2});
  if (b.failed()) return {};
  result = b.Reshape(result, {d[0], d[1], d[2], b.dim(given.value, 3)});
  return {b.Cast(result, dtype), b.Cast(scores, dtype), b.Cast(weights, dtype)};
}

// 0 where the condition holds, else `otherwise`.
ValueId BiasUnless(OpBuilder& b, ValueId allowed, double otherwise) {
  return b.Where(allowed, b.Scalar(DType::kF32, 0), b.Scalar(DType::kF32, otherwise));
}

bool HasHeads(OnnxContext& c, std::string_view attribute) {
  if (c.Int(attribute, 0) > 0) return true;
  c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute '{}' is {}", attribute, c.Int(attribute, 0)));
  return false;
}

bool Refuses(OnnxContext& c, size_t input, std::string_view what) {
  if (c.has(input)) c.b.Fail(Code::kUnsupported, std::string(what));
  return c.has(input);
}

std::span<const OnnxOp> OnnxFusedAttentionRows() { return kRows; }

}  // namespace tvmvm::ir
