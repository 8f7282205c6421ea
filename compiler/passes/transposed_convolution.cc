#include "compiler/passes/transposed_convolution.h"

#include <vector>

namespace tvmvm::passes {
namespace {

using ir::Dim;
using ir::Dims;
using ir::OpBuilder;
using ir::ValueId;

// One spatial axis. Result element o takes x[(o + low - k * dilation) / stride] * w[k] for all taps k where
// that divides. With o + low = (first + t) * stride + phase and k = j * stride + phase it is the convolution
// over j of x[first + t - j]. Without stride a dilation stays one of the convolution; with a stride the taps
// between are zeros.
struct Axis {
  int64_t stride = 1;
  int64_t spread = 1;    // of the taps in the weights: one, and spread - 1 zeros
  int64_t dilation = 1;  // of the convolution
  Dim taps;              // of the convolution
  Dim low, high;         // its padding
  Dim steps;             // t counts to here
  Dim skipped;           // results before o = 0
  Dim result;            // how many o there are
};

Axis AxisOf(int64_t stride, int64_t dilation, const Dim& kernel, const Dim& size, const Dim& low,
            const Dim& result) {
  Axis axis{.stride = stride, .result = result};
  (stride == 1 ? axis.dilation : axis.spread) = dilation;
  axis.taps = CeilDiv((kernel - 1) * Dim(axis.spread) + 1, Dim(stride));
  Dim reach = (axis.taps - 1) * Dim(axis.dilation);
  Dim first = Min(FloorDiv(low, Dim(stride)), reach);
  axis.low = reach - first;
  axis.steps = CeilDiv(result + low, Dim(stride)) - first;
  axis.high = axis.steps + reach - size - axis.low;
  axis.skipped = low - first * Dim(stride);
  return axis;
}

// The axes of [.., a0, b0, a1, b1, ..], which start at `first`: all of one kind, then all of the other.
void Append(std::vector<int64_t>* perm, int64_t first, size_t count) {
  for (size_t i = 0; i < count; ++i) perm->push_back(first + 2 * static_cast<int64_t>(i));
}

// [C, M/groups, k...] -> [groups * phases * M/groups, C/groups, taps...], the taps counted from the end.
ValueId PhasesOfWeights(OpBuilder& b, ValueId weights, const std::vector<Axis>& axes, int64_t groups) {
  const Dims given = b.dims(weights);
  const Dim channels = FloorDiv(given[0], Dim(groups)), outputs = given[1];
  ValueId zero = b.Scalar(b.dtype(weights), 0);
  Dims apart{groups, channels, outputs}, between(3, Dim(0));
  Dims spread = apart, padding(3, Dim(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    apart.insert(apart.end(), {given[i + 2], Dim(1)});
    between.insert(between.end(), {Dim(0), Dim(axes[i].spread - 1)});
    spread.push_back(given[i + 2] * Dim(axes[i].spread));
    padding.push_back(axes[i].taps * Dim(axes[i].stride) - spread.back());
  }
  // What the last tap brings along of zeros may be cut off again.
  ValueId value = b.Reshape(weights, apart);
  value = b.Reshape(b.Pad(value, zero, Dims(between.size(), Dim(0)), between), spread);
  value = b.Pad(value, zero, Dims(padding.size(), Dim(0)), padding);

  Dims split{groups, channels, outputs}, starts(3, Dim(0)), steps(3, Dim(1));
  Dims joined{outputs * Dim(groups), channels};
  for (const Axis& axis : axes) {
    split.insert(split.end(), {axis.taps, Dim(axis.stride)});
    starts.insert(starts.end(), {axis.taps - 1, Dim(0)});
    steps.insert(steps.end(), {Dim(-1), Dim(1)});
    joined[0] = joined[0] * Dim(axis.stride);
    joined.push_back(axis.taps);
  }
  value = b.Slice(b.Reshape(value, split), starts, steps, split);
  std::vector<int64_t> perm{0};
  Append(&perm, 4, axes.size());  // phases
  perm.insert(perm.end(), {2, 1});
  Append(&perm, 3, axes.size());  // taps
  return b.Reshape(b.Transpose(value, perm), joined);
}

// [N, t..., groups * phases * M/groups] -> [N, result..., M].
ValueId Interleave(OpBuilder& b, ValueId value, const std::vector<Axis>& axes, int64_t groups,
                   const Dim& outputs) {
  const Dim batch = b.dim(value, 0);
  auto count = static_cast<int64_t>(axes.size());
  Dims split{batch}, joined{batch}, starts{0}, result{batch};
  std::vector<int64_t> perm{0};
  for (const Axis& axis : axes) split.push_back(axis.steps);
  split.emplace_back(groups);
  for (int64_t i = 0; i < count; ++i) {
    const Axis& axis = axes[static_cast<size_t>(i)];
    split.emplace_back(axis.stride);
    perm.insert(perm.end(), {1 + i, 2 + count + i});
    joined.push_back(axis.steps * Dim(axis.stride));
    starts.push_back(axis.skipped);
    result.push_back(axis.result);
  }
  perm.insert(perm.end(), {1 + count, 2 + 2 * count});
  split.push_back(outputs);
  for (Dims* dims : {&joined, &result}) dims->push_back(outputs * Dim(groups));
  starts.emplace_back(0);
  ValueId whole = b.Reshape(b.Transpose(b.Reshape(value, split), perm), joined);
  return joined == result ? whole : b.Slice(whole, starts, Dims(starts.size(), Dim(1)), result);
}

}  // namespace

ValueId ConvolvePhases(OpBuilder& b, const ir::Node& node, ValueId x, ValueId weights) {
  const size_t count = node.Ints("strides").size();
  const int64_t groups = node.Int("groups", 1);
  const Dim outputs = b.dim(weights, 1);
  std::vector<Axis> axes;
  ir::Attributes attributes{{"groups", groups}, {"layout", ir::Layout::kChannelsLast}};
  std::vector<int64_t> dilations;
  Dims low, high;
  for (size_t i = 0; i < count; ++i) {
    axes.push_back(AxisOf(node.Ints("strides")[i], node.Ints("dilations")[i],
                          b.dim(weights, static_cast<int>(i) + 2), b.dim(x, static_cast<int>(i) + 1),
                          node.DimList("low")[i], node.DimList("dims")[i]));
    dilations.push_back(axes[i].dilation);
    low.push_back(axes[i].low);
    high.push_back(axes[i].high);
  }
  attributes["strides"] = std::vector<int64_t>(count, 1);
  attributes["dilations"] = std::move(dilations);
  attributes["low"] = std::move(low);
  attributes["high"] = std::move(high);
  if (node.Find("dtype") != nullptr) attributes["dtype"] = *node.Find("dtype");
  ValueId value = b.Emit("conv", {x, PhasesOfWeights(b, weights, axes, groups)}, std::move(attributes));
  return b.failed() ? value : Interleave(b, value, axes, groups, outputs);
}

}  // namespace tvmvm::passes
