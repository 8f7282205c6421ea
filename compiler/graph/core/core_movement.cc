// Movement: results whose elements are elements of inputs, at indices that are arithmetic on the result's
// index.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/expr/unflatten.h"
#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/core_values.h"
#include "compiler/graph/requirements.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::IntConstant;
using tensor::Unflatten;

Expected<std::vector<Type>> InferIota(const InferContext& context) {
  TVMVM_TRY(Dims dims, DimsAttribute(context.node, "dims"));
  TVMVM_TRY(DType dtype, DTypeAttribute(context.node, "dtype"));
  int64_t axis = context.node.Int("axis");
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size()))
    return BadAxis(axis, static_cast<int>(dims.size()));
  return One(dtype, std::move(dims));
}

Expr IotaElement(ElementContext& context, std::span<const Expr> index) {
  return Cast(context.output_type().dtype, index[static_cast<size_t>(context.node().Int("axis"))]);
}

Expected<std::vector<Type>> InferTranspose(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  TVMVM_TRY(std::vector<int64_t> perm, IntsAttribute(context.node, "perm"));
  std::vector<int64_t> sorted = perm, axes(type.dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::sort(sorted.begin(), sorted.end());
  if (sorted != axes)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("perm of {} entries is no permutation of the {} axes of {}", perm.size(),
                                 type.rank(), type.ToString()));
  Dims dims;
  for (int64_t axis : perm) dims.push_back(type.dims[static_cast<size_t>(axis)]);
  return One(type.dtype, std::move(dims));
}

Expr TransposeElement(ElementContext& context, std::span<const Expr> index) {
  const std::vector<int64_t>& perm = context.node().Ints("perm");
  std::vector<Expr> source(index.size());
  for (size_t i = 0; i < perm.size(); ++i) source[static_cast<size_t>(perm[i])] = index[i];
  return context.Input(0, source);
}

Expected<std::vector<Type>> InferExpand(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  TVMVM_TRY(Dims dims, DimsAttribute(context.node, "dims"));
  if (dims.size() < type.dims.size())
    return MakeError(Code::kInvalidArgument, fmt::format("{} cannot expand to the lower rank of {}",
                                                         type.ToString(), ToString(dims)));
  TVMVM_TRY(Dims broadcast, BroadcastDims(type.dims, dims));
  return One(type.dtype, std::move(dims));
}

Expr ExpandElement(ElementContext& context, std::span<const Expr> index) {
  return context.Input(0, BroadcastIndex(context.input_type(0), context.output_type(), index));
}

Expected<std::vector<Type>> InferSlice(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  TVMVM_TRY(Dims starts, DimsAttribute(context.node, "starts"));
  TVMVM_TRY(Dims steps, DimsAttribute(context.node, "steps"));
  TVMVM_TRY(Dims dims, DimsAttribute(context.node, "dims"));
  size_t rank = type.dims.size();
  if (starts.size() != rank || steps.size() != rank || dims.size() != rank)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} starts, {} steps and {} dims for {}", starts.size(), steps.size(),
                                 dims.size(), type.ToString()));
  for (size_t axis = 0; axis < rank; ++axis) {
    if (!dims[axis].constant() || !type.dims[axis].constant() || !starts[axis].constant() ||
        !steps[axis].constant())
      continue;
    int64_t size = dims[axis].value(), extent = type.dims[axis].value(), first = starts[axis].value();
    if (size == 0) continue;
    __int128 last = first + static_cast<__int128>(steps[axis].value()) * (static_cast<__int128>(size) - 1);
    if (size < 0 || first < 0 || first >= extent || last < 0 || last >= extent)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("axis {}: {} elements from {} by {} leave the {} of {}", axis, size, first,
                                   steps[axis].value(), extent, type.ToString()));
  }
  return One(type.dtype, std::move(dims));
}

Expr SliceElement(ElementContext& context, std::span<const Expr> index) {
  const Dims& starts = context.node().DimList("starts");
  const Dims& steps = context.node().DimList("steps");
  std::vector<Expr> source;
  for (size_t axis = 0; axis < index.size(); ++axis)
    source.push_back(index[axis] * DimValue(steps[axis]) + DimValue(starts[axis]));
  return context.Input(0, source);
}

