// What launches wait for; what reads contracts is launch_contract_reader.cc.
#include "bytecode/launch_contract.h"

#include <bit>

#include "bytecode/dim_op.h"

namespace tvmvm {
namespace {

constexpr uint8_t NumberOf(DimOp op) { return static_cast<uint8_t>(op); }

}  // namespace

std::optional<uint32_t> LaunchContract::Evaluate(int64_t* values, uint64_t parts) const {
  if (ends_.size() < kMostParts) parts &= (uint64_t{1} << ends_.size()) - 1;
  for (; parts != 0; parts &= parts - 1) {
    const auto part = static_cast<size_t>(std::countr_zero(parts));
    const Step* const end = steps_.data() + ends_[part];
    for (const Step* step = steps_.data() + (part == 0 ? 0 : ends_[part - 1]); step != end; ++step) {
      const int64_t a = values[step->operands[0]], b = values[step->operands[1]];
      int64_t* result = values + step->result;
      bool holds = true;
      switch (step->operation) {
        case NumberOf(DimOp::kMul):
          holds = !__builtin_mul_overflow(a, b, result);
          break;
        case NumberOf(DimOp::kAdd):
          holds = !__builtin_add_overflow(a, b, result);
          break;
        case NumberOf(DimOp::kSelect):
          *result = a != 0 ? b : values[step->operands[2]];
          break;
        case kIsEqual:
          holds = a == b;
          break;
        case kIsAtMost:
          holds = a <= b;
          break;
        case kIsSet:
          holds = a != 0;
          break;
        default:
          holds = Compute(static_cast<DimOp>(step->operation), a, b, result);
      }
      if (!holds) [[unlikely]]
        return step->expression;
    }
  }
  return std::nullopt;
}

}  // namespace tvmvm
