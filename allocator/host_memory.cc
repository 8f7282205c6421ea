#include "allocator/host_memory.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tvmvm {
namespace {

struct HostAllocator {
  const char* name;
  void* (*allocate)(size_t bytes, size_t alignment);
  void (*free)(void* memory);
  void (*collect)(bool force);  // gives the system what is free; null: it cannot be asked to
};

void* LibcAllocate(size_t bytes, size_t alignment) { return std::aligned_alloc(alignment, bytes); }

void LibcCollect(bool) {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

constexpr HostAllocator kLibc{"libc", &LibcAllocate, &std::free, &LibcCollect};

// Under a sanitizer every block must come from the allocator that the sanitizer watches.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
constexpr int64_t kMostBytes = int64_t{1} << 38;  // its allocator ends the process beyond 2^40
#else
constexpr bool kSanitized = false;
constexpr int64_t kMostBytes = int64_t{1} << 46;  // more than a process can address
#endif

HostAllocator FindAllocator() noexcept {
  if (kSanitized) return kLibc;
  for (const char* name : {"libmimalloc.so.2", "libmimalloc.so.3", "libmimalloc.so"}) {
    // Never closed: threads that used it run its clean-up when they end.
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    auto allocate = reinterpret_cast<void* (*)(size_t, size_t)>(dlsym(library, "mi_malloc_aligned"));
    auto free = reinterpret_cast<void (*)(void*)>(dlsym(library, "mi_free"));
    auto collect = reinterpret_cast<void (*)(bool)>(dlsym(library, "mi_collect"));
    if (allocate != nullptr && free != nullptr) return {"mimalloc", allocate, free, collect};
  }
  return kLibc;
}

const HostAllocator& Allocator() noexcept {
  static const HostAllocator allocator = FindAllocator();
  return allocator;
}

// Memory that is touched for the first time is cleared by the system a page at a time, which for small pages
// takes longer than what most kernels do with it. Very large blocks keep small ones: a kernel that strides
// through all of such a block would wait at its first steps until the whole block is cleared, behind its
// deadline.
constexpr int64_t kLargePage = int64_t{2} << 20;
constexpr int64_t kLeastInLargePages = int64_t{1} << 20, kMostInLargePages = int64_t{64} << 20;

// Also of neighbours in the pages at both ends.
void AskForLargePages(void* memory, int64_t bytes) noexcept {
#if defined(__linux__)
  const int64_t begin = reinterpret_cast<int64_t>(memory) & -kLargePage;
  const int64_t end = (reinterpret_cast<int64_t>(memory) + bytes + kLargePage - 1) & -kLargePage;
  madvise(reinterpret_cast<void*>(begin), static_cast<size_t>(end - begin), MADV_HUGEPAGE);
#endif
}

// Puts a shared_ptr's control block into the same heap as the memory it owns.
template <class T>
struct ControlBlockAllocator {
  using value_type = T;
  ControlBlockAllocator() = default;
  template <class U>
  ControlBlockAllocator(const ControlBlockAllocator<U>&) {}
  T* allocate(size_t count) {
    if (void* memory = TryAllocateHost(static_cast<int64_t>(count * sizeof(T))))
      return static_cast<T*>(memory);
    throw std::bad_alloc();
  }
  void deallocate(T* memory, size_t) { FreeHost(memory); }
  template <class U>
  bool operator==(const ControlBlockAllocator<U>&) const {
    return true;
  }
};

}  // namespace

void* TryAllocateHost(int64_t bytes) noexcept {
  if (bytes < 0 || bytes > kMostBytes) return nullptr;
  // Whole lines: kernels may read a vector's width up to the end of a line.
  int64_t rounded = bytes == 0 ? kHostAlignment : (bytes + kHostAlignment - 1) & ~(kHostAlignment - 1);
  void* memory = Allocator().allocate(static_cast<size_t>(rounded), kHostAlignment);
  if (memory != nullptr && rounded >= kLeastInLargePages && rounded <= kMostInLargePages)
    AskForLargePages(memory, rounded);
  return memory;
}

void FreeHost(void* memory) noexcept {
  if (memory != nullptr) Allocator().free(memory);
}

void CollectHost() noexcept {
  if (Allocator().collect != nullptr) Allocator().collect(true);
}

void DiscardPages(void* memory, int64_t bytes) noexcept {
#if defined(__linux__)
  constexpr int64_t kPage = 4096;
  const int64_t begin = (reinterpret_cast<int64_t>(memory) + kPage - 1) & -kPage;
  const int64_t end = (reinterpret_cast<int64_t>(memory) + bytes) & -kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), static_cast<size_t>(end - begin), MADV_DONTNEED);
#endif
}

Expected<void*> AllocateHost(int64_t bytes) {
  void* memory = TryAllocateHost(bytes);
  if (memory == nullptr)
    return MakeError(Code::kOutOfMemory, "the host has no memory for " + std::to_string(bytes) + " bytes");
  return memory;
}

std::shared_ptr<void> OwnHost(void* memory) noexcept {
  try {
    return std::shared_ptr<void>(memory, &FreeHost, ControlBlockAllocator<std::byte>());
  } catch (const std::bad_alloc&) {
    return nullptr;  // the constructor has freed the memory
  }
}

Expected<std::shared_ptr<void>> AllocateSharedHost(int64_t bytes) {
  TVMVM_TRY(void* memory, AllocateHost(bytes));
  std::shared_ptr<void> owner = OwnHost(memory);
  if (!owner) return MakeError(Code::kOutOfMemory, "the host has no memory for an owner");
  return owner;
}

const char* HostAllocatorName() noexcept { return Allocator().name; }

}  // namespace tvmvm
