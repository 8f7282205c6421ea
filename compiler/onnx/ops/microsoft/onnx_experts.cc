// com.microsoft: mixtures of experts. Each token goes through the few experts that its row of scores prefers,
// and each expert computes only the tokens that chose it.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_control.h"
#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_quantized.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

// Up to so many experts are written out, so that the compiler sees the weights of each; more are a loop.
constexpr int64_t kMostWrittenOut = 16;

// A layer of all experts: weights [experts, outputs, inputs], or bytes of codes [experts, outputs, bytes]
// with scales and zero points of blocks, and a bias [experts, outputs].
struct ExpertLayer {
  ValueId weights, bias, scales, zeros;
  int64_t bits = 0;   // of a code; 0: the weights are numbers
  int64_t block = 0;  // inputs that share a scale; 0: all

  bool valid() const { return weights.valid(); }
};

// The layer's part that belongs to one expert.
ValueId OfExpert(OpBuilder& b, ValueId x, const Dim& expert) {
  return b.Squeeze(b.SliceAxis(x, 0, expert, 1), {0});
}

// The weights [outputs, inputs] of one expert in f32.
ValueId WeightsOf(OpBuilder& b, const ExpertLayer& layer, const Dim& expert) {
  ValueId given = OfExpert(b, layer.weights, expert);
  if (layer.bits == 0 || b.failed()) return b.Cast(given, DType::kF32);
  ValueId codes = b.Cast(UnpackedBits(b, given, layer.bits), DType::kF32);
  Dims d = b.dims(codes, 2, "the weights of an expert");
  Dim blocks = layer.block == 0 ? Dim(1) : FloorDiv(d[1], layer.block);
  Dims apart{d[0], blocks, layer.block == 0 ? d[1] : Dim(layer.block)}, one{d[0], blocks, 1};
  ValueId zero = b.Scalar(DType::kF32, static_cast<double>(int64_t{1} << (layer.bits - 1)));
  if (layer.zeros.valid()) {
    ValueId unpacked = UnpackedBits(b, OfExpert(b, layer.zeros, expert), layer.bits);
    ValueId used = b.SliceAxis(unpacked, b.rank(unpacked) - 1, 0, b.rank(unpacked) == 1 ? d[0] : blocks);
    zero = b.Reshape(b.Cast(used, DType::kF32), one);
  }
  ValueId scale = b.Reshape(b.Cast(OfExpert(b, layer.scales, expert), DType::kF32), one);
  return b.Reshape(b.Mul(b.Sub(b.Reshape(codes, apart), zero), scale), d);
}

ValueId Through(OpBuilder& b, const ExpertLayer& layer, ValueId rows, const Dim& expert) {
  ValueId result = b.Contract(rows, WeightsOf(b, layer, expert), {}, {}, {1}, {1});
  return layer.bias.valid() ? b.Add(result, b.Cast(OfExpert(b, layer.bias, expert), DType::kF32)) : result;
}

class Mixture {
 public:
  Mixture(OnnxContext& context, ExpertLayer first, ExpertLayer second, ExpertLayer third)
      : c_(context), b_(context.b), first_(first), second_(second), third_(third) {
    kind_ = c_.Text("activation_type", "relu");
    fusion_ = c_.Int("swiglu_fusion", 0);
  }

  // Rows of data [tokens, inputs] in f32, [tokens, selected] numbers and weights of the experts for each.
  ValueId Run(ValueId rows, ValueId chosen, ValueId weights) {
    rows_ = rows;
    chosen_ = chosen;
    weights_ = weights;
    ValueId sum = b_.Expand(b_.Scalar(DType::kF32, 0), {b_.dim(rows, 0), b_.dim(second_.weights, 1)});
    Dim experts = b_.dim(first_.weights, 0);
    if (experts.is_constant() && experts.value() <= kMostWrittenOut) {
      for (int64_t expert = 0; expert < experts.value() && !b_.failed(); ++expert) sum = Added(sum, expert);
      return sum;
    }
    LoopSpec spec;
    spec.trip = experts;
    spec.initial = {sum};
    spec.body = [&](const Dim& expert,
                    const std::vector<ValueId>& carried) -> Expected<std::vector<ValueId>> {
      return std::vector{Added(carried[0], expert)};
    };
    std::vector<ValueId> results = BuildLoop(c_, spec);
    return results.empty() ? sum : results[0];
  }

