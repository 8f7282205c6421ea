#include "compiler/passes/transposed_convolution.h"

#include <cmath>
#include <utility>
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
  Dim low;               // its padding
  Dim steps;             // t counts to here
  Dim skipped;           // results before o = 0
  Dim result;            // how many o there are
  // Of the phases that many come first which have all taps; the others lack the last one.
  int64_t full_phases = 1;
};

// How many phases have all taps where the others have one less, and that is one at least; else all of them.
int64_t FullPhases(int64_t stride, int64_t spread, const Dim& kernel) {
  const auto size = kernel.constant();
  const bool differ = spread == 1 && size && *size > stride && *size % stride != 0;
  return differ ? *size % stride : stride;
}

Axis AxisOf(int64_t stride, int64_t dilation, const Dim& kernel, const Dim& low, const Dim& result) {
  Axis axis{.stride = stride, .result = result};
  (stride == 1 ? axis.dilation : axis.spread) = dilation;
  axis.taps = CeilDiv((kernel - 1) * Dim(axis.spread) + 1, Dim(stride));
  axis.full_phases = FullPhases(stride, axis.spread, kernel);
  Dim reach = (axis.taps - 1) * Dim(axis.dilation);
  const Dim least_reach = reach - Dim(axis.full_phases < stride ? axis.dilation : 0);
  Dim first = Min(FloorDiv(low, Dim(stride)), least_reach);
  axis.low = reach - first;
  axis.steps = CeilDiv(result + low, Dim(stride)) - first;
  axis.skipped = low - first * Dim(stride);
  return axis;
}

// Phases that have the same taps: along each axis those with all of them, or those that lack the last one.
struct PhaseClass {
  Dims taps, low;
  std::vector<int64_t> first, phases;  // along each axis
};

PhaseClass ClassOf(const std::vector<Axis>& axes, const std::vector<bool>& lacks_last) {
  PhaseClass result;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    const int64_t lacking = lacks_last[i] ? 1 : 0;
    result.taps.push_back(axis.taps - Dim(lacking));
    result.low.push_back(axis.low - Dim(lacking * axis.dilation));
    result.first.push_back(lacks_last[i] ? axis.full_phases : 0);
    result.phases.push_back(lacks_last[i] ? axis.stride - axis.full_phases : axis.full_phases);
  }
  return result;
}

// Whether a convolution for each class computes clearly less than one for all, whose phases have taps that
// are zero. Results are computed in vectors of this many channels.
bool IsWorthClasses(const std::vector<Axis>& axes, const Dim& outputs) {
  constexpr double kGain = 1.2;
  constexpr int64_t kVector = 16;
  const auto channels = outputs.constant();
  if (!channels) return false;
  double all = 1, phases = 1;
  std::vector<std::pair<double, double>> classes{{1, 1}};  // taps, phases
  for (const Axis& axis : axes) {
    const auto taps = axis.taps.constant();
    if (!taps) return false;
    const auto count = static_cast<double>(*taps), full = static_cast<double>(axis.full_phases);
    const auto stride = static_cast<double>(axis.stride);
    std::vector<std::pair<double, double>> next;
    for (const auto& [t, p] : classes) {
      next.emplace_back(t * count, p * full);
      if (full < stride) next.emplace_back(t * (count - 1), p * (stride - full));
    }
    classes = std::move(next);
    all *= count;
    phases *= stride;
  }
  auto work = [&](double t, double p) { return t * std::ceil(p * static_cast<double>(*channels) / kVector); };
  double sum = 0;
  for (const auto& [t, p] : classes) sum += work(t, p);
  return classes.size() > 1 && sum * kGain <= work(all, phases);
}

// The axes of [.., a0, b0, a1, b1, ..], which start at `first`: all of one kind, then all of the other.
void Append(std::vector<int64_t>* perm, int64_t first, size_t count) {
  for (size_t i = 0; i < count; ++i) perm->push_back(first + 2 * static_cast<int64_t>(i));
}

// [C, M/groups, k...] -> [groups * phases * M/groups, C/groups, taps...] of a class, the taps counted from
// the end.
ValueId PhasesOfWeights(OpBuilder& b, ValueId weights, const std::vector<Axis>& axes,
                        const PhaseClass& wanted, int64_t groups) {
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
  Dims taken = split;
  for (size_t i = 0; i < axes.size(); ++i) {
    split.insert(split.end(), {axes[i].taps, Dim(axes[i].stride)});
    taken.insert(taken.end(), {wanted.taps[i], Dim(wanted.phases[i])});
    starts.insert(starts.end(), {wanted.taps[i] - 1, Dim(wanted.first[i])});
    steps.insert(steps.end(), {Dim(-1), Dim(1)});
    joined[0] = joined[0] * Dim(wanted.phases[i]);
    joined.push_back(wanted.taps[i]);
  }
  value = b.Slice(b.Reshape(value, split), starts, steps, taken);
  std::vector<int64_t> perm{0};
  Append(&perm, 4, axes.size());  // phases
  perm.insert(perm.end(), {2, 1});
  Append(&perm, 3, axes.size());  // taps
  return b.Reshape(b.Transpose(value, perm), joined);
}

