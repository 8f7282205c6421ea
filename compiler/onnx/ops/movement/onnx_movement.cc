// What moves elements without looking at them: transposes, joins, repeats, padding, blocks.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

void Transpose(OnnxContext& c) {
  OpBuilder& b = c.b;
  int rank = b.rank(c.in(0));
  std::vector<int64_t> reversed(static_cast<size_t>(rank));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  std::vector<int64_t> perm = c.Ints("perm", reversed);
  for (int64_t& axis : perm) axis = b.NormalizeAxis(axis, rank);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.rbegin(), sorted.rend());
  if (b.failed()) return;
  if (sorted != reversed) {
    b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'perm' is no order of {} axes", rank));
    return;
  }
  c.Out(0, b.Transpose(c.in(0), perm));
}

void Concat(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (c.version >= 4 && !c.HasAttribute("axis")) {
    b.Fail(Code::kInvalidArgument, "the attribute 'axis' is missing");
    return;
  }
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.has(i)) continue;
    b.Fail(Code::kInvalidArgument, fmt::format("the input {} is missing", i));
    return;
  }
  int axis = b.NormalizeAxis(c.Int("axis", 1), b.rank(c.in(0)));
  if (!b.failed()) c.Out(0, b.Concat(c.inputs, axis));
}

// Sizes along the axis: given, or equal parts of which the last may be smaller.
Dims SplitSizes(OnnxContext& c, const Dim& total) {
  OpBuilder& b = c.b;
  size_t parts = c.output_names.size();
  Dims sizes;
  if (c.has(1)) {
    sizes = b.ReadDims(c.in(1), parts);
  } else if (c.HasAttribute("split")) {
    sizes = DimsOf(c.Ints("split"));
  } else {
    auto count = static_cast<int64_t>(parts);
    if (c.HasAttribute("num_outputs") && c.Int("num_outputs", 0) != count)
      b.Fail(Code::kInvalidArgument,
             fmt::format("num_outputs is {}, the node has {} outputs", c.Int("num_outputs", 0), count));
    Dim part = CeilDiv(total, count);
    for (int64_t i = 0; i < count; ++i) sizes.push_back(Max(Min(part, total - part * Dim(i)), 0));
  }
  if (!b.failed() && sizes.size() != parts)
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} sizes of parts, the node has {} outputs", sizes.size(), parts));
  return sizes;
}

void Split(OnnxContext& c) {
  OpBuilder& b = c.b;
  int axis = b.NormalizeAxis(c.Int("axis", 0), b.rank(c.in(0)));
  if (b.failed()) return;
  Dim total = b.dim(c.in(0), axis);
  Dims sizes = SplitSizes(c, total);
  if (b.failed()) return;
  Dim start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    b.Require(LessEqual(0, sizes[i]), fmt::format("part {} has size {{0}}", i), {sizes[i]});
    if (c.wants(i)) c.Out(i, b.SliceAxis(c.in(0), axis, start, sizes[i]));
    start = start + sizes[i];
  }
  if (c.has(1) || c.HasAttribute("split"))
    b.Require(Equal(start, total), "the parts have {0} elements together, the axis has {1}", {start, total});
}

// Repeats whole copies: each axis gets one of size `repeats` in front of it.
ValueId TileBy(OpBuilder& b, ValueId x, const Dims& repeats) {
  Dims dims = b.dims(x);
  Dims apart;
  Dims repeated;
  Dims joined;
  for (size_t i = 0; i < dims.size(); ++i) {
    apart.insert(apart.end(), {Dim(1), dims[i]});
    repeated.insert(repeated.end(), {repeats[i], dims[i]});
    joined.push_back(repeats[i] * dims[i]);
  }
  return b.Reshape(b.Expand(b.Reshape(x, apart), repeated), joined);
}

void Tile(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto rank = static_cast<size_t>(b.rank(c.in(0)));
  Dims repeats(rank, Dim(1));
  if (c.version < 6) {
    Dims tiles = b.ReadDims(b.Cast(b.Reshape(c.in(1), {1}), DType::kI64));
    auto axis = b.ConstantInts(b.Cast(b.Reshape(c.in(2), {1}), DType::kI64));
    if (b.failed()) return;
    if (!axis.has_value()) {
      b.Fail(Code::kUnsupported, "an axis that is not constant");
      return;
    }
    int position = b.NormalizeAxis((*axis)[0], static_cast<int>(rank));
    if (b.failed()) return;
    repeats[static_cast<size_t>(position)] = tiles[0];
  } else {
    repeats = b.ReadDims(c.in(1), rank);
  }
  if (b.failed()) return;
  if (repeats.size() != rank) {
    b.Fail(Code::kInvalidArgument, fmt::format("{} repeats, the input has rank {}", repeats.size(), rank));
    return;
  }
  for (const Dim& repeat : repeats) b.Require(LessEqual(0, repeat), "{0} repeats", {repeat});
  c.Out(0, TileBy(b, c.in(0), repeats));
}

