// Pools over windows and over all spatial axes.
#include <fmt/core.h>

#include <numeric>

#include "compiler/onnx/ops/onnx_checks.h"
#include "compiler/onnx/ops/onnx_families.h"
#include "compiler/onnx/ops/onnx_window.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

// Number of windows along one axis. In ceil mode the last one may reach over the end, but must start inside
// the data or the padding before it.
Dim WindowCount(OnnxContext& c, const Dim& size, const Dim& low, const Dim& high, const Dim& extent,
                int64_t stride) {
  Dim room = size + low + high - extent;
  if (c.Int("ceil_mode", 0) == 0) return Max(FloorDiv(room, stride) + Dim(1), 0);
  Dim count = Max(CeilDiv(room, stride) + Dim(1), 0);
  return Select(LessEqual(size + low, (count - Dim(1)) * Dim(stride)), count - Dim(1), count);
}

// The attributes of a window node of full rank.
struct Pool {
  Attributes attributes;
  Dims dims;
};

std::optional<Pool> ReadPool(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(c.in(0));
  if (dims.size() < 3) {
    b.Fail(Code::kInvalidArgument, fmt::format("data of rank {}, at least 3 is wanted", dims.size()));
    return std::nullopt;
  }
  Dims spatial(dims.begin() + 2, dims.end());
  std::vector<int64_t> kernel = SpatialInts(c, "kernel_shape", spatial.size(), 0);
  for (int64_t size : kernel) {
    if (size < 1) b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'kernel_shape' holds {}", size));
  }
  WindowGeometry geometry = ReadWindow(c, spatial, DimsOf(kernel));
  if (b.failed()) return std::nullopt;
  for (size_t i = 0; i < spatial.size(); ++i) {
    Dim extent = WindowExtent(kernel[i], geometry.dilations[i]);
    dims[i + 2] = WindowCount(c, spatial[i], geometry.low[i], geometry.high[i], extent, geometry.strides[i]);
  }
  auto whole = [](auto list, auto outer) {
    list.insert(list.begin(), 2, outer);
    return list;
  };
  Pool pool;
  pool.dims = dims;
  pool.attributes = {{"kernel", whole(kernel, int64_t{1})},
                     {"strides", whole(geometry.strides, int64_t{1})},
                     {"dilations", whole(geometry.dilations, int64_t{1})},
                     {"low", whole(geometry.low, Dim(0))},
                     {"high", whole(geometry.high, Dim(0))},
                     {"dims", dims}};
  return pool;
}

ValueId EmitWindow(OnnxContext& c, const Pool& pool, ValueId x, std::string kind,
                   bool include_padding = false) {
  Attributes attributes = pool.attributes;
  attributes["kind"] = std::move(kind);
  attributes["include_padding"] = int64_t{include_padding};
  return c.b.Emit("window", {x}, std::move(attributes));
}

// A row-major index into the data as one where the first spatial axis is the fastest.
ValueId ColumnMajor(OpBuilder& b, ValueId index, const Dims& dims) {
  Dims spatial(dims.begin() + 2, dims.end());
  ValueId plane = b.DimScalar(Product(spatial));
  ValueId within = b.Binary(ExprOp::kFloorMod, index, plane);
  ValueId result = b.Sub(index, within);
  for (size_t i = spatial.size(); i-- > 0;) {
    ValueId size = b.DimScalar(spatial[i]);
    ValueId place = b.Binary(ExprOp::kFloorMod, within, size);
    within = b.Binary(ExprOp::kFloorDiv, within, size);
    Dim step = Product(Dims(spatial.begin(), spatial.begin() + static_cast<std::ptrdiff_t>(i)));
    result = b.Add(result, b.Mul(place, b.DimScalar(step)));
  }
  return result;
}

void MaxPool(OnnxContext& c) {
  auto pool = ReadPool(c);
  if (!pool.has_value()) return;
  c.Out(0, EmitWindow(c, *pool, c.in(0), "max"));
  if (!c.wants(1)) return;
  ValueId index = EmitWindow(c, *pool, c.in(0), "argmax");
  c.Out(1, c.Int("storage_order", 0) == 0 ? index : ColumnMajor(c.b, index, c.b.dims(c.in(0))));
}

void AveragePool(OnnxContext& c) {
  if (auto pool = ReadPool(c))
    c.Out(0, EmitWindow(c, *pool, c.in(0), "average", c.Int("count_include_pad", 0) != 0));
}

double NormOrder(OnnxContext& c) {
  return c.version < 2 ? c.Float("p", 2) : static_cast<double>(c.Int("p", 2));
}

// |x|^p, and the p-th root of a sum of these.
ValueId PowerOf(OpBuilder& b, ValueId x, double p) {
  if (p == 1) return b.Unary(ExprOp::kAbs, x);
  if (p == 2) return b.Mul(x, x);
  return b.Binary(ExprOp::kPow, b.Unary(ExprOp::kAbs, x), b.Scalar(b.dtype(x), p));
}
ValueId RootOf(OpBuilder& b, ValueId x, double p) {
  if (p == 1) return x;
  if (p == 2) return b.Unary(ExprOp::kSqrt, x);
  return b.Binary(ExprOp::kPow, x, b.Scalar(b.dtype(x), 1 / p));
}

