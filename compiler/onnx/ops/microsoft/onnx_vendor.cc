// com.microsoft: operators that are those of ai.onnx, or one step away from them.
#include <fmt/core.h>

#include <cmath>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

void SampleOp(OnnxContext& c) { c.Out(0, c.in(0)); }
void Trilu(OnnxContext& c) { c.Out(0, Apply(c, "Trilu", {c.in(0), c.in(1)}, Passed(c, "upper"))); }
void GatherND(OnnxContext& c) { c.Out(0, Apply(c, "GatherND", {c.in(0), c.in(1)})); }

void Range(OnnxContext& c) {
  ValueId step = c.has(2) ? c.in(2) : c.b.ScalarInt(c.b.dtype(c.in(0)), 1);
  c.Out(0, Apply(c, "Range", {c.in(0), c.in(1), step}));
}

void ExpandDims(OnnxContext& c) {
  c.Out(0, Apply(c, "Unsqueeze", {c.in(0), c.b.Reshape(c.in(1), {Product(c.b.dims(c.in(1)))})}));
}

// Pads [2 * rank], or the same in one row.
void Pad(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId pads = b.Reshape(c.in(1), {Dim(2 * b.rank(c.in(0)))});
  ValueId value = c.has(2) ? b.Reshape(c.in(2), {}) : ValueId();
  c.Out(0, Apply(c, "Pad", {c.in(0), pads, value}, Passed(c, "mode")));
}

void GridSample(OnnxContext& c) {
  OnnxAttributes attributes = Passed(c, "align_corners padding_mode");
  std::string mode = c.Text("mode", "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  attributes["mode"] = TextAttribute(mode);
  c.Out(0, Apply(c, "GridSample", {c.in(0), c.in(1)}, attributes));
}

// The elements of a list in the order in which they occur first, where each element is among them, and how
// often each occurs.
void Unique(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (b.rank(c.in(0)) != 1) {
    b.Fail(Code::kInvalidArgument, fmt::format("data of rank {}, 1 is wanted", b.rank(c.in(0))));
    return;
  }
  std::vector<ValueId> found = ApplyMany(c, "Unique", {c.in(0)}, {{"sorted", IntAttribute(0)}}, 4);
  c.Out(0, found[0]);
  c.Out(1, found[2]);
  c.Out(2, found[3]);
}

// All runs of `size` entries of an axis, `step` apart, along a new last axis.
void UnfoldTensor(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  int axis = b.NormalizeAxis(c.Int("dim", -1), b.rank(x));
  int64_t size = c.Int("size", 0), step = c.Int("step", 1);
  if (b.failed()) return;
  if (size < 1 || step < 1) {
    b.Fail(Code::kInvalidArgument, fmt::format("runs of {} that are {} apart", size, step));
    return;
  }
  Dim room = b.dim(x, axis);
  b.Require(LessEqual(size, room), "runs of {0} of {1} elements", {size, room});
  Dims runs{FloorDiv(room - Dim(size), step) + Dim(1), Dim(size)};
  ValueId first = b.Mul(b.Iota(DType::kI64, runs, 0), b.ScalarInt(DType::kI64, step));
  ValueId gathered = b.Gather(x, b.Add(first, b.Iota(DType::kI64, runs, 1)), axis);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < b.rank(gathered); ++i)
    if (i != axis + 1) order.push_back(i);
  order.push_back(axis + 1);
  c.Out(0, b.Transpose(gathered, order));
}

// Distances between the rows of two matrices.
void CDist(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId left = c.in(0), right = c.in(1);
  std::string metric = c.Text("metric", "sqeuclidean");
  if (b.rank(left) != 2 || b.rank(right) != 2 || (metric != "euclidean" && metric != "sqeuclidean")) {
    b.Fail(
        b.rank(left) == 2 && b.rank(right) == 2 ? Code::kUnsupported : Code::kInvalidArgument,
        fmt::format("the metric '{}' of matrices of ranks {} and {}", metric, b.rank(left), b.rank(right)));
    return;
  }
  auto squares = [&](ValueId x) { return b.Reduce(tensor::ReduceKind::kSum, b.Mul(x, x), {1}); };
  ValueId product = b.Contract(left, right, {}, {}, {1}, {1});
  ValueId twice = b.Mul(product, b.Scalar(b.dtype(product), 2));
  ValueId sum = b.Add(squares(left), b.Transpose(squares(right), {1, 0}));
  ValueId distance = b.Max(b.Sub(sum, twice), b.Scalar(b.dtype(product), 0));
  c.Out(0, metric == "euclidean" ? b.Unary(ExprOp::kSqrt, distance) : distance);
}

