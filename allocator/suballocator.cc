#include "allocator/suballocator.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>

namespace tvmvm {

// One thread's turn to make blocks: there is no other as long as this is. The lock is held when it begins and
// ends.
class Suballocator::Growing {
 public:
  Growing(Suballocator* memory, std::unique_lock<std::mutex>* lock) : memory_(memory), lock_(lock) {
    memory_->is_growing_ = true;
  }
  ~Growing() {
    memory_->is_growing_ = false;
    memory_->grown_.notify_all();
  }
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;

  // Without the lock meanwhile, whatever happens.
  Expected<Block> AllocateBlock(int64_t bytes) const {
    struct Unlocked {
      explicit Unlocked(std::unique_lock<std::mutex>* lock) : lock(lock) { lock->unlock(); }
      ~Unlocked() { lock->lock(); }
      std::unique_lock<std::mutex>* lock;
    } const unlocked(lock_);
    return memory_->source_->AllocateBlock(bytes);
  }

 private:
  Suballocator* const memory_;
  std::unique_lock<std::mutex>* const lock_;
};

Suballocator::Suballocator(BlockSource* source, SuballocatorOptions options)
    : source_(source), options_(std::move(options)), times_(options_.megabyte_ns) {}

Suballocator::~Suballocator() {
  for (const Region& region : regions_) source_->FreeBlock(region.block);
}

bool Suballocator::AwaitOthers(std::unique_lock<std::mutex>& lock, int64_t deadline_ns) {
  const auto is_over = [this] { return !is_growing_; };
  if (deadline_ns == 0) {
    grown_.wait(lock, is_over);
    return true;
  }
  const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
  return grown_.wait_until(lock, deadline, is_over);
}

Expected<const Suballocator::Piece*> Suballocator::Allocate(int64_t bytes, int64_t deadline_ns) {
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - options_.alignment)
    return MakeError(Code::kOutOfMemory, options_.owner + ": no " + std::to_string(bytes) + " bytes");
  const int64_t taken = (std::max<int64_t>(bytes, 1) + options_.alignment - 1) & -options_.alignment;
  std::unique_lock lock(mutex_);
  while (true) {
    const auto hole = holes_.lower_bound({taken, 0, 0});
    if (hole != holes_.end()) return TakeFrom(hole, taken, bytes);
    if (!is_growing_) break;
    if (!AwaitOthers(lock, deadline_ns))
      return MakeError(Code::kDeadlineExceeded, options_.owner + ": no " + std::to_string(bytes) +
                                                    " bytes in time: others wait for memory, too");
  }
  const Growing growing(this, &lock);
  Expected<Region*> region = GrowFor(taken, deadline_ns, growing);
  if (!region) return tl::unexpected(NoMemory(bytes, region.error()));
  return TakeFrom(holes_.find({(*region)->block.bytes, (*region)->block.handle, 0}), taken, bytes);
}

Expected<const Suballocator::Piece*> Suballocator::TakeFrom(std::set<Hole>::iterator hole, int64_t taken,
                                                            int64_t bytes) {
  const Hole found = *hole;
  // What may throw comes first.
  auto entry = std::make_unique<Entry>();
  if (found.bytes > taken) entry->hole = NewHole();
  HoleMemory memory = RemoveHole(found.region, found.region->holes.find(found.offset));
  if (found.bytes > taken)
    AddHole(found.region, found.offset + taken, found.bytes - taken, std::move(memory));
  else
    entry->hole = std::move(memory);
  entry->block = found.region->block;
  entry->offset = found.offset;
  entry->bytes = bytes;
  entry->region = found.region;
  entry->taken = taken;
  statistics_.live_bytes += bytes;
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.live_bytes);
  return entry.release();
}

// A block with room for `bytes`. Where there is no memory, or no time: a block of that size alone. Where
// there is no memory, without the empty blocks, too.
Expected<Suballocator::Region*> Suballocator::GrowFor(int64_t bytes, int64_t deadline_ns,
                                                      const Growing& growing) {
  int64_t block_bytes = options_.first_block_bytes;
  while (block_bytes < std::min(statistics_.held_bytes, options_.largest_block_bytes)) block_bytes *= 2;
  if (options_.most_block_bytes > 0) block_bytes = std::min(block_bytes, options_.most_block_bytes);
  if (bytes <= block_bytes / 2) {
    if (Expected<Region*> region = AddRegion(block_bytes, deadline_ns, growing)) return region;
  }
  Expected<Region*> region = AddRegion(bytes, deadline_ns, growing);
  if (region || region.error().code == Code::kDeadlineExceeded) return region;
  DropEmptyRegions(0);
  return AddRegion(bytes, deadline_ns, growing);
}

