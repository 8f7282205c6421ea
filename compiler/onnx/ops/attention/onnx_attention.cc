// Scaled dot-product attention and rotary embedding.
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "compiler/onnx/ops/attention/attention_subgraph.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

constexpr double kMasked = -std::numeric_limits<double>::infinity();

// The same where the heads may be apart already.
ValueId SplitHeads(OpBuilder& b, ValueId x, int64_t heads) {
  return b.rank(x) == 4 ? x : HeadsApart(b, x, heads, "an operand");
}

bool CheckRanks(OnnxContext& c) {
  int rank = c.b.rank(c.in(0));
  bool fits = (rank == 3 || rank == 4) && c.b.rank(c.in(1)) == rank && c.b.rank(c.in(2)) == rank;
  if (fits && rank == 3) fits = c.Int("q_num_heads", 0) > 0 && c.Int("kv_num_heads", 0) > 0;
  if (!fits)
    c.b.Fail(
        Code::kInvalidArgument,
        fmt::format("query, key and value have ranks {}, {} and {} with {} and {} heads", rank,
                    c.b.rank(c.in(1)), c.b.rank(c.in(2)), c.Int("q_num_heads", 0), c.Int("kv_num_heads", 0)));
  return fits;
}

// What is added to the scores: 0 where a query may attend a key, -inf where not, or the mask's own numbers.
class ScoreBias {
 public:
  ScoreBias(OnnxContext& context, DType dtype, const Dim& queries, const Dim& keys)
      : c_(context), b_(context.b), dtype_(dtype), queries_(queries), keys_(keys) {}

  ValueId value() const { return value_; }
  // Some row may have no key left.
  bool may_mask_rows() const { return may_mask_rows_; }

  void AddMask(ValueId mask) {
    if (b_.rank(mask) < 1) {
      b_.Fail(Code::kInvalidArgument, "a mask of rank 0");
      return;
    }
    bool logical = b_.dtype(mask) == DType::kBool;
    ValueId numbers = logical ? Allow(mask) : mask;
    Dim given = b_.dim(mask, -1);
    if (!(given == keys_)) {
      auto rank = static_cast<size_t>(b_.rank(mask));
      Dims high(rank, Dim(0));
      high.back() = Max(keys_ - given, 0);
      // A mask of width 1 over more keys is broadcast by nobody: it is padded, as the specification says.
      numbers = b_.Pad(numbers, b_.Scalar(dtype_, kMasked), Dims(rank, Dim(0)), high);
    }
    Add(numbers);
    may_mask_rows_ = true;
  }

  // Keys allowed by their distance to the query, whose position in the sequence is offset + row.
  void AddWindow(bool causal, int64_t left, int64_t right, ValueId offset, bool offset_may_be_negative) {
    ValueId row = b_.Iota(DType::kI64, {queries_, keys_}, 0);
    ValueId key = b_.Iota(DType::kI64, {queries_, keys_}, 1);
    ValueId position = b_.Add(row, offset);
    if (causal) Add(Allow(b_.Binary(ExprOp::kLessEqual, key, position)));
    if (left >= 0)
      Add(Allow(b_.Binary(ExprOp::kLessEqual, b_.Sub(position, key), b_.ScalarInt(DType::kI64, left))));
    if (right >= 0)
      Add(Allow(b_.Binary(ExprOp::kLessEqual, b_.Sub(key, position), b_.ScalarInt(DType::kI64, right))));
    may_mask_rows_ = may_mask_rows_ || offset_may_be_negative || left >= 0 || right >= 0;
  }

  // Only the first lengths[batch] keys count.
  void AddLengths(ValueId lengths) {
    ValueId key = b_.Iota(DType::kI64, {keys_}, 0);
    Add(Allow(b_.Binary(ExprOp::kLess, key, lengths)));
    may_mask_rows_ = true;
  }

 private:
  ValueId Allow(ValueId allowed) {
    return b_.Where(allowed, b_.Scalar(dtype_, 0), b_.Scalar(dtype_, kMasked));
  }
  void Add(ValueId part) { value_ = value_.valid() ? b_.Add(value_, part) : part; }

  OnnxContext& c_;
  OpBuilder& b_;
  DType dtype_;
  Dim queries_;
  Dim keys_;
  ValueId value_;
  bool may_mask_rows_ = false;
};

