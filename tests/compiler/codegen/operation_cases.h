// Every operation in every type, scalar and vector, bit by bit against the evaluator; on whatever runs loop
// IR kernels.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "compiler/expr/scalar_math.h"
#include "compiler/loops/evaluate_loops.h"

namespace tvmvm::codegen {

using namespace tensor;  // NOLINT

// Compiles a kernel, runs its whole grid and gives its return code; -1 where it cannot.
struct KernelRunner {
  std::string name;
  std::function<int32_t(const LoopKernel&, const std::vector<std::span<std::byte>>&)> run;
};

constexpr int64_t kCount = 192;  // elements of each buffer, a multiple of every lane count used

inline const std::vector<int> kWidths = {1, 3, 16};  // lanes

using Body = std::function<Expr(const std::vector<Expr>&)>;

// One thing to compute from the inputs; all cases of a test share a kernel, which saves compilations.
struct Output {
  std::string name;
  DType dtype;
  Body body;
  bool open_zero = false;  // the sign of a zero may differ
};

// out_k[i] = body_k(in0[i], in1[i], ...), `lanes` at a time.
inline LoopKernel Elementwise(const std::vector<DType>& inputs, const std::vector<Output>& outputs,
                              int lanes) {
  LoopKernel kernel;
  kernel.name = "elementwise";
  for (DType dtype : inputs) kernel.AddArgument("in", dtype, Access::kRead);
  for (const Output& output : outputs) kernel.AddArgument(output.name, output.dtype, Access::kWrite);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  // Neighbours within a byte belong to one point.
  int64_t vectors = 1;
  for (const Output& output : outputs)
    vectors = std::max<int64_t>(vectors, 8 / DTypeBits(output.dtype) / lanes);
  kernel.grid_size[0] = kCount / (lanes * vectors);
  VariableId lane = kernel.NewVariable("lane"), vector = kernel.NewVariable("vector");
  Expr first = Variable(kernel.grid[0]) * IntConstant(vectors) + Variable(vector);
  Expr i = first * IntConstant(lanes) + Variable(lane);
  std::vector<Expr> values;
  for (uint32_t k = 0; k < inputs.size(); ++k) values.push_back(Load(k, inputs[k], i));
  std::vector<StmtPtr> stores;
  for (uint32_t k = 0; k < outputs.size(); ++k)
    stores.push_back(Store(static_cast<uint32_t>(inputs.size()) + k, i, outputs[k].body(values)));
  StmtPtr body =
      For(lane, IntConstant(0), IntConstant(lanes), Block(std::move(stores)), LoopKind::kVectorized);
  kernel.body = For(vector, IntConstant(0), IntConstant(vectors), std::move(body));
  return kernel;
}

using Memory = std::vector<std::byte>;

inline uint64_t RawAt(const Memory& memory, DType dtype, int64_t index) {
  int bits = DTypeBits(dtype);
  if (bits < 8)
    return (static_cast<uint64_t>(memory[static_cast<size_t>(index * bits / 8)]) >> (index * bits % 8)) &
           ((1u << bits) - 1);
  uint64_t raw = 0;
  std::memcpy(&raw, memory.data() + index * bits / 8, static_cast<size_t>(bits / 8));
  return raw;
}

// Interesting numbers of a type, the rest random bits.
inline Memory Fill(DType dtype, uint64_t seed) {
  Memory memory(static_cast<size_t>(DTypeBytes(dtype, kCount)));
  std::mt19937_64 random(seed);
  for (std::byte& b : memory) b = static_cast<std::byte>(random());
  if (dtype == DType::kBool)
    for (std::byte& b : memory) b &= std::byte{1};
  int bits = DTypeBits(dtype);
  if (bits < 8) return memory;
  auto bytes = static_cast<size_t>(bits / 8);
  auto set = [&](size_t i, uint64_t raw) { std::memcpy(memory.data() + i * bytes, &raw, bytes); };
  static constexpr double kNumbers[] = {0,    -0.0, 1,    -1,   2,        0.5,       -2.5, 3.5, 7,    100,
                                        -100, 1e5,  -3e9, 1e20, INFINITY, -INFINITY, NAN,  448, 1e-8, 6.1e-5};
  for (size_t i = 0; i < static_cast<size_t>(kCount); ++i) {
    if (i % 3 == 2) {  // random bits, but one NaN only: payloads are not kept
      if (IsFloat(dtype))
        set(i, EncodeScalar(dtype, DecodeScalar(dtype, RawAt(memory, dtype, static_cast<int64_t>(i)))));
      continue;
    }
    double number =
        std::ldexp(static_cast<double>(random() % 2001) - 1000, static_cast<int>(random() % 12) - 6);
    if (i < std::size(kNumbers) * 3) number = kNumbers[(i / 3 + seed) % std::size(kNumbers)];
    set(i, EncodeScalar(dtype, ConvertScalar(DType::kF64, dtype, {.number = number})));
  }
  return memory;
}

// Same bits; any NaN for a NaN; zeros of either sign when `open_zero`.
inline bool Agree(DType dtype, uint64_t a, uint64_t b, bool open_zero) {
  if (a == b) return true;
  if (!IsFloat(dtype)) return false;
  double x = DecodeScalar(dtype, a).number, y = DecodeScalar(dtype, b).number;
  return (std::isnan(x) && std::isnan(y)) || (open_zero && x == 0 && y == 0);
}

class Comparison {
 public:
  Comparison(std::span<const KernelRunner> runners, std::vector<DType> inputs)
      : runners_(runners), inputs_(std::move(inputs)) {
    for (size_t i = 0; i < inputs_.size(); ++i) memory_.push_back(Fill(inputs_[i], i + 3));
  }
  void Add(std::string name, DType dtype, Body body, bool open_zero = false) {
    outputs_.push_back({std::move(name), dtype, std::move(body), open_zero});
  }

