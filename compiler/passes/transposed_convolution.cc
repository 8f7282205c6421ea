#include "compiler/passes/transposed_convolution.h"

#include <algorithm>
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

  // The others have no tap at all: their results are zeros.
  bool has_empty_phases() const { return full_phases < stride && taps.IsConstant(1); }
};

// How many phases have all taps where the others have one less; else all of them.
int64_t FullPhases(int64_t stride, int64_t spread, const Dim& kernel) {
  const auto size = kernel.constant();
  const bool differ = spread == 1 && size && *size > 0 && *size % stride != 0;
  return differ ? *size % stride : stride;
}

Axis AxisOf(int64_t stride, int64_t dilation, const Dim& kernel, const Dim& low, const Dim& result) {
  Axis axis{.stride = stride, .result = result};
  (stride == 1 ? axis.dilation : axis.spread) = dilation;
  axis.taps = CeilDiv((kernel - 1) * Dim(axis.spread) + 1, Dim(stride));
  axis.full_phases = FullPhases(stride, axis.spread, kernel);
  Dim reach = (axis.taps - 1) * Dim(axis.dilation);
  const bool lacks_taps = axis.full_phases < stride && !axis.has_empty_phases();
  const Dim least_reach = reach - Dim(lacks_taps ? axis.dilation : 0);
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

// Work of a convolution of so many taps: of channels_last data in vectors of 16 channels; of channels_first
// data what its pixels cost to gather counts as much as so many channels.
double WorkOf(double taps, double channels, ir::Layout layout) {
  constexpr double kVector = 16, kGather = 8, kGatherOfTap = 2;
  if (layout == ir::Layout::kChannelsLast) return taps * std::ceil(channels / kVector);
  return taps == 0 ? 0 : taps * (channels + kGatherOfTap) + kGather;
}

// Whether a convolution for each class costs clearly less than one for all, whose phases have taps that are
// zero.
bool IsWorthClasses(const std::vector<Axis>& axes, const Dim& outputs, ir::Layout layout) {
  constexpr double kGain = 1.2;
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
  auto work = [&](double t, double p) { return WorkOf(t, p * static_cast<double>(*channels), layout); };
  double sum = 0;
  for (const auto& [t, p] : classes) sum += work(t, p);
  return classes.size() > 1 && sum * kGain <= work(all, phases);
}

// The elements of one axis that a class takes: [.., k, ..] -> [.., taps, phases, ..], the taps counted from
// the end. An axis after the other, so that nothing becomes much larger on the way.
ValueId SplitAxis(OpBuilder& b, ValueId value, int at, const Axis& axis, const PhaseClass& wanted, size_t i) {
  const Dims given = b.dims(value);
  const auto place = static_cast<size_t>(at);
  // What the last tap brings along of zeros is cut off again where phases lack it.
  const Dim period(axis.has_empty_phases() ? axis.full_phases : axis.stride);
  const ValueId zero = b.Scalar(b.dtype(value), 0);
  auto pad_behind = [&](Dims dims, size_t where, const Dim& count) {
    std::ranges::fill(dims, Dim(0));
    const Dims low = dims;
    dims[where] = count;
    value = b.Pad(value, zero, low, dims);
  };
  const Dim size = given[place] * Dim(axis.spread), behind = axis.taps * period - size;
  if (axis.spread > 1) {
    Dims apart = given, spread = given;
    apart.insert(apart.begin() + at + 1, Dim(1));
    spread[place] = size;
    value = b.Reshape(value, apart);
    pad_behind(apart, place + 1, Dim(axis.spread - 1));
    value = b.Reshape(value, spread);
  }
  if (!behind.IsConstant(0)) pad_behind(given, place, behind);

  Dims split = given, starts(given.size() + 1, Dim(0)), steps(given.size() + 1, Dim(1));
  split[place] = axis.taps;
  split.insert(split.begin() + at + 1, period);
  Dims taken = split;
  taken[place] = wanted.taps[i];
  taken[place + 1] = Dim(wanted.phases[i]);
  starts[place] = wanted.taps[i] - 1;
  starts[place + 1] = Dim(wanted.first[i]);
  steps[place] = Dim(-1);
  return b.Slice(b.Reshape(value, split), starts, steps, taken);
}

// [C, M/groups, k...] -> [groups * phases * M/groups, C/groups, taps...] of a class.
ValueId PhasesOfWeights(OpBuilder& b, ValueId weights, const std::vector<Axis>& axes,
                        const PhaseClass& wanted, int64_t groups) {
  const Dims given = b.dims(weights);
  const Dim channels = FloorDiv(given[0], Dim(groups)), outputs = given[1];
  Dims apart{groups, channels, outputs}, joined{outputs * Dim(groups), channels};
  apart.insert(apart.end(), given.begin() + 2, given.end());
  ValueId value = b.Reshape(weights, apart);
  std::vector<int64_t> perm{0}, taps;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (b.failed()) return value;
    const int at = 3 + 2 * static_cast<int>(i);
    value = SplitAxis(b, value, at, axes[i], wanted, i);
    taps.push_back(at);
    perm.push_back(at + 1);
    joined[0] = joined[0] * Dim(wanted.phases[i]);
    joined.push_back(wanted.taps[i]);
  }
  perm.insert(perm.end(), {2, 1});
  perm.insert(perm.end(), taps.begin(), taps.end());
  return b.Reshape(b.Transpose(value, perm), joined);
}

