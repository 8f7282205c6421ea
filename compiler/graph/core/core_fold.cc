// fold: windows put back where they were cut out, overlaps added; the reverse of cutting windows.
//
//   fold(x) {strides, dilations, first, dims}     x is [N, k..., places...], the result [N, strides...,
//   dims...]
// Element k of the window at place p belongs to the position p * stride + k * dilation. The result has the
// positions of an axis apart by what they leave when divided by its stride: position (first + t) * stride + r
// is element (r, t), so that neighbours of one remainder are neighbours in memory. `first` and `dims`: where
// t counts from, and how far.
#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/core_values.h"

namespace tvmvm::ir {
namespace {

Expected<std::vector<Type>> InferFold(const InferContext& context) {
  TVMVM_TRY(Type x, RankedTensor(context, 0));
  const std::vector<int64_t>& strides = context.node.Ints("strides");
  const size_t axes = strides.size();
  if (x.dims.size() != 2 * axes + 1 || context.node.Ints("dilations").size() != axes ||
      context.node.DimList("first").size() != axes || context.node.DimList("dims").size() != axes)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("windows {} with {} strides; lists of one length and data of twice as many "
                                 "axes and one more are wanted",
                                 x.ToString(), axes));
  Dims dims{x.dims[0]};
  for (size_t i = 0; i < axes; ++i) {
    if (strides[i] < 1 || context.node.Ints("dilations")[i] < 1)
      return MakeError(Code::kInvalidArgument, fmt::format("stride {} and dilation {}, want at least 1",
                                                           strides[i], context.node.Ints("dilations")[i]));
    dims.emplace_back(strides[i]);
  }
  for (const Dim& dim : context.node.DimList("dims")) dims.push_back(dim);
  return std::vector<Type>{Type::Tensor(x.dtype, std::move(dims))};
}

// x in [0, m) with x * a = 1 modulo m, of numbers without common divisor (Euclid's algorithm, extended).
int64_t Inverse(int64_t a, int64_t m) {
  int64_t rest = m, next = a % m, x = 0, next_x = 1;
  while (next != 0) {
    const int64_t quotient = rest / next;
    rest = std::exchange(next, rest - quotient * next);
    x = std::exchange(next_x, x - quotient * next_x);
  }
  return x < 0 ? x + m : x;
}

Expr FoldElement(ElementContext& context, std::span<const Expr> index) {
  using tensor::IntConstant;
  const Node& node = context.node();
  const Type& x = context.input_type(0);
  const DType dtype = context.output_type().dtype;
  const size_t axes = node.Ints("strides").size();
  tensor::Reduction reduction;
  reduction.accumulator = AccumulatorOf(dtype);
  std::vector<Expr> taken(x.dims.size());
  taken[0] = index[0];
  Expr inside = tensor::BoolConstant(true);
  for (size_t i = 0; i < axes; ++i) {
    const int64_t stride = node.Ints("strides")[i], dilation = node.Ints("dilations")[i];
    const Dim &taps = x.dims[1 + i], &places = x.dims[1 + axes + i];
    // Every period-th element of the window has the remainder, from the first one that has it.
    const int64_t shared = std::gcd(stride, dilation), period = stride / shared;
    const Expr& remainder = index[1 + i];
    const Expr turn = AddAxis(context, &reduction, CeilDiv(taps, Dim(period)), "turn");
    Expr first = IntConstant(0), ahead = IntConstant(0);
    if (period > 1 && dilation == 1) first = remainder;
    if (dilation > 1 && stride > 1) {
      const Expr steps = FloorDiv(remainder, IntConstant(shared));
      first = FloorMod(steps * IntConstant(Inverse(dilation / shared, period)), IntConstant(period));
      ahead = FloorDiv(first * IntConstant(dilation) - remainder, IntConstant(stride));
      if (shared > 1) inside = And(inside, Equal(FloorMod(remainder, IntConstant(shared)), IntConstant(0)));
    }
    const Expr tap = first + turn * IntConstant(period);
    const bool divides = period == 1 || (taps.is_constant() && taps.value() % period == 0);
    taken[1 + i] = divides ? tap : ClampInside(tap, taps, &inside);
    const Expr place = index[1 + axes + i] + tensor::DimValue(node.DimList("first")[i]) - ahead -
                       turn * IntConstant(dilation / shared);
    taken[1 + axes + i] = ClampInside(place, places, &inside);
  }
  Expr value = tensor::Cast(reduction.accumulator, context.Input(0, taken));
  value = tensor::Select(inside, value, tensor::Constant(reduction.accumulator, 0));
  return tensor::Reduce(std::move(reduction), value, dtype);
}

constexpr CoreOp kRows[] = {
    {.name = "fold",
     .kind = OpKind::kWindow,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferFold,
     .element = FoldElement,
     .meaning = "windows [N, k..., places...] added up where they were cut out, [N, strides..., dims...]",
     .attributes = "strides dilations first dims"},
};

}  // namespace

std::span<const CoreOp> FoldFamily() { return kRows; }

}  // namespace tvmvm::ir
