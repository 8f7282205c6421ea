// Checks of data: no results, but the call fails.
//
//   check_indices(indices, when?) {sizes}: an index is within [-size, size). With several sizes the last axis
//   of the indices is as long as they are many, and column k belongs to size k. `when`, a bool, says whether
//   to look at all. What reads by the indices limits them itself: on a GPU it runs before the failure is
//   seen.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::IntConstant;
using tensor::Variable;

constexpr int64_t kBlock = 4096;  // tuples of a grid point on a CPU

Expected<std::vector<Type>> InferCheckIndices(const InferContext& context) {
  TVMVM_TRY(Type indices, RankedTensor(context, 0));
  TVMVM_TRY(Dims sizes, DimsAttribute(context.node, "sizes"));
  if (indices.dtype != DType::kI32 && indices.dtype != DType::kI64)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("indices are {}, wanted i32 or i64", indices.ToString()));
  const auto columns = static_cast<int64_t>(sizes.size());
  if (columns == 0 || (columns > 1 && (indices.dims.empty() || !indices.dims.back().IsConstant(columns))))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("indices {} for {} sizes", indices.ToString(), columns));
  if (context.inputs.size() > 1) {
    TVMVM_TRY(Type when, RankedTensor(context, 1));
    if (when.dtype != DType::kBool || when.rank() != 0)
      return MakeError(Code::kInvalidArgument, fmt::format("'when' is {}, wanted a bool", when.ToString()));
  }
  return std::vector<Type>{};
}

std::string RangeText(const Dim& size) {
  std::string text = size.is_constant() ? size.ToString() : "{|" + size.ToString() + "}";
  return fmt::format("[-{}, {})", text, text);
}

// Tuples of one index for each size.
Dim TuplesOf(const Type& indices, const Dims& sizes) {
  return FloorDiv(Product(indices.dims), Dim(static_cast<int64_t>(sizes.size())));
}

Expected<tensor::StmtPtr> CheckIndicesLoops(LoopContext& context) {
  tensor::LoopKernel& kernel = context.kernel();
  const Type& indices = context.input_type(0);
  const Dims& sizes = context.node().DimList("sizes");
  const Dim tuples = TuplesOf(indices, sizes);
  const int64_t block = IsGpu(context.target()) ? 1 : kBlock;
  tensor::Nest nest(&kernel);
  Expr first =
      nest.Let("first", Variable(nest.Grid(0, "block", CeilDiv(tuples, Dim(block)))) * IntConstant(block));
  if (context.has_input(1)) nest.OpenIf(context.Load(1, {}));
  Expr end = nest.Let("end", Min(first + IntConstant(block), DimValue(tuples)));
  Expr tuple = Variable(nest.Open("tuple", first, end));
  for (size_t k = 0; k < sizes.size(); ++k) {
    Expr at = tuple * IntConstant(static_cast<int64_t>(sizes.size())) + IntConstant(static_cast<int64_t>(k));
    Expr index = nest.Let("index", tensor::Cast(DType::kI64, context.Load(0, FlatPosition(indices, at))));
    Expr size = DimValue(sizes[k]);
    kernel.error_messages.push_back(fmt::format("index {{}} is out of range {}", RangeText(sizes[k])));
    nest.OpenIf(Or(Less(index, IntConstant(0) - size), LessEqual(size, index)));
    nest.Add(tensor::Fail(static_cast<int32_t>(kernel.error_messages.size()), index));
    nest.Close();
  }
  return nest.Finish();
}

std::vector<Work> CheckIndicesWork(const WorkContext& context) {
  return {{ElementsOf(context.inputs[0]) * Dim(4), BytesOnce(context)}};
}

constexpr CoreOp kRows[] = {
    {.name = "check_indices",
     .kind = OpKind::kCheck,
     .min_inputs = 1,
     .max_inputs = 2,
     .infer = InferCheckIndices,
     .loops = CheckIndicesLoops,
     .work = CheckIndicesWork,
     .meaning = "nothing; fails where an index is not within [-size, size)",
     .attributes = "sizes"},
};

}  // namespace

std::span<const CoreOp> CheckFamily() { return kRows; }

}  // namespace tvmvm::ir