// Amounts before and after each axis: an attribute until opset 10, an input (with axes from opset 18)
// afterwards.
struct PadAmounts {
  Dims low;
  Dims high;
};

// Amounts beyond this one could overflow.
constexpr int64_t kMostPadding = int64_t{1} << 60;

PadAmounts ReadPads(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto rank = static_cast<size_t>(b.rank(c.in(0)));
  PadAmounts amounts{Dims(rank, Dim(0)), Dims(rank, Dim(0))};
  std::optional<Dims> axes;
  if (c.version >= 18 && c.has(3)) axes = b.ReadDims(c.in(3));
  size_t count = axes.has_value() ? axes->size() : rank;
  Dims pads = c.version < 2    ? DimsOf(c.Ints("paddings"))
              : c.version < 11 ? DimsOf(c.Ints("pads"))
                               : b.ReadDims(c.in(1), 2 * count);
  if (b.failed()) return amounts;
  if (pads.size() != 2 * count) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("{} amounts of padding, {} axes want {}", pads.size(), count, 2 * count));
    return amounts;
  }
  for (const Dim& amount : pads)
    b.Require(And(LessEqual(-kMostPadding, amount), LessEqual(amount, kMostPadding)), "padding of {0}",
              {amount});
  for (size_t k = 0; k < count; ++k) {
    Dims flags(rank, Dim(0));
    if (axes.has_value()) {
      flags = AxisFlags(c, {(*axes)[k]}, static_cast<int>(rank));
    } else {
      flags[k] = 1;
    }
    for (size_t i = 0; i < rank; ++i) {
      amounts.low[i] = Select(flags[i], pads[k], amounts.low[i]);
      amounts.high[i] = Select(flags[i], pads[k + count], amounts.high[i]);
    }
  }
  return amounts;
}

// A negative amount removes elements.
ValueId CropNegative(OpBuilder& b, ValueId x, PadAmounts* amounts) {
  RangeLookup ranges = b.module().Ranges();
  Dims dims = b.dims(x);
  Dims starts(dims.size(), Dim(0));
  Dims sizes = dims;
  bool crops = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    bool front = RangeOf(amounts->low[i], ranges).low < 0;
    bool back = RangeOf(amounts->high[i], ranges).low < 0;
    if (!front && !back) continue;
    crops = true;
    b.Require(LessEqual(0, dims[i] + Min(amounts->low[i], 0) + Min(amounts->high[i], 0)),
              fmt::format("padding {{0}} and {{1}} of axis {}, which has {{2}} elements", i),
              {amounts->low[i], amounts->high[i], dims[i]});
    Dim removed_front = front ? Min(Max(Dim(0) - amounts->low[i], 0), dims[i]) : Dim(0);
    Dim removed_back = back ? Max(Dim(0) - amounts->high[i], 0) : Dim(0);
    starts[i] = removed_front;
    sizes[i] = Max(dims[i] - removed_front - removed_back, 0);
    amounts->low[i] = Max(amounts->low[i], 0);
    amounts->high[i] = Max(amounts->high[i], 0);
  }
  return crops ? b.Slice(x, starts, Dims(dims.size(), Dim(1)), sizes) : x;
}

// Modes that repeat elements need some; a reflection leaves the border out.
void RequireElements(OpBuilder& b, const Dims& dims, const PadAmounts& amounts, const std::string& mode) {
  for (size_t i = 0; i < dims.size(); ++i) {
    Dim most = Max(amounts.low[i], amounts.high[i]);
    Dim fits =
        mode == "reflect" ? Or(Equal(most, 0), Less(most, dims[i])) : Or(Equal(most, 0), Less(0, dims[i]));
    b.Require(fits,
              fmt::format("mode '{}': padding of {{0}} along axis {}, which has {{1}} elements", mode, i),
              {most, dims[i]});
  }
}

