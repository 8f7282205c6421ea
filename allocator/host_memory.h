// Host memory for tensors and arenas: 64-byte aligned, from mimalloc where its library is present, else from
// the C library. mimalloc is opened privately, because linking it would replace the embedding process's own
// malloc.
#pragma once

#include <cstdint>
#include <memory>

#include "tvm-vm/status.h"

namespace tvmvm {

inline constexpr int64_t kHostAlignment = 64;

// Null when there is no memory. `bytes` >= 0; zero bytes give a unique non-null address.
void* TryAllocateHost(int64_t bytes) noexcept;
// Frees what TryAllocateHost gave; null is allowed.
void FreeHost(void* memory) noexcept;
// Gives the system the pages of memory that TryAllocateHost gave; what they held is lost. Before memory is
// freed that is not wanted again soon: the allocator keeps its address, but nothing behind it.
void DiscardPages(void* memory, int64_t bytes) noexcept;
// Gives the system the pages of what this thread freed, as far as the allocator can. Slow: its free lists are
// walked.
void CollectHost() noexcept;

// As TryAllocateHost. Errors: kOutOfMemory with the amount asked.
Expected<void*> AllocateHost(int64_t bytes);

// Memory that goes when the last owner goes. The owner's bookkeeping lives in the same heap.
Expected<std::shared_ptr<void>> AllocateSharedHost(int64_t bytes);
// Makes an owner of memory that TryAllocateHost gave; null, and the memory is gone, when there is none for
// the owner.
std::shared_ptr<void> OwnHost(void* memory) noexcept;

// "mimalloc" or "libc".
const char* HostAllocatorName() noexcept;

}  // namespace tvmvm