// Scores of the tokens that would repeat a run of `ngram_size` tokens become -inf: tokens [batch, length],
// scores [batch, tokens].
void NGramRepeatBlock(OnnxContext& c) {
  OpBuilder& b = c.b;
  int64_t size = c.Int("ngram_size", 0);
  ValueId tokens = c.in(0), scores = c.in(1);
  if (b.rank(tokens) != 2 || b.rank(scores) != 2 || size < 1 || size > 64) {
    b.Fail(
        Code::kInvalidArgument,
        fmt::format("runs of {}, 1 to 64 are possible; tokens of rank {} and scores of rank {}, 2 is wanted",
                    size, b.rank(tokens), b.rank(scores)));
    return;
  }
  Dim length = b.dim(tokens, 1);
  Dim runs = Max(length - Dim(size - 1), 0);
  auto from = [&](const Dim& start, const Dim& count) { return b.SliceAxis(tokens, 1, start, count); };
  ValueId repeats = b.Expand(b.ScalarInt(DType::kBool, 1), {b.dim(tokens, 0), runs});
  for (int64_t i = 0; i + 1 < size && !b.failed(); ++i) {
    // The i-th token of each run, and that of the run which is going on. Too short a list has no run.
    Dim last = Max(length - Dim(size - 1 - i), 0);
    ValueId same = b.Binary(ExprOp::kEqual, from(Min(i, length - runs), runs),
                            from(Min(last, Max(length - Dim(1), 0)), Min(length, 1)));
    repeats = b.Binary(ExprOp::kAnd, repeats, same);
  }
  if (b.failed()) return;
  DType dtype = b.dtype(scores);
  double infinity = std::numeric_limits<double>::infinity();
  ValueId limits = b.Where(repeats, b.Scalar(dtype, -infinity), b.Scalar(dtype, infinity));
  ValueId next = from(Min(size - 1, length - runs), runs);
  CheckIndices(b, tokens, {b.dim(scores, 1)});
  c.Out(0, b.Emit("scatter_elements", {scores, next, limits},
                  {{"axis", int64_t{1}}, {"reduction", std::string("min")}}));
}

// One 32-bit block of MurmurHash3_x86_32.
ValueId Mixed(OpBuilder& b, ValueId hash, ValueId block) {
  auto number = [&](int64_t value) { return b.ScalarInt(DType::kU32, value); };
  auto rotated = [&](ValueId x, int64_t by) {
    return b.Binary(ExprOp::kOr, b.Binary(ExprOp::kShiftLeft, x, number(by)),
                    b.Binary(ExprOp::kShiftRight, x, number(32 - by)));
  };
  ValueId mixed = b.Mul(rotated(b.Mul(block, number(0xcc9e2d51)), 15), number(0x1b873593));
  hash = rotated(b.Binary(ExprOp::kXor, hash, mixed), 13);
  return b.Add(b.Mul(hash, number(5)), number(0xe6546b64));
}

// A hash of the bytes of each element.
void MurmurHash3(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto number = [&](int64_t value) { return b.ScalarInt(DType::kU32, value); };
  auto bits_of = [&](DType as) {
    return b.dtype(c.in(0)) == as ? c.in(0) : b.Emit("bitcast", {c.in(0)}, {{"to", as}});
  };
  int64_t bytes = DTypeBits(b.dtype(c.in(0))) / 8;
  ValueId hash = number(static_cast<int64_t>(static_cast<uint32_t>(c.Int("seed", 0))));
  if (bytes == 4) {
    hash = Mixed(b, hash, bits_of(DType::kU32));
  } else {
    ValueId whole = bits_of(DType::kU64);
    ValueId low = b.Binary(ExprOp::kAnd, whole, b.ScalarInt(DType::kU64, 0xffffffff));
    ValueId high = b.Binary(ExprOp::kShiftRight, whole, b.ScalarInt(DType::kU64, 32));
    hash = Mixed(b, Mixed(b, hash, b.Cast(low, DType::kU32)), b.Cast(high, DType::kU32));
  }
  hash = b.Binary(ExprOp::kXor, hash, number(bytes));
  auto folded = [&](int64_t by) {
    return b.Binary(ExprOp::kXor, hash, b.Binary(ExprOp::kShiftRight, hash, number(by)));
  };
  hash = b.Mul(folded(16), number(0x85ebca6b));
  hash = b.Mul(folded(13), number(0xc2b2ae35));
  hash = folded(16);
  c.Out(0, c.Int("positive", 1) != 0 ? hash : b.Emit("bitcast", {hash}, {{"to", DType::kI32}}));
}

constexpr std::string_view kDomain = "com.microsoft";
constexpr DTypeSet kHashed{DType::kI32, DType::kU32, DType::kI64, DType::kU64, DType::kF32, DType::kF64};

constexpr OnnxOp kRows[] = {
    {kDomain, "SampleOp", 1, kLatest, 1, 1, "", SampleOp, kNumbers},
    {kDomain, "Trilu", 1, kLatest, 1, 2, "upper", Trilu, kAllTypes - kStrings - kComplex},
    {kDomain, "GatherND", 1, kLatest, 2, 2, "", GatherND, kAllTypes, StringUse::kMoved},
    {kDomain, "Range", 1, kLatest, 2, 3, "", Range, kNumbers},
    {kDomain, "ExpandDims", 1, kLatest, 2, 2, "", ExpandDims, kAllTypes, StringUse::kMoved},
    {kDomain, "Pad", 1, kLatest, 2, 3, "mode", Pad, kFloats},
    {kDomain, "GridSample", 1, kLatest, 2, 2, "align_corners mode padding_mode", GridSample, kFloats},
    {kDomain, "Unique", 1, kLatest, 1, 1, "", Unique, kNumbers, StringUse::kNative, Runs::kOnHost},
    {kDomain, "UnfoldTensor", 1, kLatest, 1, 1, "dim size step", UnfoldTensor, kAllTypes, StringUse::kMoved},
    {kDomain, "CDist", 1, kLatest, 2, 2, "metric", CDist, kFloats},
    {kDomain, "NGramRepeatBlock", 1, kLatest, 2, 2, "ngram_size", NGramRepeatBlock, OfInput(1, kFloats)},
    {kDomain, "MurmurHash3", 1, kLatest, 1, 1, "positive seed", MurmurHash3, kHashed},
};

}  // namespace

std::span<const OnnxOp> OnnxVendorRows() { return kRows; }

}  // namespace tvmvm::ir
