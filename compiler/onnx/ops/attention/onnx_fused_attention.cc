// com.microsoft: attention as exporters fuse it.
#include "compiler/onnx/ops/attention/onnx_fused_attention.h"

#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_quantized.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// Queries are the last ones of the keys; none attends what comes after it.
ValueId Causal(OpBuilder& b, const Dim& queries, const Dim& keys) {
  ValueId row = b.Add(b.Iota(DType::kI64, {queries, keys}, 0), b.DimScalar(keys - queries));
  return BiasUnless(b, b.Binary(ExprOp::kLessEqual, b.Iota(DType::kI64, {queries, keys}, 1), row),
                    kNeverAttended);
}

// Where the sequences end, after that, where they start [2 * batch]; lengths alone [batch]; or lengths and
// then where queries and keys begin in packed data [3 * batch + 2], of which only the lengths count.
ValueId BiasOfLengths(OnnxContext& c, ValueId mask, const Dim& batch, const Dim& keys, double filter) {
  OpBuilder& b = c.b;
  Dim count = b.dim(mask, 0);
  Dim has_starts = Equal(count, batch * Dim(2));
  Dim is_packed = Equal(count, batch * Dim(3) + Dim(2));
  b.Require(Or(Or(has_starts, is_packed), Equal(count, batch)), "a mask of {0} numbers for {1} sequences",
            {count, batch});
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

// Keys that count: numbers [batch, keys] or [batch, queries, keys] that are not 0, or lengths.
ValueId PaddingBias(OnnxContext& c, ValueId mask, const Dim& batch, const Dim& keys) {
  OpBuilder& b = c.b;
  double filter = c.Float("mask_filter_value", -10000);
  int rank = b.rank(mask);
  if (rank == 1) return BiasOfLengths(c, mask, batch, keys, filter);
  if (rank != 2 && rank != 3) return b.Fail(Code::kUnsupported, fmt::format("a mask of rank {}", rank));
  ValueId counts = b.Binary(ExprOp::kLess, b.ScalarInt(b.dtype(mask), 0), mask);
  return BiasUnless(b, b.Unsqueeze(counts, rank == 2 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1}),
                    filter);
}

// The bias of the scores from those inputs that tell of it and the attribute `unidirectional`.
void ReadBias(OnnxContext& c, AttentionOperands* operands, ValueId mask, ValueId more) {
  OpBuilder& b = c.b;
  if (b.failed()) return;
  Dim queries = b.dim(operands->query, 2), keys = b.dim(operands->key, 2);
  if (mask.valid()) operands->bias = PaddingBias(c, mask, b.dim(operands->query, 0), keys);
  if (c.Int("unidirectional", 0) != 0)
    operands->bias = SumOfBiases(b, operands->bias, Causal(b, queries, keys));
  operands->bias = SumOfBiases(b, operands->bias, more);
}

// Attention of query, key and value that stand side by side: [batch, length, query + key + value]. `past`:
// keys and values [2, batch, heads, length, size].
void AttendProjected(OnnxContext& c, ValueId projected, Dims sizes, ValueId mask, ValueId past,
                     ValueId bias) {
  OpBuilder& b = c.b;
  int64_t heads = c.Int("num_heads", 1);
  if (c.HasAttribute("qkv_hidden_sizes")) sizes = DimsOf(c.Ints("qkv_hidden_sizes"));
  if (sizes.size() != 3) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute 'qkv_hidden_sizes' has {} entries, 3 are wanted", sizes.size()));
    return;
  }
  if (past.valid()) b.dims(past, 5, "the past of keys and values");
  if (b.failed()) return;
  auto part = [&](const Dim& start, const Dim& size) {
    return HeadsApart(b, b.SliceAxis(projected, 2, start, size), heads, "a projection");
  };
  AttentionOperands operands;
  operands.query = part(0, sizes[0]);
  operands.key = part(sizes[0], sizes[1]);
  operands.value = part(sizes[0] + sizes[1], sizes[2]);
  if (past.valid()) {
    auto half = [&](int64_t which) { return b.Squeeze(b.SliceAxis(past, 0, which, 1), {0}); };
    operands.key = b.Concat({half(0), operands.key}, 2);
    operands.value = b.Concat({half(1), operands.value}, 2);
  }
  ReadBias(c, &operands, mask, bias);
  Attended attended = Attend(c, operands);
  if (b.failed()) return;
  c.Out(0, HeadsJoined(b, attended.result));
  if (c.wants(1)) c.Out(1, b.Concat({b.Unsqueeze(operands.key, {0}), b.Unsqueeze(operands.value, {0})}, 0));
}

