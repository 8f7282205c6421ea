// Attention without softmax: a state of outer products that each step of the sequence changes and reads.
// Sequences have a length known at compile time; the steps are written out.
#include <fmt/core.h>

#include <cmath>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

constexpr int64_t kMaxSteps = 256;

// [batch, length, heads * size] as [batch, heads, length, size] in f32.
ValueId ByHeads(OpBuilder& b, ValueId x, const Dim& heads) {
  Dims d = b.dims(x);
  ValueId apart = b.Reshape(b.Cast(x, DType::kF32), {d[0], d[1], heads, FloorDiv(d[2], heads)});
  return b.Transpose(apart, {0, 2, 1, 3});
}

// The inputs of all steps; each is [batch, heads, length, size].
struct Recurrence {
  OpBuilder& b;
  ValueId query, key, value;
  ValueId decay;  // none: the state stays
  ValueId beta;   // none: no correction by what the state holds already
  Dim groups;     // query heads a state
  double scale = 1;

  ValueId At(ValueId x, int64_t t) const { return b.Squeeze(b.SliceAxis(x, 2, t, 1), {2}); }

  // The state [batch, heads, key size, value size] after step t.
  ValueId Advance(ValueId state, int64_t t) const {
    if (decay.valid()) state = b.Mul(state, b.Unsqueeze(b.Unary(ExprOp::kExp, At(decay, t)), {3}));
    ValueId k = At(key, t);
    ValueId v = At(value, t);
    if (beta.valid()) {
      ValueId held = b.Contract(k, state, {0, 1}, {0, 1}, {2}, {2});
      v = b.Mul(At(beta, t), b.Sub(v, held));
    }
    return b.Add(state, b.Mul(b.Unsqueeze(k, {3}), b.Unsqueeze(v, {2})));
  }

  // What the queries of step t read: [batch, query heads, value size].
  ValueId Read(ValueId state, int64_t t) const {
    ValueId q = At(query, t);
    Dims d = b.dims(q);
    ValueId grouped = b.Reshape(q, {d[0], b.dim(state, 1), groups, d[2]});
    ValueId result = b.Contract(grouped, state, {0, 1}, {0, 1}, {3}, {2});
    return b.Mul(b.Reshape(result, {d[0], d[1], b.dim(state, 3)}), b.Scalar(DType::kF32, scale));
  }
};

// Query, key, value, past state, decay, beta.
void LinearAttention(OnnxContext& c) {
  OpBuilder& b = c.b;
  int64_t query_heads = c.Int("q_num_heads", 0);
  int64_t heads = c.Int("kv_num_heads", 0);
  std::string rule = c.Text("update_rule", "gated_delta");
  bool gated = rule == "gated" || rule == "gated_delta";
  bool corrected = rule == "delta" || rule == "gated_delta";
  if (!gated && !corrected && rule != "linear") {
    b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'update_rule' is '{}'", rule));
    return;
  }
  bool ranks = b.rank(c.in(0)) == 3 && b.rank(c.in(1)) == 3 && b.rank(c.in(2)) == 3;
  if (!ranks || heads < 1 || query_heads < heads || query_heads % heads != 0 || gated != c.has(4) ||
      corrected != c.has(5)) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} query heads over {} heads, rule '{}': heads, ranks or optional inputs do not fit",
                       query_heads, heads, rule));
    return;
  }
  auto steps = b.dim(c.in(0), 1).constant();
  auto size = FloorDiv(b.dim(c.in(0), 2), query_heads).constant();
  if (!steps.has_value() || *steps < 1 || *steps > kMaxSteps || !size.has_value()) {
    b.Fail(Code::kUnsupported, fmt::format("a sequence of length {}", b.dim(c.in(0), 1).ToString()));
    return;
  }
  Recurrence r{
      b,  ByHeads(b, c.in(0), query_heads), ByHeads(b, c.in(1), heads), ByHeads(b, c.in(2), heads), {},
      {}, Dim(query_heads / heads),         c.Float("scale", 0)};
  if (r.scale == 0) r.scale = 1 / std::sqrt(static_cast<double>(*size));
  if (gated) r.decay = ByHeads(b, c.in(4), heads);
  if (corrected) r.beta = ByHeads(b, c.in(5), b.dim(c.in(5), 2));
  if (b.failed()) return;
  Dims state_dims{b.dim(c.in(0), 0), Dim(heads), Dim(*size), b.dim(r.value, 3)};
  ValueId state = c.has(3) ? b.Cast(c.in(3), DType::kF32) : b.Expand(b.Scalar(DType::kF32, 0), state_dims);
  std::vector<ValueId> outputs;
  for (int64_t t = 0; t < *steps && !b.failed(); ++t) {
    state = r.Advance(state, t);
    outputs.push_back(b.Unsqueeze(r.Read(state, t), {1}));  // [batch, 1, heads, size]
  }
  if (b.failed()) return;
  ValueId joined = b.Concat(std::move(outputs), 1);
  Dims d = b.dims(joined);
  c.Out(0, b.Cast(b.Reshape(joined, {d[0], d[1], d[2] * d[3]}), b.dtype(c.in(0))));
  c.Out(1, b.Cast(state, b.dtype(c.has(3) ? c.in(3) : c.in(0))));
}

constexpr OnnxOp kRows[] = {
    {"", "LinearAttention", 27, kLatest, 3, 6, "chunk_size kv_num_heads q_num_heads scale update_rule",
     LinearAttention, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxLinearAttentionRows() { return kRows; }

}  // namespace tvmvm::ir
