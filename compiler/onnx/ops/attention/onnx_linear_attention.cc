// Attention without softmax: a state of outer products that each step of the sequence changes and reads. A
// few steps are written out; more of them, or as many as only running tells, are a loop.
#include <fmt/core.h>

#include "compiler/onnx/ops/attention/attention_subgraph.h"
#include "compiler/onnx/ops/onnx_control.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

constexpr int64_t kMostWrittenOut = 4;

// The inputs of all steps; each is [batch, heads, length, size].
struct Recurrence {
  OpBuilder& b;
  ValueId query, key, value;
  ValueId decay;                    // none: the state stays
  ValueId beta;                     // none: no correction by what the state holds already
  bool ranges_over_queries = true;  // several query heads share a state, else several states a query head
  ValueId scale;

  ValueId At(ValueId x, const Dim& t) const { return b.Squeeze(b.SliceAxis(x, 2, t, 1), {2}); }

  // The state [batch, heads, key size, value size] after step t.
  ValueId Advance(ValueId state, const Dim& t) const {
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
  ValueId Read(ValueId state, const Dim& t) const {
    ValueId q = At(query, t);
    Dims d = b.dims(q, 3, "the query of a step");
    Dim heads = b.dim(state, 1);
    ValueId result;
    if (ranges_over_queries) {
      ValueId grouped = b.Reshape(q, {d[0], heads, FloorDiv(d[1], heads), d[2]});
      result = b.Contract(grouped, state, {0, 1}, {0, 1}, {3}, {2});
      result = b.Reshape(result, {d[0], d[1], b.dim(state, 3)});
    } else {
      Dims grouped{d[0], d[1], FloorDiv(heads, d[1]), b.dim(state, 2), b.dim(state, 3)};
      result = b.Contract(q, b.Reshape(state, grouped), {0, 1}, {0, 1}, {2}, {3});
      result = b.Reshape(result, {d[0], heads, b.dim(state, 3)});
    }
    return b.Mul(result, scale);
  }

  // All steps: what is read, [batch, steps, heads, value size], and the last state.
  std::pair<ValueId, ValueId> Run(OnnxContext& c, ValueId state) const {
    Dim steps = b.dim(query, 2);
    if (steps.is_constant() && steps.value() >= 1 && steps.value() <= kMostWrittenOut) {
      std::vector<ValueId> rows;
      for (int64_t t = 0; t < steps.value(); ++t) {
        state = Advance(state, t);
        rows.push_back(b.Unsqueeze(Read(state, t), {1}));
      }
      return {b.Concat(std::move(rows), 1), state};
    }
    LoopSpec spec;
    spec.trip = steps;
    spec.initial = {state};
    spec.body = [&](const Dim& t, const std::vector<ValueId>& carried) -> Expected<std::vector<ValueId>> {
      ValueId next = Advance(carried[0], t);
      return std::vector{next, Read(next, t)};
    };
    std::vector<ValueId> results = BuildLoop(c, spec);
    if (b.failed() || results.size() != 2) return {state, state};
    return {b.Transpose(results[1], {1, 0, 2, 3}), results[0]};
  }
};

// The rules by which the state changes.
struct UpdateRule {
  bool is_gated = false;
  bool is_corrected = false;
};
UpdateRule ReadRule(OnnxContext& c) {
  std::string name = c.Text("update_rule", "gated_delta");
  UpdateRule rule{name == "gated" || name == "gated_delta", name == "delta" || name == "gated_delta"};
  if (!rule.is_gated && !rule.is_corrected && name != "linear")
    c.b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'update_rule' is '{}'", name));
  return rule;
}

// Query, key, value, past state, decay, beta.
void LinearAttention(OnnxContext& c) {
  OpBuilder& b = c.b;
  int64_t query_heads = c.Int("q_num_heads", 0), heads = c.Int("kv_num_heads", 0);
  UpdateRule rule = ReadRule(c);
  if (b.failed()) return;
  bool divides = heads > 0 && query_heads > 0 && (query_heads % heads == 0 || heads % query_heads == 0);
  if (!divides || (rule.is_gated && !c.has(4)) || (rule.is_corrected && !c.has(5))) {
    b.Fail(
        Code::kInvalidArgument,
        fmt::format("{} query heads over {} heads, or what the rule needs is missing", query_heads, heads));
    return;
  }
  auto apart = [&](size_t input, const Dim& count, std::string_view what) {
    return HeadsApart(b, b.Cast(c.in(input), DType::kF32), count, what);
  };
  Recurrence r{b, apart(0, query_heads, "the query"), apart(1, heads, "the key"),
               apart(2, heads, "the value")};
  r.ranges_over_queries = query_heads >= heads;
  std::optional<double> scale;
  if (c.Float("scale", 0) != 0) scale = c.Float("scale", 0);
  r.scale = AttentionFactor(b, DType::kF32, scale, b.dim(r.query, 3));
  if (rule.is_gated) r.decay = apart(4, heads, "the decay");
  if (rule.is_corrected) r.beta = apart(5, b.dim(c.in(5), 2), "the update rate");
  if (c.has(3)) b.dims(c.in(3), 4, "the past state");
  if (b.failed()) return;
  Dims state_dims{b.dim(c.in(0), 0), Dim(heads), b.dim(r.key, 3), b.dim(r.value, 3)};
  ValueId state = c.has(3) ? b.Cast(c.in(3), DType::kF32) : b.Expand(b.Scalar(DType::kF32, 0), state_dims);
  auto [rows, last] = r.Run(c, state);
  if (b.failed()) return;
  Dims d = b.dims(rows, 4, "what is read");
  c.Out(0, b.Cast(b.Reshape(rows, {d[0], d[1], d[2] * d[3]}), b.dtype(c.in(0))));
  c.Out(1, b.Cast(last, b.dtype(c.has(3) ? c.in(3) : c.in(0))));
}

constexpr OnnxOp kRows[] = {
    {"", "LinearAttention", 27, kLatest, 3, 6, "chunk_size kv_num_heads q_num_heads scale update_rule",
     LinearAttention, kFloats},
    {"com.microsoft", "LinearAttention", 1, kLatest, 3, 6,
     "chunk_size kv_num_heads q_num_heads scale update_rule", LinearAttention, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxLinearAttentionRows() { return kRows; }

}  // namespace tvmvm::ir
