#include "tests/faults/faults.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "allocator/host_memory.h"
#include "tests/faults/driver_calls.h"
#include "tests/sanitizer.h"

namespace {

struct Armed {
  uint32_t kinds = 0;
  int64_t left = 0;
  bool onwards = false;
  bool failed = false;
  int error = 0;
};
constinit thread_local Armed t_armed;
constinit std::atomic<int64_t> g_blocks{0}, g_heap_blocks{0}, g_mappings{0};

[[maybe_unused]] constexpr uint32_t kWriting = tvmvm::testing::kFiles | tvmvm::testing::kWrites;

// Whether this call is to fail; errno is set then.
bool Fails(uint32_t kind) {
  Armed& armed = t_armed;
  if ((armed.kinds & kind) == 0) return false;
  if (armed.left-- > 0) return false;
  if (!armed.onwards) armed.kinds = 0;
  armed.failed = true;
  errno = (kind & tvmvm::testing::kFiles) != 0 ? armed.error : ENOMEM;
  return true;
}

template <class T>
T* Counted(std::atomic<int64_t>& count, T* memory) {
  if (memory != nullptr) count.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

// Where files are mapped, 0: nowhere.
[[maybe_unused]] constinit std::array<std::atomic<long>, 64> g_mapped{};

[[maybe_unused]] void Exchange(long from, long to, int64_t change) {
  for (std::atomic<long>& place : g_mapped)
    if (long wanted = from; place.compare_exchange_strong(wanted, to)) {
      g_mappings.fetch_add(change, std::memory_order_relaxed);
      return;
    }
}
[[maybe_unused]] void Remember(long address) { Exchange(0, address, 1); }
[[maybe_unused]] void Forget(long address) { Exchange(address, 0, -1); }

}  // namespace

#ifdef TVMVM_SANITIZED

[[gnu::noinline]] void* operator new(size_t size) {
  if (!Fails(tvmvm::testing::kMalloc))
    if (void* memory = Counted(g_blocks, std::malloc(size))) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Fails(tvmvm::testing::kMalloc) ? nullptr : Counted(g_blocks, std::malloc(size));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (memory != nullptr) g_blocks.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

#else

#pragma GCC visibility push(default)
extern "C" {

// The C library's own, which it exports for whoever has a malloc of his own.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) noexcept {
  return Fails(tvmvm::testing::kMalloc) ? nullptr : Counted(g_blocks, __libc_malloc(size));
}
void* calloc(size_t count, size_t size) noexcept {
  return Fails(tvmvm::testing::kMalloc) ? nullptr : Counted(g_blocks, __libc_calloc(count, size));
}
void* realloc(void* memory, size_t size) noexcept {
  if (Fails(tvmvm::testing::kMalloc)) return nullptr;
  void* moved = __libc_realloc(memory, size);
  if (memory == nullptr) Counted(g_blocks, moved);
  if (memory != nullptr && size == 0) g_blocks.fetch_sub(1, std::memory_order_relaxed);
  return moved;
}
void* memalign(size_t alignment, size_t size) noexcept {
  return Fails(tvmvm::testing::kMalloc) ? nullptr : Counted(g_blocks, __libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  *memory = memalign(alignment, size);
  return *memory == nullptr && size > 0 ? ENOMEM : 0;
}
void free(void* memory) noexcept {
  if (memory != nullptr) g_blocks.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}

// mimalloc is found by name.
using HeapAllocate = void* (*)(size_t, size_t);
using HeapFree = void (*)(void*);
static HeapAllocate heap_allocate = nullptr;
static HeapFree heap_free = nullptr;

static void* FailingHeapAllocate(size_t size, size_t alignment) {
  return Fails(tvmvm::testing::kHostHeap) ? nullptr : Counted(g_heap_blocks, heap_allocate(size, alignment));
}
static void CountingHeapFree(void* memory) {
  if (memory != nullptr) g_heap_blocks.fetch_sub(1, std::memory_order_relaxed);
  heap_free(memory);
}

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  if (file >= 0 && Fails(tvmvm::testing::kMap)) return MAP_FAILED;
  const long mapped = syscall(SYS_mmap, address, size, protection, flags, file, offset);
  if (mapped != -1 && file >= 0) Remember(mapped);
  return reinterpret_cast<void*>(mapped);
}
int munmap(void* address, size_t size) noexcept {
  Forget(reinterpret_cast<long>(address));
  return static_cast<int>(syscall(SYS_munmap, address, size));
}
int memfd_create(const char* name, unsigned flags) noexcept {
  if (Fails(tvmvm::testing::kMap)) return -1;
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}
int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  if (Fails(tvmvm::testing::kFiles)) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t write(int file, const void* bytes, size_t count) {
  return Fails(kWriting) ? -1 : syscall(SYS_write, file, bytes, count);
}
// While something is to fail it writes half of what it is asked to, as systems may.
ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  if (Fails(kWriting)) return -1;
  return syscall(SYS_pwrite64, file, bytes, t_armed.kinds != 0 && count > 1 ? count / 2 : count, offset);
}
int fsync(int file) {
  return Fails(tvmvm::testing::kFiles) ? -1 : static_cast<int>(syscall(SYS_fsync, file));
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  if (Fails(tvmvm::testing::kFiles)) return -1;
  return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
int rename(const char* from, const char* to) noexcept {
  if (Fails(tvmvm::testing::kFiles)) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

}  // extern "C"
#pragma GCC visibility pop

#endif

// What the program's own code finds by name, by the linker's --wrap: mimalloc, and drivers. So does a
// sanitizer that is linked in, before it can be used: nothing of one is in this function, and what it finds
// goes by untouched.
#ifdef __clang__
#define TVMVM_BARE __attribute__((disable_sanitizer_instrumentation))
#else
#define TVMVM_BARE __attribute__((no_sanitize("address", "thread", "undefined")))
#endif
extern "C" void* __real_dlsym(void* handle, const char* name);
extern "C" TVMVM_BARE void* __wrap_dlsym(void* handle, const char* name) {
  void* found = __real_dlsym(handle, name);
  if (found == nullptr) return found;
#ifndef TVMVM_SANITIZED
  if (std::strcmp(name, "mi_malloc_aligned") == 0) {
    heap_allocate = reinterpret_cast<HeapAllocate>(found);
    return reinterpret_cast<void*>(&FailingHeapAllocate);
  }
  if (std::strcmp(name, "mi_free") == 0) {
    heap_free = reinterpret_cast<HeapFree>(found);
    return reinterpret_cast<void*>(&CountingHeapFree);
  }
#endif
  // "clFinish", "vkGetInstanceProcAddr"
  const bool is_driver = ((name[0] == 'c' && name[1] == 'l') || (name[0] == 'v' && name[1] == 'k')) &&
                         name[2] >= 'A' && name[2] <= 'Z';
  return is_driver ? tvmvm::testing::DriverFunction(name, found) : found;
}

namespace tvmvm::testing {

bool CanFail(uint32_t kinds) {
  if (kSanitized) return (kinds & (kHostHeap | kMap | kFiles)) == 0;
  return (kinds & kHostHeap) == 0 || std::string(HostAllocatorName()) == "mimalloc";
}

Failing::Failing(uint32_t kinds, int64_t number, Then then, int error) {
  t_armed = {kinds, number, then == Then::kOnwards, false, error};
  ArmDrivers(kinds, number, then, error);
}
Failing::~Failing() {
  t_armed = {};
  DisarmDrivers();
}
bool Failing::has_failed() const { return t_armed.failed || DriversFailed(); }

std::ostream& operator<<(std::ostream& out, const Held& held) {
  return out << held.blocks << " blocks, " << held.heap_blocks << " of the heap, " << held.mappings
             << " mappings, " << held.files << " files" << TextOf(held.driver_objects);
}

Held HeldNow() {
  Held held{g_blocks.load(), g_heap_blocks.load(), g_mappings.load(), 0, DriverObjectsNow()};
  for (int file = 0; file < 256; ++file) held.files += fcntl(file, F_GETFD) != -1;
  return held;
}

// Calls of the operators, which no compiler leaves out, as it may a new-expression.
bool Allocates() {
  try {
    ::operator delete(::operator new(1));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Which of three allocations succeed.
std::vector<bool> Allocations(int64_t number, Then then) {
  std::array<bool, 3> succeeded{};
  {
    const Failing failing(kMalloc, number, then, 0);
    for (bool& did : succeeded) did = Allocates();
  }
  return std::vector<bool>(succeeded.begin(), succeeded.end());
}

TEST(Faults, OneAllocationFails) {
  EXPECT_EQ(Allocations(1, Then::kOnce), (std::vector{true, false, true}));
  EXPECT_EQ(Allocations(3, Then::kOnce), (std::vector{true, true, true}));
}

TEST(Faults, AllThatFollowFail) {
  EXPECT_EQ(Allocations(1, Then::kOnwards), (std::vector{true, false, false}));
}

TEST(Faults, WhatIsHeldIsCounted) {
  const Held before = HeldNow();
  auto block = std::make_unique<int>(1);
  EXPECT_EQ(HeldNow().blocks, before.blocks + 1);
  block.reset();
  EXPECT_EQ(HeldNow(), before);
}

TEST(Faults, TheHostHeapFails) {
  if (!CanFail(kHostHeap)) GTEST_SKIP() << "there is no mimalloc, or a sanitizer takes its place";
  FreeHost(TryAllocateHost(64));  // opens the heap
  const Held before = HeldNow();
  void* memory = TryAllocateHost(64);
  EXPECT_EQ(HeldNow().heap_blocks, before.heap_blocks + 1);
  {
    Failing failing(kHostHeap, 0, Then::kOnce, 0);
    EXPECT_EQ(TryAllocateHost(64), nullptr);
  }
  FreeHost(memory);
  EXPECT_EQ(HeldNow(), before);
}

TEST(Faults, FilesFail) {
  if (!CanFail(kFiles)) GTEST_SKIP() << "a sanitizer takes the place of the system's calls";
  Failing failing(kFiles, 1, Then::kOnce, EIO);
  const int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(write(file, "a", 1), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(write(file, "a", 1), 1);
  close(file);
}

}  // namespace tvmvm::testing
