// com.microsoft: attention of grouped queries over a cache of keys and values.
#include <fmt/core.h>

#include "compiler/onnx/ops/attention/onnx_fused_attention.h"
#include "compiler/onnx/ops/attention/onnx_key_value_cache.h"
#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// Inputs: query, key, value, past key and value, lengths less one [batch], the longest length, caches of
// cosines and sines, positions, bias of the scores, sinks [heads], scales of a quantized cache, norms of
// query and key, how many of the queries of each sequence count [batch].
enum Input : uint8_t {
  kPastKey = 3,
  kPastValue,
  kLengths,
  kTotal,
  kCosines,
  kSines,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kQueryLengths
};

class GroupedQueries {
 public:
  explicit GroupedQueries(OnnxContext& context) : c_(context), b_(context.b) {}

  void Run() {
    if (!Read()) return;
    ReadLengths();
    if (c_.Int("do_rotary", 0) != 0) {
      operands_.query = Rotated(operands_.query);
      operands_.key = Rotated(operands_.key);
    }
    KeyValueCache cache = Extended();
    if (b_.failed()) return;
    operands_.key = cache.key;
    operands_.value = cache.value;
    AddBias(cache);
    operands_.softcap = c_.Float("softcap", 0);
    if (c_.has(kSink)) operands_.sink = b_.Reshape(c_.in(kSink), {b_.dim(operands_.query, 1), 1, 1});
    if (!c_.has(kSink) && c_.Int("smooth_softmax", 0) == 1) operands_.sink = b_.Scalar(DType::kF32, 0);
    Attended attended = Attend(c_, operands_);
    if (b_.failed()) return;
    c_.Out(0, HeadsJoined(b_, attended.result));
    c_.Out(1, cache.present_key);
    c_.Out(2, cache.present_value);
    if (c_.wants(3)) c_.Out(3, ScoresOrWeights(attended));
  }

 private:
  bool Read() {
    if (!HasHeads(c_, "num_heads") || !HasHeads(c_, "kv_num_heads")) return false;
    if (Refuses(c_, kQueryNorm, "norms of query and key") || Refuses(c_, kKeyNorm, "norms of query and key"))
      return false;
    bool rotates = c_.Int("do_rotary", 0) != 0;
    if (c_.has(1) != c_.has(2) || !c_.has(kLengths) || !c_.has(kTotal) ||
        c_.has(kPastKey) != c_.has(kPastValue) || (rotates && !(c_.has(kCosines) && c_.has(kSines)))) {
      b_.Fail(Code::kInvalidArgument, "a key, a value, lengths or the caches of angles are missing");
      return false;
    }
    int64_t heads = c_.Int("num_heads", 1), shared = c_.Int("kv_num_heads", 1);
    if (c_.has(1)) {
      operands_.query = HeadsApart(b_, c_.in(0), heads, "the query");
      operands_.key = HeadsApart(b_, c_.in(1), shared, "the key");
      operands_.value = HeadsApart(b_, c_.in(2), shared, "the value");
      return !b_.failed();
    }
    Dim size = FloorDiv(b_.dims(c_.in(0), 3, "the query")[2], heads + 2 * shared);
    auto part = [&](int64_t start, int64_t count) {
      return HeadsApart(b_, b_.SliceAxis(c_.in(0), 2, size * Dim(start), size * Dim(count)), count,
                        "a part of the query");
    };
    operands_.query = part(0, heads);
    operands_.key = part(heads, shared);
    operands_.value = part(heads + shared, shared);
    return !b_.failed();
  }

  // How many entries of the cache go before the new ones, and how many of the new ones count. The first
  // prompt starts at 0; its shorter sequences are padded on the right.
  void ReadLengths() {
    Dim batch = b_.dim(operands_.query, 0);
    queries_ = b_.dim(operands_.query, 2);
    total_ = ReadScalar(c_, kTotal, 0);
    ValueId one = b_.ScalarInt(DType::kI64, 1);
    auto numbers = [&](size_t input) { return b_.Cast(b_.Reshape(c_.in(input), {batch}), DType::kI64); };
    ValueId length = b_.Add(numbers(kLengths), one);
    fresh_ = b_.Min(length, b_.DimScalar(queries_));
    if (c_.has(kQueryLengths)) {
      fresh_ = numbers(kQueryLengths);
      past_ = b_.Sub(length, fresh_);
      return;
    }
    is_prompt_ = b_.Cast(b_.DimScalar(Equal(queries_, total_)), DType::kBool);
    past_ = b_.Where(is_prompt_, b_.ScalarInt(DType::kI64, 0), b_.Sub(length, b_.DimScalar(queries_)));
  }

  // Places in the sequence, or the positions that are given. Those of the first prompt count up from the
  // first one.
  ValueId Positions(const Dims& plane) {
    ValueId step = b_.Iota(DType::kI64, {plane[1]}, 0);
    if (!c_.has(kPositions)) return b_.Add(b_.Unsqueeze(past_, {1}), step);
    ValueId given = b_.Expand(b_.Cast(c_.in(kPositions), DType::kI64), plane);
    if (!is_prompt_.valid()) return given;
    ValueId first = b_.Slice(given, {0, 0}, {1, 1}, {Min(plane[0], 1), Min(plane[1], 1)});
    return b_.Where(is_prompt_, b_.Expand(b_.Add(first, step), plane), given);
  }