  void Run(const std::vector<int>& widths = kWidths) {
    if (outputs_.empty()) return;
    for (int lanes : widths) {
      LoopKernel kernel = Elementwise(inputs_, outputs_, lanes);
      std::vector<Memory> expected = Outputs();
      std::vector<std::span<std::byte>> spans(memory_.begin(), memory_.end());
      spans.insert(spans.end(), expected.begin(), expected.end());
      Expected<int32_t> evaluated = EvaluateLoops(kernel, spans, {});
      ASSERT_TRUE(evaluated) << evaluated.error().message;
      for (const KernelRunner& runner : runners_) {
        std::vector<Memory> actual = Outputs();
        std::vector<std::span<std::byte>> arguments(memory_.begin(), memory_.end());
        arguments.insert(arguments.end(), actual.begin(), actual.end());
        ASSERT_EQ(runner.run(kernel, arguments), 0) << runner.name;
        for (size_t k = 0; k < outputs_.size(); ++k)
          CheckOutput(outputs_[k], expected[k], actual[k], fmt::format("x{} {}", lanes, runner.name));
      }
    }
  }

 private:
  std::vector<Memory> Outputs() const {
    std::vector<Memory> memory;
    for (const Output& output : outputs_)
      memory.emplace_back(static_cast<size_t>(DTypeBytes(output.dtype, kCount)));
    return memory;
  }

  void CheckOutput(const Output& output, const Memory& expected, const Memory& actual,
                   const std::string& where) {
    for (int64_t i = 0; i < kCount; ++i) {
      uint64_t want = RawAt(expected, output.dtype, i), got = RawAt(actual, output.dtype, i);
      if (Agree(output.dtype, want, got, output.open_zero)) continue;
      std::string given;
      for (size_t k = 0; k < inputs_.size(); ++k) {
        Scalar s = DecodeScalar(inputs_[k], RawAt(memory_[k], inputs_[k], i));
        given += IsFloat(inputs_[k]) ? fmt::format(" {}", s.number) : fmt::format(" {}", s.integer);
      }
      ADD_FAILURE() << output.name << " " << where << " of" << given << std::hex << ": wanted 0x" << want
                    << ", got 0x" << got;
      return;
    }
  }

