// Registers of a body that is made: as operands, and as sets of bits.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/builder.h"

namespace tvmvm::fuzz {

inline Operand Dst(ScalarReg reg) { return {OperandKind::kScalarDst, reg.index}; }
inline Operand Src(ScalarReg reg) { return {OperandKind::kScalarSrc, reg.index}; }
inline Operand Dst(RefReg reg) { return {OperandKind::kRefDst, reg.index}; }
inline Operand Src(RefReg reg) { return {OperandKind::kRefSrc, reg.index}; }
inline Operand Type(DType dtype) { return {OperandKind::kDType, static_cast<int64_t>(dtype)}; }

inline void Mark(std::vector<bool>* bits, size_t index) {
  if (bits->size() <= index) bits->resize(index + 1);
  (*bits)[index] = true;
}

inline std::vector<uint32_t> SetBits(const std::vector<bool>& bits) {
  std::vector<uint32_t> indices;
  for (size_t i = 0; i < bits.size(); ++i)
    if (bits[i]) indices.push_back(static_cast<uint32_t>(i));
  return indices;
}

}  // namespace tvmvm::fuzz
