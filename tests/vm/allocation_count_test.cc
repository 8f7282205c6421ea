#include "tests/vm/allocation_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

namespace {
std::atomic<int64_t> g_allocations{0};
}

[[gnu::noinline]] void* operator new(size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// Sanitizers have one of their own, which would not fit the delete below; std::stable_sort uses it.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tvmvm::testing {

int64_t AllocationCount() { return g_allocations.load(); }

TEST(AllocationCount, Counts) {
  const int64_t before = AllocationCount();
  auto owner = std::make_unique<std::unique_ptr<int>>(new int(1));
  EXPECT_EQ(AllocationCount(), before + 2);
}

}  // namespace tvmvm::testing
