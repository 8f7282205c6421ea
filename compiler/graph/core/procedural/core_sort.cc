// topk: the first `k` elements along an axis in order of size.
//
//   topk(x) {axis, k (dim), largest}: values and i64 indices; equal elements keep their order. Always sorted.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"
#include "compiler/graph/core/procedural/topk_loops.h"

namespace tvmvm::ir {
namespace {

Expected<std::vector<Type>> InferTopK(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  int64_t axis = context.node.Int("axis");
  if (axis < 0 || axis >= type.rank()) return BadAxis(axis, type.rank());
  if (!IsFloat(type.dtype) && !IsInteger(type.dtype))
    return MakeError(Code::kUnsupported, fmt::format("topk is not defined for {}", DTypeName(type.dtype)));
  Dim k = TopKCount(context.node);
  const Dim& size = type.dims[static_cast<size_t>(axis)];
  if (k.is_constant() && (k.value() < 0 || (size.is_constant() && k.value() > size.value())))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("k is {}, wanted 0 to {}", k.ToString(), size.ToString()));
  Dims dims = type.dims;
  dims[static_cast<size_t>(axis)] = k;
  return std::vector<Type>{Type::Tensor(type.dtype, dims), Type::Tensor(DType::kI64, dims)};
}

// One of the kernels runs, or two for rows in shares. CPUs: many rows side by side, few elements in order, or
// whatever there is; that one runs on GPUs, too, where work-groups take none of it.
Expected<tensor::StmtPtr> BuildTopK(LoopContext& context) {
  TopKPlan plan(context.input_type(0), context.node());
  if (IsGpu(context.target())) plan.ChooseGroups(context.input_type(0), context.node());
  auto add = [&](const Dim& when, auto&& build) {
    context.LaunchWhere(when);
    return when.IsConstant(0) ? tensor::Block({}) : build();
  };
  auto part = [&](TopKPart its, TopKSpaces spaces) {
    return [&, its, spaces] { return TopKGroupLoops(context, plan, its, spaces); };
  };
  auto in_lanes = [&](RowLayout layout) {
    return [&, layout] { return TopKBesideLoops(context, plan, layout); };
  };
  context.EndKernel(add(plan.is_last, in_lanes(RowLayout::kLast)));
  context.EndKernel(add(plan.is_beside, in_lanes(RowLayout::kBeside)));
  context.EndKernel(add(plan.is_scattered, in_lanes(RowLayout::kScattered)));
  context.EndKernel(add(plan.is_counted_beside, [&] { return TopKCountingBesideLoops(context, plan); }));
  context.EndKernel(add(plan.is_counted, [&] { return TopKCountingLoops(context, plan); }));
  context.EndKernel(add(plan.is_short, [&] { return TopKShortLoops(context, plan); }));
  context.EndKernel(add(plan.IsAny(), [&] { return TopKAnyLoops(context, plan); }));
  context.EndKernel(add(plan.is_sorted, part(TopKPart::kShort, {})));
  context.EndKernel(add(plan.is_whole, part(TopKPart::kWhole, {})));
  const SortKey key(context.input_type(0).dtype, true);
  auto add_spaces = [&](const Dim& elements) {
    if (elements.IsConstant(0)) return TopKSpaces();
    return TopKSpaces{context.AddWorkspace(key.type(), elements),
                      context.AddWorkspace(DType::kI32, elements)};
  };
  const Dim rows = plan.split.outer * plan.split.inner;
  const Dim most = FormOf(TopKPart::kShare, key).results();
  const Dim candidates = plan.is_shared * rows * plan.shares * Min(plan.count, most);
  const Dim runs = plan.is_merged * rows * plan.split.size;
  const TopKSpaces first = add_spaces(candidates + runs);
  context.EndKernel(add(plan.is_shared, part(TopKPart::kShare, first)));
  context.EndKernel(add(plan.is_shared, part(TopKPart::kMerge, first)));
  context.EndKernel(add(plan.is_merged, part(TopKPart::kRun, first)));
  const TopKSpaces second = add_spaces(runs);
  const TopKSpaces spaces[] = {first, second};
  for (int number = 0; number < kMostMerges; ++number)
    context.EndKernel(add(IsMerged(plan, key, number), [&] {
      return TopKMergeRuns(context, plan, number, spaces[number % 2], spaces[(number + 1) % 2]);
    }));
  const Dim is_second = FloorMod(MergesOf(plan, key), 2);
  context.EndKernel(
      add(And(plan.is_merged, Equal(is_second, 0)), [&] { return TopKResults(context, plan, first); }));
  return add(And(plan.is_merged, is_second), [&] { return TopKResults(context, plan, second); });
}

// Every element is looked at. Beside each other, rows take a few steps for each of the k, or for each element
// of the row; else those that are sorted are moved once for each digit; work-groups look at each element once
// for some of the digits, and for each stretch.
std::vector<Work> TopKWork(const WorkContext& context) {
  TopKPlan plan(context.inputs[0], context.node);
  const Dim elements = ElementsOf(context.inputs[0]), bytes = BytesOnce(context);
  const Dim rows = FloorDiv(elements, Max(plan.split.size, 1));
  const SortKey key(context.inputs[0].dtype, true);
  const Dim sorted = TopKAnySteps(plan, key) * Dim(kScalarStep);
  const Work in_lanes{elements * (plan.count * 6 + 12), bytes},
      counted{elements * (Min(plan.split.size, MostCounted(key, RowLayout::kLast)) * 3 + 24), bytes};
  constexpr int64_t kLooks = 48;  // operations of a work-group for an element
  plan.ChooseGroups(context.inputs[0], context.node);
  const Dim stretches = Max(CeilDiv(plan.count, FormOf(TopKPart::kWhole, key).results()), 1);
  const Dim entry = key.bits() / 8 + 4;  // bytes of a key and a position
  const Dim run_bytes = BytesOf(context.inputs[0]) + elements * entry;
  std::vector<Work> work{
      in_lanes,
      in_lanes,
      in_lanes,
      counted,
      counted,
      {elements * 8 + rows * plan.count * Dim(4 * kScalarStep), bytes},
      {elements * 8 + rows * sorted, bytes},
      {elements * Dim(kLooks), bytes},
      {elements * stretches * Dim(kLooks), bytes},
      {elements * Dim(kLooks), BytesOf(context.inputs[0])},
      {rows * plan.shares * plan.count * Dim(kLooks), rows * plan.shares * plan.count * Dim(8)},
      {elements * Dim(2 * kLooks), run_bytes}};
  for (int number = 0; number < kMostMerges; ++number)
    work.push_back({elements * Dim(2 * kLooks), elements * entry * Dim(2)});
  const Work results{rows * plan.count * Dim(8), rows * plan.count * Dim(4) + BytesOnce(context)};
  work.insert(work.end(), 2, results);
  return work;
}

constexpr CoreOp kRows[] = {
    {.name = "topk",
     .kind = OpKind::kProcedural,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferTopK,
     .loops = BuildTopK,
     .work = TopKWork,
     .meaning =
         "the k largest or smallest elements along `axis` and their indices, in order; equal ones by index",
     .attributes = "axis k largest"},
};

}  // namespace

std::span<const CoreOp> SortFamily() { return kRows; }

}  // namespace tvmvm::ir
