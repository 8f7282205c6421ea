// RNN, GRU and LSTM over sequences whose length is known at compile time: the steps are written out. The products with the
// inputs are one contraction over all steps; only the products with the state stay in the steps.
#include <fmt/core.h>

#include <map>

#include "compiler/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;

constexpr int64_t kMaxSteps = 256;

struct GateFunction {
  std::string name;
  double alpha = 0;
  double beta = 0;
};

ValueId Apply(OpBuilder& b, const GateFunction& f, ValueId x) {
  DType dtype = b.dtype(x);
  auto k = [&](double value) { return b.Scalar(dtype, value); };
  auto line = [&] { return b.Add(b.Mul(x, k(f.alpha)), k(f.beta)); };
  if (f.name == "Sigmoid") return b.Unary(ExprOp::kSigmoid, x);
  if (f.name == "Tanh") return b.Unary(ExprOp::kTanh, x);
  if (f.name == "Relu") return b.Max(x, k(0));
  if (f.name == "Affine") return line();
  if (f.name == "LeakyRelu") return b.Where(b.Binary(ExprOp::kLess, x, k(0)), b.Mul(x, k(f.alpha)), x);
  if (f.name == "ThresholdedRelu") return b.Where(b.Binary(ExprOp::kLess, x, k(f.alpha)), k(0), x);
  if (f.name == "ScaledTanh") return b.Mul(k(f.alpha), b.Unary(ExprOp::kTanh, b.Mul(k(f.beta), x)));
  if (f.name == "HardSigmoid") return b.Min(b.Max(line(), k(0)), k(1));
  if (f.name == "Elu") return b.Where(b.Binary(ExprOp::kLess, x, k(0)), b.Mul(k(f.alpha), b.Unary(ExprOp::kExpm1, x)), x);
  if (f.name == "Softsign") return b.Div(x, b.Add(k(1), b.Unary(ExprOp::kAbs, x)));
  if (f.name == "Softplus") return b.Unary(ExprOp::kLog1p, b.Unary(ExprOp::kExp, x));
  return b.Fail(Code::kInvalidArgument, fmt::format("the activation '{}' is unknown", f.name));
}

// One direction of a recurrent layer. Everything is [batch, ...].
struct Layer {
  OpBuilder& b;
  int64_t hidden = 0;
  std::vector<GateFunction> functions;
  double clip = 0;
  bool flag = false;            // linear_before_reset, input_forget
  ValueId recurrence;           // [gates * hidden, hidden]
  ValueId recurrence_bias;      // [gates * hidden]; none: 0
  ValueId peephole;             // [3 * hidden]; none: 0

  ValueId Gate(ValueId x, int64_t gate) const { return b.SliceAxis(x, b.rank(x) - 1, gate * hidden, hidden); }
  ValueId Function(size_t which, ValueId x) const {
    if (clip > 0) x = b.Max(b.Min(x, b.Scalar(b.dtype(x), clip)), b.Scalar(b.dtype(x), -clip));
    return Apply(b, functions[which], x);
  }
  // State times the rows of the recurrence of some gates, with their bias.
  ValueId Recur(ValueId state, int64_t first, int64_t count) const {
    ValueId rows = b.SliceAxis(recurrence, 0, first * hidden, count * hidden);
    ValueId product = b.Contract(state, rows, {}, {}, {1}, {1});
    if (!recurrence_bias.valid()) return product;
    return b.Add(product, b.SliceAxis(recurrence_bias, 0, first * hidden, count * hidden));
  }
};

struct State {
  ValueId hidden;
  ValueId cell;        // LSTM
};

State RnnStep(const Layer& l, ValueId x, const State& state) {
  return {l.Function(0, l.b.Add(x, l.Recur(state.hidden, 0, 1))), {}};
}

// Gates update, reset, hidden.
State GruStep(const Layer& l, ValueId x, const State& state) {
  OpBuilder& b = l.b;
  ValueId gates = l.Function(0, b.Add(b.SliceAxis(x, 1, 0, 2 * l.hidden), l.Recur(state.hidden, 0, 2)));
  ValueId update = l.Gate(gates, 0);
  ValueId reset = l.Gate(gates, 1);
  ValueId recurrent = l.flag ? b.Mul(reset, l.Recur(state.hidden, 2, 1)) : l.Recur(b.Mul(reset, state.hidden), 2, 1);
  ValueId candidate = l.Function(1, b.Add(l.Gate(x, 2), recurrent));
  // (1 - update) * candidate + update * state
  return {b.Add(b.Mul(b.Sub(b.Scalar(b.dtype(x), 1), update), candidate), b.Mul(update, state.hidden)), {}};
}

