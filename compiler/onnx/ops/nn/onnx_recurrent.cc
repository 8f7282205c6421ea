// RNN, GRU, LSTM: the inputs of all steps are projected by one contraction; the steps of a direction are a
// loop that carries the state.
#include "compiler/onnx/ops/nn/onnx_recurrent.h"

#include <fmt/core.h>

#include "compiler/onnx/ops/onnx_compose.h"
#include "compiler/onnx/ops/onnx_control.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

// ONNX's default parameters of an activation function.
std::pair<double, double> DefaultParameters(const std::string& name) {
  if (name == "Affine") return {1.0, 0.0};
  if (name == "LeakyRelu") return {0.01, 0.0};
  if (name == "ThresholdedRelu") return {1.0, 0.0};
  if (name == "ScaledTanh") return {1.0, 1.0};
  if (name == "HardSigmoid") return {0.2, 0.5};
  return {1.0, 0.0};
}

bool TakesAlpha(const std::string& name) {
  return name == "Affine" || name == "LeakyRelu" || name == "ThresholdedRelu" || name == "ScaledTanh" ||
         name == "HardSigmoid" || name == "Elu";
}
bool TakesBeta(const std::string& name) {
  return name == "Affine" || name == "ScaledTanh" || name == "HardSigmoid";
}

enum class Cell : uint8_t { kRnn, kGru, kLstm };

int GatesOf(Cell cell) { return cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4; }

std::vector<std::string> DefaultActivations(Cell cell) {
  if (cell == Cell::kRnn) return {"Tanh"};
  if (cell == Cell::kGru) return {"Sigmoid", "Tanh"};
  return {"Sigmoid", "Tanh", "Tanh"};
}

struct Directions {
  std::vector<bool> is_reverse;
  std::vector<std::string> activations;  // of all directions
  std::vector<double> alphas, betas;
};

Directions ReadDirections(OnnxContext& c, Cell cell) {
  Directions result;
  std::string direction = c.Text("direction", "forward");
  if (direction == "bidirectional") {
    result.is_reverse = {false, true};
  } else if (direction == "forward" || direction == "reverse") {
    result.is_reverse = {direction == "reverse"};
  } else {
    c.b.Fail(Code::kInvalidArgument, fmt::format("direction '{}' is unknown", direction));
    return result;
  }
  std::vector<std::string> defaults = DefaultActivations(cell);
  if (const OnnxAttribute* given = c.Attr("activations")) result.activations = given->texts;
  if (result.activations.empty()) {
    for (size_t d = 0; d < result.is_reverse.size(); ++d)
      result.activations.insert(result.activations.end(), defaults.begin(), defaults.end());
  }
  size_t wanted = defaults.size() * result.is_reverse.size();
  if (result.activations.size() != wanted)
    c.b.Fail(Code::kInvalidArgument,
             fmt::format("{} activations, wanted {}", result.activations.size(), wanted));
  // Parameters are given in order to those activations that take one.
  std::vector<double> alphas = c.Floats("activation_alpha"), betas = c.Floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : result.activations) {
    auto [alpha, beta] = DefaultParameters(name);
    if (TakesAlpha(name) && next_alpha < alphas.size()) alpha = alphas[next_alpha++];
    if (TakesBeta(name) && next_beta < betas.size()) beta = betas[next_beta++];
    result.alphas.push_back(alpha);
    result.betas.push_back(beta);
  }
  return result;
}

// 16-bit floats are computed in f32 from the first step to the last: rounded states would add up to noise.
ValueId Wide(OpBuilder& b, ValueId value) {
  const DType dtype = b.dtype(value);
  return dtype == DType::kF16 || dtype == DType::kBF16 ? b.Cast(value, DType::kF32) : value;
}

// Entry `d` of the leading axis.
ValueId Part(OpBuilder& b, ValueId value, int d, int axis = 0) {
  if (!value.valid()) return {};
  return Wide(b, b.Squeeze(b.SliceAxis(value, axis, Dim(d), 1), {axis}));
}

ValueId Columns(OpBuilder& b, ValueId value, const Dim& begin, const Dim& size) {
  return b.SliceAxis(value, b.rank(value) - 1, begin, size);
}

// Input and recurrent biases as one for the projection; `inner` is what must stay inside of the reset gate.
ValueId ProjectionBias(OpBuilder& b, ValueId bias, Cell cell, const Dim& hidden, bool keeps_inner,
                       ValueId* inner) {
  Dim all = hidden * Dim(GatesOf(cell));
  ValueId of_input = Columns(b, bias, 0, all), of_state = Columns(b, bias, all, all);
  if (!keeps_inner) return b.Add(of_input, of_state);
  Dim outside = hidden * Dim(GatesOf(cell) - 1);
  *inner = Columns(b, of_state, outside, hidden);
  ValueId sum = b.Add(Columns(b, of_input, 0, outside), Columns(b, of_state, 0, outside));
  return b.Concat({sum, Columns(b, of_input, outside, hidden)}, 0);
}