// What `convolve` gives for each class, [N, t..., groups * phases of it * M/groups], as [N, t..., groups,
// phase..., M/groups]: along each axis from `axis` on, full phases before the others.
template <class Convolve>
ValueId JoinClasses(OpBuilder& b, const std::vector<Axis>& axes, size_t axis, std::vector<bool> lacks_last,
                    const Convolve& convolve) {
  if (axis == axes.size()) return convolve(ClassOf(axes, lacks_last));
  ValueId full = JoinClasses(b, axes, axis + 1, lacks_last, convolve);
  if (axes[axis].full_phases == axes[axis].stride || b.failed()) return full;
  lacks_last[axis] = true;
  ValueId others = JoinClasses(b, axes, axis + 1, lacks_last, convolve);
  return b.Concat({full, others}, static_cast<int>(2 + axes.size() + axis));
}

// [N, t..., groups, phase..., M/groups] -> [N, result..., M].
ValueId Interleave(OpBuilder& b, ValueId value, const std::vector<Axis>& axes, int64_t groups,
                   const Dim& outputs) {
  const Dim batch = b.dim(value, 0);
  auto count = static_cast<int64_t>(axes.size());
  Dims joined{batch}, starts{0}, result{batch};
  std::vector<int64_t> perm{0};
  for (int64_t i = 0; i < count; ++i) {
    const Axis& axis = axes[static_cast<size_t>(i)];
    perm.insert(perm.end(), {1 + i, 2 + count + i});
    joined.push_back(axis.steps * Dim(axis.stride));
    starts.push_back(axis.skipped);
    result.push_back(axis.result);
  }
  perm.insert(perm.end(), {1 + count, 2 + 2 * count});
  for (Dims* dims : {&joined, &result}) dims->push_back(outputs * Dim(groups));
  starts.emplace_back(0);
  ValueId whole = b.Reshape(b.Transpose(value, perm), joined);
  return joined == result ? whole : b.Slice(whole, starts, Dims(starts.size(), Dim(1)), result);
}

}  // namespace

ValueId ConvolvePhases(OpBuilder& b, const ir::Node& node, ValueId x, ValueId weights) {
  const size_t count = node.Ints("strides").size();
  const int64_t groups = node.Int("groups", 1);
  const Dim outputs = b.dim(weights, 1);
  std::vector<Axis> axes;
  std::vector<int64_t> dilations;
  for (size_t i = 0; i < count; ++i) {
    axes.push_back(AxisOf(node.Ints("strides")[i], node.Ints("dilations")[i],
                          b.dim(weights, static_cast<int>(i) + 2), node.DimList("low")[i],
                          node.DimList("dims")[i]));
    dilations.push_back(axes[i].dilation);
  }
  // Else one for all: phases that lack the last tap have a zero there.
  if (!IsWorthClasses(axes, outputs))
    for (Axis& axis : axes) axis.full_phases = axis.stride;
  auto convolve = [&](const PhaseClass& wanted) {
    Dims high, split{b.dim(x, 0)};
    for (size_t i = 0; i < count; ++i) {
      high.push_back(axes[i].steps + (wanted.taps[i] - 1) * Dim(axes[i].dilation) -
                     b.dim(x, static_cast<int>(i) + 1) - wanted.low[i]);
      split.push_back(axes[i].steps);
    }
    ir::Attributes attributes{{"groups", groups},
                              {"layout", ir::Layout::kChannelsLast},
                              {"strides", std::vector<int64_t>(count, 1)},
                              {"dilations", dilations},
                              {"low", wanted.low},
                              {"high", high}};
    if (node.Find("dtype") != nullptr) attributes["dtype"] = *node.Find("dtype");
    split.emplace_back(groups);
    for (int64_t phases : wanted.phases) split.emplace_back(phases);
    split.push_back(outputs);
    ValueId value =
        b.Emit("conv", {x, PhasesOfWeights(b, weights, axes, wanted, groups)}, std::move(attributes));
    return b.failed() ? value : b.Reshape(value, split);
  };
  ValueId value = JoinClasses(b, axes, 0, std::vector<bool>(count), convolve);
  return b.failed() ? value : Interleave(b, value, axes, groups, outputs);
}

}  // namespace tvmvm::passes