bool CheckProjection(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!HasHeads(c, "num_heads")) return false;
  b.dims(c.in(0), 3, "the data");
  b.dims(c.in(1), 2, "the weights");
  return !b.failed();
}

// Data [batch, length, inputs], weights [inputs, query + key + value], their bias, mask, past keys and values
// [2, batch, heads, length, size], bias of the scores.
void Attention(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!CheckProjection(c) || Refuses(c, 6, "keys and values that share a buffer")) return;
  if (c.Int("do_rotary", 0) != 0) {
    b.Fail(Code::kUnsupported, "do_rotary, for which there is the operator RotaryEmbedding");
    return;
  }
  ValueId projected = b.Contract(c.in(0), c.in(1), {}, {}, {2}, {0});
  if (c.has(2)) projected = b.Add(projected, c.in(2));
  AttendProjected(c, projected, Dims(3, FloorDiv(b.dim(c.in(1), 1), 3)), c.in(3), c.in(4), c.in(5));
}

// The same of bytes: data, weights, bias, scale of the data, scale of the weights, mask, zero points of both,
// past. The weights' parameters are one number, or one a column.
void QAttention(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!CheckProjection(c)) return;
  if (c.Int("past_present_share_buffer", 0) != 0) {
    b.Fail(Code::kUnsupported, "keys and values that share a buffer");
    return;
  }
  ValueId projected = Apply(c, "MatMulInteger", {c.in(0), c.in(1), c.in(6), c.in(7)});
  ValueId scale = b.Mul(b.Reshape(c.in(3), {}), OneOrMany(b, c.in(4)));
  projected = b.Add(b.Mul(b.Cast(projected, DType::kF32), scale), c.in(2));
  AttendProjected(c, projected, Dims(3, FloorDiv(b.dim(c.in(1), 1), 3)), c.in(5), c.in(8), {});
}

// Query, key and value of MultiHeadAttention, which may be packed: [batch, length, heads, 3 or 2, size].
class MultiHeadOperands {
 public:
  MultiHeadOperands(OnnxContext& context, size_t bias)
      : c_(context), b_(context.b), bias_(bias), heads_(context.Int("num_heads", 1)) {}

  bool Read(AttentionOperands* operands) {
    int rank = b_.rank(c_.in(0));
    bool packs_key = c_.has(1) && b_.rank(c_.in(1)) == 5;
    if (!(rank == 5 || (rank == 3 && (packs_key || (Fits(1) && Fits(2)))))) {
      b_.Fail(Code::kInvalidArgument,
              fmt::format("a query of rank {} without key and value that suit it", rank));
      return false;
    }
    operands->query = rank == 5 ? Biased(Unpacked(0, 0)) : ReadHeads(0);
    operands->key = rank == 5 ? Biased(Unpacked(0, 1)) : packs_key ? Unpacked(1, 0) : ReadHeads(1);
    operands->value = rank == 5 ? Biased(Unpacked(0, 2)) : packs_key ? Unpacked(1, 1) : ReadHeads(2);
    return !b_.failed();
  }

 private:
  bool Fits(size_t input) {
    return c_.has(input) && (b_.rank(c_.in(input)) == 3 || b_.rank(c_.in(input)) == 4);
  }
  ValueId Unpacked(size_t input, int64_t which) {
    return b_.Transpose(b_.Squeeze(b_.SliceAxis(c_.in(input), 3, which, 1), {3}), {0, 2, 1, 3});
  }
  // Of rank 4 are the keys and values of another sequence, which have been through it all.
  ValueId ReadHeads(size_t input) {
    return b_.rank(c_.in(input)) == 4 ? c_.in(input)
                                      : Biased(HeadsApart(b_, c_.in(input), heads_, "an operand"));
  }
  // Biases of the projections stand one after another.
  ValueId Biased(ValueId x) {
    if (!c_.has(bias_) || b_.failed()) return x;
    Dim size = b_.dim(x, 1) * b_.dim(x, 3);
    ValueId bias =
        b_.Reshape(b_.SliceAxis(c_.in(bias_), 0, start_, size), {b_.dim(x, 1), Dim(1), b_.dim(x, 3)});
    start_ = start_ + size;
    return b_.Add(x, bias);
  }