// A transposed convolution in the making.
class PhasesBuilder {
 public:
  PhasesBuilder(OpBuilder& b, const ir::Node& node, ValueId x, ValueId weights, ir::Layout layout)
      : b_(b), node_(node), x_(x), weights_(weights), layout_(layout), outputs_(b.dim(weights, 1)) {
    for (size_t i = 0; i < node.Ints("strides").size(); ++i) {
      axes_.push_back(AxisOf(node.Ints("strides")[i], node.Ints("dilations")[i],
                             b.dim(weights, static_cast<int>(i) + 2), node.DimList("low")[i],
                             node.DimList("dims")[i]));
      dilations_.push_back(axes_[i].dilation);
    }
    // Else one for all: phases that lack the last tap have a zero there.
    if (!IsWorthClasses(axes_, outputs_, layout))
      for (Axis& axis : axes_) axis.full_phases = axis.stride;
  }

  ValueId Build() {
    if (IsOfOnePixel()) return ProductOfPixel();
    if (IsBetterFolded()) return FoldProducts();
    ValueId value = JoinClasses(0, std::vector<bool>(axes_.size()));
    return b_.failed() ? value : Interleave(value);
  }

 private:
  bool is_channels_last() const { return layout_ == ir::Layout::kChannelsLast; }
  int first_axis() const { return is_channels_last() ? 1 : 2; }  // of the pixels

  // Pictures of one pixel, of which each result is the product with a tap of its own.
  bool IsOfOnePixel() const {
    const std::vector<int64_t>& dilations = node_.Ints("dilations");
    bool is_one = node_.Int("groups", 1) == 1;
    for (size_t i = 0; i < axes_.size(); ++i) {
      const Dim low = node_.DimList("low")[i], kernel = b_.dim(weights_, static_cast<int>(i) + 2);
      is_one = is_one && dilations[i] == 1 && b_.dim(x_, static_cast<int>(i) + first_axis()).IsConstant(1) &&
               LessEqual(0, low).IsConstant(1) && LessEqual(low + axes_[i].result, kernel).IsConstant(1);
    }
    return is_one;
  }

  ValueId ProductOfPixel() {
    const Dims& given = b_.dims(weights_);
    Dims starts{0, 0}, taken{given[0], given[1]}, result{b_.dim(x_, 0), given[1]};
    for (size_t i = 0; i < axes_.size(); ++i) {
      starts.push_back(node_.DimList("low")[i]);
      taken.push_back(axes_[i].result);
      result.push_back(axes_[i].result);
    }
    ValueId taps = taken == given ? weights_ : b_.Slice(weights_, starts, Dims(given.size(), 1), taken);
    taps = b_.Reshape(taps, {given[0], ir::Product(Dims(taken.begin() + 1, taken.end()))});
    const ValueId pixels = b_.Reshape(x_, {b_.dim(x_, 0), given[0]});
    const ir::Attribute* dtype = node_.Find("dtype");
    ValueId value = b_.Contract(pixels, taps, {}, {}, {1}, {0},
                                dtype != nullptr ? std::get<DType>(*dtype) : DType::kInvalid);
    if (b_.failed()) return value;
    value = b_.Reshape(value, result);
    if (!is_channels_last()) return value;
    std::vector<int64_t> perm{0};
    for (int64_t i = 0; i < count(); ++i) perm.push_back(2 + i);
    perm.push_back(1);
    return b_.Transpose(value, perm);
  }