ScoreBias MakeBias(OnnxContext& c, DType dtype, const Dim& queries, const Dim& keys) {
  OpBuilder& b = c.b;
  ScoreBias bias(c, dtype, queries, keys);
  if (c.has(3)) bias.AddMask(c.in(3));
  ValueId lengths;
  if (c.has(6))
    lengths = b.Reshape(b.Cast(c.in(6), DType::kI64), {Product(b.dims(c.in(6))), Dim(1), Dim(1), Dim(1)});
  bool causal = c.Int("is_causal", 0) != 0;
  int64_t left = c.Int("left_window_size", -1);
  int64_t right = c.Int("right_window_size", -1);
  if (causal || left >= 0 || right >= 0) {
    ValueId offset = b.ScalarInt(DType::kI64, 0);
    if (c.has(4)) {
      offset = b.DimScalar(b.dim(c.in(4), 2));
    } else if (lengths.valid()) {
      offset = b.Sub(lengths, b.DimScalar(queries));
    }
    bias.AddWindow(causal, left, right, offset, lengths.valid());
  }
  if (lengths.valid()) bias.AddLengths(lengths);
  return bias;
}

// The rows of scores that no key is left for: [..., 1]; none where every row has one.
ValueId RowsWithoutKeys(OpBuilder& b, const ScoreBias& bias) {
  if (!bias.may_mask_rows()) return {};
  ValueId highest = b.Reduce(ReduceKind::kMax, bias.value(), {b.rank(bias.value()) - 1});
  return b.Binary(ExprOp::kEqual, highest, b.Scalar(b.dtype(highest), kMasked));
}

// Floats of 16 bits are computed in f32 and rounded once.
ValueId SoftmaxOf(OpBuilder& b, ValueId narrow, ValueId empty) {
  ValueId scores = b.Cast(narrow, WideType(b.dtype(narrow)));
  return b.Cast(AttentionWeights(b, scores, {{}, empty, false}), b.dtype(narrow));
}

// Scaled products of queries and keys. Narrow floats scale both sides by the root, which keeps the products
// in range.
ValueId Scores(OnnxContext& c, ValueId q, ValueId k) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(q);
  bool narrow = DTypeBits(dtype) < 32;
  std::optional<double> scale;
  if (c.HasAttribute("scale")) scale = c.Float("scale", 1);
  ValueId factor = AttentionFactor(b, narrow ? DType::kF32 : dtype, scale, b.dim(q, 3));
  if (!narrow) return AttentionScores(b, b.Mul(q, factor), k);
  ValueId root = b.Cast(b.Unary(ExprOp::kSqrt, factor), dtype);
  return AttentionScores(b, b.Mul(q, root), b.Mul(k, root));
}

// The type that an attribute wants the softmax in.
DType SoftmaxPrecision(OnnxContext& c, DType otherwise) {
  if (!c.HasAttribute("softmax_precision")) return otherwise;
  auto wanted = DTypeFromOnnx(static_cast<int32_t>(c.Int("softmax_precision", 0)));
  return wanted.has_value() && IsFloat(*wanted) ? *wanted : otherwise;
}

// Query, key, value, mask, past key, past value, number of keys that are no padding.
void Attention(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!CheckRanks(c)) return;
  bool joined = b.rank(c.in(0)) == 3;
  ValueId q = SplitHeads(b, c.in(0), c.Int("q_num_heads", 1));
  ValueId k = SplitHeads(b, c.in(1), c.Int("kv_num_heads", 1));
  ValueId v = SplitHeads(b, c.in(2), c.Int("kv_num_heads", 1));
  if (c.has(4)) k = b.Concat({c.in(4), k}, 2);
  if (c.has(5)) v = b.Concat({c.in(5), v}, 2);
  if (b.failed()) return;
  DType dtype = b.dtype(q);
  ScoreBias bias = MakeBias(c, dtype, b.dim(q, 2), b.dim(k, 2));
  ValueId raw = Scores(c, q, k);
  ValueId capped = Softcapped(b, raw, c.Float("softcap", 0));
  ValueId biased = bias.value().valid() ? b.Add(capped, bias.value()) : capped;
  ValueId wide = b.Cast(biased, SoftmaxPrecision(c, dtype));
  ValueId weights = b.Cast(SoftmaxOf(b, wide, RowsWithoutKeys(b, bias)), dtype);
  ValueId result = AttentionResult(b, weights, v);
  if (b.failed()) return;
  c.Out(0, joined ? HeadsJoined(b, result) : result);
  c.Out(1, k);
  c.Out(2, v);
  int64_t mode = c.Int("qk_matmul_output_mode", 0);
  c.Out(3, mode == 0 ? raw : mode == 1 ? capped : mode == 2 ? biased : weights);
}

// Applies a graph attribute to scores or weights; they are as they were where there is none.
ValueId Modified(OnnxContext& c, std::string_view attribute, ValueId x) {
  const OnnxAttribute* graph = c.Attr(attribute);
  if (graph == nullptr || c.b.failed()) return x;
  if (graph->graph == nullptr)
    return c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute '{}' is not a graph", attribute));
  DType dtype = c.b.dtype(x);
  auto results = c.import_graph(*graph->graph, {x});
  if (!results) return c.b.Fail(results.error().code, results.error().message);
  if (results->size() != 1)
    return c.b.Fail(Code::kInvalidArgument,
                    fmt::format("the graph '{}' has {} outputs, 1 is wanted", attribute, results->size()));
  return c.b.Cast((*results)[0], dtype);
}