// Gates input, output, forget, cell; peepholes in the order input, output, forget.
State LstmStep(const Layer& l, ValueId x, const State& state) {
  OpBuilder& b = l.b;
  ValueId sum = b.Add(x, l.Recur(state.hidden, 0, 4));
  auto gate = [&](int64_t which, ValueId cell) {
    ValueId value = l.Gate(sum, which);
    if (l.peephole.valid()) value = b.Add(value, b.Mul(cell, l.Gate(l.peephole, which)));
    return l.Function(0, value);
  };
  ValueId input = gate(0, state.cell);
  ValueId forget = l.flag ? b.Sub(b.Scalar(b.dtype(x), 1), input) : gate(2, state.cell);
  ValueId candidate = l.Function(1, l.Gate(sum, 3));
  ValueId cell = b.Add(b.Mul(forget, state.cell), b.Mul(input, candidate));
  ValueId output = gate(1, cell);
  return {b.Mul(output, Apply(b, l.functions[2], cell)), cell};
}

struct Kind {
  int64_t gates;
  std::vector<std::string> functions;      // of one direction
  State (*step)(const Layer&, ValueId, const State&);
};

std::vector<GateFunction> ReadFunctions(OnnxContext& c, const Kind& kind, size_t directions) {
  std::vector<std::string> names;
  for (size_t d = 0; d < directions; ++d) names.insert(names.end(), kind.functions.begin(), kind.functions.end());
  if (const OnnxAttribute* given = c.Attr("activations"); given != nullptr && !given->texts.empty()) names = given->texts;
  std::vector<GateFunction> functions;
  std::vector<double> alphas = c.Floats("activation_alpha");
  std::vector<double> betas = c.Floats("activation_beta");
  // The lists hold entries for those functions only that have such a parameter.
  const std::map<std::string, std::pair<double, double>> defaults = {
      {"Affine", {1, 0}}, {"LeakyRelu", {0.01, 0}}, {"ThresholdedRelu", {1, 0}}, {"ScaledTanh", {1, 1}},
      {"HardSigmoid", {0.2, 0.5}}, {"Elu", {1, 0}}};
  size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    GateFunction function{name, 0, 0};
    if (auto found = defaults.find(name); found != defaults.end()) {
      bool has_beta = name == "Affine" || name == "ScaledTanh" || name == "HardSigmoid";
      function.alpha = alpha < alphas.size() ? alphas[alpha++] : found->second.first;
      function.beta = has_beta && beta < betas.size() ? betas[beta++] : found->second.second;
    }
    functions.push_back(function);
  }
  if (functions.size() != kind.functions.size() * directions)
    c.b.Fail(Code::kInvalidArgument, fmt::format("{} activations, {} are wanted", functions.size(), kind.functions.size() * directions));
  return functions;
}

// The inputs in the order of time first: X, W, R, B, sequence lengths, initial state, initial cell, peepholes.
struct Sequence {
  OnnxContext& c;
  OpBuilder& b;
  const Kind& kind;
  ValueId x;                     // [time, batch, size]
  ValueId lengths;               // i64 of [batch, 1]; none: all steps count
  int64_t steps = 0;
  int64_t hidden = 0;
  Dim batch;

  // Slice `direction` of an input whose first axis is the directions.
  ValueId Part(size_t input, int64_t direction) const {
    return b.Squeeze(b.SliceAxis(c.in(input), 0, direction, 1), {0});
  }
  ValueId Initial(size_t input, int64_t direction) const {
    if (!c.has(input)) return b.Expand(b.Scalar(b.dtype(x), 0), {batch, Dim(hidden)});
    if (c.Int("layout", 0) == 0) return Part(input, direction);
    return b.Squeeze(b.SliceAxis(c.in(input), 1, direction, 1), {1});
  }
};

struct DirectionResult {
  std::vector<ValueId> steps;      // of [batch, hidden], in order of time
  State last;
};

DirectionResult RunDirection(const Sequence& s, int64_t direction, bool reverse, std::vector<GateFunction> functions) {
  OpBuilder& b = s.b;
  Layer layer{b, s.hidden, std::move(functions), s.c.Float("clip", 0), false, s.Part(2, direction), {}, {}};
  layer.flag = s.c.Int("linear_before_reset", 0) != 0 || s.c.Int("input_forget", 0) != 0;
  int64_t rows = s.kind.gates * s.hidden;
  ValueId projected = b.Contract(s.x, s.Part(1, direction), {}, {}, {2}, {1});
  if (s.c.has(3)) {
    ValueId bias = s.Part(3, direction);
    projected = b.Add(projected, b.SliceAxis(bias, 0, 0, rows));
    layer.recurrence_bias = b.SliceAxis(bias, 0, rows, rows);
  }
  if (s.c.has(7)) layer.peephole = s.Part(7, direction);
  State state{s.Initial(5, direction), {}};
  if (s.kind.gates == 4) state.cell = s.Initial(6, direction);
  DirectionResult result;
  result.steps.resize(static_cast<size_t>(s.steps));
  ValueId zero = b.Scalar(b.dtype(s.x), 0);
  for (int64_t i = 0; i < s.steps && !b.failed(); ++i) {
    int64_t t = reverse ? s.steps - 1 - i : i;
    State next = s.kind.step(layer, b.Squeeze(b.SliceAxis(projected, 0, t, 1), {0}), state);
    ValueId output = next.hidden;
    if (s.lengths.valid()) {
      // Behind its end a sequence gives zeros and keeps its state.
      ValueId active = b.Binary(ExprOp::kLess, b.ScalarInt(DType::kI64, t), s.lengths);
      output = b.Where(active, next.hidden, zero);
      next.hidden = b.Where(active, next.hidden, state.hidden);
      if (next.cell.valid()) next.cell = b.Where(active, next.cell, state.cell);
    }
    result.steps[static_cast<size_t>(t)] = output;
    state = next;
  }
  result.last = state;
  return result;
}

