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
using tensor::Expr;
using tensor::IntConstant;
using tensor::Variable;

constexpr int64_t kBlock = 4096;  // tuples of a grid point on a CPU
constexpr int kTogether = 4;      // vectors that are looked at together

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

// Whole vectors whose indices are all within the range are passed over; only others, and what no vector
// fills, are looked at one by one.
class IndexCheck {
 public:
  explicit IndexCheck(LoopContext& context)
      : context_(context),
        indices_(context.input_type(0)),
        sizes_(context.node().DimList("sizes")),
        tuples_(FloorDiv(Product(indices_.dims), Dim(Columns()))),
        nest_(&context.kernel()) {
    for (const Dim& size : sizes_)
      context.kernel().error_messages.push_back(
          fmt::format("index {{}} is out of range {}", RangeText(size)));
  }

  tensor::StmtPtr Build() {
    const bool is_gpu = IsGpu(context_.target());
    const int64_t block = is_gpu ? 1 : kBlock;
    Expr first = Variable(nest_.Grid(0, "block", CeilDiv(tuples_, Dim(block)))) * IntConstant(block);
    Expr begin = nest_.Let("first", first);
    if (context_.has_input(1)) nest_.OpenIf(context_.Load(1, {}));
    Expr end = nest_.Let("end", Min(begin + IntConstant(block), DimValue(tuples_)));
    if (const int width = is_gpu ? 1 : LanesOf(context_.target(), indices_.dtype);
        width > 1 && Columns() == 1)
      begin = CheckVectors({begin, end}, width);
    CheckEach({begin, end});
    return nest_.Finish();
  }

 private:
  int64_t Columns() const { return static_cast<int64_t>(sizes_.size()); }

  Expr IndexAt(const Expr& position) {
    return tensor::Cast(DType::kI64, context_.Load(0, FlatPosition(indices_, position)));
  }

  static Expr IsOutside(const Expr& index, const Expr& size) {
    return Or(Less(index, IntConstant(0) - size), LessEqual(size, index));
  }

  // Where the whole steps end.
  Expr CheckVectors(const tensor::Range& range, int width) {
    const int count = kTogether * width;
    Expr end = WholeSteps(nest_, range, count);
    Expr first = Variable(nest_.Open("first", range.begin, end, tensor::LoopKind::kSerial, count));
    tensor::Reduction any{.kind = tensor::ReduceKind::kOr, .accumulator = DType::kBool};
    any.axes = {nest_.kernel()->NewVariable("lane")};
    any.extents = {IntConstant(count)};
    Expr is_outside = IsOutside(IndexAt(first + Variable(any.axes[0])), DimValue(sizes_[0]));
    tensor::ReductionLowering reductions(&nest_, width);
    nest_.OpenIf(reductions.Lower(Reduce(std::move(any), is_outside, DType::kBool), {}));
    CheckEach({first, first + IntConstant(count)});
    nest_.Close();
    nest_.Close();
    return end;
  }

  void CheckEach(const tensor::Range& range) {
    Expr tuple = Variable(nest_.Open("tuple", range.begin, range.end));
    for (int64_t k = 0; k < Columns(); ++k) {
      Expr index = nest_.Let("index", IndexAt(tuple * IntConstant(Columns()) + IntConstant(k)));
      nest_.OpenIf(IsOutside(index, DimValue(sizes_[k])));
      nest_.Add(tensor::Fail(static_cast<int32_t>(k + 1), index));
      nest_.Close();
    }
    nest_.Close();
  }

  LoopContext& context_;
  const Type& indices_;
  const Dims& sizes_;
  const Dim tuples_;  // of one index for each size
  tensor::Nest nest_;
};

Expected<tensor::StmtPtr> CheckIndicesLoops(LoopContext& context) { return IndexCheck(context).Build(); }

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
