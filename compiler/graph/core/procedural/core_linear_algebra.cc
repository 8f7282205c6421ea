// Square matrices: determinants and inverses by elimination with row pivots, in f64. One matrix a grid point.
//
//   determinant(x): [..., n, n] to [...]; inverse(x): [..., n, n], of a singular matrix not finite
#include <fmt/format.h>

#include <functional>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Lanes;
using tensor::Memory;
using tensor::Store;
using tensor::Variable;

constexpr DType kWide = DType::kF64;

Expected<Type> SquareMatrices(const InferContext& context) {
  TVMVM_TRY(Type type, RankedTensor(context, 0));
  bool fits = type.rank() >= 2 && IsFloat(type.dtype);
  if (fits) {
    auto rows = type.dims[type.dims.size() - 2].constant(), columns = type.dims.back().constant();
    fits = !rows || !columns || *rows == *columns;
  }
  if (fits) return type;
  return MakeError(Code::kInvalidArgument,
                   fmt::format("{}, wanted square matrices of floats", type.ToString()));
}

Expected<std::vector<Type>> InferDeterminant(const InferContext& context) {
  TVMVM_TRY(Type type, SquareMatrices(context));
  return One(type.dtype, Dims(type.dims.begin(), type.dims.end() - 2));
}

Expected<std::vector<Type>> InferInverse(const InferContext& context) {
  TVMVM_TRY(Type type, SquareMatrices(context));
  return One(type.dtype, type.dims);
}

// Rows of a matrix in scratch, and of the unit matrix right of it where the inverse is wanted.
class Elimination {
 public:
  Elimination(LoopContext& context, bool inverts)
      : context_(context),
        nest_(&context.kernel()),
        type_(context.input_type(0)),
        inverts_(inverts),
        // Sizes that differ are errors elsewhere; memory is safe all the same.
        size_(Min(type_.dims[type_.dims.size() - 2], type_.dims.back())),
        columns_(inverts ? size_ * Dim(2) : size_),
        width_(LanesOf(context.target(), kWide)) {}

  tensor::StmtPtr Build() {
    batch_ = Variable(nest_.Grid(0, "batch", Product(Dims(type_.dims.begin(), type_.dims.end() - 2))));
    tensor::LoopKernel& kernel = context_.kernel();
    kernel.scratch_bytes = CeilDiv(size_ * columns_ * Dim(8), 64) * 64;
    matrix_ = kernel.AddLocal("matrix", kWide, Memory::kScratch, 0, IntConstant(0));
    nest_.Add(tensor::Allocate(matrix_));
    best_ = nest_.Local("best", DType::kI64, Memory::kLocal, 1);
    determinant_ = nest_.Local("determinant", kWide, Memory::kLocal, 1);
    nest_.Add(Store(determinant_, IntConstant(0), tensor::Constant(kWide, 1)));
    Fill();
    Expr k = Variable(nest_.Open("k", IntConstant(0), DimValue(size_)));
    MovePivot(k);
    Expr pivot = nest_.Let("pivot", At(k, k));
    nest_.Add(Store(determinant_, IntConstant(0), Determinant() * pivot));
    if (inverts_)
      ForColumns(k, [&](const Expr& j) { nest_.Add(Store(matrix_, Place(k, j), At(k, j) / pivot)); });
    Subtract(k, pivot);
    nest_.Close();
    StoreResult();
    return nest_.Finish();
  }

 private:
  Expr Place(const Expr& row, const Expr& column) const { return row * DimValue(columns_) + column; }
  Expr At(const Expr& row, const Expr& column) const {
    return tensor::Load(matrix_, kWide, Place(row, column));
  }
  Expr Determinant() const { return tensor::Load(determinant_, kWide, IntConstant(0)); }
  Expr Element(const Expr& i, const Expr& j) const {
    return (batch_ * DimValue(type_.dims[type_.dims.size() - 2]) + i) * DimValue(type_.dims.back()) + j;
  }

  void Fill() {
    Expr i = Variable(nest_.Open("i", IntConstant(0), DimValue(size_)));
    Expr j = Variable(nest_.Open("j", IntConstant(0), DimValue(size_)));
    Expr element = context_.Load(0, FlatPosition(type_, Element(i, j)));
    nest_.Add(Store(matrix_, Place(i, j), tensor::Cast(kWide, element)));
    if (inverts_) {
      Expr unit = Select(Equal(i, j), tensor::Constant(kWide, 1), tensor::Constant(kWide, 0));
      nest_.Add(Store(matrix_, Place(i, j + DimValue(size_)), unit));
    }
    nest_.Close();
    nest_.Close();
  }

