#include "allocator/suballocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <random>
#include <set>
#include <thread>

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using Piece = Suballocator::Piece;

// Blocks of nothing, counted; `most` bytes in all.
class FakeBlocks final : public BlockSource {
 public:
  Expected<Block> AllocateBlock(int64_t bytes) override {
    if (bytes > most - held) return MakeError(Code::kOutOfMemory, "the driver has no more");
    held += bytes;
    live[++last] = bytes;
    return Block{nullptr, last, bytes};
  }
  void FreeBlock(const Block& block) override {
    ASSERT_TRUE(live.contains(block.handle));
    held -= live[block.handle];
    live.erase(block.handle);
  }
  int64_t most = INT64_MAX, held = 0;
  uint64_t last = 0;
  std::map<uint64_t, int64_t> live;
};

// Frees what a test did not.
class Pieces {
 public:
  explicit Pieces(Suballocator* memory) : memory_(memory) {}
  ~Pieces() {
    for (const Piece* piece : pieces_) memory_->Free(piece);
  }
  const Piece* Take(int64_t bytes) {
    auto piece = memory_->Allocate(bytes);
    EXPECT_TRUE(piece) << piece.error().message;
    return piece ? *pieces_.insert(*piece).first : nullptr;
  }
  void Free(const Piece* piece) {
    pieces_.erase(piece);
    memory_->Free(piece);
  }

 private:
  Suballocator* memory_;
  std::set<const Piece*> pieces_;
};

SuballocatorOptions Small() {
  SuballocatorOptions options;
  options.owner = "test";
  options.alignment = 64;
  options.first_block_bytes = 4096;
  options.largest_block_bytes = 16384;
  return options;
}

TEST(Suballocator, CutsPiecesFromOneBlock) {
  FakeBlocks blocks;
  Suballocator memory(&blocks, Small());
  std::set<int64_t> offsets;
  std::vector<const Piece*> pieces;
  for (int i = 0; i < 16; ++i) {
    auto piece = memory.Allocate(200);
    ASSERT_TRUE(piece);
    EXPECT_EQ((*piece)->offset % 64, 0);
    EXPECT_EQ((*piece)->bytes, 200);
    offsets.insert((*piece)->offset);
    pieces.push_back(*piece);
  }
  EXPECT_EQ(offsets.size(), 16u);
  EXPECT_EQ(blocks.live.size(), 1u);
  EXPECT_EQ(memory.statistics().live_bytes, 3200);
  EXPECT_EQ(memory.statistics().held_bytes, 4096);
  for (const Piece* piece : pieces) memory.Free(piece);
  EXPECT_EQ(memory.statistics().live_bytes, 0);
  EXPECT_EQ(memory.statistics().peak_bytes, 3200);
  Pieces rest(&memory);
  EXPECT_EQ(rest.Take(2000)->offset, 0);  // the holes became one again
}

TEST(Suballocator, TakesTheBestFit) {
  FakeBlocks blocks;
  Suballocator memory(&blocks, Small());
  Pieces pieces(&memory);
  const Piece* large = pieces.Take(1024);
  pieces.Take(64);
  const Piece* small = pieces.Take(128);
  pieces.Take(64);
  const int64_t wanted = small->offset;
  pieces.Free(large);
  pieces.Free(small);
  EXPECT_EQ(pieces.Take(100)->offset, wanted);
}

