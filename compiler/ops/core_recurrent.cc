// Recurrent cells in one direction, all steps in one kernel.
//
//   rnn(xw, r, bias?, h, lengths?)
//   gru(xw, r, bias?, h, lengths?) {linear_before_reset}
//   lstm(xw, r, bias?, h, lengths?, c, peepholes?) {input_forget}
//     {activations, alphas, betas, clip, has_clip, reverse}
// xw [steps, batch, gates*hidden]: the inputs times their weights plus biases, made by one contraction
// outside. r [hidden, gates*hidden]: the recurrent weights, transposed, so that a vector of gates reads at
// unit stride. bias [hidden]: gru with linear_before_reset only, the part inside of the reset. h, c [batch,
// hidden]: the first state. lengths [batch]: i32. peepholes [3*hidden]: input, output, forget. Gates in
// order: lstm input, output, forget, cell; gru update, reset, hidden. Results: y [steps, batch, hidden], the
// last h [batch, hidden], for lstm the last c. Steps at and after a length give 0.
#include <fmt/format.h>

#include "compiler/ops/core_families.h"
#include "compiler/ops/loop_access.h"

namespace tvmvm::ir {
namespace {

using tensor::Constant;
using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Lanes;
using tensor::Memory;
using tensor::Variable;

enum Input { kProjected, kRecurrent, kBias, kHidden, kLengths, kCell, kPeepholes };

Expected<std::vector<Type>> InferCell(const InferContext& context, int gates, bool has_cell) {
  TVMVM_TRY(Type projected, RankedTensor(context, kProjected));
  TVMVM_TRY(Type recurrent, RankedTensor(context, kRecurrent));
  if (projected.rank() != 3 || recurrent.rank() != 2 || !IsFloat(projected.dtype))
    return MakeError(Code::kInvalidArgument,
                     fmt::format("projected inputs {} and weights {}, wanted floats of rank 3 and 2",
                                 projected.ToString(), recurrent.ToString()));
  const Dim& hidden = recurrent.dims[0];
  if (recurrent.dims[1].is_constant() && hidden.is_constant() && !(recurrent.dims[1] == hidden * Dim(gates)))
    return MakeError(
        Code::kInvalidArgument,
        fmt::format("recurrent weights {}, wanted {} columns for each row", recurrent.ToString(), gates));
  Type state = Type::Tensor(projected.dtype, {projected.dims[1], hidden});
  std::vector<Type> results{Type::Tensor(projected.dtype, {projected.dims[0], projected.dims[1], hidden}),
                            state};
  if (has_cell) results.push_back(state);
  return results;
}

Expected<std::vector<Type>> InferRnn(const InferContext& context) { return InferCell(context, 1, false); }
Expected<std::vector<Type>> InferGru(const InferContext& context) { return InferCell(context, 3, false); }
Expected<std::vector<Type>> InferLstm(const InferContext& context) { return InferCell(context, 4, true); }

// One of ONNX's activation functions, with its parameters.
Expected<Expr> Activate(const std::string& name, const Expr& x, double alpha, double beta) {
  DType dtype = x.dtype();
  auto number = [&](double value) { return Constant(dtype, value); };
  Expr zero = number(0), one = number(1);
  if (name == "Tanh") return Unary(ExprOp::kTanh, x);
  if (name == "Sigmoid") return Unary(ExprOp::kSigmoid, x);
  if (name == "Relu") return Max(x, zero);
  if (name == "Affine") return x * number(alpha) + number(beta);
  if (name == "LeakyRelu") return Select(Less(x, zero), x * number(alpha), x);
  if (name == "ThresholdedRelu") return Select(Less(x, number(alpha)), zero, x);
  if (name == "ScaledTanh") return Unary(ExprOp::kTanh, x * number(beta)) * number(alpha);
  if (name == "HardSigmoid") return Max(Min(x * number(alpha) + number(beta), one), zero);
  if (name == "Elu") return Select(Less(x, zero), (Unary(ExprOp::kExp, x) - one) * number(alpha), x);
  if (name == "Softsign") return x / (one + Unary(ExprOp::kAbs, x));
  if (name == "Softplus")
    return Max(x, zero) +
           Unary(ExprOp::kLog1p, Unary(ExprOp::kExp, Unary(ExprOp::kNegate, Unary(ExprOp::kAbs, x))));
  return MakeError(Code::kUnsupported, fmt::format("activation '{}' is unknown", name));
}

// The loops of one cell for one batch entry.
class CellLoops {
 public:
  CellLoops(LoopContext& context, int gates, bool has_cell)
      : context_(context),
        node_(context.node()),
        nest_(&context.kernel()),
        gates_(gates),
        has_cell_(has_cell),
        dtype_(context.input_type(kProjected).dtype),
        width_(LanesOf(context.target(), dtype_)),
        hidden_(context.input_type(kRecurrent).dims[0]),
        steps_(context.input_type(kProjected).dims[0]) {}

