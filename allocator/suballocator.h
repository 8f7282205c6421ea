// Suballocator: pieces of memory out of large blocks, for devices whose driver gives few and slow
// allocations. Policy alone: where blocks come from is the BlockSource's business.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "allocator/arena.h"
#include "allocator/block_times.h"
#include "bytecode/steady_time.h"
#include "tvm-vm/status.h"

namespace tvmvm {

struct SuballocatorOptions {
  std::string owner = "device";             // whose memory, for messages
  int64_t alignment = 256;                  // of pieces within blocks; a power of two
  int64_t first_block_bytes = 16 << 20;     // each further block is twice as large ...
  int64_t largest_block_bytes = 256 << 20;  // ... up to this; larger requests get a block of their own
  int64_t most_block_bytes = 0;             // the driver gives no larger block; 0: no limit
  int64_t max_bytes = 0;                    // held at once in all blocks; 0: no limit
  int64_t megabyte_ns = 0;                  // what blocks take until they were measured, as BlockTimes
  int64_t (*now_ns)() = &SteadyNanoseconds;
};

struct SuballocatorStatistics {
  int64_t live_bytes = 0;  // in pieces, as asked
  int64_t peak_bytes = 0;
  int64_t held_bytes = 0;  // in blocks
  int64_t blocks = 0;
  int64_t block_allocations = 0;  // ever
  int64_t megabyte_ns = 0;        // of a new block, about
};

// Thread-safe: while one thread waits for a block, others take what is free and give back. All pieces are
// freed before it goes. `source` outlives it; it makes one block at a time, without the lock, and frees under
// it.
class Suballocator {
 public:
  // A piece of a block. Valid until it is freed.
  struct Piece {
    Block block;
    int64_t offset = 0;  // within the block, a multiple of the alignment
    int64_t bytes = 0;   // as asked
  };

  Suballocator(BlockSource* source, SuballocatorOptions options);
  ~Suballocator();
  Suballocator(const Suballocator&) = delete;
  Suballocator& operator=(const Suballocator&) = delete;

  // `bytes` >= 0; 0 gives a piece of its own, too. The best fit of what is free, else from a new block: the
  // smallest that does where a larger one would take too long. `deadline_ns`: on the steady clock; 0: none.
  // Errors: kOutOfMemory saying what was asked, what is held, and the limit; kDeadlineExceeded, where a new
  // block would not be there by then, or is not because another thread's takes that long.
  [[nodiscard]] Expected<const Piece*> Allocate(int64_t bytes, int64_t deadline_ns = 0);
  // Blocks that become empty are kept while they are small and few, so that a warm call asks the driver
  // nothing. Needs no memory.
  void Free(const Piece* piece) noexcept;
  // Gives the empty blocks back.
  void Trim();

  SuballocatorStatistics statistics() const;

 private:
  struct Region {
    Block block;
    std::map<int64_t, int64_t> holes;  // offset -> bytes
  };
  using Regions = std::list<Region>;
  struct Hole {
    int64_t bytes = 0;
    uint64_t block = 0;  // handle: what tells blocks apart
    int64_t offset = 0;
    Region* region = nullptr;
    bool operator<(const Hole& other) const {
      return std::tie(bytes, block, offset) < std::tie(other.bytes, other.block, other.offset);
    }
  };
  // The memory that a hole's places in both lists take: a piece keeps it for the hole that it will be.
  struct HoleMemory {
    std::map<int64_t, int64_t>::node_type in_region;
    std::set<Hole>::node_type in_all;
  };
  struct Entry : Piece {
    Region* region = nullptr;
    int64_t taken = 0;  // rounded up
    HoleMemory hole;
  };

  Expected<const Piece*> TakeFrom(std::set<Hole>::iterator hole, int64_t taken, int64_t bytes);
  class Growing;

  // Waits while another thread makes a block. False: it took too long.
  bool AwaitOthers(std::unique_lock<std::mutex>& lock, int64_t deadline_ns);
  // While `growing` is there.
  Expected<Region*> AddRegion(int64_t bytes, int64_t deadline_ns, const Growing& growing);
  Expected<Region*> GrowFor(int64_t bytes, int64_t deadline_ns, const Growing& growing);
  Error NoMemory(int64_t bytes, const Error& reason) const;
  static HoleMemory NewHole();
  void AddHole(Region* region, int64_t offset, int64_t bytes, HoleMemory memory) noexcept;
  HoleMemory RemoveHole(Region* region, std::map<int64_t, int64_t>::iterator hole) noexcept;
  bool IsEmpty(const Region& region) const;
  void DropEmptyRegions(int64_t keep_bytes);

  BlockSource* source_;
  const SuballocatorOptions options_;
  mutable std::mutex mutex_;
  Regions regions_;
  std::set<Hole> holes_;
  BlockTimes times_;
  bool is_growing_ = false;  // a thread makes a block
  std::condition_variable grown_;
  SuballocatorStatistics statistics_;
};

}  // namespace tvmvm
