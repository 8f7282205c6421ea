#include "compiler/memory/rows.h"

#include <algorithm>

#include "compiler/graph/core_op.h"

namespace tvmvm::memory {
namespace {

using ir::AxisMap;
using ir::Dim;
using ir::Dims;
using ir::Function;
using ir::Node;
using ir::OpKind;
using ir::Type;

class Taker {
 public:
  Taker(const Function& function, const Node& node, const Rows& rows)
      : function_(function), rows_(rows), axis_(static_cast<size_t>(rows.axis)) {
    part_.node = node;
    part_.inputs.resize(node.inputs.size());
  }

  std::optional<PartOfNode> Run() {
    if (node().outputs.size() != 1 || !node().regions.empty() || node().decided.in_place) return {};
    return Take() ? std::optional(std::move(part_)) : std::nullopt;
  }

 private:
  const Node& node() const { return part_.node; }
  const Type& input(size_t number) const { return function_.type(node().inputs[number]); }
  const Dim& extent() const { return function_.type(node().outputs[0]).dims[axis_]; }

  bool Read(size_t number, size_t axis) { return Read(number, axis, rows_.start, rows_.size); }
  bool Read(size_t number, size_t axis, const Dim& start, const Dim& size) {
    part_.inputs[number] = Rows{static_cast<int>(axis), start, size};
    return true;
  }
  // The entry of a list of dims for the axis of the result, where the node has the list.
  void Resize(std::string_view name) {
    if (node().Find(name) == nullptr) return;
    Dims dims = node().DimList(name);
    if (axis_ < dims.size()) dims[axis_] = rows_.size;
    part_.node.attributes[std::string(name)] = std::move(dims);
  }

  bool Take() {
    switch (node().op->kind) {
      case OpKind::kContraction:
        return TakeContraction();
      case OpKind::kConvolution:
        return TakeConvolution();
      case OpKind::kWindow:
        return TakeWindow();
      case OpKind::kElementwise:
      case OpKind::kMovement:
      case OpKind::kView:
      case OpKind::kReduce:
        return TakeByAxes();
      default:
        return false;
    }
  }

  bool TakeByAxes() {
    switch (node().op->traits.axes) {
      case AxisMap::kBroadcast:
        return TakeBroadcast();
      case AxisMap::kReduce:
        return node().DimList("flags")[axis_].IsConstant(0) && Read(0, axis_);
      case AxisMap::kPermute:
        return Read(0, static_cast<size_t>(node().Ints("perm")[axis_]));
      case AxisMap::kRegroup:
        return TakeRegrouped();
      case AxisMap::kSlice:
        return TakeSlice();
      case AxisMap::kPad:
        return node().DimList("low")[axis_].IsConstant(0) && node().DimList("high")[axis_].IsConstant(0) &&
               Read(0, axis_);
      case AxisMap::kConcat:
        return TakeConcat();
      case AxisMap::kGather:
        return TakeGather();
      case AxisMap::kIndex:
        if (node().Int("axis") == rows_.axis) return false;
        Resize("dims");
        return true;
      case AxisMap::kOpaque:
        return false;
    }
    return false;
  }

  // Operands are aligned at the last axis; one that repeats along the axis is read as it is.
  bool TakeBroadcast() {
    const size_t rank = function_.type(node().outputs[0]).dims.size();
    for (size_t k = 0; k < node().inputs.size(); ++k) {
      if (!node().inputs[k].valid()) continue;
      const Dims& dims = input(k).dims;
      const size_t missing = rank - dims.size();
      if (axis_ < missing || dims[axis_ - missing].IsConstant(1)) continue;
      if (!(dims[axis_ - missing] == extent())) return false;
      Read(k, axis_ - missing);
    }
    Resize("dims");
    return !extent().IsConstant(1);
  }

  // Axes before the one in question are as they were; it is as it was or one of those that came of one, the
  // outermost.
  bool TakeRegrouped() {
    const Dims &before = input(0).dims, &after = function_.type(node().outputs[0]).dims;
    if (before.size() <= axis_) return false;
    for (size_t axis = 0; axis < axis_; ++axis)
      if (!(before[axis] == after[axis])) return false;
    Dim within = 1;  // elements of the old axis for each index of the new one
    for (size_t axis = axis_; axis < after.size(); ++axis) {
      if (axis > axis_) within = within * after[axis];
      if (!(before[axis_] == after[axis_] * within)) continue;
      Resize("dims");
      return Read(0, axis_, rows_.start * within, rows_.size * within);
    }
    return false;
  }

  bool TakeSlice() {
    if (!node().DimList("steps")[axis_].IsConstant(1)) return false;
    Dims starts = node().DimList("starts");
    const Dim start = starts[axis_];
    starts[axis_] = 0;
    part_.node.attributes["starts"] = std::move(starts);
    Resize("dims");
    return Read(0, axis_, start + rows_.start, rows_.size);
  }

  bool TakeConcat() {
    if (node().Int("axis") == rows_.axis) return false;
    for (size_t k = 0; k < node().inputs.size(); ++k)
      if (!(input(k).dims[axis_] == extent()) || !Read(k, axis_)) return false;
    return true;
  }