void Pad(OnnxContext& c) {
  OpBuilder& b = c.b;
  std::string mode = c.Text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'mode' is '{}'", mode));
    return;
  }
  PadAmounts amounts = ReadPads(c);
  if (b.failed()) return;
  DType dtype = b.dtype(c.in(0));
  ValueId value = c.version >= 11 && c.has(2) ? b.Reshape(c.in(2), {})
                  : dtype == DType::kBool     ? b.ScalarInt(dtype, 0)
                                              : b.Scalar(dtype, c.version < 11 ? c.Float("value", 0) : 0);
  ValueId x = CropNegative(b, c.in(0), &amounts);
  if (mode != "constant") RequireElements(b, b.dims(x), amounts, mode);
  c.Out(0, b.Pad(x, value, amounts.low, amounts.high, mode));
}

// Positive block size that divides what it has to, as far as that is known.
bool CheckBlock(OnnxContext& c, int64_t block, int rank) {
  if (block > 0 && block <= INT32_MAX && rank == 4) return true;
  c.b.Fail(Code::kInvalidArgument,
           fmt::format("block size {} and rank {}, a positive one and rank 4 are wanted", block, rank));
  return false;
}

void DepthToSpace(OnnxContext& c) {
  OpBuilder& b = c.b;
  int64_t block = c.Int("blocksize", 0);
  Dims d = b.dims(c.in(0));
  if (!CheckBlock(c, block, static_cast<int>(d.size()))) return;
  Dim depth = FloorDiv(d[1], block * block);
  bool column_first = c.Text("mode", "DCR") == "CRD";
  ValueId apart = column_first ? b.Reshape(c.in(0), {d[0], depth, Dim(block), Dim(block), d[2], d[3]})
                               : b.Reshape(c.in(0), {d[0], Dim(block), Dim(block), depth, d[2], d[3]});
  std::vector<int64_t> order =
      column_first ? std::vector<int64_t>{0, 1, 4, 2, 5, 3} : std::vector<int64_t>{0, 3, 4, 1, 5, 2};
  c.Out(0, b.Reshape(b.Transpose(apart, order), {d[0], depth, d[2] * Dim(block), d[3] * Dim(block)}));
}

void SpaceToDepth(OnnxContext& c) {
  OpBuilder& b = c.b;
  int64_t block = c.Int("blocksize", 0);
  Dims d = b.dims(c.in(0));
  if (!CheckBlock(c, block, static_cast<int>(d.size()))) return;
  Dim height = FloorDiv(d[2], block);
  Dim width = FloorDiv(d[3], block);
  bool column_first = c.Text("mode", "DCR") == "CRD";
  ValueId apart = b.Reshape(c.in(0), {d[0], d[1], height, Dim(block), width, Dim(block)});
  std::vector<int64_t> order =
      column_first ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4};
  c.Out(0, b.Reshape(b.Transpose(apart, order), {d[0], d[1] * Dim(block * block), height, width}));
}

constexpr OnnxOp kRows[] = {
    {"", "Transpose", 1, kLatest, 1, 1, "perm", Transpose, kAllTypes, StringUse::kMoved},
    {"", "Concat", 1, kLatest, 1, -1, "axis", Concat, kAllTypes, StringUse::kMoved},
    {"", "Split", 1, 12, 1, 2, "axis split", Split, kAllTypes, StringUse::kMoved},
    {"", "Split", 13, kLatest, 1, 2, "axis num_outputs", Split, kAllTypes, StringUse::kMoved},
    {"", "Tile", 1, 5, 3, 3, "", Tile, kFloats},
    {"", "Tile", 6, kLatest, 2, 2, "", Tile, kAllTypes, StringUse::kMoved},
    {"", "Pad", 1, 1, 1, 1, "paddings mode value", Pad, kAllTypes - kStrings - kComplex},
    {"", "Pad", 2, 10, 1, 1, "pads mode value", Pad, kAllTypes - kStrings - kComplex},
    {"", "Pad", 11, kLatest, 2, 4, "mode", Pad, kAllTypes - kStrings},
    {"", "DepthToSpace", 1, kLatest, 1, 1, "blocksize mode", DepthToSpace, kAllTypes, StringUse::kMoved},
    {"", "SpaceToDepth", 1, kLatest, 1, 1, "blocksize mode", SpaceToDepth, kAllTypes, StringUse::kMoved},
};

}  // namespace

std::span<const OnnxOp> OnnxMovementRows() { return kRows; }

}  // namespace tvmvm::ir
