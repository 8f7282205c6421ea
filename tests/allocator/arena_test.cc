#include "allocator/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "allocator/budget.h"
#include "allocator/host_memory.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HostBlocks final : public BlockSource {
 public:
  Expected<Block> AllocateBlock(int64_t bytes) override {
    if (bytes > most) return MakeError(Code::kOutOfMemory, "too much");
    TVMVM_TRY(void* memory, AllocateHost(bytes));
    ++live;
    return Block{memory, 0, bytes};
  }
  void FreeBlock(const Block& block) override {
    --live;
    FreeHost(block.host);
  }
  int live = 0;
  int64_t most = INT64_MAX;
};

char* Address(const Arena::Region& region) { return static_cast<char*>(region.block.host) + region.offset; }

TEST(Arena, GivesAlignedRegionsThatDoNotOverlap) {
  HostBlocks blocks;
  Arena arena(&blocks);
  std::vector<Arena::Region> regions;
  for (int64_t bytes : {1, 64, 100, 0, 5000}) {
    auto region = arena.Push(bytes);
    ASSERT_TRUE(region);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Address(*region)) % 64, 0u);
    std::memset(Address(*region), static_cast<int>(regions.size() + 1), static_cast<size_t>(bytes));
    regions.push_back(*region);
  }
  for (size_t i = 0; i < regions.size(); ++i)
    for (int64_t at = 0; at < regions[i].bytes; ++at)
      ASSERT_EQ(Address(regions[i])[at], static_cast<char>(i + 1));
}

TEST(Arena, AWarmCallAllocatesNothing) {
  HostBlocks blocks;
  Arena arena(&blocks);
  for (int run = 0; run < 5; ++run) {
    std::vector<Arena::RegionId> regions;
    for (int depth = 0; depth < 20; ++depth) regions.push_back(arena.Push(1000 + depth)->id);
    while (!regions.empty()) {
      arena.Pop(regions.back());
      regions.pop_back();
    }
    if (run == 1) {
      EXPECT_EQ(blocks.live, 1) << "one block of the high-water size from the second run on";
    }
  }
  const int64_t allocations = arena.block_allocations();
  arena.Pop(arena.Push(20'000)->id);
  EXPECT_EQ(arena.block_allocations(), allocations);
}

TEST(Arena, HoldsExactlyWhatOneRegionNeeds) {
  HostBlocks blocks;
  Arena arena(&blocks);
  arena.Pop(arena.Push(6400)->id);
  EXPECT_EQ(arena.held_bytes(), 6400);
  arena.Pop(arena.Push(64'000)->id);
  EXPECT_EQ(arena.held_bytes(), 64'000);
  arena.Pop(arena.Push(64)->id);
  EXPECT_EQ(arena.held_bytes(), 64'000);
  EXPECT_EQ(arena.block_allocations(), 2);
}

TEST(Arena, MemoryBelowALivingRegionWaits) {
  HostBlocks blocks;
  Arena arena(&blocks);
  auto low = *arena.Push(64);
  auto high = *arena.Push(64);
  arena.Pop(low.id);
  EXPECT_EQ(arena.used_bytes(), 128);
  EXPECT_GE(Address(*arena.Push(64)), Address(high) + 64);
  EXPECT_EQ(arena.used_bytes(), 192);
}

TEST(Arena, TrimGivesBackOnlyWhatIsFree) {
  HostBlocks blocks;
  Arena arena(&blocks);
  auto region = *arena.Push(100);
  arena.Trim();
  EXPECT_EQ(blocks.live, 1);
  arena.Pop(region.id);
  arena.Trim();
  EXPECT_EQ(blocks.live, 0);
  EXPECT_EQ(arena.held_bytes(), 0);
}

TEST(Arena, IsUsableAfterItsSourceRefused) {
  HostBlocks blocks;
  blocks.most = 1000;
  Arena arena(&blocks);
  EXPECT_EQ(arena.Push(2000).error().code, Code::kOutOfMemory);
  EXPECT_EQ(arena.Push(INT64_MAX).error().code, Code::kOutOfMemory);
  EXPECT_EQ(arena.Push(-1).error().code, Code::kOutOfMemory);
  ASSERT_TRUE(arena.Push(500));
  EXPECT_FALSE(arena.Push(2000));
  EXPECT_EQ(arena.used_bytes(), 512);
}

TEST(Budget, RefusesBeforeAnythingIsTaken) {
  Budget budget;
  budget.set_limit(100);
  ASSERT_TRUE(budget.Reserve(60, "arena"));
  Status status = budget.Reserve(41, "output 'y'");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kOutOfMemory);
  EXPECT_EQ(status.error().message, "output 'y' needs 41 bytes; 60 bytes are in use and the limit is 100");
  EXPECT_EQ(budget.live_bytes(), 60);
  budget.Release(60);
  EXPECT_TRUE(budget.Reserve(100, "arena"));
  EXPECT_EQ(budget.peak_bytes(), 100);
}

TEST(HostMemory, IsAlignedAndNeverNullForSmallSizes) {
  for (int64_t bytes : {0, 1, 63, 64, 65, 1 << 20}) {
    void* memory = TryAllocateHost(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kHostAlignment, 0u);
    std::memset(memory, 1, static_cast<size_t>(bytes));
    FreeHost(memory);
  }
}

#if defined(__linux__)
// The flags of the system's record of the memory that holds `address`; empty where it does not show them.
std::string FlagsOfMemory(const void* address) {
  std::ifstream records("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(records, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      const auto wanted = reinterpret_cast<uintptr_t>(address);
      inside = begin <= wanted && wanted < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

bool HasLargePages() {
  constexpr size_t kBytes = 8 << 20;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  const bool has =
      madvise(memory, kBytes, MADV_HUGEPAGE) == 0 &&
      FlagsOfMemory(static_cast<std::byte*>(memory) + kBytes / 2).find(" hg ") != std::string::npos;
  munmap(memory, kBytes);
  return has;
}

TEST(HostMemory, BlocksOfSomeMegabytesAreInLargePages) {
  if (!HasLargePages()) GTEST_SKIP() << "this system has no large pages, or does not show them";
  const int64_t few = int64_t{8} << 20, many = int64_t{2} << 30;
  const std::shared_ptr<void> large(TryAllocateHost(few), &FreeHost),
      largest(TryAllocateHost(many), &FreeHost);
  if (largest == nullptr) GTEST_SKIP() << "no memory for the largest block";
  EXPECT_THAT(FlagsOfMemory(static_cast<std::byte*>(large.get()) + few / 2), HasSubstr(" hg "));
  EXPECT_THAT(FlagsOfMemory(static_cast<std::byte*>(largest.get()) + many / 2), Not(HasSubstr(" hg ")));
}
#endif

TEST(HostMemory, SaysHowMuchWasAsked) {
  auto memory = AllocateHost(INT64_MAX / 2);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, Code::kOutOfMemory);
  EXPECT_THAT(memory.error().message, HasSubstr("4611686018427387903"));
  EXPECT_FALSE(AllocateHost(-1));
}

TEST(HostMemory, OwnersKeepIt) {
  auto memory = AllocateSharedHost(100);
  ASSERT_TRUE(memory);
  std::shared_ptr<void> copy = *memory;
  memory->reset();
  std::memset(copy.get(), 2, 100);
}

}  // namespace
}  // namespace tvmvm
