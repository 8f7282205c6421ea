// Which type a value that is read is to have, by the first byte of an input.
#pragma once

#include "tests/fuzz/targets/target.h"
#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::fuzz {

inline DType WantedDType(uint8_t byte) { return static_cast<DType>(byte % kDTypeCount); }

inline TypeSpec WantedType(uint8_t byte) {
  TypeSpec type;
  type.dtype = byte % kDTypeCount == 0 ? DType::kF32 : WantedDType(byte);
  type.has_rank = byte < 128;
  if (type.has_rank) type.dims.resize(byte % 3);
  for (uint8_t left = byte / kDTypeCount % 4; left > 0; --left) {
    TypeSpec outer;
    outer.kind = left % 2 == 0 ? ValueKind::kSequence : ValueKind::kOptional;
    outer.elements = {type};
    type = outer;
  }
  return type;
}

// All of the elements are there to be read.
inline void TouchElements(const Tensor& tensor) {
  Require(tensor.element_count() >= 0, "a tensor of fewer than no elements");
  uint8_t sum = 0;
  if (tensor.dtype() == DType::kString) {
    Require(static_cast<int64_t>(tensor.strings().size()) == tensor.element_count(),
            "a text for each element");
    for (const std::string& text : tensor.strings())
      for (char letter : text) sum ^= static_cast<uint8_t>(letter);
  } else {
    const auto* bytes = static_cast<const uint8_t*>(tensor.data());
    for (int64_t i = 0; i < tensor.byte_count(); ++i) sum ^= bytes[i];
  }
  [[maybe_unused]] volatile uint8_t seen = sum;
}

inline void TouchElements(const Value& value) {
  if (value.is_tensor()) return TouchElements(value.tensor());
  if (value.is_none()) return;
  for (const Value& element : value.elements()) TouchElements(element);
}

}  // namespace tvmvm::fuzz