Expected<std::vector<Type>> InferConcat(const InferContext& context) {
  TVMVM_TRY(Type first, RankedTensor(context, 0));
  int64_t axis = context.node.Int("axis");
  if (axis < 0 || axis >= first.rank()) return BadAxis(axis, first.rank());
  Dims dims = first.dims;
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    TVMVM_TRY(Type type, RankedTensor(context, i));
    bool fits = type.rank() == first.rank() && type.dtype == first.dtype;
    for (int k = 0; fits && k < type.rank(); ++k) {
      Dim& known = dims[static_cast<size_t>(k)];
      const Dim& other = type.dims[static_cast<size_t>(k)];
      if (k == axis) {
        known = known + other;
      } else if (other.is_constant()) {
        fits = !known.is_constant() || known == other;
        known = other;
      }
    }
    if (!fits)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("input {} is {}, which does not join {} along axis {}", i, type.ToString(),
                                   first.ToString(), axis));
  }
  return One(first.dtype, std::move(dims));
}

// A chain of choices from the last input to the first; a read outside of an input is clamped into it and not
// used.
Expr ConcatElement(ElementContext& context, std::span<const Expr> index) {
  auto axis = static_cast<size_t>(context.node().Int("axis"));
  std::vector<Expr> source(index.begin(), index.end());
  std::vector<Dim> ends;
  Dim end = 0;
  int count = static_cast<int>(context.node().inputs.size());
  for (int i = 0; i < count; ++i) {
    end = end + context.input_type(i).dims[axis];
    ends.push_back(end);
  }
  Expr result;
  for (int i = count - 1; i >= 0; --i) {
    const Dim& size = context.input_type(i).dims[axis];
    if (size.IsConstant(0)) continue;
    Dim begin = ends[static_cast<size_t>(i)] - size;
    Expr is_before_end = Less(index[axis], DimValue(ends[static_cast<size_t>(i)]));
    Expr is_after_begin = LessEqual(DimValue(begin), index[axis]);
    if (IsIntConstant(is_before_end, 0) || IsIntConstant(is_after_begin, 0)) continue;
    Expr offset = ClampIndex(index[axis] - DimValue(begin), DimValue(size));
    source[axis] = offset;
    Expr element = context.Input(i, source);
    result = result.valid() ? Select(is_before_end, element, result) : element;
  }
  return result.valid() ? result : tensor::Constant(context.output_type().dtype, 0);
}

// ---- reshape ----

Expected<std::vector<Type>> InferReshape(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  TVMVM_TRY(Dims dims, DimsAttribute(context.node, "dims"));
  Dim before = Product(type.dims), after = Product(dims);
  if (before.is_constant() && after.is_constant() && !(before == after))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} has {} elements, shape {} has {}", type.ToString(), before.ToString(),
                                 ToString(dims), after.ToString()));
  return One(type.dtype, std::move(dims));
}

// Products of the last dims: SuffixProducts([a, b, c]) is [1, c, b*c, a*b*c].
std::vector<Dim> SuffixProducts(const Dims& dims) {
  std::vector<Dim> products{1};
  for (size_t i = dims.size(); i-- > 0;) products.push_back(dims[i] * products.back());
  return products;
}

bool Divides(const Dim& a, const Dim& b) { return FloorMod(b, a).IsConstant(0); }

// The strides at which either shape has an axis, from 1 upwards, where each divides the next; empty when that
// cannot be shown. The last is the number of elements.
std::vector<Dim> CommonStrides(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  std::vector<Dim> strides{1};
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const Dim* next = i == a.size() ? &b[j++] : j == b.size() ? &a[i++] : nullptr;
    if (!next) next = Divides(a[i], b[j]) ? &a[i++] : &b[j++];
    if (*next == strides.back()) continue;
    if (next->IsConstant(0) || !Divides(strides.back(), *next)) return {};
    strides.push_back(*next);
  }
  return strides;
}

// The flat index of index[axis] * stride[axis] and so on.
Expr Flatten(const Dims& dims, std::span<const Expr> index) {
  Expr flat = IntConstant(0);
  for (size_t axis = 0; axis < dims.size(); ++axis) flat = flat * DimValue(dims[axis]) + index[axis];
  return flat;
}