  OnnxContext& c_;
  OpBuilder& b_;
  size_t bias_;
  int64_t heads_;
  Dim start_ = 0;
};

// Entries of beams: the entry at a step before `past` comes from the beam of the same batch entry that
// `indirection` [batch, beams, room] names.
ValueId OfBeams(OpBuilder& b, ValueId entries, ValueId indirection, const Dim& past) {
  if (b.failed()) return entries;
  Dims d = b.dims(entries, 4, "the cache");  // [batch * beams, heads, length, size]
  Dims beams_of = b.dims(indirection, 3, "cache_indirection");
  if (b.failed()) return entries;
  ValueId beams = b.DimScalar(beams_of[1]);
  ValueId row = b.Iota(DType::kI64, {d[0], Dim(1)}, 0);
  ValueId step = b.Iota(DType::kI64, {d[2]}, 0);
  ValueId first = b.Sub(row, b.Binary(ExprOp::kFloorMod, row, beams));
  ValueId named = b.Cast(b.Reshape(indirection, {d[0], beams_of[2]}), DType::kI64);
  named = b.Add(first, b.SliceAxis(named, 1, 0, d[2]));
  ValueId from = b.Where(b.Binary(ExprOp::kLess, step, b.DimScalar(past)), named, row);
  CheckIndices(b, from, {d[0]});
  ValueId place = b.Add(b.Mul(from, b.DimScalar(d[2])), step);
  ValueId rows = b.Reshape(b.Transpose(entries, {0, 2, 1, 3}), {d[0] * d[2], d[1], d[3]});
  return b.Transpose(b.Gather(rows, place, 0), {0, 2, 1, 3});
}

// Where the inputs of the operators of this kind are that have a cache.
struct CacheInputs {
  size_t mask, bias, past_key, past_value, past_length, indirection;
};

// Attention over operands that may follow those of a cache.
void AttendAfterPast(OnnxContext& c, AttentionOperands operands, const CacheInputs& at) {
  OpBuilder& b = c.b;
  ValueId present_key, present_value;
  if (c.has(at.past_length) && c.has(at.past_key) && c.has(at.past_value)) {
    Dim past = ReadScalar(c, at.past_length, 0);
    SharedBuffer key = WrittenInto(c, c.in(at.past_key), operands.key, past);
    SharedBuffer value = WrittenInto(c, c.in(at.past_value), operands.value, past);
    present_key = key.whole;
    present_value = value.whole;
    operands.key = key.used;
    operands.value = value.used;
    if (c.has(at.indirection)) {
      operands.key = OfBeams(b, operands.key, c.in(at.indirection), past);
      operands.value = OfBeams(b, operands.value, c.in(at.indirection), past);
    }
  } else {
    if (c.has(at.past_key)) operands.key = b.Concat({c.in(at.past_key), operands.key}, 2);
    if (c.has(at.past_value)) operands.value = b.Concat({c.in(at.past_value), operands.value}, 2);
    present_key = operands.key;
    present_value = operands.value;
  }
  ReadBias(c, &operands, c.in(at.mask), c.in(at.bias));
  Attended attended = Attend(c, operands);
  if (b.failed()) return;
  c.Out(0, HeadsJoined(b, attended.result));
  c.Out(1, present_key);
  c.Out(2, present_value);
  c.Out(3, attended.weights);
}

// Query, key, value, biases, padding of the keys, bias of the scores, past key and value, number of entries
// of the past that count, which beam each of them comes from.
void MultiHeadAttention(OnnxContext& c) {
  AttentionOperands operands;
  if (!HasHeads(c, "num_heads") || !MultiHeadOperands(c, 3).Read(&operands)) return;
  AttendAfterPast(c, operands, {4, 5, 6, 7, 8, 9});
}