  // Each pixel times all taps first, then what falls on one result added up: no product is made that is none,
  // and no pixel gathered, but all of them go through memory. Where that is little beside the pixels
  // themselves, or little at all and phases would reach far beyond a small picture.
  bool IsBetterFolded() const {
    constexpr int64_t kFactor = 4, kMostBytes = int64_t{2} << 20;
    if (is_channels_last() || b_.dtype(x_) != DType::kF32 || node_.Find("dtype") != nullptr) return false;
    const Dims& given = b_.dims(weights_);
    const Dim made = ir::Product(Dims(given.begin() + 1, given.end()));  // of a pixel of a group
    const Dim read = FloorDiv(given[0], Dim(node_.Int("groups", 1)));
    Dim pixels = 1, steps = 1;
    bool overlaps = false;
    for (size_t i = 0; i < axes_.size(); ++i) {
      const Dim size = b_.dim(x_, static_cast<int>(i) + first_axis());
      pixels = pixels * size;
      steps = steps * axes_[i].steps;
      overlaps = overlaps || !LessEqual(axes_[i].taps, 1).IsConstant(1);
    }
    if (!overlaps || !made.is_constant() || !read.is_constant()) return false;
    if (made.value() <= kFactor * read.value()) return true;
    const Dim bytes = b_.dim(x_, 0) * made * Dim(node_.Int("groups", 1)) * pixels * 4;
    if (!bytes.is_constant() || bytes.value() == 0 || bytes.value() > kMostBytes) return false;
    // Adding a product up costs as much as so many steps of its depth.
    constexpr double kSteps = 30, kSmallGain = 1.05;
    const double more = static_cast<double>(steps.value()) / static_cast<double>(pixels.value());
    return more > kSmallGain + kSteps / static_cast<double>(read.value());
  }

  ValueId FoldProducts() {
    const int64_t groups = node_.Int("groups", 1);
    const Dims given = b_.dims(weights_);
    const Dim depth = FloorDiv(given[0], Dim(groups)), pictures = b_.dim(x_, 0) * Dim(groups) * outputs_;
    const Dims taps(given.begin() + 2, given.end());
    // [groups, C/groups, M/groups * k...] -> [M * k..., C/groups, 1...]
    ValueId value = b_.Reshape(weights_, {groups, depth, outputs_ * ir::Product(taps)});
    Dims weights{Dim(groups) * outputs_ * ir::Product(taps), depth}, windows{pictures};
    weights.insert(weights.end(), axes_.size(), Dim(1));
    value = b_.Reshape(b_.Transpose(value, {0, 2, 1}), weights);
    const std::vector<int64_t> ones(axes_.size(), 1);
    const Dims zeros(axes_.size(), Dim(0));
    value = b_.Emit("conv", {x_, value},
                    {{"groups", groups},
                     {"layout", layout_},
                     {"strides", ones},
                     {"dilations", ones},
                     {"low", zeros},
                     {"high", zeros}});
    windows.insert(windows.end(), taps.begin(), taps.end());
    Dims result{b_.dim(x_, 0), Dim(groups) * outputs_};
    for (size_t i = 0; i < axes_.size(); ++i)
      windows.push_back(b_.dim(x_, static_cast<int>(i) + first_axis()));
    for (const Axis& axis : axes_) result.push_back(axis.result);
    value = b_.FoldWindows(b_.Reshape(value, windows),
                           {node_.Ints("strides"), node_.Ints("dilations"), node_.DimList("low")},
                           node_.DimList("dims"));
    return b_.Reshape(value, result);
  }

  // The first of the axes [phase...] of what JoinClasses gives.
  int64_t first_phase() const { return is_channels_last() ? 2 + count() : 2; }
  int64_t count() const { return static_cast<int64_t>(axes_.size()); }

