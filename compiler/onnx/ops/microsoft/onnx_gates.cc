// com.microsoft: gates, norms of branches and routers of recent language models. All compute in f32.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

ValueId Wide(OpBuilder& b, ValueId x) { return b.Cast(x, DType::kF32); }
ValueId Sigmoid(OpBuilder& b, ValueId x) { return b.Unary(ExprOp::kSigmoid, x); }

// x / sqrt(mean(x^2) + epsilon) over the last axis.
ValueId RmsNormalized(OpBuilder& b, ValueId x, double epsilon) {
  if (b.failed()) return x;
  ValueId sum = b.Reduce(ReduceKind::kSum, b.Mul(x, x), {b.rank(x) - 1});
  ValueId mean = b.Div(sum, b.Cast(b.DimScalar(b.dim(x, -1)), DType::kF32));
  ValueId root = b.Unary(ExprOp::kSqrt, b.Add(mean, b.Scalar(DType::kF32, epsilon)));
  return b.Div(x, root);
}

bool HasRank(OnnxContext& c, size_t input, int least) {
  if (c.b.rank(c.in(input)) >= least) return true;
  c.b.Fail(Code::kInvalidArgument,
           fmt::format("input {} has rank {}, at least {} is wanted", input, c.b.rank(c.in(input)), least));
  return false;
}

// x * scale * sigmoid(x * scale), each step rounded to the type.
void ScaledSilu(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(c.in(0));
  ValueId scale = c.has(1) ? Wide(b, b.Reshape(c.in(1), {})) : b.Scalar(DType::kF32, c.Float("alpha", 1));
  ValueId scaled = b.Cast(b.Mul(Wide(b, c.in(0)), scale), dtype);
  ValueId opened = b.Cast(Sigmoid(b, Wide(b, scaled)), dtype);
  c.Out(0, b.Cast(b.Mul(Wide(b, scaled), Wide(b, opened)), dtype));
}

// x + y * gate
void GatedAdd(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (c.has(3)) {
    b.Fail(Code::kUnsupported, "a projected gate");
    return;
  }
  c.Out(0, b.Add(c.in(0), b.Mul(c.in(1), c.in(2))));
}

// Runs of as many elements as there are scales are normalized, scaled and gated.
void GatedRmsNorm(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::string activation = c.Text("activation", "silu");
  if (!HasRank(c, 0, 1) || !HasRank(c, 1, 1)) return;
  if (activation != "silu" && activation != "swish" && activation != "sigmoid") {
    b.Fail(Code::kInvalidArgument, fmt::format("the activation '{}'", activation));
    return;
  }
  Dims dims = b.dims(c.in(0)), apart = dims;
  Dim size = b.dim(c.in(1), 0);
  apart.back() = FloorDiv(dims.back(), size);
  apart.push_back(size);
  ValueId normalized = RmsNormalized(b, Wide(b, b.Reshape(c.in(0), apart)), c.Float("epsilon", 1e-5));
  ValueId scaled = b.Reshape(b.Mul(normalized, Wide(b, c.in(1))), dims);
  ValueId gate = Wide(b, c.in(2));
  ValueId opened = Sigmoid(b, gate);
  if (activation != "sigmoid") opened = b.Mul(gate, opened);
  c.Out(0, b.Cast(b.Mul(scaled, opened), b.dtype(c.in(0))));
}

// [..., branches, size], whether or not the branches are joined in the last axis.
ValueId BranchesApart(OnnxContext& c, ValueId x) {
  int64_t branches = c.Int("num_branches", 0);
  if (branches <= 0 || c.b.failed()) return x;
  Dims dims = c.b.dims(x);
  Dim whole = dims.back();
  dims.back() = branches;
  dims.push_back(FloorDiv(whole, branches));
  return c.b.Reshape(x, dims);
}

// Scales of all elements, one a branch and element, or one an element.
void BranchwiseRmsNorm(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!HasRank(c, 0, c.Int("num_branches", 0) > 0 ? 1 : 2)) return;
  ValueId apart = BranchesApart(c, Wide(b, c.in(0)));
  ValueId result = RmsNormalized(b, apart, c.Float("epsilon", 1e-5));
  if (c.has(1)) {
    ValueId scale = Wide(b, c.in(1));
    Dim branches = b.dim(apart, -2), size = b.dim(apart, -1);
    if (b.rank(scale) == 1)
      scale = b.Reshape(scale, {Select(Equal(b.dim(scale, 0), size), 1, branches), size});
    result = b.Mul(result, scale);
  }
  c.Out(0, b.Cast(b.Reshape(result, b.dims(c.in(0))), b.dtype(c.in(0))));
}