  ValueId Rotated(ValueId x) {
    if (b_.failed()) return x;
    Dims d = b_.dims(x, 4, "what is rotated");
    OnnxAttributes attributes{{"interleaved", IntAttribute(c_.Int("rotary_interleaved", 0))}};
    Dim rotated = b_.dim(c_.in(kCosines), 1) * Dim(2);
    if (rotated.is_constant() && !(rotated == d[3]))
      attributes["rotary_embedding_dim"] = IntAttribute(rotated.value());
    return Apply(c_, "RotaryEmbedding", {x, c_.in(kCosines), c_.in(kSines), Positions({d[0], d[2]})},
                 attributes);
  }

  KeyValueCache Extended() {
    CacheStep step{operands_.key, operands_.value, {}, {}, past_, fresh_, total_};
    if (!c_.has(kPastKey)) return WithoutPast(b_, step);
    step.past_key = c_.in(kPastKey);
    step.past_value = c_.in(kPastValue);
    if (c_.has(kKeyScale) || c_.has(kValueScale)) {
      if (!c_.has(kKeyScale) || !c_.has(kValueScale) || c_.Int("sliding_window_cache", 0) != 0) {
        b_.Fail(Code::kUnsupported, "a quantized cache without both scales, or one of a window");
        return {};
      }
      return QuantizedCache(c_, step, c_.in(kKeyScale), c_.in(kValueScale), c_.Int("kv_cache_bit_width", 8));
    }
    if (c_.Int("sliding_window_cache", 0) == 0) return GrowingCache(c_, step);
    if (c_.Int("local_window_size", -1) < 1) {
      b_.Fail(Code::kInvalidArgument, "a cache of a window needs the attribute 'local_window_size'");
      return {};
    }
    return WindowCache(b_, step, c_.Int("local_window_size", -1));
  }

  // A query attends the keys up to its own place, and no more of them than the window holds.
  void AddBias(const KeyValueCache& cache) {
    auto number = [&](int64_t value) { return b_.ScalarInt(DType::kI64, value); };
    Dim batch = b_.dim(past_, 0);
    ValueId key = cache.positions.valid()
                      ? b_.Reshape(cache.positions, {batch, 1, 1, b_.dim(operands_.key, 2)})
                      : b_.Iota(DType::kI64, {b_.dim(operands_.key, 2)}, 0);
    ValueId first = b_.Reshape(past_, {batch, 1, 1, 1});
    ValueId place = b_.Add(first, b_.Iota(DType::kI64, {queries_, Dim(1)}, 0));
    ValueId last = c_.Int("causal", 1) != 0 ? place : b_.Add(first, b_.DimScalar(queries_ - Dim(1)));
    ValueId allowed = b_.Binary(ExprOp::kLessEqual, key, last);
    int64_t window = c_.Int("local_window_size", -1);
    if (window > 0) {
      ValueId near = b_.Binary(ExprOp::kLess, b_.Sub(place, key), number(window));
      allowed = b_.Binary(ExprOp::kAnd, allowed, near);
    }
    // What no entry of a window's cache stands at is before all places.
    if (cache.positions.valid())
      allowed = b_.Binary(ExprOp::kAnd, allowed, b_.Binary(ExprOp::kLessEqual, number(0), key));
    operands_.bias = BiasUnless(b_, allowed, kNeverAttended);
    if (c_.has(kBias)) operands_.bias = b_.Add(operands_.bias, GivenBias(cache, key));
  }

  // The given bias has a column for each place of the sequence.
  ValueId GivenBias(const KeyValueCache& cache, ValueId key) {
    ValueId bias = b_.Cast(c_.in(kBias), DType::kF32);
    Dims d = b_.dims(bias, 4, "the bias of the scores");
    Dim keys = b_.dim(operands_.key, 2);
    if (!cache.positions.valid()) {
      Dims none(4, Dim(0)), more = none;
      more[3] = Max(keys - d[3], 0);
      return b_.Pad(bias, b_.Scalar(DType::kF32, 0), none, more);
    }
    Dims wanted{b_.dim(past_, 0), d[1], d[2], keys};
    ValueId column = b_.Max(b_.Min(key, b_.DimScalar(d[3] - Dim(1))), b_.ScalarInt(DType::kI64, 0));
    return b_.Emit("gather_elements",
                   {b_.Expand(bias, {wanted[0], d[1], d[2], d[3]}), b_.Expand(column, wanted)},
                   {{"axis", int64_t{3}}});
  }

  // [batch, heads, queries, total]; what may not be attended has 0.
  ValueId ScoresOrWeights(const Attended& attended) {
    ValueId result = attended.weights;
    if (c_.Int("qk_output", 0) == 1) {
      ValueId never = b_.Scalar(b_.dtype(attended.scores), kNeverAttended);
      ValueId is_hidden = b_.Binary(ExprOp::kEqual, attended.scores, never);
      result = b_.Where(is_hidden, b_.Scalar(b_.dtype(attended.scores), 0), attended.scores);
    }
    return b_.SliceAxis(result, 3, 0, total_);
  }

  OnnxContext& c_;
  OpBuilder& b_;
  AttentionOperands operands_;
  Dim queries_, total_;
  ValueId is_prompt_;     // whether this is the first prompt; not valid where that does not matter
  ValueId past_, fresh_;  // [batch]
};

void GroupQueryAttention(OnnxContext& c) { GroupedQueries(c).Run(); }

constexpr OnnxOp kRows[] = {
    {"com.microsoft", "GroupQueryAttention", 1, kLatest, 1, 17,
     "causal do_rotary k_norm_epsilon k_quant_type kv_cache_bit_width kv_num_heads local_window_size "
     "num_heads "
     "q_norm_epsilon qk_norm_epsilon qk_output rotary_interleaved scale sliding_window_cache smooth_softmax "
     "softcap v_quant_type",
     GroupQueryAttention, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxGroupedAttentionRows() { return kRows; }

}  // namespace tvmvm::ir
