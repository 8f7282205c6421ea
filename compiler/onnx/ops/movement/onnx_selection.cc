// Results whose size depends on the data. The size gets a symbol as soon as it is known.
#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

Dim FreshSize(OpBuilder& b) { return b.module().FreshSymbol({.range = {0, INT64_MAX}}); }

void NonZero(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  Dims dims = b.dims(x);
  if (b.dtype(x) == DType::kString) {  // the empty string is the zero
    TensorData empty;
    empty.dtype = DType::kString;
    empty.strings = {""};
    std::vector<ValueId> ids = StringIds(b, {x, b.Constant(std::move(empty))});
    if (b.failed()) return;
    x = b.Binary(ExprOp::kNotEqual, ids[0], ids[1]);
  }
  if (b.dtype(x) != DType::kBool) x = b.Binary(ExprOp::kNotEqual, x, b.ScalarInt(b.dtype(x), 0));
  ValueId positions = PositionsOf(b, b.Reshape(x, {Product(dims)}));
  if (b.failed()) return;
  Dim count = b.dim(positions, 0);
  if (dims.empty()) return c.Out(0, b.Iota(DType::kI64, {0, count}, 0));
  std::vector<ValueId> rows;
  Dim stride = 1;  // of the axis; at least 1, for there is no element where a dim is 0
  for (size_t axis = dims.size(); axis-- > 0;) {
    ValueId coordinate = positions;
    if (axis + 1 < dims.size())
      coordinate = b.Binary(ExprOp::kFloorDiv, coordinate, b.DimScalar(Max(stride, 1)));
    if (axis > 0) coordinate = b.Binary(ExprOp::kFloorMod, coordinate, b.DimScalar(Max(dims[axis], 1)));
    rows.insert(rows.begin(), b.Unsqueeze(coordinate, {0}));
    stride = stride * dims[axis];
  }
  c.Out(0, b.Concat(rows, 0));
}

// A condition that is shorter than the axis leaves out the rest; of a longer one the end is ignored.
void Compress(OnnxContext& c) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0), condition = c.in(1);
  if (b.rank(condition) != 1 || b.dtype(condition) != DType::kBool) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("the condition is {}, wanted tensor<bool,[n]>", b.type(condition).ToString()));
    return;
  }
  int axis = 0;
  if (c.HasAttribute("axis"))
    axis = b.NormalizeAxis(c.Int("axis", 0), b.rank(x));
  else
    x = b.Reshape(x, {Product(b.dims(x))});
  if (b.failed()) return;
  condition = b.SliceAxis(condition, 0, 0, Min(b.dim(condition, 0), b.dim(x, axis)));
  c.Out(0, b.Gather(x, PositionsOf(b, condition), axis));
}

void Unique(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(c.in(0));
  int64_t axis = -1;
  Dim size = FreshSize(b), all = Product(dims);
  if (c.HasAttribute("axis")) {
    axis = b.NormalizeAxis(c.Int("axis", 0), static_cast<int>(dims.size()));
    if (b.failed()) return;
    all = std::exchange(dims[static_cast<size_t>(axis)], size);
  } else {
    dims = {size};
  }
  Type numbers = Type::Tensor(DType::kI64, {size});
  std::vector<ValueId> results =
      b.Host(HostFunctionId::kUnique, {c.in(0)},
             {Type::Tensor(b.dtype(c.in(0)), dims), numbers, Type::Tensor(DType::kI64, {all}), numbers},
             {axis, c.Int("sorted", 1) != 0});
  for (size_t i = 0; i < 4 && !b.failed(); ++i) c.Out(i, results[i]);
}

ValueId Threshold(OnnxContext& c, size_t input) {
  return c.has(input) ? c.b.Reshape(c.b.Cast(c.in(input), DType::kF32), {}) : ValueId{};
}

void NonMaxSuppression(OnnxContext& c) {
  OpBuilder& b = c.b;
  if (b.rank(c.in(0)) != 3 || b.rank(c.in(1)) != 3) {
    b.Fail(Code::kInvalidArgument, fmt::format("boxes {} and scores {}, wanted rank 3",
                                               b.type(c.in(0)).ToString(), b.type(c.in(1)).ToString()));
    return;
  }
  Dim most = ReadScalar(c, 2, 0);
  c.Out(0, b.Host(HostFunctionId::kNonMaxSuppression, {c.in(0), c.in(1), Threshold(c, 3), Threshold(c, 4)},
                  {Type::Tensor(DType::kI64, {FreshSize(b), 3})}, {c.Int("center_point_box", 0), most})[0]);
}

constexpr OnnxOp kRows[] = {
    {"", "NonZero", 9, kLatest, 1, 1, "", NonZero, kNumbers | kBools | kStrings},
    {"", "Compress", 9, kLatest, 2, 2, "axis", Compress, kAllTypes, StringUse::kMoved},
    {"", "Unique", 11, kLatest, 1, 1, "axis sorted", Unique, kAllTypes, StringUse::kNative, Runs::kOnHost},
    {"", "NonMaxSuppression", 10, kLatest, 2, 5, "center_point_box", NonMaxSuppression, DTypeSet{DType::kF32},
     StringUse::kNative, Runs::kOnHost},
};

}  // namespace

ValueId PositionsOf(OpBuilder& b, ValueId flags) {
  // Counted without a sign, so that the symbol is known not to be negative.
  ValueId total = b.Reduce(tensor::ReduceKind::kSum, b.Cast(flags, DType::kU64), {0});
  Dims count = b.ReadDims(total);
  return b.failed() ? flags : b.Emit("compact", {flags}, {{"count", count[0]}});
}

std::span<const OnnxOp> OnnxSelectionRows() { return kRows; }

}  // namespace tvmvm::ir
