// Writes at computed positions into a copy of x. Updates are applied in order, so that duplicates are well
// defined.
//
//   scatter_elements(x, indices, updates) {axis, reduction}; scatter_nd(x, indices, updates) {reduction}
//   in_place: x and the result share their memory (passes/update_in_place.cc)
//   reduction: "none" (the last one stays), "add", "mul", "min", "max"
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/loop_access.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Lanes;
using tensor::Variable;

Expected<Type> CheckScatter(const InferContext& context) {
  TVMVM_TRY(Type data, RankedTensor(context, 0));
  TVMVM_TRY(Type indices, RankedTensor(context, 1));
  TVMVM_TRY(Type updates, RankedTensor(context, 2));
  if (!IsInteger(indices.dtype))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("indices are {}, wanted integers", indices.ToString()));
  if (updates.dtype != data.dtype)
    return MakeError(Code::kInvalidArgument, fmt::format("updates are {}, wanted elements like {}",
                                                         updates.ToString(), data.ToString()));
  const std::string& reduction = context.node.String("reduction");
  for (std::string_view known : {"none", "add", "mul", "min", "max"})
    if (reduction == known) return data;
  return MakeError(Code::kUnsupported, fmt::format("scatter reduction '{}' is unknown", reduction));
}

Expected<std::vector<Type>> InferScatterElements(const InferContext& context) {
  TVMVM_TRY(Type data, CheckScatter(context));
  int64_t axis = context.node.Int("axis");
  if (axis < 0 || axis >= data.rank()) return BadAxis(axis, data.rank());
  if (context.inputs[1].rank() != data.rank() || context.inputs[2].rank() != data.rank())
    return MakeError(Code::kInvalidArgument, fmt::format("indices {} and updates {} for {}: ranks differ",
                                                         context.inputs[1].ToString(),
                                                         context.inputs[2].ToString(), data.ToString()));
  return One(data.dtype, data.dims);
}

Expected<std::vector<Type>> InferScatterNd(const InferContext& context) {
  TVMVM_TRY(Type data, CheckScatter(context));
  const Type& indices = context.inputs[1];
  std::optional<int64_t> depth = indices.dims.empty() ? std::nullopt : indices.dims.back().constant();
  if (!depth || *depth < 0 || *depth > data.rank() ||
      context.inputs[2].rank() != indices.rank() - 1 + data.rank() - *depth)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("indices {} and updates {} do not address {}", indices.ToString(),
                                 context.inputs[2].ToString(), data.ToString()));
  return One(data.dtype, data.dims);
}

Expr Reduced(const std::string& reduction, const Expr& old, const Expr& update) {
  bool is_bool = update.dtype() == DType::kBool;
  if (reduction == "add") return Binary(is_bool ? ExprOp::kOr : ExprOp::kAdd, old, update);
  if (reduction == "mul") return Binary(is_bool ? ExprOp::kAnd : ExprOp::kMul, old, update);
  if (reduction == "min") return Binary(is_bool ? ExprOp::kAnd : ExprOp::kMin, old, update);
  return Binary(is_bool ? ExprOp::kOr : ExprOp::kMax, old, update);
}

// With `in_place` the result lies where x lies.
void CopyData(LoopContext& context, tensor::Nest& nest) {
  if (context.node().decided.in_place) return;
  const Type& type = context.input_type(0);
  tensor::ForVectors(
      nest, "i", IntConstant(0), DimValue(Product(type.dims)), LanesOf(context.target(), type.dtype), 1,
      [&](const Expr& i, const Lanes& lanes) {
        ForLanes(nest, lanes, [&] {
          nest.Add(context.Store(0, FlatPosition(type, i), context.Load(0, FlatPosition(type, i))));
        });
      });
}

void Update(LoopContext& context, tensor::Nest& nest, std::span<const Expr> target, const Expr& update) {
  const std::string& reduction = context.node().String("reduction");
  Expr value = reduction == "none" ? update : Reduced(reduction, context.LoadOutput(0, target), update);
  nest.Add(context.Store(0, target, value));
}

Expected<tensor::StmtPtr> ScatterElementsLoops(LoopContext& context) {
  tensor::Nest nest(&context.kernel());
  CopyData(context, nest);
  auto axis = static_cast<size_t>(context.node().Int("axis"));
  const Dims& dims = context.input_type(1).dims;
  std::vector<Expr> index;
  for (const Dim& dim : dims) index.push_back(Variable(nest.Open("i", IntConstant(0), DimValue(dim))));
  std::vector<Expr> target = index;
  Expr position = tensor::Cast(DType::kI64, context.Load(1, index));
  target[axis] = nest.Let("position", WrapIndex(position, context.input_type(0).dims[axis]));
  Update(context, nest, target, context.Load(2, index));
  return nest.Finish();
}

// One tuple of indices addresses a slice of x that lies contiguous in memory.
Expected<tensor::StmtPtr> ScatterNdLoops(LoopContext& context) {
  tensor::Nest nest(&context.kernel());
  CopyData(context, nest);
  const Type &data = context.input_type(0), &indices = context.input_type(1),
             &updates = context.input_type(2);
  auto depth = static_cast<size_t>(indices.dims.back().value());
  Dim count = Product(Dims(indices.dims.begin(), indices.dims.end() - 1));
  Dim slice = Product(Dims(data.dims.begin() + static_cast<std::ptrdiff_t>(depth), data.dims.end()));
  Expr tuple = Variable(nest.Open("tuple", IntConstant(0), DimValue(count)));
  Expr place = IntConstant(0);
  for (size_t k = 0; k < depth; ++k) {
    Expr at = tuple * IntConstant(static_cast<int64_t>(depth)) + IntConstant(static_cast<int64_t>(k));
    Expr position = tensor::Cast(DType::kI64, context.Load(1, FlatPosition(indices, at)));
    place = place * DimValue(data.dims[k]) + WrapIndex(position, data.dims[k]);
  }
  Expr begin = nest.Let("begin", place * DimValue(slice));
  tensor::ForVectors(nest, "j", IntConstant(0), DimValue(slice), LanesOf(context.target(), data.dtype), 1,
                     [&](const Expr& j, const Lanes& lanes) {
                       ForLanes(nest, lanes, [&] {
                         Expr update = context.Load(2, FlatPosition(updates, tuple * DimValue(slice) + j));
                         Update(context, nest, FlatPosition(data, begin + j), update);
                       });
                     });
  return nest.Finish();
}

constexpr CoreOp kRows[] = {
    {.name = "scatter_elements",
     .kind = OpKind::kProcedural,
     .min_inputs = 3,
     .max_inputs = 3,
     .infer = InferScatterElements,
     .loops = ScatterElementsLoops,
     .meaning = "x with each update written along `axis` at the index of the same place",
     .attributes = "axis reduction",
     .traits = {.updates = true}},
    {.name = "scatter_nd",
     .kind = OpKind::kProcedural,
     .min_inputs = 3,
     .max_inputs = 3,
     .infer = InferScatterNd,
     .loops = ScatterNdLoops,
     .meaning = "x with slices, addressed by tuples along the last axis of the indices, updated",
     .attributes = "reduction",
     .traits = {.updates = true}},
};

}  // namespace

std::span<const CoreOp> ScatterFamily() { return kRows; }

}  // namespace tvmvm::ir