// One direction of one node.
class RecurrentLoop {
 public:
  RecurrentLoop(OnnxContext& c, Cell cell, const Directions& directions, int d,
                const RecurrentOperands& operands)
      : c_(c),
        b_(c.b),
        cell_(cell),
        directions_(directions),
        direction_(d),
        operands_(operands),
        recurrent_(operands.recurrent(d)),
        is_linear_(c.Int("linear_before_reset", 0) != 0) {
    if (!b_.failed()) hidden_ = b_.dim(recurrent_.value, static_cast<int>(recurrent_.depth_axis));
  }

  // x is [steps, batch, inputs]. Gives y [steps, batch, hidden], then the last states.
  std::vector<ValueId> Run(ValueId x, int state_axis) {
    if (b_.failed()) return {};
    steps_ = b_.dim(x, 0);
    projected_ = Times(x, operands_.weights(direction_));
    if (c_.has(3)) {
      ValueId bias = Part(b_, c_.in(3), direction_);
      projected_ = b_.Add(projected_, ProjectionBias(b_, bias, cell_, hidden_, is_linear_, &inner_bias_));
    }
    dtype_ = b_.dtype(projected_);
    if (cell_ == Cell::kLstm) peepholes_ = Part(b_, c_.in(7), direction_);
    if (c_.has(4)) lengths_ = Clamped(c_.in(4));
    LoopSpec spec;
    spec.trip = steps_;
    spec.initial = {InitialState(5, b_.dim(x, 1), state_axis)};
    if (cell_ == Cell::kLstm) spec.initial.push_back(InitialState(6, b_.dim(x, 1), state_axis));
    bool is_reverse = directions_.is_reverse[static_cast<size_t>(direction_)];
    if (is_reverse && lengths_.valid()) projected_ = Reversed(projected_);
    spec.body = [&](const Dim& index, const std::vector<ValueId>& states) -> Expected<std::vector<ValueId>> {
      Dim at = is_reverse && !lengths_.valid() ? steps_ - Dim(1) - index : index;
      return Masked(index, states, Step(at, states));
    };
    std::vector<ValueId> results = BuildLoop(c_, spec);
    if (b_.failed()) return {};
    ValueId y = is_reverse ? Reversed(results.back()) : results.back();
    results.pop_back();
    results.insert(results.begin(), y);
    return results;
  }

 private:
  ValueId Times(ValueId left, const RecurrentOperands::Matrix& matrix) {
    if (operands_.prepared) left = operands_.prepared(left);
    return b_.Contract(left, matrix.value, {}, {}, {b_.rank(left) - 1}, {matrix.depth_axis});
  }

  ValueId Clamped(ValueId lengths) {
    ValueId wide = b_.Cast(lengths, DType::kI64);
    return b_.Max(b_.Min(wide, b_.DimScalar(steps_)), b_.ScalarInt(DType::kI64, 0));
  }

  ValueId InitialState(size_t input, const Dim& batch, int state_axis) {
    Dims dims{batch, hidden_};
    if (!c_.has(input)) return b_.Expand(b_.Scalar(dtype_, 0), dims);
    ValueId state = Part(b_, c_.in(input), direction_, state_axis);
    return b_.failed() || b_.dims(state) == dims ? state : b_.Reshape(state, dims);
  }

  // The steps in the other order: of each batch entry its own.
  ValueId Reversed(ValueId value) {
    if (lengths_.valid())
      return Apply(c_, "ReverseSequence", {value, lengths_},
                   {{"time_axis", IntAttribute(0)}, {"batch_axis", IntAttribute(1)}});
    Dims starts(b_.dims(value).size(), Dim(0)), steps(starts.size(), Dim(1));
    starts[0] = Max(steps_ - Dim(1), 0);
    steps[0] = -1;
    return b_.Slice(value, starts, steps, b_.dims(value));
  }

  ValueId Gate(ValueId gates, int gate, int count = 1) {
    return Columns(b_, gates, hidden_ * Dim(gate), hidden_ * Dim(count));
  }

  RecurrentOperands::Matrix RecurrentGates(int gate, int count) {
    int gate_axis = static_cast<int>(1 - recurrent_.depth_axis);
    return {b_.SliceAxis(recurrent_.value, gate_axis, hidden_ * Dim(gate), hidden_ * Dim(count)),
            recurrent_.depth_axis};
  }

