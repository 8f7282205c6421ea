// com.microsoft: attention of grouped queries over a cache of keys and values.
#include <fmt/core.h>

#include "compiler/onnx/ops/attention/onnx_fused_attention.h"
#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// Grouped queries over a cache whose entries before `past` [batch] are kept and after which new ones go.
class GroupedQueries {
 public:
  explicit GroupedQueries(OnnxContext& context) : c_(context), b_(context.b) {}

  void Run() {
    if (!Read()) return;
    Dims d = b_.dims(operands_.query);
    Dim total = ReadScalar(c_, 6, 0);
    if (b_.failed()) return;
    // The first prompt starts at 0; its shorter sequences are padded on the right.
    ValueId length = b_.Add(b_.Cast(b_.Reshape(c_.in(5), {d[0]}), DType::kI64), b_.ScalarInt(DType::kI64, 1));
    ValueId is_prompt = b_.Cast(b_.DimScalar(Equal(d[2], total)), DType::kBool);
    past_ = b_.Where(is_prompt, b_.ScalarInt(DType::kI64, 0), b_.Sub(length, b_.DimScalar(d[2])));
    if (c_.Int("do_rotary", 0) != 0) {
      operands_.query = Rotated(operands_.query);
      operands_.key = Rotated(operands_.key);
    }
    if (c_.has(3) && c_.has(4)) {
      operands_.key = Appended(c_.in(3), operands_.key, total);
      operands_.value = Appended(c_.in(4), operands_.value, total);
    }
    if (b_.failed()) return;
    AddBias(d[2]);
    operands_.softcap = c_.Float("softcap", 0);
    if (c_.has(11)) operands_.sink = b_.Reshape(c_.in(11), {d[1], 1, 1});
    if (!c_.has(11) && c_.Int("smooth_softmax", 0) == 1) operands_.sink = b_.Scalar(DType::kF32, 0);
    Attended attended = Attend(c_, operands_);
    if (b_.failed()) return;
    c_.Out(0, HeadsJoined(b_, attended.result));
    c_.Out(1, operands_.key);
    c_.Out(2, operands_.value);
  }

 private:
  bool Read() {
    if (!HasHeads(c_, "num_heads") || !HasHeads(c_, "kv_num_heads")) return false;
    for (size_t input : {12, 13, 14, 15})
      if (Refuses(c_, input, "scales of a quantized cache, or norms of query and key")) return false;
    if (c_.Int("sliding_window_cache", 0) != 0 || c_.Int("qk_output", 0) != 0 || c_.wants(3)) {
      b_.Fail(Code::kUnsupported, "a cache of window size, or the product of query and key as an output");
      return false;
    }
    bool rotates = c_.Int("do_rotary", 0) != 0;
    if (b_.rank(c_.in(0)) != 3 || c_.has(1) != c_.has(2) || !c_.has(5) || !c_.has(6) ||
        (rotates && !(c_.has(7) && c_.has(8)))) {
      b_.Fail(Code::kInvalidArgument,
              fmt::format("a query of rank {}, 3 is wanted, or a key, a value, lengths or the "
                          "caches of angles are missing",
                          b_.rank(c_.in(0))));
      return false;
    }
    int64_t heads = c_.Int("num_heads", 1), shared = c_.Int("kv_num_heads", 1);
    if (c_.has(1)) {
      operands_ = {HeadsApart(b_, c_.in(0), heads),
                   HeadsApart(b_, c_.in(1), shared),
                   HeadsApart(b_, c_.in(2), shared),
                   {},
                   {},
                   0};
      return !b_.failed();
    }
    Dim size = FloorDiv(b_.dim(c_.in(0), 2), heads + 2 * shared);
    auto part = [&](int64_t start, int64_t count) {
      return HeadsApart(b_, b_.SliceAxis(c_.in(0), 2, size * Dim(start), size * Dim(count)), count);
    };
    operands_ = {part(0, heads), part(heads, shared), part(heads + shared, shared), {}, {}, 0};
    return !b_.failed();
  }

  ValueId Rotated(ValueId x) {
    Dims d = b_.dims(x);
    ValueId positions = b_.Add(b_.Unsqueeze(past_, {1}), b_.Iota(DType::kI64, {d[2]}, 0));
    if (c_.has(9)) positions = b_.Expand(c_.in(9), {d[0], d[2]});
    OnnxAttributes attributes{{"interleaved", IntAttribute(c_.Int("rotary_interleaved", 0))}};
    Dim rotated = b_.dim(c_.in(7), 1) * Dim(2);
    if (rotated.is_constant() && !(rotated == d[3]))
      attributes["rotary_embedding_dim"] = IntAttribute(rotated.value());
    return Apply(c_, "RotaryEmbedding", {x, c_.in(7), c_.in(8), positions}, attributes);
  }

  // The cache, longer where it is too short, with the new entries after the old ones.
  ValueId Appended(ValueId cache, ValueId fresh, const Dim& total) {
    Dims none(4, Dim(0)), more = none;
    more[2] = Max(total - b_.dim(cache, 2), 0);
    ValueId room = b_.Pad(cache, b_.Scalar(b_.dtype(cache), 0), none, more);
    return Apply(c_, "TensorScatter", {room, fresh, past_});
  }

  // A query attends the keys up to its own place, and no more of them than the window holds.
  void AddBias(const Dim& queries) {
    Dim keys = b_.dim(operands_.key, 2);
    ValueId key = b_.Iota(DType::kI64, {keys}, 0);
    ValueId row = b_.Iota(DType::kI64, {queries, Dim(1)}, 0);
    ValueId place = b_.Add(b_.Reshape(past_, {b_.dim(past_, 0), 1, 1, 1}), row);
    bool is_causal = c_.Int("causal", 1) != 0;
    ValueId last =
        is_causal ? place
                  : b_.Add(b_.Reshape(past_, {b_.dim(past_, 0), 1, 1, 1}), b_.DimScalar(queries - Dim(1)));
    ValueId allowed = b_.Binary(ExprOp::kLessEqual, key, last);
    int64_t window = c_.Int("local_window_size", -1);
    if (window > 0) {
      ValueId near = b_.Binary(ExprOp::kLess, b_.Sub(place, key), b_.ScalarInt(DType::kI64, window));
      allowed = b_.Binary(ExprOp::kAnd, allowed, near);
    }
    operands_.bias = BiasUnless(b_, allowed, kNeverAttended);
    if (!c_.has(10)) return;
    // The bias has a column for each key that counts; a longer cache holds more.
    Dims none(4, Dim(0)), more = none;
    more[3] = Max(keys - b_.dim(c_.in(10), 3), 0);
    ValueId bias = b_.Cast(c_.in(10), DType::kF32);
    operands_.bias = b_.Add(operands_.bias, b_.Pad(bias, b_.Scalar(DType::kF32, 0), none, more));
  }

  OnnxContext& c_;
  OpBuilder& b_;
  AttentionOperands operands_;
  ValueId past_;  // [batch]
};

void GroupQueryAttention(OnnxContext& c) { GroupedQueries(c).Run(); }

constexpr OnnxOp kRows[] = {
    {"com.microsoft", "GroupQueryAttention", 1, kLatest, 1, 16,
     "causal do_rotary kv_num_heads local_window_size num_heads qk_output rotary_interleaved scale "
     "sliding_window_cache smooth_softmax softcap",
     GroupQueryAttention, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxGroupedAttentionRows() { return kRows; }

}  // namespace tvmvm::ir
