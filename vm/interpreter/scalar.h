// Handlers of the scalar instructions, and of what loops do as often, inline so that dispatch and work are
// one piece of code.
#pragma once

#include <bit>
#include <cmath>
#include <utility>

#include "bytecode/dim_op.h"
#include "vm/interpreter/handlers.h"

namespace tvmvm {

// dst = f(a, b)
template <class F>
inline const uint32_t* BinaryScalar(Machine& m, const uint32_t* pc, F f) {
  m.frames.scalars[pc[1]] = f(m.frames.scalars[pc[2]], m.frames.scalars[pc[3]]);
  return pc + 4;
}

template <class F>
inline const uint32_t* BinaryF64(Machine& m, const uint32_t* pc, F f) {
  const auto a = std::bit_cast<double>(m.frames.scalars[pc[2]]),
             b = std::bit_cast<double>(m.frames.scalars[pc[3]]);
  m.frames.scalars[pc[1]] = f(a, b);
  return pc + 4;
}

const uint32_t* FailScalar(Machine& m, const uint32_t* pc);

// dst = a op b
template <DimOp kOp>
inline const uint32_t* Checked(Machine& m, const uint32_t* pc) {
  int64_t* const scalars = m.frames.scalars;
  if (!Compute(kOp, scalars[pc[2]], scalars[pc[3]], &scalars[pc[1]])) [[unlikely]]
    return FailScalar(m, pc);
  return pc + 4;
}

inline const uint32_t* HandleConstant64(Machine& m, const uint32_t* pc) {
  m.frames.scalars[pc[1]] = static_cast<int64_t>(uint64_t{pc[2]} | uint64_t{pc[3]} << 32);
  return pc + 4;
}
inline const uint32_t* HandleMove(Machine& m, const uint32_t* pc) {
  m.frames.scalars[pc[1]] = m.frames.scalars[pc[2]];
  return pc + 3;
}

inline const uint32_t* HandleAdd(Machine& m, const uint32_t* pc) { return Checked<DimOp::kAdd>(m, pc); }
inline const uint32_t* HandleSub(Machine& m, const uint32_t* pc) { return Checked<DimOp::kSub>(m, pc); }
inline const uint32_t* HandleMul(Machine& m, const uint32_t* pc) { return Checked<DimOp::kMul>(m, pc); }
inline const uint32_t* HandleFloorDiv(Machine& m, const uint32_t* pc) {
  return Checked<DimOp::kFloorDiv>(m, pc);
}
inline const uint32_t* HandleCeilDiv(Machine& m, const uint32_t* pc) {
  return Checked<DimOp::kCeilDiv>(m, pc);
}
inline const uint32_t* HandleFloorMod(Machine& m, const uint32_t* pc) {
  return Checked<DimOp::kFloorMod>(m, pc);
}
inline const uint32_t* HandleMin(Machine& m, const uint32_t* pc) { return Checked<DimOp::kMin>(m, pc); }
inline const uint32_t* HandleMax(Machine& m, const uint32_t* pc) { return Checked<DimOp::kMax>(m, pc); }
inline const uint32_t* HandleEqual(Machine& m, const uint32_t* pc) { return Checked<DimOp::kEqual>(m, pc); }
inline const uint32_t* HandleNotEqual(Machine& m, const uint32_t* pc) {
  return Checked<DimOp::kNotEqual>(m, pc);
}
inline const uint32_t* HandleLess(Machine& m, const uint32_t* pc) { return Checked<DimOp::kLess>(m, pc); }
inline const uint32_t* HandleLessEqual(Machine& m, const uint32_t* pc) {
  return Checked<DimOp::kLessEqual>(m, pc);
}
inline const uint32_t* HandleAnd(Machine& m, const uint32_t* pc) {
  return BinaryScalar(m, pc, [](int64_t a, int64_t b) { return a & b; });
}
inline const uint32_t* HandleOr(Machine& m, const uint32_t* pc) {
  return BinaryScalar(m, pc, [](int64_t a, int64_t b) { return a | b; });
}
inline const uint32_t* HandleNot(Machine& m, const uint32_t* pc) {
  m.frames.scalars[pc[1]] = m.frames.scalars[pc[2]] == 0;
  return pc + 3;
}
inline const uint32_t* HandleSelect(Machine& m, const uint32_t* pc) {
  m.frames.scalars[pc[1]] = m.frames.scalars[m.frames.scalars[pc[2]] != 0 ? pc[3] : pc[4]];
  return pc + 5;
}

inline const uint32_t* HandleAddF64(Machine& m, const uint32_t* pc) {
  return BinaryF64(m, pc, [](double a, double b) { return std::bit_cast<int64_t>(a + b); });
}
inline const uint32_t* HandleSubF64(Machine& m, const uint32_t* pc) {
  return BinaryF64(m, pc, [](double a, double b) { return std::bit_cast<int64_t>(a - b); });
}
inline const uint32_t* HandleMulF64(Machine& m, const uint32_t* pc) {
  return BinaryF64(m, pc, [](double a, double b) { return std::bit_cast<int64_t>(a * b); });
}
inline const uint32_t* HandleDivF64(Machine& m, const uint32_t* pc) {
  return BinaryF64(m, pc, [](double a, double b) { return std::bit_cast<int64_t>(a / b); });
}
inline const uint32_t* HandleLessF64(Machine& m, const uint32_t* pc) {
  return BinaryF64(m, pc, [](double a, double b) -> int64_t { return a < b; });
}
inline const uint32_t* HandleIntToF64(Machine& m, const uint32_t* pc) {
  m.frames.scalars[pc[1]] = std::bit_cast<int64_t>(static_cast<double>(m.frames.scalars[pc[2]]));
  return pc + 3;
}
inline const uint32_t* HandleF64ToInt(Machine& m, const uint32_t* pc) {
  const double value = std::floor(std::bit_cast<double>(m.frames.scalars[pc[2]]));
  constexpr double kTwoTo63 = 9223372036854775808.0;
  int64_t result = 0;
  if (value >= kTwoTo63)
    result = INT64_MAX;
  else if (value < -kTwoTo63)
    result = INT64_MIN;
  else if (value == value)
    result = static_cast<int64_t>(value);
  m.frames.scalars[pc[1]] = result;
  return pc + 3;
}

inline const uint32_t* HandleSlotSwap(Machine& m, const uint32_t* pc) {
  std::swap(m.frames.slots[pc[1]], m.frames.slots[pc[2]]);
  return pc + 3;
}

}  // namespace tvmvm