ValueId StackFirst(OpBuilder& b, std::vector<ValueId> values) {
  for (ValueId& value : values) value = b.Unsqueeze(value, {0});
  return b.Concat(std::move(values), 0);
}

void Recurrent(OnnxContext& c, const Kind& kind) {
  OpBuilder& b = c.b;
  bool batch_first = c.Int("layout", 0) != 0;
  if (b.rank(c.in(0)) != 3 || b.rank(c.in(1)) != 3 || b.rank(c.in(2)) != 3) {
    b.Fail(Code::kInvalidArgument, fmt::format("data and weights of ranks {}, {} and {}; 3 is wanted", b.rank(c.in(0)),
                                               b.rank(c.in(1)), b.rank(c.in(2))));
    return;
  }
  ValueId x = batch_first ? b.Transpose(c.in(0), {1, 0, 2}) : c.in(0);
  auto steps = b.dim(x, 0).constant();
  auto hidden = b.dim(c.in(2), 2).constant();
  if (!steps.has_value() || !hidden.has_value() || *steps > kMaxSteps || *steps < 1) {
    b.Fail(Code::kUnsupported, fmt::format("a sequence of length {}", b.dim(x, 0).ToString()));
    return;
  }
  std::string direction = c.Text("direction", "forward");
  bool both = direction == "bidirectional";
  if (!both && direction != "forward" && direction != "reverse") {
    b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'direction' is '{}'", direction));
    return;
  }
  size_t directions = both ? 2 : 1;
  std::vector<GateFunction> functions = ReadFunctions(c, kind, directions);
  Sequence sequence{c, b, kind, x, {}, *steps, *hidden, b.dim(x, 1)};
  if (c.has(4)) sequence.lengths = b.Unsqueeze(b.Cast(c.in(4), DType::kI64), {1});
  if (b.failed()) return;
  std::vector<ValueId> outputs, hiddens, cells;
  std::vector<DirectionResult> results;
  for (size_t d = 0; d < directions; ++d) {
    auto first = functions.begin() + static_cast<std::ptrdiff_t>(d * kind.functions.size());
    std::vector<GateFunction> own(first, first + static_cast<std::ptrdiff_t>(kind.functions.size()));
    results.push_back(RunDirection(sequence, static_cast<int64_t>(d), d == 1 || direction == "reverse", std::move(own)));
    if (b.failed()) return;
    hiddens.push_back(results.back().last.hidden);
    cells.push_back(results.back().last.cell);
  }
  if (c.wants(0)) {
    for (int64_t t = 0; t < *steps; ++t) {
      std::vector<ValueId> parts;
      for (const DirectionResult& result : results) parts.push_back(result.steps[static_cast<size_t>(t)]);
      outputs.push_back(StackFirst(b, parts));
    }
    ValueId all = StackFirst(b, outputs);        // [time, directions, batch, hidden]
    c.Out(0, batch_first ? b.Transpose(all, {2, 0, 1, 3}) : all);
  }
  auto state = [&](const std::vector<ValueId>& parts) {
    ValueId stacked = StackFirst(b, parts);      // [directions, batch, hidden]
    return batch_first ? b.Transpose(stacked, {1, 0, 2}) : stacked;
  };
  if (c.wants(1)) c.Out(1, state(hiddens));
  if (c.wants(2) && kind.gates == 4) c.Out(2, state(cells));
}

void Rnn(OnnxContext& c) { Recurrent(c, {1, {"Tanh"}, RnnStep}); }
void Gru(OnnxContext& c) { Recurrent(c, {3, {"Sigmoid", "Tanh"}, GruStep}); }
void Lstm(OnnxContext& c) { Recurrent(c, {4, {"Sigmoid", "Tanh", "Tanh"}, LstmStep}); }

constexpr OnnxOp kRows[] = {
    {"", "RNN", 1, kLatest, 3, 6, "activation_alpha activation_beta activations clip direction hidden_size layout", Rnn},
    {"", "GRU", 1, kLatest, 3, 6,
     "activation_alpha activation_beta activations clip direction hidden_size layout linear_before_reset", Gru},
    {"", "LSTM", 1, kLatest, 3, 8,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget layout", Lstm},
};

}  // namespace

std::span<const OnnxOp> OnnxRecurrentRows() { return kRows; }

}  // namespace tvmvm::ir