// Splits each index at the common strides into digits, then joins the digits to the other shape's indices: so
// only the axes that change are touched, and the rest stays affine.
std::vector<Expr> Regroup(const Dims& from, std::span<const Expr> index, const Dims& to) {
  std::vector<Dim> from_strides = SuffixProducts(from), to_strides = SuffixProducts(to);
  std::vector<Dim> strides = CommonStrides(from_strides, to_strides);
  if (strides.empty()) return Unflatten(Flatten(from, index), to);
  auto position = [&strides](const Dim& stride) {
    return static_cast<size_t>(std::find(strides.begin(), strides.end(), stride) - strides.begin());
  };
  std::vector<Expr> digits(strides.size(), IntConstant(0));  // digits[k] counts strides[k]
  for (size_t axis = 0; axis < from.size(); ++axis) {
    size_t low = position(from_strides[from.size() - 1 - axis]),
           high = position(from_strides[from.size() - axis]);
    for (size_t k = low; k < high; ++k) {
      Expr digit = FloorDiv(index[axis], DimValue(FloorDiv(strides[k], strides[low])));
      digits[k] = k + 1 < high ? FloorMod(digit, DimValue(FloorDiv(strides[k + 1], strides[k]))) : digit;
    }
  }
  std::vector<Expr> result;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    size_t low = position(to_strides[to.size() - 1 - axis]), high = position(to_strides[to.size() - axis]);
    Expr joined = IntConstant(0);
    for (size_t k = high; k-- > low;)
      joined = joined + digits[k] * DimValue(FloorDiv(strides[k], strides[low]));
    result.push_back(joined);
  }
  return result;
}

Expr ReshapeElement(ElementContext& context, std::span<const Expr> index) {
  return context.Input(0, Regroup(context.output_type().dims, index, context.input_type(0).dims));
}

// ---- what else rows tell ----

std::optional<Dim> WholeView(const Function&, const Node&) { return Dim(0); }

// The bytes before a slice whose elements lie together: unit steps, and the sliced axis has only axes of size
// 1 before it and only whole axes after it.
std::optional<Dim> SliceOffset(const Function& function, const Node& node) {
  const Type& type = function.type(node.inputs[0]);
  if (DTypeBits(type.dtype) < 8) return std::nullopt;
  const Dims &sizes = node.DimList("dims"), &steps = node.DimList("steps"), &starts = node.DimList("starts");
  auto is_whole = [&](size_t axis) { return sizes[axis] == type.dims[axis] && steps[axis].IsConstant(1); };
  size_t inner = type.dims.size();  // whole axes from here on
  while (inner > 0 && is_whole(inner - 1)) --inner;
  if (inner > 0 && !steps[inner - 1].IsConstant(1) && !sizes[inner - 1].IsConstant(1)) return std::nullopt;
  for (size_t outer = 0; outer + 1 < inner; ++outer)
    if (!sizes[outer].IsConstant(1)) return std::nullopt;
  Dim offset = 0;
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    offset = offset * type.dims[axis];
    if (!is_whole(axis)) offset = offset + starts[axis];
  }
  return offset * Dim(DTypeBits(type.dtype) / 8);
}

std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  return strides;
}

std::optional<StridedCopy> CopyTransposed(const Node& node, const std::vector<int64_t>& dims,
                                          const std::vector<int64_t>&) {
  StridedCopy copy;
  std::vector<int64_t> own = RowMajorStrides(dims);
  for (int64_t axis : node.Ints("perm")) copy.strides.push_back(own[static_cast<size_t>(axis)]);
  return copy;
}

std::optional<StridedCopy> CopyExpanded(const Node&, const std::vector<int64_t>& dims,
                                        const std::vector<int64_t>& sizes) {
  StridedCopy copy;
  std::vector<int64_t> own = RowMajorStrides(dims);
  size_t added = sizes.size() - dims.size();
  copy.strides.assign(sizes.size(), 0);
  for (size_t axis = 0; axis < dims.size(); ++axis)
    copy.strides[added + axis] = dims[axis] == 1 ? 0 : own[axis];
  return copy;
}

std::optional<StridedCopy> CopySliced(const Node& node, const std::vector<int64_t>& dims,
                                      const std::vector<int64_t>& sizes) {
  StridedCopy copy;
  std::vector<int64_t> own = RowMajorStrides(dims);
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    std::optional<int64_t> start = node.DimList("starts")[axis].constant(),
                           step = node.DimList("steps")[axis].constant();
    if (!start || !step) return std::nullopt;
    copy.offset += *start * own[axis];
    copy.strides.push_back(*step * own[axis]);
    __int128 last = *start + static_cast<__int128>(*step) * (sizes[axis] - 1);
    if (sizes[axis] > 0 && (*start < 0 || *start >= dims[axis] || last < 0 || last >= dims[axis]))
      return std::nullopt;
  }
  return copy;
}