  // The next states.
  std::vector<ValueId> Step(const Dim& at, const std::vector<ValueId>& states) {
    ValueId projected = b_.Squeeze(b_.SliceAxis(projected_, 0, at, 1), {0});
    if (cell_ == Cell::kGru) return {GruStep(projected, states[0])};
    ValueId gates = b_.Add(projected, Times(states[0], recurrent_));
    if (cell_ == Cell::kRnn) return {Activate(0, gates)};
    return LstmStep(gates, states[1]);
  }

  ValueId GruStep(ValueId projected, ValueId state) {
    ValueId update_reset, candidate;
    if (is_linear_) {
      ValueId product = Times(state, recurrent_);
      update_reset = b_.Add(Gate(projected, 0, 2), Gate(product, 0, 2));
      candidate = Gate(product, 2);
      if (inner_bias_.valid()) candidate = b_.Add(candidate, inner_bias_);
      candidate = b_.Mul(Activate(0, Gate(update_reset, 1)), candidate);
    } else {
      update_reset = b_.Add(Gate(projected, 0, 2), Times(state, RecurrentGates(0, 2)));
      candidate = Times(b_.Mul(Activate(0, Gate(update_reset, 1)), state), RecurrentGates(2, 1));
    }
    ValueId update = Activate(0, Gate(update_reset, 0));
    ValueId hidden = Activate(1, b_.Add(Gate(projected, 2), candidate));
    ValueId kept = b_.Sub(b_.Scalar(dtype_, 1), update);
    return b_.Add(b_.Mul(kept, hidden), b_.Mul(update, state));
  }

  std::vector<ValueId> LstmStep(ValueId gates, ValueId cell) {
    ValueId input = Activate(0, WithPeephole(Gate(gates, 0), 0, cell));
    ValueId forget = c_.Int("input_forget", 0) != 0 ? b_.Sub(b_.Scalar(dtype_, 1), input)
                                                    : Activate(0, WithPeephole(Gate(gates, 2), 2, cell));
    ValueId next = b_.Add(b_.Mul(forget, cell), b_.Mul(input, Activate(1, Gate(gates, 3))));
    ValueId output = Activate(0, WithPeephole(Gate(gates, 1), 1, next));
    return {b_.Mul(output, Activate(2, next, false)), next};
  }

  ValueId WithPeephole(ValueId gate, int part, ValueId cell) {
    return peepholes_.valid() ? b_.Add(gate, b_.Mul(Gate(peepholes_, part), cell)) : gate;
  }

  // Activation number `which` of the direction; gates are clipped before.
  ValueId Activate(size_t which, ValueId x, bool is_clipped = true) {
    if (is_clipped && c_.HasAttribute("clip")) {
      double clip = c_.Float("clip", 0);
      x = b_.Max(b_.Min(x, b_.Scalar(dtype_, clip)), b_.Scalar(dtype_, -clip));
    }
    which += DefaultActivations(cell_).size() * static_cast<size_t>(direction_);
    const std::string& name = directions_.activations[which];
    double alpha = directions_.alphas[which], beta = directions_.betas[which];
    ValueId scale = b_.Scalar(dtype_, alpha), shift = b_.Scalar(dtype_, beta);
    if (name == "Affine") return b_.Add(b_.Mul(x, scale), shift);
    if (name == "ScaledTanh") return b_.Mul(b_.Unary(ExprOp::kTanh, b_.Mul(x, shift)), scale);
    for (const char* known : {"Tanh", "Sigmoid", "Relu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu",
                              "Softsign", "Softplus"})
      if (name == known)
        return Apply(c_, name, {x}, {{"alpha", FloatAttribute(alpha)}, {"beta", FloatAttribute(beta)}});
    return b_.Fail(Code::kUnsupported, fmt::format("activation '{}' is unknown", name));
  }

  // After an entry's last step its states stay and its results are 0. Adds what a step collects.
  std::vector<ValueId> Masked(const Dim& index, const std::vector<ValueId>& states,
                              std::vector<ValueId> next) {
    ValueId y = next[0];
    if (lengths_.valid()) {
      ValueId runs = b_.Unsqueeze(b_.Binary(ExprOp::kLess, b_.DimScalar(index), lengths_), {1});
      for (size_t i = 0; i < next.size(); ++i) next[i] = b_.Where(runs, next[i], states[i]);
      y = b_.Where(runs, y, b_.Scalar(dtype_, 0));
    }
    next.push_back(y);
    return next;
  }

  OnnxContext& c_;
  OpBuilder& b_;
  Cell cell_;
  const Directions& directions_;
  int direction_;
  const RecurrentOperands& operands_;
  RecurrentOperands::Matrix recurrent_;
  bool is_linear_;
  Dim hidden_, steps_;
  DType dtype_ = DType::kInvalid;
  ValueId projected_, inner_bias_, peepholes_, lengths_;
};