  Expected<tensor::StmtPtr> Build(void (CellLoops::*step)()) {
    batch_ = Variable(nest_.Grid(0, "batch", context_.input_type(kProjected).dims[1]));
    state_ = Scratch("state", hidden_);
    gate_ = Scratch("gates", hidden_ * Dim(gates_));
    if (has_cell_) cell_ = Scratch("cell", hidden_);
    ForHidden([&](const Expr& j) {
      nest_.Add(tensor::Store(state_, j, Initial(kHidden, j)));
      if (has_cell_) nest_.Add(tensor::Store(cell_, j, Initial(kCell, j)));
    });
    Expr steps = DimValue(steps_);
    Expr length = steps;
    if (context_.has_input(kLengths)) {
      Expr index[] = {batch_};
      Expr given = tensor::Cast(DType::kI64, context_.Load(kLengths, index));
      length = nest_.Let("length", Max(Min(given, steps), IntConstant(0)));
    }
    Expr t = Variable(nest_.Open("t", IntConstant(0), length));
    step_ = node_.Int("reverse") != 0 ? nest_.Let("step", length - IntConstant(1) - t) : t;
    (this->*step)();
    nest_.Close();
    Expr after = Variable(nest_.Open("t", length, steps));
    ForHidden([&](const Expr& j) {
      nest_.Add(context_.Store(0, Index({after, batch_, j}), Constant(dtype_, 0)));
    });
    nest_.Close();
    ForHidden([&](const Expr& j) {
      nest_.Add(context_.Store(1, Index({batch_, j}), At(state_, j)));
      if (has_cell_) nest_.Add(context_.Store(2, Index({batch_, j}), At(cell_, j)));
    });
    if (error_) return tl::unexpected(*error_);
    return nest_.Finish();
  }

  void RnnStep() {
    Project(0, 1, state_);
    ForHidden([&](const Expr& j) { SetState(j, Act(0, At(gate_, j))); });
  }

  void GruStep() {
    bool is_linear = node_.Int("linear_before_reset") != 0;
    if (is_linear) return GruLinearStep();
    Project(0, 2, state_);
    uint32_t reset = reset_ ? *reset_ : *(reset_ = Scratch("reset", hidden_));
    ForHidden([&](const Expr& j) {
      nest_.Add(tensor::Store(reset, j, nest_.Place(Act(0, Gate(1, j)) * At(state_, j))));
    });
    Project(2, 1, reset);
    ForHidden(
        [&](const Expr& j) { SetState(j, Blend(Act(0, Gate(0, j)), Act(1, Gate(2, j)), At(state_, j))); });
  }

  void LstmStep() {
    Project(0, 4, state_);
    ForHidden([&](const Expr& j) {
      Expr cell = At(cell_, j);
      Expr input = Act(0, Gate(0, j) + Peephole(0, j, cell));
      Expr forget = node_.Int("input_forget") != 0 ? Constant(dtype_, 1) - input
                                                   : Act(0, Gate(2, j) + Peephole(2, j, cell));
      Expr next = nest_.Let("next", nest_.Place(forget * cell + input * Act(1, Gate(3, j))));
      Expr output = Act(0, Gate(1, j) + Peephole(1, j, next));
      Expr state = nest_.Place(output * Act(2, next, false));
      nest_.Add(tensor::Store(cell_, j, next));
      SetState(j, state);
    });
  }

 private:
  static std::vector<Expr> Index(std::initializer_list<Expr> index) { return index; }
  Expr At(uint32_t buffer, const Expr& j) const { return tensor::Load(buffer, dtype_, j); }
  Expr Gate(int gate, const Expr& j) const { return At(gate_, DimValue(hidden_ * Dim(gate)) + j); }

  uint32_t Scratch(const std::string& name, const Dim& elements) {
    tensor::LoopKernel& kernel = context_.kernel();
    uint32_t buffer = kernel.AddLocal(name, dtype_, Memory::kScratch, 0, DimValue(kernel.scratch_bytes));
    kernel.scratch_bytes = kernel.scratch_bytes + CeilDiv(elements * Dim(DTypeBits(dtype_) / 8), 64) * 64;
    nest_.Add(tensor::Allocate(buffer));
    return buffer;
  }

  Expr Initial(int input, const Expr& j) {
    if (!context_.has_input(input)) return Constant(dtype_, 0);
    return context_.Load(input, Index({batch_, j}));
  }

  void ForHidden(const std::function<void(const Expr&)>& build) {
    tensor::ForVectors(nest_, "j", IntConstant(0), DimValue(hidden_), width_, 1,
                       [&](const Expr& j, const Lanes& lanes) { ForLanes(nest_, lanes, [&] { build(j); }); });
  }

