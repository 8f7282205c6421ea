// Memory for constants and kernel libraries that a Program owns.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "tvm-vm/status.h"

namespace tvmvm {

inline constexpr size_t kBlobAlignment = 64;

inline bool IsBlobAligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kBlobAlignment == 0;
}

// Bytes together with what keeps them alive.
struct Blob {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  // Of a mapped file: whether somebody cut it meanwhile (CatchCutFiles). Lives as long as the owner.
  const std::atomic<bool>* is_cut = nullptr;
};

// A copy at a 64-byte aligned address. Errors: kOutOfMemory with the amount.
[[nodiscard]] Expected<Blob> CopyToBlob(std::span<const std::byte> bytes);

}  // namespace tvmvm
