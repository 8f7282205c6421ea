#include "sub_byte.h"

#include <cstring>

#include "errors.h"

namespace tvmvm::python {

Tensor PackSubBytes(const Tensor& bytes) {
  Tensor packed = OrRaise(Tensor::Allocate(bytes.dtype(), bytes.shape()));
  const auto* from = static_cast<const uint8_t*>(bytes.data());
  auto* to = static_cast<uint8_t*>(packed.data());
  const int bits = DTypeBits(bytes.dtype()), per_byte = 8 / bits;
  const auto mask = static_cast<uint8_t>((1 << bits) - 1);
  std::memset(to, 0, static_cast<size_t>(packed.byte_count()));
  for (int64_t i = 0, count = bytes.element_count(); i < count; ++i)
    to[i / per_byte] |= static_cast<uint8_t>((from[i] & mask) << (i % per_byte * bits));
  return packed;
}

Expected<Tensor> UnpackSubBytes(const Tensor& packed) {
  TVMVM_TRY(Tensor memory, Tensor::Allocate(DType::kU8, packed.shape()));
  const auto* from = static_cast<const uint8_t*>(packed.data());
  auto* to = static_cast<uint8_t*>(memory.data());
  const int bits = DTypeBits(packed.dtype()), per_byte = 8 / bits;
  const auto mask = static_cast<uint8_t>((1 << bits) - 1);
  const auto sign = IsSignedInteger(packed.dtype()) ? static_cast<uint8_t>(1 << (bits - 1)) : uint8_t{0};
  for (int64_t i = 0, count = packed.element_count(); i < count; ++i) {
    const auto code = static_cast<uint8_t>(from[i / per_byte] >> (i % per_byte * bits) & mask);
    to[i] = static_cast<uint8_t>((code ^ sign) - sign);
  }
  return memory;
}

}  // namespace tvmvm::python
