// Arena: memory of one Invocation, handed out as regions in stack order so that nested frames share one
// block. A block that turned out too small is replaced by one of the high-water size as soon as nothing is in
// use, so that a warm call touches no allocator.
#pragma once

#include <cstdint>
#include <vector>

#include "tvm-vm/status.h"

namespace tvmvm {

// A block of memory from a device.
struct Block {
  void* host = nullptr;  // its address for the host, or null
  uint64_t handle = 0;   // the device's own name of it
  int64_t bytes = 0;
};

// Where an arena's blocks come from.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // 64-byte aligned. Errors: kOutOfMemory.
  virtual Expected<Block> AllocateBlock(int64_t bytes) = 0;
  virtual void FreeBlock(const Block& block) = 0;
};

// Not thread-safe.
class Arena {
 public:
  using RegionId = uint32_t;
  struct Region {
    RegionId id = 0;
    Block block;         // the block that it lies in
    int64_t offset = 0;  // within the block, a multiple of 64
    int64_t bytes = 0;
  };

  explicit Arena(BlockSource* source) : source_(source) {}
  ~Arena() { FreeBlocks(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // A region of `bytes` >= 0 bytes above all others. Errors: kOutOfMemory.
  Expected<Region> Push(int64_t bytes);
  // Gives a region back. Regions may be given back in any order; memory is reused when all above it are gone
  // too.
  void Pop(RegionId id);

  int64_t held_bytes() const { return held_bytes_; }        // of all blocks
  int64_t used_bytes() const { return used_bytes_; }        // up to the topmost region
  int64_t high_water_bytes() const { return high_water_; }  // the most ever used
  int64_t block_allocations() const { return block_allocations_; }

  // Frees all blocks and forgets the high-water mark when no region is in use; otherwise does nothing.
  void Trim();

 private:
  struct Entry {
    uint32_t block = 0;
    int64_t offset = 0;
    int64_t bytes = 0;  // rounded up
    bool live = true;
  };

  Status AddBlockOf(int64_t needed, int64_t wished);
  Status AddBlock(int64_t bytes);
  void FreeBlocks();

  BlockSource* source_;
  std::vector<Block> blocks_;  // regions lie in ascending blocks; blocks above the topmost region's are empty
  std::vector<Entry> entries_;  // the stack of regions
  int64_t held_bytes_ = 0;
  int64_t used_bytes_ = 0;
  int64_t high_water_ = 0;
  int64_t block_allocations_ = 0;
};

}  // namespace tvmvm