Expected<Suballocator::Region*> Suballocator::AddRegion(int64_t bytes, int64_t deadline_ns,
                                                        const Growing& growing) {
  if (options_.most_block_bytes > 0 && bytes > options_.most_block_bytes)
    return MakeError(Code::kOutOfMemory,
                     "a block has at most " + std::to_string(options_.most_block_bytes) + " bytes");
  if (options_.max_bytes > 0 && bytes > options_.max_bytes - statistics_.held_bytes)
    return MakeError(Code::kOutOfMemory, "the budget is " + std::to_string(options_.max_bytes) + " bytes");
  Regions made(1);
  HoleMemory hole = NewHole();
  const int64_t begin = options_.now_ns();
  if (deadline_ns != 0) TVMVM_CHECK_OK(times_.Check(bytes, deadline_ns - begin));
  TVMVM_TRY(made.front().block, growing.AllocateBlock(bytes));
  times_.Learn(bytes, options_.now_ns() - begin);
  made.front().block.bytes = bytes;
  regions_.splice(regions_.end(), made);
  statistics_.held_bytes += bytes;
  ++statistics_.blocks;
  ++statistics_.block_allocations;
  AddHole(&regions_.back(), 0, bytes, std::move(hole));
  return &regions_.back();
}

Error Suballocator::NoMemory(int64_t bytes, const Error& reason) const {
  if (reason.code == Code::kDeadlineExceeded) return {reason.code, options_.owner + ": " + reason.message};
  if (reason.code != Code::kOutOfMemory) return reason;
  return {Code::kOutOfMemory, options_.owner + ": no " + std::to_string(bytes) + " bytes, " +
                                  std::to_string(statistics_.live_bytes) + " in use, " +
                                  std::to_string(statistics_.held_bytes) + " held: " + reason.message};
}

void Suballocator::Free(const Piece* piece) noexcept {
  if (piece == nullptr) return;
  const std::unique_ptr<Entry> entry(const_cast<Entry*>(static_cast<const Entry*>(piece)));
  std::lock_guard lock(mutex_);
  statistics_.live_bytes -= entry->bytes;
  Region* region = entry->region;
  int64_t offset = entry->offset, bytes = entry->taken;
  auto next = region->holes.lower_bound(offset);
  if (next != region->holes.end() && next->first == offset + bytes) {
    bytes += next->second;
    RemoveHole(region, next++);
  }
  next = region->holes.lower_bound(offset);
  if (next != region->holes.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      RemoveHole(region, before);
    }
  }
  AddHole(region, offset, bytes, std::move(entry->hole));
  // What is empty now is kept as far as it is small beside what is in use.
  if (IsEmpty(*region)) DropEmptyRegions(std::max(options_.largest_block_bytes, statistics_.live_bytes));
}

void Suballocator::Trim() {
  std::lock_guard lock(mutex_);
  DropEmptyRegions(0);
}

SuballocatorStatistics Suballocator::statistics() const {
  std::lock_guard lock(mutex_);
  SuballocatorStatistics statistics = statistics_;
  statistics.megabyte_ns = times_.megabyte_ns();
  return statistics;
}

Suballocator::HoleMemory Suballocator::NewHole() {
  std::map<int64_t, int64_t> in_region{{0, 0}};
  std::set<Hole> in_all{Hole()};
  return {in_region.extract(in_region.begin()), in_all.extract(in_all.begin())};
}

void Suballocator::AddHole(Region* region, int64_t offset, int64_t bytes, HoleMemory memory) noexcept {
  memory.in_region.key() = offset;
  memory.in_region.mapped() = bytes;
  region->holes.insert(std::move(memory.in_region));
  memory.in_all.value() = {bytes, region->block.handle, offset, region};
  holes_.insert(std::move(memory.in_all));
}

Suballocator::HoleMemory Suballocator::RemoveHole(Region* region,
                                                  std::map<int64_t, int64_t>::iterator hole) noexcept {
  auto in_all = holes_.extract(Hole{hole->second, region->block.handle, hole->first});
  return {region->holes.extract(hole), std::move(in_all)};
}

bool Suballocator::IsEmpty(const Region& region) const {
  return region.holes.size() == 1 && region.holes.begin()->second == region.block.bytes;
}

// The first `keep_bytes` of empty blocks stay.
void Suballocator::DropEmptyRegions(int64_t keep_bytes) {
  for (auto region = regions_.begin(); region != regions_.end();) {
    auto current = region++;
    if (!IsEmpty(*current)) continue;
    if (current->block.bytes <= keep_bytes) {
      keep_bytes -= current->block.bytes;
      continue;
    }
    RemoveHole(&*current, current->holes.begin());
    source_->FreeBlock(current->block);
    statistics_.held_bytes -= current->block.bytes;
    --statistics_.blocks;
    regions_.erase(current);
  }
}

}  // namespace tvmvm
