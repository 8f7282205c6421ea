#include "allocator/planner.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tvmvm {
namespace {

constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max() / 4;

int64_t AlignUp(int64_t value, int64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

// Saturates, so that absurd sizes give an absurd total (which an allocation refuses) and not a small one.
int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return kMaxBytes;
  return std::min(sum, kMaxBytes);
}

struct Value {
  uint32_t index = 0;
  uint32_t first = 0;
  uint32_t last = 0;
  int64_t size = 0;
  int64_t alignment = 64;
};

// The values that take memory, in the order of their first position.
std::vector<Value> ValuesByFirst(const PlanSpec& spec, std::span<const int64_t> sizes) {
  std::vector<Value> values;
  values.reserve(spec.values.size());
  for (uint32_t k = 0; k < spec.values.size(); ++k) {
    if (k >= sizes.size() || sizes[k] <= 0) continue;
    const PlanSpec::Interval& interval = spec.values[k];
    values.push_back({k, interval.first, std::max(interval.first, interval.last),
                      std::min(sizes[k], kMaxBytes), std::max<int64_t>(interval.alignment, 1)});
  }
  std::stable_sort(values.begin(), values.end(),
                   [](const Value& a, const Value& b) { return a.first < b.first; });
  return values;
}

// For each value, the values that are alive at a common position; and the largest sum of sizes alive at one
// position.
struct Conflicts {
  std::vector<std::vector<uint32_t>> of;  // positions in the list of values
  int64_t lower_bound = 0;
};

Conflicts FindConflicts(const std::vector<Value>& values) {
  Conflicts conflicts;
  conflicts.of.resize(values.size());
  std::vector<uint32_t> alive;
  for (uint32_t v = 0; v < values.size(); ++v) {
    std::erase_if(alive, [&](uint32_t u) { return values[u].last < values[v].first; });
    int64_t live_bytes = values[v].size;
    for (uint32_t u : alive) {
      conflicts.of[u].push_back(v);
      conflicts.of[v].push_back(u);
      live_bytes = SaturatingAdd(live_bytes, values[u].size);
    }
    alive.push_back(v);
    // The live set only grows when a value begins, so its maxima are at beginnings.
    conflicts.lower_bound = std::max(conflicts.lower_bound, live_bytes);
  }
  return conflicts;
}

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

// The smallest gap between `taken` (sorted here) that holds the value, else the place above all of them.
int64_t BestFit(std::vector<Range>& taken, const Value& value) {
  std::sort(taken.begin(), taken.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  int64_t best_offset = -1;
  int64_t best_gap = std::numeric_limits<int64_t>::max();
  int64_t free_from = 0;
  for (const Range& range : taken) {
    int64_t offset = AlignUp(free_from, value.alignment);
    int64_t gap = range.begin - free_from;
    if (range.begin - offset >= value.size && gap < best_gap) {
      best_gap = gap;
      best_offset = offset;
    }
    free_from = std::max(free_from, range.end);
  }
  return best_offset >= 0 ? best_offset : AlignUp(free_from, value.alignment);
}

struct Placement {
  std::vector<int64_t> offsets;  // by position in the list of values
  int64_t total_bytes = 0;
};

// Places the values one after another in the given order.
Placement Place(const std::vector<Value>& values, const Conflicts& conflicts,
                const std::vector<uint32_t>& order) {
  Placement placement;
  placement.offsets.assign(values.size(), -1);
  std::vector<Range> taken;
  for (uint32_t v : order) {
    taken.clear();
    for (uint32_t u : conflicts.of[v])
      if (int64_t offset = placement.offsets[u]; offset >= 0)
        taken.push_back({offset, SaturatingAdd(offset, values[u].size)});
    int64_t offset = BestFit(taken, values[v]);
    placement.offsets[v] = offset;
    placement.total_bytes = std::max(placement.total_bytes, SaturatingAdd(offset, values[v].size));
  }
  return placement;
}

template <class Key>
std::vector<uint32_t> OrderBy(size_t count, Key key) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) > key(b); });
  return order;
}

}  // namespace

MemoryPlan PlanMemory(const PlanSpec& spec, std::span<const int64_t> sizes) {
  MemoryPlan plan;
  plan.offsets.assign(spec.values.size(), 0);
  const std::vector<Value> values = ValuesByFirst(spec, sizes);
  const Conflicts conflicts = FindConflicts(values);
  plan.lower_bound = conflicts.lower_bound;

  // Each order is good where the others are not; the first that reaches the bound ends the search.
  auto size = [&](uint32_t v) { return values[v].size; };
  auto area = [&](uint32_t v) {
    return static_cast<double>(values[v].size) * (static_cast<double>(values[v].last) - values[v].first + 1);
  };
  auto duration = [&](uint32_t v) { return values[v].last - values[v].first; };
  auto beginning = [&](uint32_t v) { return -static_cast<int64_t>(values[v].first); };

  Placement best = Place(values, conflicts, OrderBy(values.size(), size));
  auto consider = [&](auto key) {
    if (best.total_bytes <= plan.lower_bound) return;
    Placement other = Place(values, conflicts, OrderBy(values.size(), key));
    if (other.total_bytes < best.total_bytes) best = std::move(other);
  };
  consider(beginning);
  consider(area);
  consider(duration);

  for (uint32_t v = 0; v < values.size(); ++v) plan.offsets[values[v].index] = best.offsets[v];
  plan.total_bytes = best.total_bytes;
  return plan;
}

}  // namespace tvmvm