// Gates [..., branches], [..., branches, 1], [..., branches, size] or with both in one axis, as they go with
// streams [..., branches, size].
ValueId GatesFor(OpBuilder& b, ValueId gates, ValueId streams) {
  if (b.failed()) return gates;
  int rank = b.rank(streams);
  Dim branches = b.dim(streams, -2);
  ValueId wide = Wide(b, gates);
  if (b.rank(gates) == rank) return wide;
  if (b.rank(gates) != rank - 1)
    return b.Fail(Code::kInvalidArgument,
                  fmt::format("gates of rank {} for streams of rank {}", b.rank(gates), rank));
  Dims dims = b.dims(streams);
  dims.back() = Select(Equal(b.dim(gates, -1), branches), 1, dims.back());
  return b.Reshape(wide, dims);
}

// The sum of the streams, each times its gates.
void HyperConnectionPreMix(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!HasRank(c, 0, c.Int("num_branches", 0) > 0 ? 1 : 2)) return;
  ValueId streams = BranchesApart(c, Wide(b, c.in(0)));
  ValueId mixed = b.Mul(streams, GatesFor(b, c.in(1), streams));
  if (b.failed()) return;
  int64_t axis = b.rank(streams) - 2;
  ValueId sum = b.Squeeze(b.Reduce(ReduceKind::kSum, mixed, {axis}), {axis});
  c.Out(0, b.Cast(b.Mul(sum, b.Scalar(DType::kF32, c.Float("reduction_scale", 1))), b.dtype(c.in(0))));
}

// Streams mixed by a matrix, and a block's output times the gates of each stream.
void HyperConnectionPostMix(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (!HasRank(c, 0, c.Int("num_branches", 0) > 0 ? 1 : 2)) return;
  ValueId streams = BranchesApart(c, Wide(b, c.in(0)));
  int rank = b.rank(streams);
  if (b.rank(c.in(1)) != rank - 1 || (c.has(3) && b.rank(c.in(3)) != rank)) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("a block's output of rank {} for streams of rank {}", b.rank(c.in(1)), rank));
    return;
  }
  ValueId kept = streams;
  if (c.has(3)) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < rank; ++i) order.push_back(i);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    kept = b.MatMul(b.Transpose(Wide(b, c.in(3)), order), streams);
  }
  ValueId added = b.Mul(b.Unsqueeze(Wide(b, c.in(1)), {rank - 2}), GatesFor(b, c.in(2), streams));
  c.Out(0, b.Cast(b.Reshape(b.Add(kept, added), b.dims(c.in(0))), b.dtype(c.in(0))));
}

// Key and query [batch, length, branches, size], value [batch, length, size], scales [branches, size] of key
// and query, and of the result.
void EngramGate(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (b.rank(c.in(0)) != 4 || b.rank(c.in(1)) != 4 || b.rank(c.in(2)) != 3) {
    b.Fail(Code::kInvalidArgument, fmt::format("key, query and value of ranks {}, {} and {}; 4, 4 and 3 are "
                                               "wanted",
                                               b.rank(c.in(0)), b.rank(c.in(1)), b.rank(c.in(2))));
    return;
  }
  double epsilon = c.Float("epsilon", 1e-5);
  auto normalized = [&](ValueId x, size_t scale) {
    return b.Mul(RmsNormalized(b, x, epsilon), Wide(b, c.in(scale)));
  };
  auto number = [&](double value) { return b.Scalar(DType::kF32, value); };
  ValueId products = b.Mul(normalized(Wide(b, c.in(0)), 3), normalized(Wide(b, c.in(1)), 4));
  ValueId size = b.Cast(b.DimScalar(b.dim(c.in(0), 3)), DType::kF32);
  ValueId dot = b.Div(b.Reduce(ReduceKind::kSum, products, {3}), b.Unary(ExprOp::kSqrt, size));
  ValueId root = b.Unary(ExprOp::kSqrt, b.Max(b.Unary(ExprOp::kAbs, dot), number(1e-6)));
  ValueId gate = Sigmoid(b, b.Mul(Apply(c, "Sign", {dot}), root));
  ValueId result = b.Mul(gate, b.Unsqueeze(Wide(b, c.in(2)), {2}));
  DType dtype = b.dtype(c.in(0));
  c.Out(0, b.Cast(result, dtype));
  if (!c.wants(1)) return;
  if (!c.has(5)) {
    b.Fail(Code::kInvalidArgument, "the scale of the normalized result is missing");
    return;
  }
  c.Out(1, b.Cast(normalized(result, 5), dtype));
}

// decay_scale * softplus(a + bias), and sigmoid(b).
void LinearAttentionGate(OnnxContext& c) {
  OpBuilder& b = c.b;
  DType dtype = b.dtype(c.in(0));
  ValueId soft = Apply(c, "Softplus", {b.Add(Wide(b, c.in(0)), Wide(b, c.in(1)))});
  c.Out(0, b.Cast(b.Mul(Wide(b, c.in(2)), soft), dtype));
  if (!c.wants(1)) return;
  if (!c.has(3)) {
    b.Fail(Code::kInvalidArgument, "the projection of the update rate is missing");
    return;
  }
  c.Out(1, b.Cast(Sigmoid(b, Wide(b, c.in(3))), dtype));
}

