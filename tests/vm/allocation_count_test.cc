#include "tests/vm/allocation_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

namespace {
std::atomic<int64_t> g_allocations{0};
constexpr int64_t kNever = -1;
thread_local int64_t g_until_failure = kNever;

// Counts an allocation; whether it is the one that fails.
bool IsToFail() {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return g_until_failure != kNever && g_until_failure-- == 0;
}
}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  if (void* memory = IsToFail() ? nullptr : std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// Sanitizers have one of their own, which would not fit the delete below; std::stable_sort uses it.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return IsToFail() ? nullptr : std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tvmvm::testing {

int64_t AllocationCount() { return g_allocations.load(); }

FailingAllocation::FailingAllocation(int64_t number) { g_until_failure = number; }
FailingAllocation::~FailingAllocation() { g_until_failure = kNever; }
bool FailingAllocation::has_failed() const { return g_until_failure == kNever; }

TEST(AllocationCount, Counts) {
  const int64_t before = AllocationCount();
  auto owner = std::make_unique<std::unique_ptr<int>>(new int(1));
  EXPECT_EQ(AllocationCount(), before + 2);
}

TEST(AllocationCount, OneFails) {
  FailingAllocation failing(1);
  auto first = std::make_unique<int>(1);
  EXPECT_FALSE(failing.has_failed());
  EXPECT_THROW(std::make_unique<int>(2), std::bad_alloc);
  EXPECT_TRUE(failing.has_failed());
  EXPECT_EQ(*std::make_unique<int>(3), 3);
}

}  // namespace tvmvm::testing
