// The operators of OpBuilder: what is the identity vanishes, views of views collapse.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/graph/core_op.h"
#include "compiler/graph/op_builder.h"

namespace tvmvm::ir {
namespace {

bool AllAre(const Dims& dims, int64_t value) {
  return std::all_of(dims.begin(), dims.end(), [value](const Dim& dim) { return dim.IsConstant(value); });
}

std::optional<std::vector<int64_t>> ConstantsOf(const Dims& dims) {
  std::vector<int64_t> values;
  for (const Dim& dim : dims) {
    if (!dim.is_constant()) return std::nullopt;
    values.push_back(dim.value());
  }
  return values;
}

// The axes of more than one element keep their order: a transpose that moves no data.
bool MovesNothing(const Dims& dims, const std::vector<int64_t>& perm) {
  int64_t last = -1;
  for (int64_t axis : perm) {
    if (dims[static_cast<size_t>(axis)].IsConstant(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// Counts from the end where negative.
Dim WrappedIndex(const Dim& index, const Dim& size) { return Select(Less(index, 0), index + size, index); }

// [N, strides..., steps...], of each axis the positions apart by what they leave when divided by its stride,
// as [N, image...] that begins `skipped` positions behind the first.
ValueId JoinRemainders(OpBuilder& b, ValueId folded, const std::vector<int64_t>& strides, const Dims& skipped,
                       const Dims& image) {
  if (b.failed()) return folded;
  const Dims dims = b.dims(folded);
  const auto count = static_cast<int64_t>(strides.size());
  std::vector<int64_t> perm{0};
  Dims joined{dims[0]}, starts{0}, result{dims[0]};
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    perm.insert(perm.end(), {1 + count + i, 1 + i});
    joined.push_back(dims[1 + at + strides.size()] * Dim(strides[at]));
    starts.push_back(skipped[at]);
    result.push_back(image[at]);
  }
  ValueId whole = b.Reshape(b.Transpose(folded, perm), joined);
  return joined == result ? whole : b.Slice(whole, starts, Dims(starts.size(), Dim(1)), result);
}

}  // namespace

ValueId OpBuilder::Unary(tensor::ExprOp op, ValueId a) {
  const CoreOp* row = ElementwiseOp(op);
  return row ? Emit(row->name, {a}) : Fail(Code::kInternal, "no elementwise operator of one operand");
}

ValueId OpBuilder::Binary(tensor::ExprOp op, ValueId a, ValueId b) {
  const CoreOp* row = ElementwiseOp(op);
  return row ? Emit(row->name, {a, b}) : Fail(Code::kInternal, "no elementwise operator of two operands");
}

ValueId OpBuilder::Where(ValueId condition, ValueId a, ValueId b) { return Emit("where", {condition, a, b}); }

ValueId OpBuilder::Cast(ValueId a, DType to, bool saturate) {
  if (failed() || dtype(a) == to) return a;
  Attributes attributes{{"to", to}};
  if (!saturate) attributes["saturate"] = int64_t{0};
  return Emit("cast", {a}, std::move(attributes));
}

ValueId OpBuilder::CastWrapping(ValueId a, DType to) {
  return failed() ? a : Emit("cast", {a}, {{"to", to}, {"wraps", int64_t{1}}});
}

ValueId OpBuilder::Reshape(ValueId a, const Dims& dims) {
  if (failed()) return a;
  const Node* producer =
      function_->value(a).producer.valid() ? &function_->node(function_->value(a).producer) : nullptr;
  if (producer && producer->op->kind == OpKind::kView) {
    // Of a view its source, unless the sizes differ, which running would tell: in a branch that is not taken.
    auto before = Product(type(producer->inputs[0]).dims).constant(), after = Product(dims).constant();
    if (!before || !after || *before == *after) a = producer->inputs[0];
  }
  if (type(a).ranked && type(a).dims == dims) return a;
  const TensorData* data = ConstantData(a);
  std::optional<std::vector<int64_t>> sizes = ConstantsOf(dims);
  if (data && sizes) {
    TensorData view = *data;
    view.dims = std::move(*sizes);
    if (view.element_count() == data->element_count())
      return Constant(std::move(view), function_->value(a).name);
  }
  return Emit("reshape", {a}, {{"dims", dims}});
}

ValueId OpBuilder::Unsqueeze(ValueId a, std::vector<int64_t> axes) {
  if (failed()) return a;
  std::sort(axes.begin(), axes.end());
  Dims result = dims(a);
  for (int64_t axis : axes) {
    if (axis < 0 || axis > static_cast<int64_t>(result.size()))
      return Fail(Code::kInvalidArgument,
                  fmt::format("axis {} is out of range for rank {}", axis, result.size() + 1));
    result.insert(result.begin() + axis, Dim(1));
  }
  return Reshape(a, result);
}

ValueId OpBuilder::Squeeze(ValueId a, std::vector<int64_t> axes) {
  if (failed()) return a;
  Dims result;
  for (int axis = 0; axis < rank(a); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      result.push_back(dim(a, axis));
    } else if (dim(a, axis).constant().value_or(1) != 1) {
      return Fail(Code::kInvalidArgument, fmt::format("axis {} of {} has size {}, wanted 1", axis,
                                                      type(a).ToString(), dim(a, axis).ToString()));
    }
  }
  return Reshape(a, result);
}

ValueId OpBuilder::Transpose(ValueId a, std::vector<int64_t> perm) {
  if (failed()) return a;
  std::vector<int64_t> identity(perm.size());
  std::iota(identity.begin(), identity.end(), 0);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != identity || static_cast<int>(perm.size()) != rank(a))
    return Emit("transpose", {a}, {{"perm", std::move(perm)}});
  const Node* producer =
      function_->value(a).producer.valid() ? &function_->node(function_->value(a).producer) : nullptr;
  if (IsPermutation(producer)) {
    const std::vector<int64_t>& inner = producer->Ints("perm");
    for (int64_t& axis : perm) axis = inner[static_cast<size_t>(axis)];
    a = producer->inputs[0];
  }
  if (perm == identity) return a;
  if (MovesNothing(dims(a), perm)) {
    Dims result;
    for (int64_t axis : perm) result.push_back(dims(a)[static_cast<size_t>(axis)]);
    return Reshape(a, result);
  }
  return Emit("transpose", {a}, {{"perm", std::move(perm)}});
}

ValueId OpBuilder::Expand(ValueId a, const Dims& dims) {
  if (failed()) return a;
  Expected<Dims> result = BroadcastDims(type(a).dims, dims);
  if (!result) return Fail(result.error().code, result.error().message);
  if (*result == type(a).dims) return a;
  return Emit("expand", {a}, {{"dims", std::move(*result)}});
}

ValueId OpBuilder::Slice(ValueId a, const Dims& starts, const Dims& steps, const Dims& sizes) {
  if (failed()) return a;
  if (AllAre(starts, 0) && AllAre(steps, 1) && sizes == dims(a)) return a;
  return Emit("slice", {a}, {{"starts", starts}, {"steps", steps}, {"dims", sizes}});
}

ValueId OpBuilder::SliceAxis(ValueId a, int axis, const Dim& start, const Dim& size) {
  if (failed()) return a;
  axis = NormalizeAxis(axis, rank(a));
  if (failed()) return a;
  Dims starts(dims(a).size(), Dim(0)), steps(dims(a).size(), Dim(1)), sizes = dims(a);
  starts[static_cast<size_t>(axis)] = start;
  sizes[static_cast<size_t>(axis)] = size;
  return Slice(a, starts, steps, sizes);
}

ValueId OpBuilder::Pad(ValueId a, ValueId value, const Dims& low, const Dims& high, std::string_view mode) {
  if (failed() || (AllAre(low, 0) && AllAre(high, 0))) return a;
  std::vector<ValueId> inputs{a};
  if (value.valid()) inputs.push_back(value);
  return Emit("pad", std::move(inputs), {{"low", low}, {"high", high}, {"mode", std::string(mode)}});
}

ValueId OpBuilder::Concat(std::vector<ValueId> values, int axis) {
  if (failed()) return values.empty() ? Fail(Code::kInternal, "") : values[0];
  if (values.empty()) return Fail(Code::kInvalidArgument, "nothing to concatenate");
  axis = NormalizeAxis(axis, rank(values[0]));
  if (values.size() == 1) return values[0];
  std::vector<ValueId> kept;
  for (ValueId value : values)
    if (!dim(value, axis).IsConstant(0)) kept.push_back(value);
  bool same_rank = std::all_of(values.begin(), values.end(),
                               [&](ValueId value) { return rank(value) == rank(values[0]); });
  if (same_rank && kept.size() == 1) return kept[0];
  if (same_rank && !kept.empty()) values = std::move(kept);
  return Emit("concat", std::move(values), {{"axis", int64_t{axis}}});
}

bool OpBuilder::IsKnownIndex(ValueId indices) const {
  const auto& elements = function_->value(indices).elements;
  return elements && elements->size() == 1 && rank(indices) <= 1 && IsInteger(dtype(indices));
}

ValueId OpBuilder::Gather(ValueId a, ValueId indices, int axis) {
  if (failed()) return a;
  axis = NormalizeAxis(axis, rank(a));
  if (failed()) return a;
  if (!IsKnownIndex(indices)) return Emit("gather", {a, indices}, {{"axis", int64_t{axis}}});
  // One known index: a slice, which may be a view, and which the run holds to its range.
  const Dim& size = dim(a, axis);
  const Dim index = function_->value(indices).elements->front();
  if (index.is_constant() && size.is_constant() &&
      (index.value() < -size.value() || index.value() >= size.value()))
    return Fail(Code::kInvalidArgument, fmt::format("index {} is out of range for axis {} of {}",
                                                    index.value(), axis, type(a).ToString()));
  ValueId slice = SliceAxis(a, axis, Simplify(WrappedIndex(index, size), module_->Ranges()), 1);
  return rank(indices) == 0 ? Squeeze(slice, {axis}) : slice;
}

ValueId OpBuilder::Iota(DType dtype, const Dims& dims, int axis) {
  return Emit("iota", {}, {{"dtype", dtype}, {"dims", dims}, {"axis", int64_t{axis}}});
}

ValueId OpBuilder::Reduce(tensor::ReduceKind kind, ValueId a, std::vector<int64_t> axes, bool select_last) {
  if (failed()) return a;
  Dims flags(dims(a).size(), Dim(0));
  for (int64_t axis : axes) {
    int normal = NormalizeAxis(axis, rank(a));
    if (failed()) return a;
    flags[static_cast<size_t>(normal)] = 1;
  }
  return ReduceFlags(kind, a, flags, select_last);
}

ValueId OpBuilder::ReduceFlags(tensor::ReduceKind kind, ValueId a, const Dims& flags, bool select_last) {
  if (failed() || AllAre(flags, 0)) return a;
  Attributes attributes{{"flags", flags}, {"kind", std::string(ReduceKindName(kind))}};
  if (select_last) attributes["select_last"] = int64_t{1};
  return Emit("reduce", {a}, std::move(attributes));
}

ValueId OpBuilder::MatMul(ValueId a, ValueId b) {
  if (failed()) return a;
  if (rank(a) == 0 || rank(b) == 0)
    return Fail(Code::kInvalidArgument,
                fmt::format("a matrix product of {} and {}", type(a).ToString(), type(b).ToString()));
  bool is_row = rank(a) == 1, is_column = rank(b) == 1;
  if (is_row) a = Unsqueeze(a, {0});
  if (is_column) b = Unsqueeze(b, {1});
  int64_t batch = 0;
  if (rank(b) > 2) {
    Dims a_batch(dims(a).begin(), dims(a).end() - 2), b_batch(dims(b).begin(), dims(b).end() - 2);
    Expected<Dims> common = BroadcastDims(a_batch, b_batch);
    if (!common) return Fail(common.error().code, common.error().message);
    batch = static_cast<int64_t>(common->size());
    Dims a_dims = *common, b_dims = *common;
    a_dims.insert(a_dims.end(), dims(a).end() - 2, dims(a).end());
    b_dims.insert(b_dims.end(), dims(b).end() - 2, dims(b).end());
    a = Expand(a, a_dims);
    b = Expand(b, b_dims);
  }
  std::vector<int64_t> axes(static_cast<size_t>(batch));
  std::iota(axes.begin(), axes.end(), 0);
  ValueId product = Contract(a, b, axes, axes, {rank(a) - 1}, {rank(b) - 2});
  std::vector<int64_t> dropped;
  if (is_row) dropped.push_back(rank(product) - 2);
  if (is_column) dropped.push_back(rank(product) - 1);
  return dropped.empty() ? product : Squeeze(product, dropped);
}

ValueId OpBuilder::Contract(ValueId a, ValueId b, std::vector<int64_t> lhs_batch,
                            std::vector<int64_t> rhs_batch, std::vector<int64_t> lhs_contract,
                            std::vector<int64_t> rhs_contract, DType dtype) {
  Attributes attributes{{"lhs_batch", std::move(lhs_batch)},
                        {"rhs_batch", std::move(rhs_batch)},
                        {"lhs_contract", std::move(lhs_contract)},
                        {"rhs_contract", std::move(rhs_contract)}};
  if (dtype != DType::kInvalid) attributes["dtype"] = dtype;
  return Emit("contract", {a, b}, std::move(attributes));
}

ValueId OpBuilder::FoldWindows(ValueId windows, const WindowPlaces& places, const Dims& image) {
  Dims first, steps, skipped;
  for (size_t i = 0; i < image.size(); ++i) {
    const Dim stride(places.strides[i]), &low = places.low[i];
    first.push_back(FloorDiv(low, stride));
    steps.push_back(CeilDiv(image[i] + low, stride) - first.back());
    skipped.push_back(low - first.back() * stride);
  }
  const ValueId folded =
      Emit("fold", {windows},
           {{"strides", places.strides}, {"dilations", places.dilations}, {"first", first}, {"dims", steps}});
  return JoinRemainders(*this, folded, places.strides, skipped, image);
}

}  // namespace tvmvm::ir