// Numbers [rows, n] with true where one of the k largest of the row stands.
ValueId AmongLargest(OpBuilder& b, ValueId numbers, int64_t k) {
  std::vector<ValueId> best = b.EmitMulti(
      "topk", {numbers}, {{"axis", int64_t{1}}, {"k", Min(k, b.dim(numbers, 1))}, {"largest", int64_t{1}}});
  if (b.failed()) return numbers;
  ValueId none = b.Expand(b.ScalarInt(DType::kBool, 0), b.dims(numbers));
  ValueId all = b.Expand(b.ScalarInt(DType::kBool, 1), b.dims(best[1]));
  return b.Emit("scatter_elements", {none, best[1], all},
                {{"axis", int64_t{1}}, {"reduction", std::string("none")}});
}

// Logits [..., experts] and a bias of the choice: logarithms of the sigmoids of the experts that are chosen
// within the best groups of them; or, unrestricted, the biased and the plain sigmoids of all.
void MoEGroupRouter(OnnxContext& c) {
  OpBuilder& b = c.b;
  int64_t groups = c.Int("n_group", 1), kept = c.Int("topk_group", 1), summed = c.Int("group_topk", 2),
          chosen = c.Int("top_k", 0);
  if (!HasRank(c, 0, 1)) return;
  if (groups < 1 || kept < 1 || kept > groups || summed < 1 || chosen < 1) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} experts of {} of {} groups by {} of each", chosen, kept, groups, summed));
    return;
  }
  ValueId logits = Wide(b, c.in(0));
  if (c.has(2)) logits = b.Contract(logits, Wide(b, c.in(2)), {}, {}, {b.rank(logits) - 1}, {1});
  if (b.failed()) return;
  Dim experts = b.dim(logits, -1), rows = 1;
  for (int i = 0; i + 1 < b.rank(logits); ++i) rows = rows * b.dim(logits, i);
  ValueId sigmoids = Sigmoid(b, b.Reshape(logits, {rows, experts}));
  ValueId biased = b.Add(sigmoids, c.in(1));
  c.Out(1, biased);
  c.Out(2, sigmoids);
  if (!c.wants(0)) return;
  ValueId never = b.Scalar(DType::kF32, -std::numeric_limits<double>::infinity());
  if (groups > 1) {
    Dim size = FloorDiv(experts, groups);
    ValueId apart = b.Reshape(biased, {rows * Dim(groups), size});
    ValueId counts = b.Where(AmongLargest(b, apart, summed), apart, b.Scalar(DType::kF32, 0));
    ValueId sums = b.Reshape(b.Reduce(ReduceKind::kSum, counts, {1}), {rows, Dim(groups)});
    ValueId open = b.Reshape(AmongLargest(b, sums, kept), {rows * Dim(groups), Dim(1)});
    biased = b.Reshape(b.Where(open, apart, never), {rows, experts});
  }
  ValueId logarithm = b.Unary(ExprOp::kLog, b.Max(sigmoids, b.Scalar(DType::kF32, 1e-20)));
  ValueId sentinel = b.Scalar(DType::kF32, c.Float("router_sentinel", -10000));
  c.Out(0, b.Cast(b.Where(AmongLargest(b, biased, chosen), logarithm, sentinel), b.dtype(c.in(0))));
}

constexpr std::string_view kDomain = "com.microsoft";
constexpr DTypeSet kUpToF32 = kFloats - DTypeSet{DType::kF64};  // all is computed in f32

constexpr OnnxOp kRows[] = {
    {kDomain, "ScaledSiLU", 1, kLatest, 1, 2, "alpha", ScaledSilu, kUpToF32},
    {kDomain, "GatedAdd", 1, kLatest, 3, 4, "", GatedAdd, kUpToF32},
    {kDomain, "GatedRMSNorm", 1, kLatest, 3, 3, "activation epsilon", GatedRmsNorm, kUpToF32},
    {kDomain, "BranchwiseRMSNorm", 1, kLatest, 1, 2, "epsilon num_branches", BranchwiseRmsNorm, kUpToF32},
    {kDomain, "HyperConnectionPreMix", 1, kLatest, 2, 2, "num_branches reduction_scale",
     HyperConnectionPreMix, kUpToF32},
    {kDomain, "HyperConnectionPostMix", 1, kLatest, 3, 4, "num_branches", HyperConnectionPostMix, kUpToF32},
    {kDomain, "EngramGate", 1, kLatest, 5, 6, "epsilon", EngramGate, kUpToF32},
    {kDomain, "LinearAttentionGate", 1, kLatest, 3, 4, "", LinearAttentionGate, kUpToF32},
    {kDomain, "MoEGroupRouter", 1, kLatest, 2, 3, "group_topk n_group router_sentinel top_k topk_group",
     MoEGroupRouter, kUpToF32},
};

}  // namespace

std::span<const OnnxOp> OnnxGateRows() { return kRows; }

}  // namespace tvmvm::ir