// ai.onnx.preview: attention whose scores and weights pass through graphs of the model. At least f32 inside.
void FlexAttention(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId q = c.in(0);
  ValueId k = c.in(1);
  ValueId v = c.in(2);
  if (b.rank(q) != 4 || b.rank(k) != 4 || b.rank(v) != 4) {
    b.Fail(Code::kInvalidArgument, fmt::format("query, key and value have ranks {}, {} and {}; 4 is wanted",
                                               b.rank(q), b.rank(k), b.rank(v)));
    return;
  }
  DType wide = SoftmaxPrecision(c, WideType(b.dtype(q)));
  ValueId scores = Modified(c, "score_mod", b.Cast(Scores(c, q, k), wide));
  if (b.failed()) return;
  ValueId weights = Modified(c, "prob_mod", SoftmaxOf(b, scores, {}));
  if (b.failed()) return;
  c.Out(0, b.Cast(AttentionResult(b, weights, b.Cast(v, wide)), b.dtype(v)));
}

// Rotates pairs of the first elements of each head by an angle that depends on the position.
void RotaryEmbedding(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  bool joined = b.rank(x) == 3;
  int64_t heads = c.Int("num_heads", 0);
  if ((joined && heads < 1) || (!joined && b.rank(x) != 4)) {
    b.Fail(Code::kInvalidArgument, fmt::format("data of rank {} with {} heads", b.rank(x), heads));
    return;
  }
  int cache_rank = c.has(3) ? 2 : 3;
  if (b.rank(c.in(1)) != cache_rank || b.rank(c.in(2)) != cache_rank || (c.has(3) && b.rank(c.in(3)) != 2)) {
    b.Fail(
        Code::kInvalidArgument,
        fmt::format(
            "cos_cache and sin_cache have ranks {} and {}, wanted {}; position_ids, where given, has rank 2",
            b.rank(c.in(1)), b.rank(c.in(2)), cache_rank));
    return;
  }
  // [batch, length, heads, size]
  Dims whole = b.dims(x);
  ValueId apart = joined ? b.Reshape(x, {whole[0], whole[1], Dim(heads), FloorDiv(whole[2], heads)})
                         : b.Transpose(x, {0, 2, 1, 3});
  Dims d = b.dims(apart);
  int64_t part = c.Int("rotary_embedding_dim", 0);
  Dim rotated = part == 0 ? d[3] : Dim(part);
  Dim half = FloorDiv(rotated, 2);
  auto angles = [&](ValueId cache) {
    ValueId rows = c.has(3) ? b.Gather(cache, c.in(3), 0) : cache;
    return b.Unsqueeze(rows, {2});
  };
  ValueId cosine = angles(c.in(1));
  ValueId sine = angles(c.in(2));
  if (b.failed()) return;
  bool interleaved = c.Int("interleaved", 0) != 0;
  auto pick = [&](const Dim& start, int64_t step) {
    return b.Slice(apart, {0, 0, 0, start}, {1, 1, 1, step}, {d[0], d[1], d[2], half});
  };
  ValueId first = pick(0, interleaved ? 2 : 1);
  ValueId second = interleaved ? pick(1, 2) : pick(half, 1);
  ValueId real = b.Sub(b.Mul(cosine, first), b.Mul(sine, second));
  ValueId imaginary = b.Add(b.Mul(sine, first), b.Mul(cosine, second));
  ValueId turned;
  if (interleaved) {
    turned = b.Concat({b.Unsqueeze(real, {4}), b.Unsqueeze(imaginary, {4})}, 4);
    turned = b.Reshape(turned, {d[0], d[1], d[2], rotated});
  } else {
    turned = b.Concat({real, imaginary}, 3);
  }
  if (!(rotated == d[3])) turned = b.Concat({turned, b.SliceAxis(apart, 3, rotated, d[3] - rotated)}, 3);
  c.Out(0, joined ? b.Reshape(turned, whole) : b.Transpose(turned, {0, 2, 1, 3}));
}

constexpr OnnxOp kRows[] = {
    {"", "Attention", 23, kLatest, 3, 7,
     "is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode right_window_size scale "
     "softcap "
     "softmax_precision",
     Attention, kFloats},
    {"ai.onnx.preview", "FlexAttention", 1, kLatest, 3, 3, "prob_mod scale score_mod softmax_precision",
     FlexAttention, kFloats},
    {"", "RotaryEmbedding", 23, kLatest, 3, 4, "interleaved num_heads rotary_embedding_dim", RotaryEmbedding,
     kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxAttentionRows() { return kRows; }

}  // namespace tvmvm::ir