 private:
  // The sum with what one expert gives for the tokens that chose it.
  ValueId Added(ValueId sum, const Dim& expert) {
    ValueId hits = b_.Binary(ExprOp::kEqual, chosen_, b_.DimScalar(expert));
    ValueId share = b_.Where(hits, weights_, b_.Scalar(DType::kF32, 0));
    share = b_.Squeeze(b_.Reduce(ReduceKind::kSum, share, {1}), {1});
    ValueId tokens = PositionsOf(b_, b_.Squeeze(b_.Reduce(ReduceKind::kOr, hits, {1}), {1}));
    if (b_.failed()) return sum;
    ValueId rows = b_.Gather(rows_, tokens, 0);
    ValueId given = Through(b_, second_, Activated(rows, expert), expert);
    ValueId part = b_.Mul(given, b_.Unsqueeze(b_.Gather(share, tokens, 0), {1}));
    return b_.Emit("scatter_nd", {sum, b_.Unsqueeze(tokens, {1}), part}, {{"reduction", std::string("add")}});
  }

  ValueId Activated(ValueId rows, const Dim& expert) {
    ValueId hidden = Through(b_, first_, rows, expert);
    if (kind_ == "swiglu") return Gated(rows, hidden, expert);
    ValueId result = hidden;
    if (kind_ == "relu")
      result = Apply(c_, "Relu", {hidden});
    else if (kind_ == "gelu")
      result = Apply(c_, "Gelu", {hidden}, {{"approximate", TextAttribute("tanh")}});
    else if (kind_ == "silu")
      result = Apply(c_, "Swish", {hidden});
    else if (kind_ != "identity")
      return b_.Fail(Code::kUnsupported, fmt::format("the activation '{}'", kind_));
    return third_.valid() ? b_.Mul(result, Through(b_, third_, rows, expert)) : result;
  }

  // gate * sigmoid(alpha * gate) * (linear + beta). The two are layers of their own, every other column of
  // one layer, or its halves.
  ValueId Gated(ValueId rows, ValueId hidden, const Dim& expert) {
    ValueId gate = hidden, linear;
    if (fusion_ == 0 && third_.valid()) {
      linear = Through(b_, third_, rows, expert);
    } else if (fusion_ == 1 || fusion_ == 2) {
      Dims d = b_.dims(hidden, 2, "what an expert gives");
      Dim half = FloorDiv(d[1], 2);
      int64_t step = fusion_ == 1 ? 2 : 1;
      gate = b_.Slice(hidden, {0, 0}, {1, step}, {d[0], half});
      linear = b_.Slice(hidden, {0, fusion_ == 1 ? Dim(1) : half}, {1, step}, {d[0], half});
    } else {
      return b_.Fail(Code::kUnsupported, fmt::format("swiglu with 'swiglu_fusion' = {}", fusion_));
    }
    ValueId high = b_.Scalar(DType::kF32, c_.Float("swiglu_limit", std::numeric_limits<double>::infinity()));
    if (c_.HasAttribute("swiglu_limit")) {
      gate = b_.Min(gate, high);
      linear = b_.Max(b_.Min(linear, high), b_.Unary(ExprOp::kNegate, high));
    }
    ValueId slope = b_.Scalar(DType::kF32, c_.Float("activation_alpha", 1));
    ValueId opened = b_.Mul(gate, b_.Unary(ExprOp::kSigmoid, b_.Mul(gate, slope)));
    return b_.Mul(opened, b_.Add(linear, b_.Scalar(DType::kF32, c_.Float("activation_beta", 0))));
  }

  OnnxContext& c_;
  OpBuilder& b_;
  ExpertLayer first_, second_, third_;
  std::string kind_;
  int64_t fusion_ = 0;
  ValueId rows_, chosen_, weights_;
};

bool CheckExperts(OnnxContext& c, size_t second) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  int64_t k = c.Int("k", 1);
  Dim experts = b.dim(c.in(2), 0);
  bool fits = (rank == 2 || rank == 3) && b.rank(c.in(1)) == 2 && b.rank(c.in(2)) == 3 && c.has(second) &&
              b.rank(c.in(second)) == 3 && k > 0 && !(experts.is_constant() && experts.value() < k);
  if (!fits)
    b.Fail(Code::kInvalidArgument,
           fmt::format("data of rank {}, scores of rank {}, weights of rank {}, {} of {} experts", rank,
                       b.rank(c.in(1)), b.rank(c.in(2)), k, experts.ToString()));
  if (c.Int("swiglu_limit_after_activation", 0) != 0)
    b.Fail(Code::kUnsupported, "a limit after the activation");
  return !b.failed();
}

