// Probabilities of many classes from those of each pair.
//
//   couple_pairs(r) {classes}: r is [rows, pairs] of f32 or f64, the probability of class i when it is i or
//   j, for all i < j, row by row of that triangle; the result [rows, classes] is the distribution that fits
//   them best (Wu, Lin and Weng's second method), improved until it changes by less than 0.005 / classes.
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Memory;
using tensor::Variable;

constexpr int64_t kMostClasses = 128;  // matrices of them are local memory

Expected<std::vector<Type>> InferCouplePairs(const InferContext& context) {
  TVMVM_TRY(Type pairs, RankedTensor(context, 0));
  int64_t classes = context.node.Int("classes");
  if (classes < 2 || classes > kMostClasses)
    return MakeError(Code::kUnsupported,
                     fmt::format("{} classes, 2 to {} are possible", classes, kMostClasses));
  bool is_float = pairs.dtype == DType::kF32 || pairs.dtype == DType::kF64;
  if (!is_float || pairs.rank() != 2 || !pairs.dims[1].IsConstant(classes * (classes - 1) / 2))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("pairs are {} for {} classes", pairs.ToString(), classes));
  return One(pairs.dtype, {pairs.dims[0], classes});
}

// A local vector or square matrix.
class Local {
 public:
  Local(tensor::Nest* nest, const char* name, DType dtype, int64_t size)
      : nest_(nest), dtype_(dtype), buffer_(nest->Local(name, dtype, Memory::kLocal, size)) {}
  Expr operator[](const Expr& at) const { return tensor::Load(buffer_, dtype_, at); }
  void Set(const Expr& at, Expr value) const { nest_->Add(tensor::Store(buffer_, at, std::move(value))); }

 private:
  tensor::Nest* nest_;
  DType dtype_;
  uint32_t buffer_;
};

class Coupling {
 public:
  Coupling(LoopContext& context, tensor::Nest* nest)
      : context_(context),
        nest_(*nest),
        dtype_(context.input_type(0).dtype),
        classes_(context.node().Int("classes")),
        pair_(nest, "pair", dtype_, classes_ * classes_),
        q_(nest, "q", dtype_, classes_ * classes_),
        p_(nest, "p", dtype_, classes_),
        qp_(nest, "qp", dtype_, classes_),
        pqp_(nest, "pqp", dtype_, 1),
        worst_(nest, "worst", dtype_, 1) {}

  void Build(const Expr& row) {
    ReadPairs(row);
    MakeQ();
    worst_.Set(zero_, Number(1));
    nest_.Open("round", zero_, IntConstant(std::max<int64_t>(100, classes_)));
    nest_.OpenIf(LessEqual(Number(0.005 / static_cast<double>(classes_)), worst_[zero_]));
    Measure();
    nest_.OpenIf(LessEqual(Number(0.005 / static_cast<double>(classes_)), worst_[zero_]));
    Improve();
    nest_.Close();
    nest_.Close();
    nest_.Close();
    Expr t = EachClass("t");
    nest_.Add(context_.Store(0, std::array{row, t}, p_[t]));
    nest_.Close();
  }

 private:
  Expr Number(double value) const { return tensor::Constant(dtype_, value); }
  Expr At(const Expr& i, const Expr& j) const { return i * IntConstant(classes_) + j; }
  Expr EachClass(const char* name) { return Variable(nest_.Open(name, zero_, IntConstant(classes_))); }

  // The probability of the first of two classes, for both orders.
  void ReadPairs(const Expr& row) {
    Expr i = EachClass("i");
    Expr j = Variable(nest_.Open("j", i + one_, IntConstant(classes_)));
    Expr before = FloorDiv(i * (i + one_), IntConstant(2));
    Expr r =
        nest_.Let("r", context_.Load(0, std::array{row, i * IntConstant(classes_) - before + j - i - one_}));
    pair_.Set(At(i, j), r);
    pair_.Set(At(j, i), Number(1) - r);
    nest_.Close();
    nest_.Close();
  }

  void MakeQ() {
    Expr t = EachClass("t");
    p_.Set(t, Number(1.0 / static_cast<double>(classes_)));
    q_.Set(At(t, t), Number(0));
    Expr j = EachClass("j");
    nest_.OpenIf(tensor::Binary(ExprOp::kNotEqual, j, t));
    Expr other = pair_[At(j, t)];
    q_.Set(At(t, t), q_[At(t, t)] + other * other);
    q_.Set(At(t, j), Number(0) - other * pair_[At(t, j)]);
    nest_.Close();
    nest_.Close();
    nest_.Close();
  }

  // Qp, pQp, and how far p is from where it is to be.
  void Measure() {
    pqp_.Set(zero_, Number(0));
    Expr t = EachClass("t");
    qp_.Set(t, Number(0));
    Expr j = EachClass("j");
    qp_.Set(t, qp_[t] + q_[At(t, j)] * p_[j]);
    nest_.Close();
    pqp_.Set(zero_, pqp_[zero_] + p_[t] * qp_[t]);
    nest_.Close();
    worst_.Set(zero_, Number(0));
    Expr k = EachClass("k");
    worst_.Set(zero_, Max(worst_[zero_], tensor::Unary(ExprOp::kAbs, qp_[k] - pqp_[zero_])));
    nest_.Close();
  }

  void Improve() {
    Expr t = EachClass("t");
    Expr step = nest_.Let("step", (pqp_[zero_] - qp_[t]) / q_[At(t, t)]);
    Expr scale = nest_.Let("scale", Number(1) + step);
    p_.Set(t, p_[t] + step);
    pqp_.Set(zero_, (pqp_[zero_] + step * (step * q_[At(t, t)] + Number(2) * qp_[t])) / (scale * scale));
    Expr j = EachClass("j");
    p_.Set(j, p_[j] / scale);
    qp_.Set(j, (qp_[j] + step * q_[At(t, j)]) / scale);
    nest_.Close();
    nest_.Close();
  }

  LoopContext& context_;
  tensor::Nest& nest_;
  DType dtype_;
  int64_t classes_;
  Expr zero_ = IntConstant(0), one_ = IntConstant(1);
  Local pair_, q_, p_, qp_, pqp_, worst_;
};

Expected<tensor::StmtPtr> CouplePairsLoops(LoopContext& context) {
  tensor::Nest nest(&context.kernel());
  Expr row = Variable(nest.Grid(0, "row", context.input_type(0).dims[0]));
  Coupling(context, &nest).Build(row);
  return nest.Finish();
}

std::vector<Work> CouplePairsWork(const WorkContext& context) {
  constexpr int64_t kUsualRounds = 16;
  const int64_t classes = context.node.Int("classes");
  return {{context.inputs[0].dims[0] * Dim(classes * classes * (kUsualRounds * 6 + kScalarStep)),
           BytesOnce(context)}};
}

constexpr CoreOp kRows[] = {
    {.name = "couple_pairs",
     .kind = OpKind::kProcedural,
     .min_inputs = 1,
     .max_inputs = 1,
     .infer = InferCouplePairs,
     .loops = CouplePairsLoops,
     .work = CouplePairsWork,
     .meaning = "probabilities of `classes` classes from those of each pair of them",
     .attributes = "classes"},
};

}  // namespace

std::span<const CoreOp> CouplingFamily() { return kRows; }

}  // namespace tvmvm::ir