void LpPool(OnnxContext& c) {
  double p = NormOrder(c);
  auto pool = ReadPool(c);
  if (!pool.has_value()) return;
  DType dtype = c.b.dtype(c.in(0));
  ValueId powers = PowerOf(c.b, c.b.Cast(c.in(0), WideType(dtype)), p);
  c.Out(0, c.b.Cast(RootOf(c.b, EmitWindow(c, *pool, powers, "sum"), p), dtype));
}

std::vector<int64_t> SpatialAxes(OnnxContext& c) {
  int rank = c.b.rank(c.in(0));
  std::vector<int64_t> axes(static_cast<size_t>(std::max(rank - 2, 0)));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

void GlobalAveragePool(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dim count = 1;
  for (int64_t axis : SpatialAxes(c)) count = count * b.dim(c.in(0), static_cast<int>(axis));
  DType dtype = b.dtype(c.in(0)), wide = WideType(dtype);
  ValueId sum = b.Reduce(ReduceKind::kSum, b.Cast(c.in(0), wide), SpatialAxes(c));
  c.Out(0, b.Cast(b.Div(sum, b.Cast(b.DimScalar(count), wide)), dtype));
}

void GlobalMaxPool(OnnxContext& c) { c.Out(0, c.b.Reduce(ReduceKind::kMax, c.in(0), SpatialAxes(c))); }

void GlobalLpPool(OnnxContext& c) {
  double p = NormOrder(c);
  DType dtype = c.b.dtype(c.in(0));
  ValueId powers = PowerOf(c.b, c.b.Cast(c.in(0), WideType(dtype)), p);
  c.Out(0, c.b.Cast(RootOf(c.b, c.b.Reduce(ReduceKind::kSum, powers, SpatialAxes(c)), p), dtype));
}

// Puts elements where a pool took them from, zeros elsewhere. Positions count within the data that the pool's
// attributes tell; a wanted shape cuts that data or continues it by zeros.
void MaxUnpool(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(c.in(0));
  if (dims.size() < 3 || b.rank(c.in(1)) != b.rank(c.in(0))) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("data of rank {} and positions of rank {}, one of at least 3 is wanted", dims.size(),
                       b.rank(c.in(1))));
    return;
  }
  size_t count = dims.size() - 2;
  std::vector<int64_t> kernel = SpatialInts(c, "kernel_shape", count, 0);
  WindowGeometry geometry = ReadWindow(c, Dims(dims.begin() + 2, dims.end()), DimsOf(kernel));
  if (b.failed()) return;
  Dims whole{dims[0], dims[1]};
  for (size_t i = 0; i < count; ++i) {
    Dim covered = (dims[i + 2] - Dim(1)) * Dim(geometry.strides[i]) + Dim(kernel[i]);
    whole.push_back(Max(covered - geometry.low[i] - geometry.high[i], 0));
  }
  Dim total = Product(whole), given = Product(dims);
  ValueId positions = b.Reshape(c.in(1), {given});
  RequireBetween(b, positions, 0, total - Dim(1), "the positions in the unpooled image");
  ValueId zero = b.Scalar(b.dtype(c.in(0)), 0);
  ValueId flat = b.Emit("scatter_elements", {b.Expand(zero, {total}), positions, b.Reshape(c.in(0), {given})},
                        {{"axis", int64_t{0}}, {"reduction", std::string("none")}});
  ValueId result = b.Reshape(flat, whole);
  if (c.has(2)) {
    Dims wanted = b.ReadDims(c.in(2), whole.size());
    if (b.failed()) return;
    if (wanted.size() != whole.size()) {
      b.Fail(Code::kInvalidArgument,
             fmt::format("an output shape of {} entries for data of rank {}", wanted.size(), whole.size()));
      return;
    }
    for (size_t i = 0; i < whole.size(); ++i)
      b.Require(
          i < 2 ? Equal(wanted[i], whole[i]) : LessEqual(whole[i], wanted[i]),
          fmt::format("element {} of the output shape is {{0}}, want {{1}}{}", i, i < 2 ? "" : " or more"),
          {wanted[i], whole[i]});
    Dims none(whole.size(), Dim(0)), ones(whole.size(), Dim(1)), kept, missing;
    for (size_t i = 0; i < whole.size(); ++i) {
      kept.push_back(Min(whole[i], wanted[i]));
      missing.push_back(wanted[i] - kept[i]);
    }
    result = b.Pad(b.Slice(result, none, ones, kept), zero, none, missing);
  }
  c.Out(0, result);
}

constexpr OnnxOp kRows[] = {
    {"", "MaxPool", 1, kLatest, 1, 1, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides",
     MaxPool, kNumbers},
    {"", "MaxUnpool", 9, kLatest, 2, 3, "kernel_shape pads strides", MaxUnpool, kFloats},
    {"", "AveragePool", 1, kLatest, 1, 1,
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides", AveragePool, kFloats},
    {"", "LpPool", 1, kLatest, 1, 1, "auto_pad ceil_mode dilations kernel_shape p pads strides", LpPool,
     kFloats},
    {"", "GlobalAveragePool", 1, kLatest, 1, 1, "", GlobalAveragePool, kFloats},
    {"", "GlobalMaxPool", 1, kLatest, 1, 1, "", GlobalMaxPool, kFloats},
    {"", "GlobalLpPool", 1, kLatest, 1, 1, "p", GlobalLpPool, kFloats},
};

}  // namespace

std::span<const OnnxOp> OnnxPoolingRows() { return kRows; }

}  // namespace tvmvm::ir