// The weights of the chosen experts: softmax of the scores, of all experts or of the chosen ones alone.
struct Choice {
  ValueId experts, weights;  // [tokens, k]
};
Choice Choose(OnnxContext& c, bool of_all, ValueId other_weights) {
  OpBuilder& b = c.b;
  Dim k = c.Int("k", 1);
  b.Require(LessEqual(k, b.dim(c.in(1), 1)), "{0} of {1} experts", {k, b.dim(c.in(1), 1)});
  ValueId scores = b.Cast(c.in(1), DType::kF32);
  std::vector<ValueId> best =
      b.EmitMulti("topk", {scores}, {{"axis", int64_t{1}}, {"k", k}, {"largest", int64_t{1}}});
  if (b.failed()) return {scores, scores};
  ValueId largest = b.Reduce(ReduceKind::kMax, scores, {1});
  ValueId weights = b.Unary(ExprOp::kExp, b.Sub(best[0], largest));
  ValueId all = of_all ? b.Unary(ExprOp::kExp, b.Sub(scores, largest)) : weights;
  weights = b.Div(weights, b.Reduce(ReduceKind::kSum, all, {1}));
  if (other_weights.valid()) {
    weights =
        b.Emit("gather_elements", {b.Cast(other_weights, DType::kF32), best[1]}, {{"axis", int64_t{1}}});
    if (c.Int("normalize_routing_weights", 0) != 0)
      weights = b.Div(weights, b.Reduce(ReduceKind::kSum, weights, {1}));
  }
  return {best[1], weights};
}

void RunMixture(OnnxContext& c, Mixture mixture, const Choice& choice) {
  OpBuilder& b = c.b;
  if (b.failed()) return;
  Dims d = b.dims(c.in(0));
  ValueId rows = b.Reshape(b.Cast(c.in(0), DType::kF32), {Product(Dims(d.begin(), d.end() - 1)), d.back()});
  ValueId result = mixture.Run(rows, choice.experts, choice.weights);
  if (!b.failed()) c.Out(0, b.Cast(b.Reshape(result, d), b.dtype(c.in(0))));
}

// Data, scores [tokens, experts], then weights and bias of the first, second and third layer.
void MoE(OnnxContext& c) {
  if (!CheckExperts(c, 4)) return;
  Mixture mixture(c, {c.in(2), c.in(3), {}, {}}, {c.in(4), c.in(5), {}, {}}, {c.in(6), c.in(7), {}, {}});
  RunMixture(c, mixture, Choose(c, c.Int("normalize_routing_weights", 0) == 0, {}));
}

// The same with weights of codes: weights, scales and bias of each layer, their zero points, and weights
// [tokens, experts] to take instead of those that the scores give.
void QMoE(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!CheckExperts(c, 5)) return;
  std::string kind = c.Text("quant_type", "int");
  int64_t block = c.Int("block_size", 0), shared = c.Int("expert_weight_bits", 4);
  int64_t bits[] = {c.Int("fc1_expert_weight_bits", shared), c.Int("fc2_expert_weight_bits", shared),
                    c.Int("fc3_expert_weight_bits", shared)};
  bool fits = std::ranges::all_of(bits, [](int64_t n) { return n == 2 || n == 4 || n == 8; });
  if (kind != "int" || !fits || !c.has(3) || !c.has(6) || b.dtype(c.in(2)) != DType::kU8 || block < 0) {
    b.Fail(Code::kUnsupported,
           fmt::format("weights of the kind '{}' with {} bits in blocks of {}, or without "
                       "scales",
                       kind, bits[0], block));
    return;
  }
  auto layer = [&](size_t from, size_t zeros, size_t index) {
    return ExpertLayer{c.in(from), c.in(from + 2), c.in(from + 1), c.in(zeros), bits[index], block};
  };
  Mixture mixture(c, layer(2, 11, 0), layer(5, 12, 1), layer(8, 13, 2));
  RunMixture(c, mixture, Choose(c, false, c.in(14)));
}

constexpr std::string_view kDomain = "com.microsoft";
constexpr DTypeSet kUpToF32 = kFloats - DTypeSet{DType::kF64};  // all is computed in f32

constexpr OnnxOp kRows[] = {
    {kDomain, "MoE", 1, kLatest, 3, 8,
     "activation_alpha activation_beta activation_type k normalize_routing_weights swiglu_fusion "
     "swiglu_limit "
     "swiglu_limit_after_activation use_sparse_mixer",
     MoE, kUpToF32},
    {kDomain, "QMoE", 1, kLatest, 3, 21,
     "accuracy_level activation_alpha activation_beta activation_type block_size expert_weight_bits "
     "fc1_expert_weight_bits fc2_expert_weight_bits fc3_expert_weight_bits k normalize_routing_weights "
     "quant_type swiglu_fusion swiglu_limit swiglu_limit_after_activation use_sparse_mixer "
     "weights_prepacked",
     QMoE, kUpToF32},
};

}  // namespace

std::span<const OnnxOp> OnnxExpertRows() { return kRows; }

}  // namespace tvmvm::ir