  // Swaps the row with the largest element of column k into row k.
  void MovePivot(const Expr& k) {
    auto best = [&] { return tensor::Load(best_, DType::kI64, IntConstant(0)); };
    auto magnitude = [&](const Expr& row) { return Unary(ExprOp::kAbs, At(row, k)); };
    nest_.Add(Store(best_, IntConstant(0), k));
    Expr row = Variable(nest_.Open("row", k + IntConstant(1), DimValue(size_)));
    Expr before = nest_.Let("before", best());
    Expr is_larger = Less(magnitude(before), magnitude(row));
    nest_.Add(Store(best_, IntConstant(0), Select(is_larger, row, before)));
    nest_.Close();
    Expr found = nest_.Let("found", best());
    nest_.OpenIf(Less(k, found));
    Expr j = Variable(nest_.Open("j", IntConstant(0), DimValue(columns_)));
    Expr upper = nest_.Let("upper", At(k, j)), lower = nest_.Let("lower", At(found, j));
    nest_.Add(Store(matrix_, Place(k, j), lower));
    nest_.Add(Store(matrix_, Place(found, j), upper));
    nest_.Close();
    nest_.Add(Store(determinant_, IntConstant(0), Unary(ExprOp::kNegate, Determinant())));
    nest_.Close();
  }

  // Makes column k of the other rows 0: of those below, or of all where the inverse is wanted, whose pivots
  // are 1 by now. Column k itself is not read again.
  void Subtract(const Expr& k, const Expr& pivot) {
    Expr row = Variable(nest_.Open("row", inverts_ ? IntConstant(0) : k + IntConstant(1), DimValue(size_)));
    nest_.OpenIf(Unary(ExprOp::kNot, Equal(row, k)));
    Expr zero = tensor::Constant(kWide, 0);
    Expr quotient = Select(Equal(pivot, zero), zero, At(row, k) / pivot);
    Expr factor = nest_.Let("factor", inverts_ ? At(row, k) : quotient);
    ForColumns(k, [&](const Expr& j) {
      nest_.Add(Store(matrix_, Place(row, j), nest_.Place(At(row, j) - factor * At(k, j))));
    });
    nest_.Close();
    nest_.Close();
  }

  // The columns right of k.
  void ForColumns(const Expr& k, const std::function<void(const Expr&)>& build) {
    tensor::ForVectors(nest_, "j", k + IntConstant(1), DimValue(columns_), width_, 1,
                       [&](const Expr& j, const Lanes& lanes) { ForLanes(nest_, lanes, [&] { build(j); }); });
  }

  void StoreResult() {
    if (!inverts_) {
      Expr value = tensor::Cast(type_.dtype, Determinant());
      nest_.Add(context_.Store(0, FlatPosition(context_.output_type(0), batch_), value));
      return;
    }
    Expr i = Variable(nest_.Open("i", IntConstant(0), DimValue(size_)));
    Expr j = Variable(nest_.Open("j", IntConstant(0), DimValue(size_)));
    Expr value = tensor::Cast(type_.dtype, At(i, j + DimValue(size_)));
    nest_.Add(context_.Store(0, FlatPosition(type_, Element(i, j)), value));
    nest_.Close();
    nest_.Close();
  }

  LoopContext& context_;
  tensor::Nest nest_;
  const Type& type_;
  bool inverts_;
  Dim size_, columns_;
  int width_;
  Expr batch_;
  uint32_t matrix_ = 0, best_ = 0, determinant_ = 0;
};

Expected<tensor::StmtPtr> DeterminantLoops(LoopContext& context) {
  return Elimination(context, false).Build();
}
Expected<tensor::StmtPtr> InverseLoops(LoopContext& context) { return Elimination(context, true).Build(); }

// Products of rows: a third of the cube below the pivots, or all rows of twice the columns.
std::vector<Work> EliminationWork(const WorkContext& context, int64_t thirds) {
  const Dim& size = context.inputs[0].dims.back();
  const Dim elements = ElementsOf(context.inputs[0]);
  return {{elements * (CeilDiv(size * Dim(2 * thirds), Dim(3)) + Dim(kScalarStep)), BytesOnce(context)}};
}
std::vector<Work> DeterminantWork(const WorkContext& context) { return EliminationWork(context, 1); }
std::vector<Work> InverseWork(const WorkContext& context) { return EliminationWork(context, 4); }

constexpr CoreOp kRows[] = {
    {.name = "determinant",
     .kind = OpKind::kProcedural,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferDeterminant,
     .loops = DeterminantLoops,
     .work = DeterminantWork,
     .meaning = "determinants of the matrices along the last two axes"},
    {.name = "inverse",
     .kind = OpKind::kProcedural,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferInverse,
     .loops = InverseLoops,
     .work = InverseWork,
     .meaning = "inverses of the matrices along the last two axes; of singular ones not finite"},
};

}  // namespace

std::span<const CoreOp> LinearAlgebraFamily() { return kRows; }

}  // namespace tvmvm::ir
