// The positions of what was chosen, one after another.
//
//   compact(flags) {count (dim)}: flags is bool[n]; the `count` positions whose flag is set, ascending.
//   `count` is the number of set flags; where it is less, the last positions are left out, where it is more,
//   0 follows.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/loop_access.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::IntConstant;
using tensor::Variable;

Expected<std::vector<Type>> InferCompact(const InferContext& context) {
  TVMVM_TRY(Type flags, RankedTensor(context, 0));
  if (flags.dtype != DType::kBool || flags.rank() != 1)
    return MakeError(Code::kInvalidArgument,
                     fmt::format("flags are {}, wanted tensor<bool,[n]>", flags.ToString()));
  const Attribute* count = context.node.Find("count");
  if (!count || !std::holds_alternative<Dim>(*count))
    return MakeError(Code::kInvalidArgument, "the attribute 'count' is no dim");
  return One(DType::kI64, {std::get<Dim>(*count)});
}

Expected<tensor::StmtPtr> CompactLoops(LoopContext& context) {
  tensor::Nest nest(&context.kernel());
  Expr zero = IntConstant(0), one = IntConstant(1);
  Expr count = DimValue(context.output_type(0).dims[0]);
  uint32_t filled = nest.Local("filled", DType::kI64, tensor::Memory::kRegisters, 1);
  auto next = [&] { return tensor::Load(filled, DType::kI64, zero); };
  nest.Add(tensor::Store(filled, zero, zero));
  Expr i = Variable(nest.Open("i", zero, DimValue(context.input_type(0).dims[0])));
  nest.OpenIf(And(context.Load(0, std::array{i}), Less(next(), count)));
  nest.Add(context.Store(0, std::array{next()}, i));
  nest.Add(tensor::Store(filled, zero, next() + one));
  nest.Close();
  nest.Close();
  Expr rest = Variable(nest.Open("rest", next(), count));
  nest.Add(context.Store(0, std::array{rest}, zero));
  return nest.Finish();
}

constexpr CoreOp kRows[] = {
    {.name = "compact",
     .kind = OpKind::kProcedural,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferCompact,
     .loops = CompactLoops,
     .meaning = "the positions of the set flags, ascending, as many as `count`",
     .attributes = "count"},
};

}  // namespace

std::span<const CoreOp> CompactFamily() { return kRows; }

}  // namespace tvmvm::ir
