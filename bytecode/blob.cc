#include "bytecode/blob.h"

#include <cstring>
#include <new>

namespace tvmvm {

Expected<Blob> CopyToBlob(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Blob{};
  constexpr std::align_val_t kAlignment{kBlobAlignment};
  void* memory = ::operator new(bytes.size(), kAlignment, std::nothrow);
  if (memory == nullptr)
    return MakeError(Code::kOutOfMemory,
                     "no memory for " + std::to_string(bytes.size()) + " bytes of constants");
  std::memcpy(memory, bytes.data(), bytes.size());
  std::shared_ptr<const void> owner(memory, [](void* p) { ::operator delete(p, kAlignment); });
  return Blob{{static_cast<const std::byte*>(memory), bytes.size()}, std::move(owner)};
}

}  // namespace tvmvm