  // gates[first .. first + count) = xw + vector * r
  void Project(int first, int count, uint32_t vector) { Project(first, count, vector, true, gate_); }
  void Project(int first, int count, uint32_t vector, bool adds_input, uint32_t target) {
    tensor::ReductionLowering lowering(&nest_, width_);
    Expr begin = DimValue(hidden_ * Dim(first)), end = DimValue(hidden_ * Dim(first + count));
    tensor::ForVectors(nest_, "g", begin, end, width_, 4, [&](const Expr& g, const Lanes& lanes) {
      tensor::VariableId k = nest_.kernel()->NewVariable("k");
      tensor::Reduction reduction{.kind = tensor::ReduceKind::kSum, .accumulator = AccumulatorOf(dtype_)};
      reduction.axes = {k};
      reduction.extents = {DimValue(hidden_)};
      auto wide = [&](const Expr& e) { return tensor::Cast(reduction.accumulator, e); };
      Expr product = wide(At(vector, Variable(k))) * wide(context_.Load(kRecurrent, Index({Variable(k), g})));
      Expr sum = lowering.Lower(tensor::Reduce(reduction, product, dtype_), lanes);
      if (adds_input) sum = context_.Load(kProjected, Index({step_, batch_, g})) + sum;
      ForLanes(nest_, lanes, [&] { nest_.Add(tensor::Store(target, g, nest_.Place(sum))); });
    });
  }

  // The hidden gate is x + reset * (h R + bias): its recurrent part stays apart.
  void GruLinearStep() {
    Project(0, 2, state_);
    Project(2, 1, state_, false, gate_);
    ForHidden([&](const Expr& j) {
      Expr recurrent = Gate(2, j);
      if (context_.has_input(kBias)) recurrent = recurrent + context_.Load(kBias, Index({j}));
      Expr input = context_.Load(kProjected, Index({step_, batch_, DimValue(hidden_ * Dim(2)) + j}));
      Expr hidden = Act(1, input + Act(0, Gate(1, j)) * recurrent);
      SetState(j, Blend(Act(0, Gate(0, j)), hidden, At(state_, j)));
    });
  }

  Expr Blend(const Expr& update, const Expr& hidden, const Expr& state) const {
    return (Constant(dtype_, 1) - update) * hidden + update * state;
  }

  Expr Peephole(int part, const Expr& j, const Expr& cell) {
    if (!context_.has_input(kPeepholes)) return Constant(dtype_, -0.0);
    return context_.Load(kPeepholes, Index({DimValue(hidden_ * Dim(part)) + j})) * cell;
  }

  // Activation number `which` of the list; gates are clipped before.
  Expr Act(size_t which, Expr x, bool is_clipped = true) {
    if (is_clipped && node_.Int("has_clip") != 0) {
      double clip = node_.Float("clip");
      x = Max(Min(x, Constant(dtype_, clip)), Constant(dtype_, -clip));
    }
    const Attribute* names = node_.Find("activations");
    const auto* list = names ? std::get_if<std::vector<std::string>>(names) : nullptr;
    if (list == nullptr || which >= list->size()) {
      error_ = Error{Code::kInvalidArgument, fmt::format("activation {} is absent", which)};
      return x;
    }
    Expected<Expr> result =
        Activate((*list)[which], x, Parameter("alphas", which), Parameter("betas", which));
    if (result) return *result;
    error_ = result.error();
    return x;
  }

  double Parameter(std::string_view name, size_t which) const {
    const Attribute* attribute = node_.Find(name);
    const auto* values = attribute ? std::get_if<std::vector<double>>(attribute) : nullptr;
    return values && which < values->size() ? (*values)[which] : 0;
  }

  void SetState(const Expr& j, const Expr& value) {
    Expr state = nest_.Let("state", nest_.Place(value));
    nest_.Add(tensor::Store(state_, j, state));
    nest_.Add(context_.Store(0, Index({step_, batch_, j}), state));
  }

  LoopContext& context_;
  const Node& node_;
  tensor::Nest nest_;
  int gates_;
  bool has_cell_;
  DType dtype_;
  int width_;
  Dim hidden_, steps_;
  Expr batch_, step_;
  uint32_t state_ = 0, gate_ = 0, cell_ = 0;
  std::optional<uint32_t> reset_;
  std::optional<Error> error_;
};

Expected<tensor::StmtPtr> RnnLoops(LoopContext& context) {
  return CellLoops(context, 1, false).Build(&CellLoops::RnnStep);
}
Expected<tensor::StmtPtr> GruLoops(LoopContext& context) {
  return CellLoops(context, 3, false).Build(&CellLoops::GruStep);
}
Expected<tensor::StmtPtr> LstmLoops(LoopContext& context) {
  return CellLoops(context, 4, true).Build(&CellLoops::LstmStep);
}

constexpr CoreOp kRows[] = {
    {.name = "rnn",
     .kind = OpKind::kProcedural,
     .min_inputs = 2,
     .max_inputs = 5,
     .infer = InferRnn,
     .loops = RnnLoops,
     .meaning = "a simple recurrent cell over all steps"},
    {.name = "gru",
     .kind = OpKind::kProcedural,
     .min_inputs = 2,
     .max_inputs = 5,
     .infer = InferGru,
     .loops = GruLoops,
     .meaning = "a gated recurrent unit over all steps"},
    {.name = "lstm",
     .kind = OpKind::kProcedural,
     .min_inputs = 2,
     .max_inputs = 7,
     .infer = InferLstm,
     .loops = LstmLoops,
     .meaning = "a long short-term memory over all steps"},
};

}  // namespace

std::span<const CoreOp> RecurrentFamily() { return kRows; }

}  // namespace tvmvm::ir
