#include "allocator/arena.h"

#include <algorithm>
#include <limits>
#include <string>

namespace tvmvm {
namespace {

constexpr int64_t kLine = 64;

}  // namespace

Expected<Arena::Region> Arena::Push(int64_t bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() / 4)
    return MakeError(Code::kOutOfMemory, "an arena of " + std::to_string(bytes) + " bytes cannot be had");
  const int64_t rounded = std::max(kLine, (bytes + kLine - 1) & ~(kLine - 1));

  uint32_t block = entries_.empty() ? 0 : entries_.back().block;
  int64_t offset = entries_.empty() ? 0 : entries_.back().offset + entries_.back().bytes;
  // Nothing in use: one block for all that was ever needed at once.
  if (entries_.empty() && (blocks_.size() != 1 || blocks_[0].bytes < rounded)) {
    FreeBlocks();
    TVMVM_CHECK_OK(AddBlockOf(rounded, high_water_));
  }
  while (blocks_[block].bytes - offset < rounded) {
    ++block;
    offset = 0;
    // Deep call stacks grow geometrically, so that the number of blocks stays small.
    if (block == blocks_.size()) TVMVM_CHECK_OK(AddBlockOf(rounded, held_bytes_ / 2));
  }
  entries_.push_back({block, offset, rounded, true});
  used_bytes_ += rounded;
  high_water_ = std::max(high_water_, used_bytes_);
  return Region{static_cast<RegionId>(entries_.size() - 1), blocks_[block], offset, bytes};
}

void Arena::Pop(RegionId id) {
  entries_[id].live = false;
  while (!entries_.empty() && !entries_.back().live) {
    used_bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
}

void Arena::Trim() {
  if (!entries_.empty()) return;
  FreeBlocks();
  high_water_ = 0;
}

// `wished` bytes, or at least those that are needed.
Status Arena::AddBlockOf(int64_t needed, int64_t wished) {
  if (wished > needed && AddBlock(wished)) return {};
  return AddBlock(needed);
}

Status Arena::AddBlock(int64_t bytes) {
  bytes = (bytes + kLine - 1) & ~(kLine - 1);
  blocks_.reserve(blocks_.size() + 1);  // first, as it may throw
  TVMVM_TRY(Block block, source_->AllocateBlock(bytes));
  block.bytes = bytes;
  blocks_.push_back(block);
  held_bytes_ += bytes;
  ++block_allocations_;
  return {};
}

void Arena::FreeBlocks() {
  for (const Block& block : blocks_) source_->FreeBlock(block);
  blocks_.clear();
  held_bytes_ = 0;
}

}  // namespace tvmvm