  // Of all classes, from `axis` on: [N, t..., groups, phase..., M/groups], or channels_first [N, groups,
  // phase..., M/groups, t...]; along each axis full phases before the others.
  ValueId JoinClasses(size_t axis, std::vector<bool> lacks_last) {
    if (axis == axes_.size()) return Convolve(ClassOf(axes_, lacks_last));
    ValueId full = JoinClasses(axis + 1, lacks_last);
    const Axis& its = axes_[axis];
    if (its.full_phases == its.stride || b_.failed()) return full;
    const auto phases = static_cast<size_t>(first_phase()) + axis;
    if (its.has_empty_phases()) {
      Dims none(b_.dims(full).size(), Dim(0)), others = none;
      others[phases] = Dim(its.stride - its.full_phases);
      return b_.Pad(full, b_.Scalar(b_.dtype(full), 0), none, others);
    }
    lacks_last[axis] = true;
    ValueId others = JoinClasses(axis + 1, lacks_last);
    return b_.Concat({full, others}, static_cast<int>(phases));
  }

  ValueId Convolve(const PhaseClass& wanted) {
    const int first = first_axis();
    Dims high, steps, split{b_.dim(x_, 0)};
    for (size_t i = 0; i < axes_.size(); ++i) {
      high.push_back(axes_[i].steps + (wanted.taps[i] - 1) * Dim(axes_[i].dilation) -
                     b_.dim(x_, static_cast<int>(i) + first) - wanted.low[i]);
      steps.push_back(axes_[i].steps);
    }
    const int64_t groups = node_.Int("groups", 1);
    ir::Attributes attributes{
        {"groups", groups},        {"layout", layout_}, {"strides", std::vector<int64_t>(axes_.size(), 1)},
        {"dilations", dilations_}, {"low", wanted.low}, {"high", high}};
    if (node_.Find("dtype") != nullptr) attributes["dtype"] = *node_.Find("dtype");
    Dims channels{groups};
    for (int64_t phases : wanted.phases) channels.emplace_back(phases);
    channels.push_back(outputs_);
    const Dims &nearer = is_channels_last() ? steps : channels,
               &farther = is_channels_last() ? channels : steps;
    split.insert(split.end(), nearer.begin(), nearer.end());
    split.insert(split.end(), farther.begin(), farther.end());
    const ValueId weights = PhasesOfWeights(b_, weights_, axes_, wanted, groups);
    ValueId value = b_.Emit("conv", {x_, weights}, std::move(attributes));
    return b_.failed() ? value : b_.Reshape(value, split);
  }

  // What JoinClasses gives -> [N, result..., M], or [N, M, result...].
  ValueId Interleave(ValueId value) {
    const int64_t first_step = is_channels_last() ? 1 : 3 + count();
    const std::vector<int64_t> channels = is_channels_last()
                                              ? std::vector<int64_t>{1 + count(), 2 + 2 * count()}
                                              : std::vector<int64_t>{1, 2 + count()};
    std::vector<int64_t> perm;
    Dims joined, starts, result;
    for (int64_t i = 0; i < count(); ++i) {
      const Axis& axis = axes_[static_cast<size_t>(i)];
      perm.insert(perm.end(), {first_step + i, first_phase() + i});
      joined.push_back(axis.steps * Dim(axis.stride));
      starts.push_back(axis.skipped);
      result.push_back(axis.result);
    }
    auto add = [&](auto* list, const auto& batch, const auto& of_channels) {
      list->insert(is_channels_last() ? list->end() : list->begin(), of_channels.begin(), of_channels.end());
      list->insert(list->begin(), batch);
    };
    const Dims all{outputs_ * Dim(node_.Int("groups", 1))};
    add(&perm, int64_t{0}, channels);
    add(&joined, b_.dim(value, 0), all);
    add(&starts, Dim(0), Dims{0});
    add(&result, b_.dim(value, 0), all);
    ValueId whole = b_.Reshape(b_.Transpose(value, perm), joined);
    return joined == result ? whole : b_.Slice(whole, starts, Dims(starts.size(), Dim(1)), result);
  }

  OpBuilder& b_;
  const ir::Node& node_;
  const ValueId x_, weights_;
  const ir::Layout layout_;
  const Dim outputs_;
  std::vector<Axis> axes_;
  std::vector<int64_t> dilations_;
};

}  // namespace

ValueId ConvolvePhases(OpBuilder& b, const ir::Node& node, ValueId x, ValueId weights, ir::Layout layout) {
  return PhasesBuilder(b, node, x, weights, layout).Build();
}

}  // namespace tvmvm::passes