// The same for one new step over a cache that shares its buffer, or over the keys and values of another
// sequence. The mask is that of the other sequence.
void DecoderMaskedMultiHeadAttention(OnnxContext& c) {
  OpBuilder& b = c.b;
  AttentionOperands operands;
  if (!HasHeads(c, "num_heads") || !MultiHeadOperands(c, 10).Read(&operands)) return;
  bool is_cross = b.rank(c.in(1)) == 4;
  if (!is_cross && (c.Int("past_present_share_buffer", 0) == 0 || !c.has(5) || !c.has(6) || !c.has(7))) {
    b.Fail(Code::kUnsupported, "a past that does not share its buffer");
    return;
  }
  AttendAfterPast(c, operands, {3, 4, 5, 6, 7, 9});
}

constexpr std::string_view kDomain = "com.microsoft";

constexpr OnnxOp kRows[] = {
    {kDomain, "Attention", 1, kLatest, 2, 7,
     "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes rotary_embedding_dim "
     "scale "
     "unidirectional",
     Attention, kFloats},
    {kDomain, "QAttention", 1, kLatest, 5, 9,
     "do_rotary mask_filter_value num_heads past_present_share_buffer scale unidirectional", QAttention,
     kBytes},
    {kDomain, "MultiHeadAttention", 1, kLatest, 1, 10, "mask_filter_value num_heads scale unidirectional",
     MultiHeadAttention, kFloats},
    {kDomain, "DecoderMaskedMultiHeadAttention", 1, kLatest, 3, 11,
     "mask_filter_value num_heads output_qk past_present_share_buffer scale", DecoderMaskedMultiHeadAttention,
     kFloats},
};

}  // namespace

Attended Attend(OnnxContext& c, const AttentionOperands& given) {
  OpBuilder& b = c.b;
  if (b.failed()) return {};
  DType dtype = b.dtype(given.query);
  DType wide = WideType(dtype);
  std::optional<double> scale;
  if (c.Float("scale", 0) != 0) scale = c.Float("scale", 0);
  ValueId factor = AttentionFactor(b, wide, scale, b.dim(given.query, 3));
  ValueId product = AttentionScores(b, b.Cast(given.query, wide), b.Cast(given.key, wide));
  ValueId scores = Softcapped(b, b.Mul(product, factor), given.softcap);
  if (given.bias.valid()) scores = b.Add(scores, b.Cast(given.bias, wide));
  ValueId sink = given.sink.valid() ? b.Cast(given.sink, wide) : ValueId();
  ValueId weights = AttentionWeights(b, scores, {sink, {}, true});
  ValueId result = AttentionResult(b, weights, b.Cast(given.value, wide));
  return {b.Cast(result, dtype), b.Cast(scores, dtype), b.Cast(weights, dtype)};
}

ValueId BiasUnless(OpBuilder& b, ValueId allowed, double otherwise) {
  return b.Where(allowed, b.Scalar(DType::kF32, 0), b.Scalar(DType::kF32, otherwise));
}

ValueId SumOfBiases(OpBuilder& b, ValueId x, ValueId y) {
  if (!x.valid() || !y.valid()) return x.valid() ? x : y;
  return b.Add(b.Cast(x, DType::kF32), b.Cast(y, DType::kF32));
}

SharedBuffer WrittenInto(OnnxContext& c, ValueId buffer, ValueId fresh, const Dim& past) {
  OpBuilder& b = c.b;
  if (b.failed()) return {buffer, buffer};
  Dims room = b.dims(buffer, 4, "the cache"), added = b.dims(fresh, 4, "what the cache takes");
  if (b.failed()) return {buffer, buffer};
  Dim total = past + added[2];
  b.Require(And(LessEqual(0, past), LessEqual(total, room[2])),
            "{0} past and {1} new entries in a cache of {2}", {past, added[2], room[2]});
  ValueId places = b.Expand(b.DimScalar(past), {added[0]});
  ValueId whole = Apply(c, "TensorScatter", {buffer, fresh, places});
  return {whole, b.SliceAxis(whole, 2, 0, total)};
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
