// RNN, GRU, LSTM: the inputs of all steps are projected by one contraction; the cells run in one kernel for
// each direction.
#include <fmt/core.h>

#include "compiler/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

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

// What differs between the three operators.
struct Cell {
  const char* op;
  int gates;
  std::vector<std::string> activations;  // defaults of one direction
  bool has_cell = false;
};

struct Directions {
  std::vector<bool> is_reverse;
  std::vector<std::string> activations;  // of all directions
  std::vector<double> alphas, betas;
};

Directions ReadDirections(OnnxContext& c, const Cell& cell) {
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
  if (const OnnxAttribute* given = c.Attr("activations")) result.activations = given->texts;
  if (result.activations.empty()) {
    for (size_t d = 0; d < result.is_reverse.size(); ++d)
      result.activations.insert(result.activations.end(), cell.activations.begin(), cell.activations.end());
  }
  size_t wanted = cell.activations.size() * result.is_reverse.size();
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

// Entry `d` of the leading axis.
ValueId Part(OpBuilder& b, ValueId value, int d, int axis = 0) {
  if (!value.valid()) return {};
  return b.Squeeze(b.SliceAxis(value, axis, Dim(d), 1), {axis});
}

ValueId Columns(OpBuilder& b, ValueId value, const Dim& begin, const Dim& size) {
  return b.SliceAxis(value, b.rank(value) - 1, begin, size);
}

// Input and recurrent biases as one for the projection; `inner` is what must stay inside of the reset gate.
ValueId ProjectionBias(OpBuilder& b, ValueId bias, const Cell& cell, const Dim& hidden, bool keeps_inner,
                       ValueId* inner) {
  Dim all = hidden * Dim(cell.gates);
  ValueId of_input = Columns(b, bias, 0, all), of_state = Columns(b, bias, all, all);
  if (!keeps_inner) return b.Add(of_input, of_state);
  Dim outside = hidden * Dim(cell.gates - 1);
  *inner = Columns(b, of_state, outside, hidden);
  ValueId sum = b.Add(Columns(b, of_input, 0, outside), Columns(b, of_state, 0, outside));
  return b.Concat({sum, Columns(b, of_input, outside, hidden)}, 0);
}

std::vector<ValueId> RunDirection(OnnxContext& c, const Cell& cell, const Directions& directions, int d,
                                  ValueId x, int state_axis) {
  OpBuilder& b = c.b;
  ValueId weights = Part(b, c.in(1), d), recurrent = Part(b, c.in(2), d);
  if (b.failed()) return {};
  Dim hidden = b.dim(recurrent, 1);
  ValueId projected = b.Contract(x, weights, {}, {}, {2}, {1});
  bool is_linear = c.Int("linear_before_reset", 0) != 0;
  ValueId inner;
  if (c.has(3))
    projected = b.Add(projected, ProjectionBias(b, Part(b, c.in(3), d), cell, hidden, is_linear, &inner));
  std::vector<ValueId> inputs{projected, b.Transpose(recurrent, {1, 0}), inner,
                              Part(b, c.in(5), d, state_axis), c.in(4)};
  if (cell.has_cell) {
    inputs.push_back(Part(b, c.in(6), d, state_axis));
    inputs.push_back(Part(b, c.in(7), d));
  }
  while (!inputs.back().valid()) inputs.pop_back();
  size_t count = cell.activations.size(), first = count * static_cast<size_t>(d);
  auto part = [&](const auto& list) {
    auto begin = list.begin() + static_cast<std::ptrdiff_t>(first);
    return std::decay_t<decltype(list)>(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  Attributes attributes{{"activations", part(directions.activations)},
                        {"alphas", part(directions.alphas)},
                        {"betas", part(directions.betas)},
                        {"reverse", int64_t{directions.is_reverse[static_cast<size_t>(d)]}},
                        {"has_clip", int64_t{c.HasAttribute("clip")}},
                        {"clip", c.Float("clip", 0)}};
  if (cell.gates == 3) attributes["linear_before_reset"] = int64_t{is_linear};
  if (cell.has_cell) attributes["input_forget"] = c.Int("input_forget", 0);
  return b.EmitMulti(cell.op, std::move(inputs), std::move(attributes));
}

// An initial state of a fixed batch size fixes the batch of the data, which becomes a fact about its symbol.
void FixBatch(OpBuilder& b, const Dim& batch, const Dim& state_batch) {
  auto known = state_batch.constant();
  if (!known.has_value() || !batch.is_symbol()) return;
  auto symbol = b.module().symbols.find(batch.symbol());
  if (symbol == b.module().symbols.end() || !symbol->second.from_input) return;
  DimRange& range = symbol->second.range;
  if (range.low <= *known && *known <= range.high) range = {*known, *known};
}

void Recurrent(OnnxContext& c, const Cell& cell) {
  OpBuilder& b = c.b;
  bool is_batch_first = c.Int("layout", 0) != 0;
  Directions directions = ReadDirections(c, cell);
  if (b.failed()) return;
  if (b.rank(c.in(0)) != 3 || b.rank(c.in(1)) != 3 || b.rank(c.in(2)) != 3) {
    b.Fail(Code::kInvalidArgument, fmt::format("x, w and r have ranks {}, {} and {}, wanted 3",
                                               b.rank(c.in(0)), b.rank(c.in(1)), b.rank(c.in(2))));
    return;
  }
  ValueId x = is_batch_first ? b.Transpose(c.in(0), {1, 0, 2}) : c.in(0);
  int state_axis = is_batch_first ? 1 : 0;
  if (c.has(5) && b.rank(c.in(5)) == 3) FixBatch(b, b.dim(x, 1), b.dim(c.in(5), 1 - state_axis));
  std::vector<ValueId> all, last_state, last_cell;
  for (int d = 0; d < static_cast<int>(directions.is_reverse.size()); ++d) {
    std::vector<ValueId> results = RunDirection(c, cell, directions, d, x, state_axis);
    if (b.failed()) return;
    all.push_back(b.Unsqueeze(results[0], {is_batch_first ? 2 : 1}));
    last_state.push_back(b.Unsqueeze(results[1], {state_axis}));
    if (cell.has_cell) last_cell.push_back(b.Unsqueeze(results[2], {state_axis}));
  }
  // y is [steps, directions, batch, hidden], or [batch, steps, directions, hidden].
  ValueId y = b.Concat(all, is_batch_first ? 2 : 1);
  if (is_batch_first) y = b.Transpose(y, {1, 0, 2, 3});
  c.Out(0, y);
  c.Out(1, b.Concat(last_state, state_axis));
  if (cell.has_cell) c.Out(2, b.Concat(last_cell, state_axis));
}

void Rnn(OnnxContext& c) { Recurrent(c, {"rnn", 1, {"Tanh"}}); }
void Gru(OnnxContext& c) { Recurrent(c, {"gru", 3, {"Sigmoid", "Tanh"}}); }
void Lstm(OnnxContext& c) { Recurrent(c, {"lstm", 4, {"Sigmoid", "Tanh", "Tanh"}, true}); }

constexpr OnnxOp kRows[] = {
    {"", "RNN", 1, 6, 3, 6,
     "activation_alpha activation_beta activations clip direction hidden_size output_sequence", Rnn},
    {"", "RNN", 7, kLatest, 3, 6,
     "activation_alpha activation_beta activations clip direction hidden_size layout", Rnn},
    {"", "GRU", 1, 6, 3, 6,
     "activation_alpha activation_beta activations clip direction hidden_size linear_before_reset "
     "output_sequence",
     Gru},
    {"", "GRU", 7, kLatest, 3, 6,
     "activation_alpha activation_beta activations clip direction hidden_size layout linear_before_reset",
     Gru},
    {"", "LSTM", 1, 6, 3, 8,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget output_sequence",
     Lstm},
    {"", "LSTM", 7, kLatest, 3, 8,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget layout", Lstm},
};

}  // namespace

std::span<const OnnxOp> OnnxRecurrentRows() { return kRows; }

}  // namespace tvmvm::ir