  std::span<const KernelRunner> runners_;
  std::vector<DType> inputs_;
  std::vector<Memory> memory_;
  std::vector<Output> outputs_;
};

constexpr DType kArithmetic[] = {
    DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kI16, DType::kI32, DType::kI64,
    DType::kU8,  DType::kU16, DType::kU32, DType::kU64,  DType::kI4, DType::kU4,  DType::kI2,  DType::kU2};
constexpr DType kStored[] = {
    DType::kF32,    DType::kF64,        DType::kF16,    DType::kBF16,     DType::kI8,
    DType::kI16,    DType::kI32,        DType::kI64,    DType::kU8,       DType::kU16,
    DType::kU32,    DType::kU64,        DType::kBool,   DType::kF8E4M3FN, DType::kF8E4M3FNUZ,
    DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0, DType::kI4,       DType::kU4,
    DType::kF4E2M1, DType::kI2,         DType::kU2,     DType::kF6E2M3,   DType::kF6E3M2};

inline std::string NameOf(const testing::TestParamInfo<DType>& info) {
  return std::string(DTypeName(info.param));
}

inline void CompareBinaryOperations(std::span<const KernelRunner> runners, DType t,
                                    const std::vector<int>& widths = kWidths) {
  Comparison compare(runners, {t, t, t});
  auto binary = [&](const char* name, ExprOp op, DType result) {
    compare.Add(
        name, result, [op](const auto& in) { return Binary(op, in[0], in[1]); }, true);
  };
  for (auto [name, op] : {std::pair{"add", ExprOp::kAdd},
                          {"sub", ExprOp::kSub},
                          {"mul", ExprOp::kMul},
                          {"min", ExprOp::kMin},
                          {"max", ExprOp::kMax}})
    binary(name, op, t);
  for (auto [name, op] : {std::pair{"eq", ExprOp::kEqual},
                          {"ne", ExprOp::kNotEqual},
                          {"lt", ExprOp::kLess},
                          {"le", ExprOp::kLessEqual}})
    binary(name, op, DType::kBool);
  compare.Add("select", t, [](const auto& in) { return Select(Less(in[0], in[1]), in[0] + in[1], in[1]); });
  compare.Add("fma", t, [](const auto& in) { return Fma(in[0], in[1], in[2]); });
  compare.Run(widths);
}

inline void CompareDotProductsOfBytes(std::span<const KernelRunner> runners) {
  Comparison compare(runners, {DType::kU32, DType::kU32, DType::kI32});
  compare.Add("dot", DType::kI32, [](const auto& in) { return DotBytes(in[0], in[1], in[2]); });
  // All products as large as they can be, where sums of two would leave 16 bits.
  compare.Add("largest", DType::kI32, [](const auto& in) {
    return DotBytes(Unary(ExprOp::kNot, in[0] - in[0]), in[1], in[2] - in[2]);
  });
  compare.Run({1, 3, 4, 8, 16});
}

inline void CompareScales(std::span<const KernelRunner> runners, DType t) {
  Comparison compare(runners, {t, t});
  compare.Add("scale", t, [](const auto& in) { return Scale(in[0], Unary(ExprOp::kRound, in[1])); });
  // What may be one instruction: the number that is nearer to 0.
  compare.Add("bound", t, [&](const auto& in) {
    Expr limit = Constant(t, 2.5);
    return Select(LessEqual(Unary(ExprOp::kAbs, in[0]), limit), in[0], limit);
  });
  compare.Run({1, 2, 3, 4, 8, 16, 24, 32});
}

constexpr std::pair<const char*, ExprOp> kDivisions[] = {{"div", ExprOp::kDiv},
                                                         {"floordiv", ExprOp::kFloorDiv},
                                                         {"floormod", ExprOp::kFloorMod},
                                                         {"remainder", ExprOp::kRemainder}};

inline void CompareIntegerDivisions(std::span<const KernelRunner> runners, DType t,
                                    const std::vector<int>& widths = kWidths) {
  if (IsFloat(t)) return;
  Comparison compare(runners, {t, t});
  for (auto [name, op] : kDivisions) {
    compare.Add(name, t, [op, t](const auto& in) {
      return Binary(op, in[0], Select(Equal(in[1], IntConstant(0, t)), IntConstant(1, t), in[1]));
    });
    for (int64_t divisor : {1, 2, 3, 4, 7, -1, -2, -5}) {
      if ((divisor < 0 && !IsSignedInteger(t)) || WrapInteger(t, divisor) != divisor) continue;
      compare.Add(fmt::format("{} by {}", name, divisor), t,
                  [op, t, divisor](const auto& in) { return Binary(op, in[0], IntConstant(divisor, t)); });
    }
  }
  compare.Run(widths);
}

inline void CompareFloatDivisions(std::span<const KernelRunner> runners, DType t,
                                  const std::vector<int>& widths = kWidths) {
  if (!IsFloat(t)) return;
  Comparison compare(runners, {t, t});
  compare.Add("div", t, [](const auto& in) { return in[0] / in[1]; });
  auto tame = [t](const Expr& e) {  // quotients within the stated range
    Expr magnitude = Max(Min(Unary(ExprOp::kAbs, e), FloatConstant(1000, t)), FloatConstant(0.25, t));
    return Select(Less(e, FloatConstant(0, t)), Unary(ExprOp::kNegate, magnitude), magnitude);
  };
  for (auto [name, op] : kDivisions)
    compare.Add(
        name, t, [op, tame](const auto& in) { return Binary(op, tame(in[0]), tame(in[1])); }, true);
  compare.Run(widths);
}

inline void CompareUnaryOperations(std::span<const KernelRunner> runners, DType t,
                                   const std::vector<int>& widths = kWidths) {
  Comparison compare(runners, {t});
  auto unary = [&](const char* name, ExprOp op, DType result) {
    compare.Add(name, result, [op](const auto& in) { return Unary(op, in[0]); });
  };
  for (auto [name, op] : {std::pair{"neg", ExprOp::kNegate},
                          {"abs", ExprOp::kAbs},
                          {"floor", ExprOp::kFloor},
                          {"ceil", ExprOp::kCeil},
                          {"round", ExprOp::kRound},
                          {"trunc", ExprOp::kTruncate}})
    unary(name, op, t);
  if (IsFloat(t)) unary("sqrt", ExprOp::kSqrt, t);
  if (!IsFloat(t)) unary("not", ExprOp::kNot, t);
  if (!IsFloat(t)) unary("popcount", ExprOp::kPopCount, t);
  unary("isnan", ExprOp::kIsNan, DType::kBool);
  unary("isinf", ExprOp::kIsInf, DType::kBool);
  compare.Run(widths);
}

inline void CompareBitOperations(std::span<const KernelRunner> runners, DType t,
                                 const std::vector<int>& widths = kWidths) {
  if (IsFloat(t)) return;
  Comparison compare(runners, {t, t});
  for (auto [name, op] :
       {std::pair{"and", ExprOp::kAnd}, {"or", ExprOp::kOr}, {"xor", ExprOp::kXor}, {"pow", ExprOp::kPow}})
    compare.Add(name, t, [op](const auto& in) { return Binary(op, in[0], in[1]); });
  for (auto [name, op] : {std::pair{"shl", ExprOp::kShiftLeft}, {"shr", ExprOp::kShiftRight}}) {
    if (DTypeBits(t) < 8) continue;
    compare.Add(name, t,
                [op, t](const auto& in) { return Binary(op, in[0], And(in[1], IntConstant(7, t))); });
    if (!IsSignedInteger(t))
      compare.Add("wide shift", t, [op](const auto& in) { return Binary(op, in[0], in[1]); });
  }
  compare.Run(widths);
}

inline void CompareLaneReductions(std::span<const KernelRunner> runners, DType t) {
  for (ExprOp op : {ExprOp::kReduceAdd, ExprOp::kReduceMul, ExprOp::kReduceMin, ExprOp::kReduceMax}) {
    for (int lanes : {2, 3, 5, 16}) {
      LoopKernel kernel;
      kernel.name = "reduce";
      uint32_t in = kernel.AddArgument("in", t, Access::kRead),
               out = kernel.AddArgument("out", t, Access::kWrite);
      for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
      kernel.grid_size[0] = 8;
      Expr i = Variable(kernel.grid[0]);
      kernel.body =
          Store(out, i, Unary(op, Load(in, t, Ramp(i * IntConstant(lanes), IntConstant(1), lanes))));
      Memory input = Fill(t, 9), expected(static_cast<size_t>(DTypeBytes(t, 8)));
      std::vector<std::span<std::byte>> spans = {input, expected};
      ASSERT_TRUE(EvaluateLoops(kernel, spans, {}));
      for (const KernelRunner& runner : runners) {
        Memory actual(expected.size());
        ASSERT_EQ(runner.run(kernel, {input, actual}), 0) << runner.name;
        for (int64_t k = 0; k < 8; ++k)
          ASSERT_TRUE(Agree(t, RawAt(expected, t, k), RawAt(actual, t, k), true))
              << static_cast<int>(op) << " x" << lanes << " [" << k << "]";
      }
    }
  }
}

inline void CompareCasts(std::span<const KernelRunner> runners, DType from,
                         const std::vector<int>& widths = kWidths) {
  Comparison compare(runners, {from});
  for (DType to : kStored) {
    // i64 goes to 16-bit floats through f64, which may round twice beyond 2^53: no operator minds.
    bool may_round_twice =
        DTypeBits(from) == 64 && IsInteger(from) && (to == DType::kBF16 || to == DType::kF16);
    if (!may_round_twice)
      compare.Add(fmt::format("to {}", DTypeName(to)), to, [to](const auto& in) { return Cast(to, in[0]); });
    if (IsFloat(to) && DTypeBits(to) == 8)
      compare.Add(fmt::format("to {} unsaturated", DTypeName(to)), to,
                  [to](const auto& in) { return Cast(to, in[0], false); });
    // Two bits of a float6's byte mean nothing.
    bool has_all_bits = to != DType::kBool && from != DType::kBool && !IsFloat6(to) && !IsFloat6(from);
    if (DTypeBits(to) == DTypeBits(from) && has_all_bits)
      compare.Add(fmt::format("bits {}", DTypeName(to)), to,
                  [to](const auto& in) { return Bitcast(to, in[0]); });
  }
  compare.Run(widths);
}

// What is rounded and clamped becomes an integer in fewer steps; beside what does not look so.
inline void CompareQuantized(std::span<const KernelRunner> runners, DType from,
                             const std::vector<int>& widths = kWidths) {
  Comparison compare(runners, {from});
  for (DType to : {DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kI32}) {
    const double low = IsSignedInteger(to) ? -std::ldexp(1.0, DTypeBits(to) - 1) : 0;
    const double high = low + std::ldexp(1.0, DTypeBits(to)) - 1;
    auto number = [from](double value) { return Constant(from, value); };
    for (double zero : {0.0, 5.0, -3.0, 128.0, 0.5})
      compare.Add(fmt::format("{} from {}", DTypeName(to), zero), to, [=](const auto& in) {
        const Expr rounded = Unary(ExprOp::kRound, in[0]) + number(zero);
        return Cast(to, Min(Max(rounded, number(low)), number(high)));
      });
    for (auto [least, most] :
         {std::pair(low + 10, high - 20), {low - 1, high}, {low, high + 1}, {20.0, 10.0}}) {
      const double from_low = least, to_high = most;
      compare.Add(fmt::format("{} in [{}, {}]", DTypeName(to), least, most), to, [=](const auto& in) {
        const Expr rounded = Unary(ExprOp::kRound, in[0]);
        return Cast(to, Max(number(from_low), Min(number(to_high), rounded)));
      });
    }
    compare.Add(fmt::format("{} not rounded", DTypeName(to)), to,
                [=](const auto& in) { return Cast(to, Min(Max(in[0], number(low)), number(high))); });
    compare.Add(fmt::format("{} not clamped below", DTypeName(to)), to,
                [=](const auto& in) { return Cast(to, Min(Unary(ExprOp::kRound, in[0]), number(high))); });
  }
  compare.Run(widths);
}

}  // namespace tvmvm::codegen