void RequireJoinable(const Function& function, const Node& node, Requirements* list) {
  const Type& first = function.type(node.inputs[0]);
  int64_t axis = node.Int("axis");
  if (axis < 0) axis += first.rank();
  for (size_t i = 1; i < node.inputs.size(); ++i)
    for (int other = 0; other < first.rank(); ++other)
      if (other != axis)
        RequireEqual(list, function.type(node.inputs[i]).dims[static_cast<size_t>(other)],
                     first.dims[static_cast<size_t>(other)], fmt::format("axis {} of input {}", other, i));
}

void RequireInside(const Function& function, const Node& node, Requirements* list) {
  const Type& type = function.type(node.inputs[0]);
  const Dims &starts = node.DimList("starts"), &steps = node.DimList("steps"), &sizes = node.DimList("dims");
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    if (starts[axis].IsConstant(0) && steps[axis].IsConstant(1) && sizes[axis] == type.dims[axis]) continue;
    Dim last = starts[axis] + (sizes[axis] - Dim(1)) * steps[axis];
    auto inside = [&](const Dim& position) {
      return And(LessEqual(0, position), Less(position, type.dims[axis]));
    };
    Require(list, Or(Equal(sizes[axis], 0), And(inside(starts[axis]), inside(last))),
            fmt::format("a slice of axis {} goes from {{0}} to {{1}}, the axis has size {{2}}", axis),
            {starts[axis], last, type.dims[axis]});
  }
}

void RequireEqualCounts(const Function& function, const Node& node, Requirements* list) {
  RequireEqual(list, Product(function.type(node.outputs[0]).dims),
               Product(function.type(node.inputs[0]).dims), "the number of elements of the new shape");
}

constexpr CoreOp kRows[] = {
    {.name = "iota",
     .kind = OpKind::kMovement,
     .infer = InferIota,
     .element = IotaElement,
     .meaning = "the index along `axis`",
     .attributes = "dims axis dtype",
     .traits = {.axes = AxisMap::kIndex, .pull = true, .free = true}},
    {.name = "transpose",
     .kind = OpKind::kMovement,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferTranspose,
     .element = TransposeElement,
     .meaning = "axis k of the result is axis perm[k] of x",
     .attributes = "perm",
     .traits = {.axes = AxisMap::kPermute, .moves = true, .final_move = true},
     .copy = CopyTransposed},
    {.name = "expand",
     .kind = OpKind::kMovement,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferExpand,
     .element = ExpandElement,
     .meaning = "x broadcast to `dims`",
     .attributes = "dims",
     .traits = {.axes = AxisMap::kBroadcast, .moves = true, .pull = true, .free = true},
     .requirements = RequireBroadcast,
     .copy = CopyExpanded},
    {.name = "slice",
     .kind = OpKind::kMovement,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferSlice,
     .element = SliceElement,
     .meaning = "elements starts + index * steps; steps may be negative",
     .attributes = "starts steps dims",
     .traits = {.axes = AxisMap::kSlice,
                .reorder = Reorder::kLists,
                .moves = true,
                .pull = true,
                .final_move = true},
     .requirements = RequireInside,
     .view_offset = SliceOffset,
     .copy = CopySliced},
    {.name = "concat",
     .kind = OpKind::kMovement,
     .min_inputs = 1,
     .max_inputs = -1,
     .infer = InferConcat,
     .element = ConcatElement,
     .meaning = "inputs one after the other along `axis`",
     .attributes = "axis joined",
     .traits = {.axes = AxisMap::kConcat, .reorder = Reorder::kAxis, .moves = true},
     .requirements = RequireJoinable},
    {.name = "reshape",
     .kind = OpKind::kView,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferReshape,
     .element = ReshapeElement,
     .meaning = "the same elements in the same order in shape `dims`",
     .attributes = "dims",
     .traits = {.axes = AxisMap::kRegroup, .moves = true},
     .requirements = RequireEqualCounts,
     .view_offset = WholeView},
};

}  // namespace

std::span<const CoreOp> MovementFamily() { return kRows; }

}  // namespace tvmvm::ir
