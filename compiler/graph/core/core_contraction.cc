// contract: a sum of products over shared axes; matrix multiplication in all its forms.

#include <algorithm>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/core_values.h"
#include "compiler/graph/requirements.h"
#include "fmt/format.h"

namespace tvmvm::ir {
namespace {

using tensor::Expr;

bool Contains(const std::vector<int64_t>& list, int64_t axis) {
  return std::find(list.begin(), list.end(), axis) != list.end();
}

std::vector<int64_t> FreeAxes(int rank, const std::vector<int64_t>& batch,
                              const std::vector<int64_t>& contract) {
  std::vector<int64_t> free;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!Contains(batch, axis) && !Contains(contract, axis)) free.push_back(axis);
  return free;
}

Status CheckAxes(const Type& type, const std::vector<int64_t>& batch, const std::vector<int64_t>& contract,
                 const char* side) {
  std::vector<bool> seen(static_cast<size_t>(type.rank()), false);
  for (const auto* list : {&batch, &contract})
    for (int64_t axis : *list) {
      if (axis < 0 || axis >= type.rank() || seen[static_cast<size_t>(axis)])
        return MakeError(Code::kInvalidArgument,
                         fmt::format("axis {} of the {} operand {} is out of range or given twice", axis,
                                     side, type.ToString()));
      seen[static_cast<size_t>(axis)] = true;
    }
  return {};
}

// Paired axes have one size; constants that differ are an error, symbols are taken as equal.
Status CheckPairs(const Type& a, const Type& b, const std::vector<int64_t>& lhs,
                  const std::vector<int64_t>& rhs, const char* what) {
  if (lhs.size() != rhs.size())
    return MakeError(Code::kInvalidArgument,
                     fmt::format("{} {} axes on the left, {} on the right", lhs.size(), what, rhs.size()));
  for (size_t i = 0; i < lhs.size(); ++i) {
    const Dim &x = a.dims[static_cast<size_t>(lhs[i])], &y = b.dims[static_cast<size_t>(rhs[i])];
    if (x.is_constant() && y.is_constant() && x.value() != y.value())
      return MakeError(Code::kInvalidArgument,
                       fmt::format("{} axes differ: {} of {} and {} of {}", what, x.ToString(), a.ToString(),
                                   y.ToString(), b.ToString()));
  }
  return {};
}

Expected<std::vector<Type>> InferContract(const InferContext& context) {
  const Type &a = context.inputs[0], &b = context.inputs[1];
  const auto &lhs_batch = context.node.Ints("lhs_batch"), &rhs_batch = context.node.Ints("rhs_batch");
  const auto &lhs_contract = context.node.Ints("lhs_contract"),
             &rhs_contract = context.node.Ints("rhs_contract");
  TVMVM_CHECK_OK(CheckAxes(a, lhs_batch, lhs_contract, "left"));
  TVMVM_CHECK_OK(CheckAxes(b, rhs_batch, rhs_contract, "right"));
  TVMVM_CHECK_OK(CheckPairs(a, b, lhs_batch, rhs_batch, "batch"));
  TVMVM_CHECK_OK(CheckPairs(a, b, lhs_contract, rhs_contract, "contracted"));
  Dims dims;
  for (int64_t axis : lhs_batch) dims.push_back(a.dims[static_cast<size_t>(axis)]);
  for (int64_t axis : FreeAxes(a.rank(), lhs_batch, lhs_contract))
    dims.push_back(a.dims[static_cast<size_t>(axis)]);
  for (int64_t axis : FreeAxes(b.rank(), rhs_batch, rhs_contract))
    dims.push_back(b.dims[static_cast<size_t>(axis)]);
  return std::vector<Type>{Type::Tensor(DTypeOr(context.node, a.dtype), std::move(dims))};
}

Expr ContractElement(ElementContext& context, std::span<const Expr> index) {
  const Node& node = context.node();
  const Type &a = context.input_type(0), &b = context.input_type(1);
  const auto &lhs_batch = node.Ints("lhs_batch"), &rhs_batch = node.Ints("rhs_batch");
  const auto &lhs_contract = node.Ints("lhs_contract"), &rhs_contract = node.Ints("rhs_contract");
  std::vector<Expr> left(a.dims.size()), right(b.dims.size());
  size_t next = 0;
  for (size_t i = 0; i < lhs_batch.size(); ++i) {
    left[static_cast<size_t>(lhs_batch[i])] = right[static_cast<size_t>(rhs_batch[i])] = index[next];
    ++next;
  }
  for (int64_t axis : FreeAxes(a.rank(), lhs_batch, lhs_contract))
    left[static_cast<size_t>(axis)] = index[next++];
  for (int64_t axis : FreeAxes(b.rank(), rhs_batch, rhs_contract))
    right[static_cast<size_t>(axis)] = index[next++];
  tensor::Reduction reduction;
  reduction.kind = tensor::ReduceKind::kSum;
  DType dtype = context.output_type().dtype;
  reduction.accumulator = AccumulatorOf(dtype);
  for (size_t i = 0; i < lhs_contract.size(); ++i) {
    size_t axis = static_cast<size_t>(lhs_contract[i]);
    left[axis] = right[static_cast<size_t>(rhs_contract[i])] =
        AddAxis(context, &reduction, a.dims[axis], "k");
  }
  Expr product = tensor::Cast(reduction.accumulator, context.Input(0, left)) *
                 tensor::Cast(reduction.accumulator, context.Input(1, right));
  return reduction.axes.empty() ? tensor::Cast(dtype, product)
                                : tensor::Reduce(std::move(reduction), product, dtype);
}

void RequireEqualAxes(const Function& function, const Node& node, Requirements* list) {
  const Dims &a = function.type(node.inputs[0]).dims, &b = function.type(node.inputs[1]).dims;
  for (auto [lhs, rhs] : {std::pair{"lhs_batch", "rhs_batch"}, std::pair{"lhs_contract", "rhs_contract"}}) {
    const std::vector<int64_t>&left = node.Ints(lhs), &right = node.Ints(rhs);
    for (size_t i = 0; i < left.size(); ++i)
      RequireEqual(
          list, a[static_cast<size_t>(left[i])], b[static_cast<size_t>(right[i])],
          fmt::format("axis {} of the left operand, paired with axis {} of the right,", left[i], right[i]));
  }
}

constexpr CoreOp kContractionOps[] = {
    {.name = "contract",
     .kind = OpKind::kContraction,
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = InferContract,
     .element = ContractElement,
     .meaning = "sum of products over the contracted axes, for each point of the batch and free axes",
     .attributes = "lhs_batch rhs_batch lhs_contract rhs_contract dtype",
     .requirements = RequireEqualAxes},
};

}  // namespace

std::span<const CoreOp> ContractionFamily() { return kContractionOps; }

}  // namespace tvmvm::ir