// An initial state of a fixed batch size fixes the batch of the data, which becomes a fact about its symbol.
void FixBatch(OpBuilder& b, const Dim& batch, const Dim& state_batch) {
  auto known = state_batch.constant();
  if (!known.has_value() || !batch.is_symbol()) return;
  auto symbol = b.module().symbols.find(batch.symbol());
  if (symbol == b.module().symbols.end() || symbol->second.scope != SymbolScope::kInput) return;
  DimRange& range = symbol->second.range;
  if (range.low <= *known && *known <= range.high) range = {*known, *known};
}

void Recurrent(OnnxContext& c, Cell cell, const RecurrentOperands& operands) {
  OpBuilder& b = c.b;
  bool is_batch_first = c.Int("layout", 0) != 0;
  Directions directions = ReadDirections(c, cell);
  if (b.failed()) return;
  if (b.rank(c.in(0)) != 3 || b.rank(c.in(1)) != 3 || b.rank(c.in(2)) != 3) {
    b.Fail(Code::kInvalidArgument, fmt::format("x, w and r have ranks {}, {} and {}, wanted 3",
                                               b.rank(c.in(0)), b.rank(c.in(1)), b.rank(c.in(2))));
    return;
  }
  const DType dtype = b.dtype(c.in(0));
  ValueId x = Wide(b, is_batch_first ? b.Transpose(c.in(0), {1, 0, 2}) : c.in(0));
  int state_axis = is_batch_first ? 1 : 0;
  if (c.has(5) && b.rank(c.in(5)) == 3) FixBatch(b, b.dim(x, 1), b.dim(c.in(5), 1 - state_axis));
  std::vector<ValueId> all, last_state, last_cell;
  for (int d = 0; d < static_cast<int>(directions.is_reverse.size()); ++d) {
    std::vector<ValueId> results = RecurrentLoop(c, cell, directions, d, operands).Run(x, state_axis);
    if (b.failed()) return;
    all.push_back(b.Unsqueeze(results[0], {is_batch_first ? 2 : 1}));
    last_state.push_back(b.Unsqueeze(results[1], {state_axis}));
    if (cell == Cell::kLstm) last_cell.push_back(b.Unsqueeze(results[2], {state_axis}));
  }
  // y is [steps, directions, batch, hidden], or [batch, steps, directions, hidden].
  ValueId y = b.Concat(all, is_batch_first ? 2 : 1);
  if (is_batch_first) y = b.Transpose(y, {1, 0, 2, 3});
  c.Out(0, b.Cast(y, dtype));
  c.Out(1, b.Cast(b.Concat(last_state, state_axis), dtype));
  if (cell == Cell::kLstm) c.Out(2, b.Cast(b.Concat(last_cell, state_axis), dtype));
}

// Weights as the operators have them: [directions, gates * hidden, depth].
void Recurrent(OnnxContext& c, Cell cell) {
  auto part = [&](size_t input) {
    return [&c, input](int d) { return RecurrentOperands::Matrix{Part(c.b, c.in(input), d), 1}; };
  };
  Recurrent(c, cell, {part(1), part(2), {}});
}

void Rnn(OnnxContext& c) { Recurrent(c, Cell::kRnn); }
void Gru(OnnxContext& c) { Recurrent(c, Cell::kGru); }
void Lstm(OnnxContext& c) { Recurrent(c, Cell::kLstm); }

constexpr OnnxOp kRows[] = {
    {"", "RNN", 1, 6, 3, 6,
     "activation_alpha activation_beta activations clip direction hidden_size output_sequence", Rnn, kFloats},
    {"", "RNN", 7, kLatest, 3, 6,
     "activation_alpha activation_beta activations clip direction hidden_size layout", Rnn, kFloats},
    {"", "GRU", 1, 6, 3, 6,
     "activation_alpha activation_beta activations clip direction hidden_size linear_before_reset "
     "output_sequence",
     Gru, kFloats},
    {"", "GRU", 7, kLatest, 3, 6,
     "activation_alpha activation_beta activations clip direction hidden_size layout linear_before_reset",
     Gru, kFloats},
    {"", "LSTM", 1, 6, 3, 8,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget output_sequence",
     Lstm, kFloats},
    {"", "LSTM", 7, kLatest, 3, 8,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget layout", Lstm,
     kFloats},
};

}  // namespace

void LstmOf(OnnxContext& c, const RecurrentOperands& operands) { Recurrent(c, Cell::kLstm, operands); }

std::span<const OnnxOp> OnnxRecurrentRows() { return kRows; }

}  // namespace tvmvm::ir