TEST(Suballocator, BlocksGrowAndLargeRequestsStandAlone) {
  FakeBlocks blocks;
  Suballocator memory(&blocks, Small());
  Pieces pieces(&memory);
  for (int i = 0; i < 40; ++i) pieces.Take(1024);
  EXPECT_EQ(blocks.live[1], 4096);
  EXPECT_EQ(blocks.live[3], 8192);
  EXPECT_LE(blocks.live.size(), 5u);
  const Piece* alone = pieces.Take(100'000);
  EXPECT_EQ(alone->offset, 0);
  EXPECT_EQ(blocks.live[blocks.last], 100'032);
}

TEST(Suballocator, SaysWhyThereIsNoMemory) {
  FakeBlocks blocks;
  blocks.most = 10'000;
  Suballocator memory(&blocks, Small());
  Pieces pieces(&memory);
  pieces.Take(1000);
  auto piece = memory.Allocate(9000);
  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error().code, Code::kOutOfMemory);
  EXPECT_EQ(piece.error().message, "test: no 9000 bytes, 1000 in use, 4096 held: the driver has no more");
  EXPECT_EQ(memory.Allocate(-1).error().code, Code::kOutOfMemory);
  EXPECT_EQ(memory.Allocate(INT64_MAX).error().code, Code::kOutOfMemory);

  SuballocatorOptions options = Small();
  options.max_bytes = 5000;
  Suballocator limited(&blocks, options);
  EXPECT_THAT(limited.Allocate(6000).error().message, HasSubstr("the budget is 5000 bytes"));
  options.max_bytes = 0;
  options.most_block_bytes = 2048;
  Suballocator divided(&blocks, options);
  EXPECT_THAT(divided.Allocate(4000).error().message, HasSubstr("a block has at most 2048 bytes"));
}

// A block that is kept empty gives way to a request that it does not fit.
TEST(Suballocator, GivesEmptyBlocksBackBeforeItFails) {
  FakeBlocks blocks;
  blocks.most = 10'000;
  Suballocator memory(&blocks, Small());
  memory.Free(*memory.Allocate(1000));
  EXPECT_EQ(blocks.live.size(), 1u);  // kept
  Pieces pieces(&memory);
  EXPECT_NE(pieces.Take(8000), nullptr);
  EXPECT_EQ(blocks.live.size(), 1u);
}

TEST(Suballocator, TrimsAndKeepsWhatIsWarm) {
  FakeBlocks blocks;
  Suballocator memory(&blocks, Small());
  for (int i = 0; i < 100; ++i) memory.Free(*memory.Allocate(1000));
  EXPECT_EQ(memory.statistics().block_allocations, 1);
  memory.Trim();
  EXPECT_TRUE(blocks.live.empty());
  EXPECT_EQ(memory.statistics().held_bytes, 0);
}

// Against a list of what is taken: pieces never overlap, and everything is one hole again in the end.
TEST(Suballocator, SurvivesRandomUse) {
  FakeBlocks blocks;
  Suballocator memory(&blocks, Small());
  std::mt19937 random(7);
  std::vector<const Piece*> pieces;
  std::map<std::pair<uint64_t, int64_t>, int64_t> taken;  // block, offset -> end
  for (int step = 0; step < 20'000; ++step) {
    if (pieces.size() < 60 && random() % 5 < 3) {
      const Piece* piece = *memory.Allocate(random() % 3000);
      const int64_t end = piece->offset + std::max<int64_t>(piece->bytes, 1);
      ASSERT_LE(end, piece->block.bytes);
      auto next = taken.lower_bound({piece->block.handle, piece->offset});
      if (next != taken.end() && next->first.first == piece->block.handle) {
        ASSERT_GE(next->first.second, end);
      }
      if (next != taken.begin() && std::prev(next)->first.first == piece->block.handle) {
        ASSERT_LE(std::prev(next)->second, piece->offset);
      }
      taken[{piece->block.handle, piece->offset}] = end;
      pieces.push_back(piece);
    } else if (!pieces.empty()) {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      taken.erase({pieces.back()->block.handle, pieces.back()->offset});
      memory.Free(pieces.back());
      pieces.pop_back();
    }
  }
  for (const Piece* piece : pieces) memory.Free(piece);
  EXPECT_EQ(memory.statistics().live_bytes, 0);
  memory.Trim();
  EXPECT_TRUE(blocks.live.empty());
}

// Blocks that take a microsecond for each kilobyte, on a clock of their own.
class SlowBlocks final : public BlockSource {
 public:
  SlowBlocks() { now = 1'000'000; }
  Expected<Block> AllocateBlock(int64_t bytes) override {
    now += bytes * 1000 / 1024;
    sizes.push_back(bytes);
    return Block{nullptr, sizes.size(), bytes};
  }
  void FreeBlock(const Block&) override {}
  static SuballocatorOptions Options() {
    SuballocatorOptions options = Small();
    options.megabyte_ns = 4 * 1'024'000;
    options.now_ns = [] { return now; };
    return options;
  }
  static inline int64_t now = 0;
  std::vector<int64_t> sizes;
};

TEST(Suballocator, BlocksThatWouldBeLateAreNotMade) {
  SlowBlocks blocks;
  Suballocator memory(&blocks, SlowBlocks::Options());
  Pieces pieces(&memory);
  constexpr int64_t kMegabyte = 1 << 20;
  EXPECT_EQ(memory.statistics().megabyte_ns, 4'096'000);
  auto late = memory.Allocate(kMegabyte, SlowBlocks::now + 4'000'000);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(
      late.error().message,
      "test: no 1048576 bytes: to get them takes about 4096 microseconds, and 4000 microseconds are left");
  EXPECT_TRUE(blocks.sizes.empty());
  // Each asks: what one takes the next one does not have.
  const int64_t deadline = SlowBlocks::now + 5'000'000;
  auto first = memory.Allocate(kMegabyte, deadline);
  ASSERT_TRUE(first) << first.error().message;
  SlowBlocks::now += 500'000;
  EXPECT_EQ(memory.Allocate(kMegabyte, deadline).error().code, Code::kDeadlineExceeded);
  memory.Free(*first);
  // What is there takes no time, even where none is left.
  pieces.Take(1000);
  const size_t made = blocks.sizes.size();
  first = memory.Allocate(1000, SlowBlocks::now - 1);
  ASSERT_TRUE(first) << first.error().message;
  memory.Free(*first);
  EXPECT_EQ(blocks.sizes.size(), made);
  // Without a deadline nothing is asked.
  pieces.Take(100 * kMegabyte);
}

TEST(Suballocator, BlocksAreMeasured) {
  SlowBlocks blocks;
  Suballocator memory(&blocks, SlowBlocks::Options());
  Pieces pieces(&memory);
  for (int i = 0; i < 10; ++i) pieces.Take(BlockTimes::kTelling);
  EXPECT_NEAR(static_cast<double>(memory.statistics().megabyte_ns), 1'024'000, 5'000);
}

// A small request takes the block that it is wished to start only where there is time for that.
TEST(Suballocator, WhereTimeIsShortBlocksAreNoLargerThanNeeded) {
  SlowBlocks blocks;
  Suballocator memory(&blocks, SlowBlocks::Options());
  auto piece = memory.Allocate(1024, SlowBlocks::now + 10'000);  // a block of 4096 takes 16 us
  ASSERT_TRUE(piece) << piece.error().message;
  EXPECT_EQ(blocks.sizes, std::vector<int64_t>{1024});
  memory.Free(*piece);
}

// Blocks that are made when the test lets them.
class HeldBlocks final : public BlockSource {
 public:
  Expected<Block> AllocateBlock(int64_t bytes) override {
    ++asked;
    while (is_held) std::this_thread::yield();
    return Block{nullptr, static_cast<uint64_t>(asked), bytes};
  }
  void FreeBlock(const Block&) override {}
  std::atomic<bool> is_held{false};
  std::atomic<int> asked{0};
};

TEST(Suballocator, OthersNeedNotWaitForABlock) {
  HeldBlocks blocks;
  Suballocator memory(&blocks, Small());
  auto kept = memory.Allocate(1024);
  ASSERT_TRUE(kept);
  blocks.is_held = true;
  auto grows = std::async(std::launch::async, [&] { return memory.Allocate(100'000); });
  while (blocks.asked < 2) std::this_thread::yield();
  // What is free is taken and given back, and the numbers are told.
  auto small = memory.Allocate(1024);
  ASSERT_TRUE(small);
  memory.Free(*small);
  memory.Free(*kept);
  EXPECT_EQ(memory.statistics().live_bytes, 0);
  // What needs a block, too, waits as long as it may: one at a time is made.
  auto late = memory.Allocate(100'000, SteadyNanoseconds() + 1'000'000);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(late.error().message, "test: no 100000 bytes in time: others wait for memory, too");
  EXPECT_EQ(blocks.asked, 2);
  auto follows = std::async(std::launch::async, [&] { return memory.Allocate(50'000); });
  blocks.is_held = false;
  for (auto* made : {&grows, &follows}) {
    auto piece = made->get();
    ASSERT_TRUE(piece) << piece.error().message;
    memory.Free(*piece);
  }
}

// The turn to make blocks is given back whatever happens.
TEST(Suballocator, AnExceptionLeavesTheTurnToOthers) {
  class Throwing final : public BlockSource {
   public:
    Expected<Block> AllocateBlock(int64_t bytes) override {
      if (throws) throw std::bad_alloc();
      return Block{nullptr, 1, bytes};
    }
    void FreeBlock(const Block&) override {}
    bool throws = true;
  } blocks;
  Suballocator memory(&blocks, Small());
  EXPECT_THROW((void)memory.Allocate(64), std::bad_alloc);
  blocks.throws = false;
  Pieces pieces(&memory);
  pieces.Take(64);
}

}  // namespace
}  // namespace tvmvm