  bool TakeGather() {
    const auto gathered = static_cast<size_t>(node().Int("axis"));
    const size_t indices = input(1).dims.size();
    if (axis_ < gathered) return Read(0, axis_);
    if (axis_ < gathered + indices) return Read(1, axis_ - gathered);
    return Read(0, axis_ - indices + 1);
  }

  // Axes of the result: those that both have in common, the other ones of the left, those of the right.
  bool TakeContraction() {
    const auto &lhs_batch = node().Ints("lhs_batch"), &rhs_batch = node().Ints("rhs_batch");
    if (axis_ < lhs_batch.size())
      return Read(0, static_cast<size_t>(lhs_batch[axis_])) && Read(1, static_cast<size_t>(rhs_batch[axis_]));
    size_t next = lhs_batch.size();
    for (size_t k = 0; k < 2; ++k) {
      const auto &batch = k == 0 ? lhs_batch : rhs_batch,
                 &summed = node().Ints(k == 0 ? "lhs_contract" : "rhs_contract");
      for (size_t axis = 0; axis < input(k).dims.size(); ++axis) {
        const auto is = [axis](int64_t other) { return static_cast<size_t>(other) == axis; };
        if (std::ranges::any_of(batch, is) || std::ranges::any_of(summed, is)) continue;
        if (next++ == axis_) return Read(k, axis);
      }
    }
    return false;
  }

  // What a window of `taps` reads along an axis: the rows around it that exist, and padding for the others.
  struct Reach {
    Dim start, size, low, high;
  };
  // Nothing where sizes are open: whether there is padding would have to be, too.
  std::optional<Reach> ReachOf(const Dim& extent, const Dim& low, const Dim& taps, int64_t stride,
                               int64_t dilation) const {
    const Dim first = rows_.start * Dim(stride) - low;
    const Dim end =
        (rows_.start + rows_.size - Dim(1)) * Dim(stride) - low + (taps - Dim(1)) * Dim(dilation) + Dim(1);
    const Dim begin = Min(Max(first, 0), extent), last = Max(Min(end, extent), begin);
    const Reach reach{begin, last - begin, begin - first, end - last};
    const bool is_inside = reach.low.is_constant() && reach.low.value() >= 0 && reach.high.is_constant() &&
                           reach.high.value() >= 0;
    return is_inside ? std::optional(reach) : std::nullopt;
  }

  bool TakeConvolution() {
    const bool is_last = node().LayoutOf("layout") == ir::Layout::kChannelsLast;
    const bool is_last_weights = node().LayoutOf("weights") == ir::Layout::kChannelsLast;
    if (axis_ == 0) return Read(0, 0);
    const size_t spatial = is_last ? 1 : 2;
    const size_t rank = input(0).dims.size();
    if (axis_ < spatial || axis_ - spatial >= rank - 2) return false;
    const size_t number = axis_ - spatial;
    const Dim& taps = input(1).dims[(is_last_weights ? 1 : 2) + number];
    const std::optional<Reach> reach =
        ReachOf(input(0).dims[axis_], node().DimList("low")[number], taps, node().Ints("strides")[number],
                node().Ints("dilations")[number]);
    if (!reach) return false;
    Dims low = node().DimList("low"), high = node().DimList("high");
    low[number] = reach->low;
    high[number] = reach->high;
    part_.node.attributes["low"] = std::move(low);
    part_.node.attributes["high"] = std::move(high);
    return Read(0, axis_, reach->start, reach->size);
  }

  // Positions that a window finds count in the whole of its input, and averages may count the padding.
  bool TakeWindow() {
    if (node().Find("kernel") == nullptr) return false;  // sums into windows
    const bool is_alone = node().Ints("kernel")[axis_] == 1 && node().Ints("strides")[axis_] == 1 &&
                          node().DimList("low")[axis_].IsConstant(0) &&
                          node().DimList("high")[axis_].IsConstant(0);
    if (node().String("kind") == "argmax") return false;
    const std::optional<Reach> reach =
        ReachOf(input(0).dims[axis_], node().DimList("low")[axis_], node().Ints("kernel")[axis_],
                node().Ints("strides")[axis_], node().Ints("dilations")[axis_]);
    Resize("dims");
    if (is_alone) return Read(0, axis_);
    if (!reach || node().Int("include_padding") != 0) return false;
    Dims low = node().DimList("low"), high = node().DimList("high");
    low[axis_] = reach->low;
    high[axis_] = reach->high;
    part_.node.attributes["low"] = std::move(low);
    part_.node.attributes["high"] = std::move(high);
    return Read(0, axis_, reach->start, reach->size);
  }

  const Function& function_;
  const Rows& rows_;
  const size_t axis_;
  PartOfNode part_;
};

}  // namespace

std::optional<PartOfNode> TakeRows(const Function& function, const Node& node, const Rows& rows) {
  return Taker(function, node, rows).Run();
}

}  // namespace tvmvm::memory
