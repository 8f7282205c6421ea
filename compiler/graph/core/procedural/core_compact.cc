// The positions of what was chosen, one after another.
//
//   compact(flags) {count (dim)}: flags is bool[n]; the `count` positions whose flag is set, ascending.
//   `count` is the number of set flags; where it is less, the last positions are left out, where it is more,
//   0 follows.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"

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

// How the flags are divided: each block counts its own and then knows where its positions go.
struct CompactPlan {
  CompactPlan(const Dim& flags, bool is_gpu) {
    constexpr int64_t kBlock = 4096, kMostBlocks = 128, kGpuBlock = 64, kMostGpuBlocks = 1024;
    blocks =
        Max(Min(CeilDiv(flags, Dim(is_gpu ? kGpuBlock : kBlock)), Dim(is_gpu ? kMostGpuBlocks : kMostBlocks)),
            Dim(1));
    size = CeilDiv(flags, blocks);
  }
  Dim blocks, size;
};

class CompactLoops {
 public:
  explicit CompactLoops(LoopContext& context)
      : context_(context), flags_(context.input_type(0).dims[0]), plan_(flags_, IsGpu(context.target())) {}

  tensor::StmtPtr Build() {
    counts_ = context_.AddWorkspace(DType::kI64, plan_.blocks);
    context_.LaunchWhere(Less(1, plan_.blocks));
    context_.EndKernel(Count());
    return Write();
  }

 private:
  Expr OpenBlock(tensor::Nest& nest) {
    Expr block = Variable(nest.Grid(0, "block", plan_.blocks));
    first_ = nest.Let("first", Min(block * DimValue(plan_.size), DimValue(flags_)));
    end_ = nest.Let("end", Min(first_ + DimValue(plan_.size), DimValue(flags_)));
    return block;
  }

  tensor::StmtPtr Count() {
    tensor::Nest nest(&context_.kernel());
    Expr block = OpenBlock(nest);
    tensor::Reduction reduction;
    reduction.accumulator = DType::kI32;
    reduction.axes = {nest.kernel()->NewVariable("k")};
    reduction.extents = {nest.Let("count", end_ - first_)};
    Expr flag = context_.Load(0, std::array{first_ + Variable(reduction.axes[0])});
    Expr total = tensor::Reduce(reduction, tensor::Cast(DType::kI32, flag), DType::kI32);
    tensor::ReductionLowering lowering(&nest, LanesOf(context_.target(), DType::kI32));
    Expr count = tensor::Cast(DType::kI64, lowering.Lower(total, tensor::Lanes()));
    nest.Add(context_.StoreWorkspace(counts_, block, nest.Place(count)));
    return nest.Finish();
  }

  tensor::StmtPtr Write() {
    tensor::Nest nest(&context_.kernel());
    Expr zero = IntConstant(0), one = IntConstant(1);
    Expr block = OpenBlock(nest), wanted = DimValue(context_.output_type(0).dims[0]);
    uint32_t filled = nest.Local("filled", DType::kI64, tensor::Memory::kRegisters, 1);
    auto next = [&] { return tensor::Load(filled, DType::kI64, zero); };
    nest.Add(tensor::Store(filled, zero, zero));
    Expr earlier = Variable(nest.Open("earlier", zero, block));
    // Whoever counted, positions are within the result.
    Expr counted = Max(Min(context_.LoadWorkspace(counts_, earlier), wanted), zero);
    nest.Add(tensor::Store(filled, zero, Min(next() + counted, wanted)));
    nest.Close();
    Expr i = Variable(nest.Open("i", first_, end_));
    Expr place = nest.Let("place", next());
    nest.OpenIf(And(context_.Load(0, std::array{i}), Less(place, wanted)));
    nest.Add(context_.Store(0, std::array{place}, i));
    nest.Add(tensor::Store(filled, zero, place + one));
    nest.Close();
    nest.Close();
    // The last block knows how many there are.
    nest.OpenIf(Equal(block, DimValue(plan_.blocks - Dim(1))));
    Expr rest = Variable(nest.Open("rest", next(), wanted));
    nest.Add(context_.Store(0, std::array{rest}, zero));
    nest.Close();
    nest.Close();
    return nest.Finish();
  }

  LoopContext& context_;
  const Dim flags_;
  const CompactPlan plan_;
  Expr first_, end_;
  int counts_ = 0;
};

Expected<tensor::StmtPtr> BuildCompact(LoopContext& context) { return CompactLoops(context).Build(); }

std::vector<Work> CompactWork(const WorkContext& context) {
  const Dim flags = ElementsOf(context.inputs[0]);
  return {{flags, flags}, {flags * Dim(kScalarStep / 4), BytesOnce(context)}};
}

constexpr CoreOp kRows[] = {
    {.name = "compact",
     .kind = OpKind::kProcedural,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferCompact,
     .loops = BuildCompact,
     .work = CompactWork,
     .meaning = "the positions of the set flags, ascending, as many as `count`",
     .attributes = "count"},
};

}  // namespace

std::span<const CoreOp> CompactFamily() { return kRows; }

}  // namespace tvmvm::ir
