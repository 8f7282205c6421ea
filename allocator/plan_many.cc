#include "allocator/plan_many.h"

#include <bit>
#include <map>
#include <set>
#include <utility>

namespace tvmvm::planning {
namespace {

constexpr uint64_t kWorkOfStep = 300;  // nanoseconds
constexpr int64_t kMaxLine = 64;

// The free memory below a top.
class Holes {
 public:
  // The smallest hole that holds them, else the place above all.
  int64_t Take(int64_t size, int64_t alignment) {
    // Holes that only an alignment keeps from fitting are passed over, but not many.
    int tries = 8;
    for (auto at = by_size_.lower_bound({size, 0}); at != by_size_.end() && tries > 0; ++at, --tries) {
      const auto [bytes, begin] = *at;
      const int64_t offset = AlignUp(begin, alignment);
      if (bytes - (offset - begin) < size) continue;
      Remove(begin, bytes);
      Add(begin, offset - begin);
      Add(offset + size, begin + bytes - (offset + size));
      return offset;
    }
    int64_t begin = top_;
    if (!by_offset_.empty()) {
      const auto [offset, bytes] = *by_offset_.rbegin();
      if (offset + bytes == top_) {
        begin = offset;
        Remove(offset, bytes);
      }
    }
    const int64_t offset = SaturatingAdd(begin, AlignUp(begin, alignment) - begin);
    Add(begin, offset - begin);
    top_ = SaturatingAdd(offset, size);
    return offset;
  }

  void Give(int64_t begin, int64_t size) {
    int64_t end = std::min(begin + size, top_);
    auto after = by_offset_.lower_bound(begin);
    if (after != by_offset_.end() && after->first == end) {
      end += after->second;
      after = Remove(after->first, after->second);
    }
    if (after != by_offset_.begin()) {
      const auto [offset, bytes] = *std::prev(after);
      if (offset + bytes == begin) {
        begin = offset;
        Remove(offset, bytes);
      }
    }
    Add(begin, end - begin);
  }

 private:
  void Add(int64_t begin, int64_t bytes) {
    if (bytes <= 0) return;
    by_offset_.emplace(begin, bytes);
    by_size_.emplace(bytes, begin);
  }
  std::map<int64_t, int64_t>::iterator Remove(int64_t begin, int64_t bytes) {
    by_size_.erase({bytes, begin});
    return by_offset_.erase(by_offset_.find(begin));
  }

  int64_t top_ = 0;
  std::map<int64_t, int64_t> by_offset_;           // begin -> bytes
  std::set<std::pair<int64_t, int64_t>> by_size_;  // bytes, begin
};

// The highest end over a range of positions, and raising it: a segment tree.
class Skyline {
 public:
  explicit Skyline(size_t positions)
      : leaves_(std::bit_ceil(std::max<size_t>(positions, 1))), highest_(2 * leaves_), floor_(2 * leaves_) {}

  int64_t Highest(size_t first, size_t last) const { return Highest(1, 0, leaves_, first, last + 1); }
  // `height` is at least what is there.
  void Raise(size_t first, size_t last, int64_t height) { Raise(1, 0, leaves_, first, last + 1, height); }

 private:
  int64_t Highest(size_t node, size_t begin, size_t end, size_t from, size_t to) const {
    if (to <= begin || end <= from) return 0;
    if (from <= begin && end <= to) return highest_[node];
    const size_t middle = (begin + end) / 2;
    return std::max({floor_[node], Highest(2 * node, begin, middle, from, to),
                     Highest(2 * node + 1, middle, end, from, to)});
  }
  void Raise(size_t node, size_t begin, size_t end, size_t from, size_t to, int64_t height) {
    if (to <= begin || end <= from) return;
    highest_[node] = std::max(highest_[node], height);
    if (from <= begin && end <= to) {
      floor_[node] = std::max(floor_[node], height);  // of all below
      return;
    }
    const size_t middle = (begin + end) / 2;
    Raise(2 * node, begin, middle, from, to, height);
    Raise(2 * node + 1, middle, end, from, to, height);
  }

  size_t leaves_;
  std::vector<int64_t> highest_, floor_;
};

}  // namespace

Placement PlaceBySweep(const std::vector<Value>& values, bool backwards, Watch* watch) {
  // When a value comes and goes, in the order of the sweep; of those that come together the largest first.
  struct Coming {
    uint32_t at;
    int64_t size;
    uint32_t value;
    bool operator<(const Coming& other) const {
      if (at != other.at) return at < other.at;
      return size != other.size ? size > other.size : value < other.value;
    }
  };
  std::vector<Coming> coming;
  std::vector<std::pair<uint32_t, uint32_t>> going;
  coming.reserve(values.size());
  going.reserve(values.size());
  int64_t line = kMaxLine;  // what all places are multiples of, so that no holes are left that nobody can use
  for (uint32_t v = 0; v < values.size(); ++v) {
    const Value& value = values[v];
    coming.push_back({backwards ? ~value.last : value.first, value.size, v});
    going.emplace_back(backwards ? ~value.first : value.last, v);
    line = std::min(line, value.alignment);
  }
  std::sort(coming.begin(), coming.end());
  std::sort(going.begin(), going.end());
  auto rounded = [&](uint32_t v) { return AlignUp(values[v].size, line); };

  Placement placement;
  placement.offsets.resize(values.size());
  Holes holes;
  size_t gone = 0;
  for (const Coming& next : coming) {
    for (; going[gone].first < next.at; ++gone) {
      const uint32_t v = going[gone].second;
      holes.Give(placement.offsets[v], rounded(v));
    }
    const int64_t offset = holes.Take(rounded(next.value), values[next.value].alignment);
    placement.offsets[next.value] = offset;
    placement.total_bytes = std::max(placement.total_bytes, SaturatingAdd(offset, next.size));
    if (watch->IsStopped(kWorkOfStep)) return {};
  }
  return placement;
}

Placement PlaceOnSkyline(const std::vector<Value>& values, const std::vector<uint32_t>& order, Watch* watch) {
  // What is alive only grows at a first position, so those are all that matter.
  std::vector<uint32_t> positions;
  positions.reserve(values.size());
  for (const Value& value : values) positions.push_back(value.first);  // ascending
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  auto behind = [&](uint32_t position) {
    return static_cast<size_t>(std::upper_bound(positions.begin(), positions.end(), position) -
                               positions.begin());
  };
  Skyline skyline(positions.size());
  Placement placement;
  placement.offsets.resize(values.size());
  for (uint32_t v : order) {
    const size_t first = behind(values[v].first) - 1, last = behind(values[v].last) - 1;
    const int64_t offset = AlignUp(skyline.Highest(first, last), values[v].alignment);
    const int64_t end = SaturatingAdd(offset, values[v].size);
    skyline.Raise(first, last, end);
    placement.offsets[v] = offset;
    placement.total_bytes = std::max(placement.total_bytes, end);
    if (watch->IsStopped(kWorkOfStep)) return {};
  }
  return placement;
}

}  // namespace tvmvm::planning
