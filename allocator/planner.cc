#include "allocator/planner.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "allocator/plan_exact.h"
#include "allocator/plan_many.h"
#include "allocator/plan_values.h"

namespace tvmvm {
namespace {

using namespace planning;  // NOLINT: its parts

constexpr int64_t kLine = 64;
// Up to so many values each may look through all others.
constexpr size_t kMostLookedThrough = 1024;

// The positions of the keys, the largest key first; equal ones in their order.
std::vector<uint32_t> OrderOf(const std::vector<int64_t>& keys) {
  std::vector<std::pair<int64_t, uint32_t>> sorted;
  sorted.reserve(keys.size());
  for (uint32_t k = 0; k < keys.size(); ++k) sorted.emplace_back(~keys[k], k);
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> order;
  order.reserve(keys.size());
  for (const auto& [key, position] : sorted) order.push_back(position);
  return order;
}

template <class Kind, class Key>
std::vector<uint32_t> OrderBy(const std::vector<Kind>& values, Key key) {
  std::vector<int64_t> keys;
  keys.reserve(values.size());
  for (const Kind& value : values) keys.push_back(key(value));
  return OrderOf(keys);
}

// The values from `begin` on that take memory, in the order of their first position.
std::vector<Value> ValuesByFirst(const PlanSpec& spec, std::span<const int64_t> sizes, size_t begin = 0) {
  std::vector<Value> values, sorted;
  values.reserve(spec.values.size() - begin);
  for (auto k = static_cast<uint32_t>(begin); k < spec.values.size(); ++k) {
    if (k >= sizes.size() || sizes[k] <= 0) continue;
    const PlanSpec::Interval& interval = spec.values[k];
    values.push_back({k, interval.first, std::max(interval.first, interval.last),
                      std::min(sizes[k], kMaxBytes), std::max<int64_t>(interval.alignment, 1)});
  }
  sorted.reserve(values.size());
  for (uint32_t v : OrderBy(values, [](const Value& value) { return -int64_t{value.first}; }))
    sorted.push_back(values[v]);
  return sorted;
}

// What one walk along the positions tells of the values alive together.
struct Survey {
  int64_t alignment = kLine;  // the smallest, if less than a line, to which arenas round anyway
  int64_t size_bound = 0;     // the largest sum of sizes at one position
  int64_t rounded_bound = 0;  // the same of sizes rounded up to the alignment
  uint64_t pairs = 0;         // of values that are alive together

  // Of all values at one position only the topmost may end before a multiple of the alignment.
  int64_t lower_bound() const { return std::max(size_bound, rounded_bound - (alignment - 1)); }
  bool IsBest(int64_t total_bytes) const { return AlignUp(total_bytes, alignment) <= rounded_bound; }
};

Survey SurveyOf(const std::vector<Value>& values) {
  Survey survey;
  const std::vector<uint32_t> by_last =
      OrderBy(values, [](const Value& value) { return -int64_t{value.last}; });
  for (const Value& value : values) survey.alignment = std::min(survey.alignment, value.alignment);

  __extension__ using Wide = __int128;  // a sum of many sizes
  Wide bytes = 0, rounded = 0;
  size_t ended = 0;
  // What is alive only grows when a value begins, so its maxima are at beginnings.
  for (size_t v = 0; v < values.size(); ++v) {
    for (; values[by_last[ended]].last < values[v].first; ++ended) {
      bytes -= values[by_last[ended]].size;
      rounded -= AlignUp(values[by_last[ended]].size, survey.alignment);
    }
    survey.pairs += v - ended;
    bytes += values[v].size;
    rounded += AlignUp(values[v].size, survey.alignment);
    survey.size_bound = std::max(survey.size_bound, static_cast<int64_t>(std::min<Wide>(bytes, kMaxBytes)));
    survey.rounded_bound =
        std::max(survey.rounded_bound, static_cast<int64_t>(std::min<Wide>(rounded, kMaxBytes)));
  }
  return survey;
}

// Memory that a value has.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

// The same for some positions.
struct Place {
  Range range;
  uint32_t first = 0;
  uint32_t last = 0;
};

// The smallest gap that holds a value between ranges that come in ascending order, else the place above all.
class BestFit {
 public:
  explicit BestFit(const Value& value) : size_(value.size), alignment_(value.alignment) {}
  void Pass(const Range& taken) {
    const int64_t gap = taken.begin - free_from_;
    if (gap >= size_ && gap < best_gap_) {
      const int64_t offset = AlignUp(free_from_, alignment_);
      if (taken.begin - offset >= size_) {
        best_gap_ = gap;
        best_offset_ = offset;
      }
    }
    free_from_ = std::max(free_from_, taken.end);
  }
  int64_t offset() const { return best_offset_ >= 0 ? best_offset_ : AlignUp(free_from_, alignment_); }

 private:
  int64_t size_, alignment_;
  int64_t best_offset_ = -1;
  int64_t best_gap_ = std::numeric_limits<int64_t>::max();
  int64_t free_from_ = 0;
};

// What has a place already, where few values are alive together: each value knows those that it meets.
class FewTogether {
 public:
  // On average a value meets so many earlier ones at most, which bounds the memory.
  static constexpr uint64_t kMostEarlier = 64;

  FewTogether(const std::vector<Value>& values, uint64_t pairs) : values_(values) {
    earlier_.reserve(pairs);
    first_earlier_.reserve(values.size() + 1);
    std::vector<uint32_t> alive;
    for (uint32_t v = 0; v < values.size(); ++v) {
      std::erase_if(alive, [&](uint32_t u) { return values[u].last < values[v].first; });
      first_earlier_.push_back(earlier_.size());
      earlier_.insert(earlier_.end(), alive.begin(), alive.end());
      alive.push_back(v);
    }
    first_earlier_.push_back(earlier_.size());
  }
  void Clear() { places_.assign(values_.size(), {}); }

  // Shows the places of what is alive together with value v to `fit`; gives how much work that was.
  uint64_t Show(uint32_t v, BestFit* fit) {
    met_.clear();
    for (size_t i = first_earlier_[v]; i < first_earlier_[v + 1]; ++i) Meet(earlier_[i]);
    // Those that begin while it is alive follow it in the list.
    for (size_t u = size_t{v} + 1; u < values_.size() && values_[u].first <= values_[v].last; ++u) Meet(u);
    std::sort(met_.begin(), met_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (const Range& range : met_) fit->Pass(range);
    return 16 + 16 * met_.size();
  }
  void Put(uint32_t v, const Range& range) { places_[v] = range; }

 private:
  void Meet(size_t v) {
    if (places_[v].end > 0) met_.push_back(places_[v]);
  }

  const std::vector<Value>& values_;
  std::vector<uint32_t> earlier_;      // what is alive already when value v begins: v's part ...
  std::vector<size_t> first_earlier_;  // ... begins here
  std::vector<Range> places_;          // by value; end 0: has none yet
  std::vector<Range> met_;
};

// The same where many values are alive together: all places in ascending order, which each value looks
// through.
class ManyTogether {
 public:
  // `there`: what had a place before, in ascending order.
  ManyTogether(const std::vector<Value>& values, std::vector<Place> there)
      : values_(values), there_(std::move(there)) {
    places_.reserve(values.size() + there_.size());
  }
  void Clear() { places_ = there_; }

  uint64_t Show(uint32_t v, BestFit* fit) {
    const Value& value = values_[v];
    for (const Place& place : places_)
      if (place.first <= value.last && place.last >= value.first) fit->Pass(place.range);
    return 1 + places_.size();
  }
  void Put(uint32_t v, const Range& range) {
    auto above =
        std::lower_bound(places_.begin(), places_.end(), range.begin,
                         [](const Place& place, int64_t begin) { return place.range.begin < begin; });
    places_.insert(above, {range, values_[v].first, values_[v].last});
  }

 private:
  const std::vector<Value>& values_;
  const std::vector<Place> there_;
  std::vector<Place> places_;
};

// Either of them.
class Placed {
 public:
  explicit Placed(FewTogether* few) : few_(few) {}
  explicit Placed(ManyTogether* many) : many_(many) {}
  void Clear() { few_ != nullptr ? few_->Clear() : many_->Clear(); }
  uint64_t Show(uint32_t v, BestFit* fit) {
    return few_ != nullptr ? few_->Show(v, fit) : many_->Show(v, fit);
  }
  void Put(uint32_t v, const Range& range) { few_ != nullptr ? few_->Put(v, range) : many_->Put(v, range); }

 private:
  FewTogether* few_ = nullptr;
  ManyTogether* many_ = nullptr;
};

// In which orders values are placed, the largest key first. Each order is good where the others are not.
constexpr int64_t (*kKeys[])(const Value& value) = {
    [](const Value& value) { return value.size; },
    [](const Value& value) { return -int64_t{value.first}; },
    // Bits of numbers that are not negative are in their order.
    [](const Value& value) {
      return std::bit_cast<int64_t>(static_cast<double>(value.size) *
                                    (static_cast<double>(value.last) - value.first + 1));
    },
    [](const Value& value) { return int64_t{value.last} - value.first; },
};

class Planner {
 public:
  Planner(const std::vector<Value>& values, const Survey& survey, const std::function<bool()>& cancelled)
      : values_(values), survey_(survey), watch_(cancelled) {}

  // The first placement that reaches the bound ends the search.
  Expected<Placement> Plan() {
    const uint64_t count = values_.size();
    // Looking through everything costs n^2 / 2, sorting what a value meets some 16 a pair.
    if (survey_.pairs <= std::min(FewTogether::kMostEarlier, count / 32) * count)
      PlanByOrders<FewTogether>(survey_.pairs);
    else if (count <= kMostLookedThrough)
      PlanByOrders<ManyTogether>(std::vector<Place>());
    else
      PlanMany();
    if (watch_.is_stopped()) return MakeError(Code::kCancelled, "the memory plan was given up");
    if (!IsBest() && count <= kMostExactValues)
      best_ = PlaceExactly(values_, survey_.lower_bound(), std::move(best_));
    return std::move(best_);
  }

  // The same beside what is there. Nothing is better than to need no memory behind that, from `free_from` on.
  [[gnu::cold]] Expected<Placement> PlanAmong(std::vector<Place> there, int64_t free_from) {
    free_from_ = free_from;
    PlanByOrders<ManyTogether>(std::move(there));
    if (watch_.is_stopped()) return MakeError(Code::kCancelled, "the memory plan was given up");
    return std::move(best_);
  }

 private:
  template <class Kind, class Known>
  void PlanByOrders(Known known) {
    Kind kind(values_, std::move(known));
    Placed placed(&kind);
    PlanByOrders(&placed);
  }

  [[gnu::noinline]] void PlanByOrders(Placed* placed) {
    for (auto key : kKeys) {
      if (IsBest()) return;
      Consider(PlaceInOrder(placed, OrderBy(values_, key)));
      if (watch_.is_stopped()) return;
    }
  }

  void PlanMany() {
    for (bool backwards : {false, true}) {
      if (IsBest() || watch_.Look()) return;
      Consider(PlaceBySweep(values_, backwards, &watch_));
    }
    for (auto key : kKeys) {
      if (IsBest() || watch_.Look()) return;
      Consider(PlaceOnSkyline(values_, OrderBy(values_, key), &watch_));
    }
  }

  // Places the values one after another.
  Placement PlaceInOrder(Placed* placed, const std::vector<uint32_t>& order) {
    Placement placement;
    placement.offsets.resize(values_.size());
    placed->Clear();
    for (uint32_t v : order) {
      BestFit fit(values_[v]);
      if (watch_.IsStopped(placed->Show(v, &fit))) return {};
      const Range range{fit.offset(), SaturatingAdd(fit.offset(), values_[v].size)};
      placed->Put(v, range);
      placement.offsets[v] = range.begin;
      placement.total_bytes = std::max(placement.total_bytes, range.end);
    }
    return placement;
  }

  void Consider(Placement placement) {
    if (watch_.is_stopped()) return;
    if (best_.offsets.empty() || placement.total_bytes < best_.total_bytes) best_ = std::move(placement);
  }
  bool IsBest() const {
    if (best_.offsets.empty()) return false;
    return free_from_ > 0 ? best_.total_bytes <= free_from_ : survey_.IsBest(best_.total_bytes);
  }

  const std::vector<Value>& values_;
  const Survey& survey_;
  int64_t free_from_ = 0;
  Watch watch_;
  Placement best_;
};

}  // namespace

Expected<MemoryPlan> PlanMemory(const PlanSpec& spec, std::span<const int64_t> sizes,
                                const std::function<bool()>& cancelled) {
  MemoryPlan plan;
  plan.offsets.assign(spec.values.size(), 0);
  const std::vector<Value> values = ValuesByFirst(spec, sizes);
  if (values.empty()) return plan;
  const Survey survey = SurveyOf(values);
  TVMVM_TRY(const Placement best, Planner(values, survey, cancelled).Plan());
  for (uint32_t v = 0; v < values.size(); ++v) plan.offsets[values[v].index] = best.offsets[v];
  plan.total_bytes = best.total_bytes;
  plan.lower_bound = survey.lower_bound();
  return plan;
}

[[gnu::cold]] Expected<MemoryPlan> PlanAmong(const PlanSpec& spec, std::span<const int64_t> numbers,
                                             const std::function<bool()>& cancelled) {
  const size_t count = spec.values.size();
  const auto kept = static_cast<size_t>(numbers[count]);
  const std::span<const int64_t> places = numbers.subspan(count + 1, kept),
                                 ends = numbers.subspan(count + 1 + kept);
  const int64_t behind = ArenaBehind(ends.back());
  MemoryPlan plan;
  plan.offsets.assign(count, behind);
  std::copy(places.begin(), places.end(), plan.offsets.begin());
  const std::vector<Value> values = ValuesByFirst(spec, numbers.first(count), kept);
  if (values.empty()) return plan;
  const Survey survey = SurveyOf(values);
  Placement best;
  if (count + ends.size() <= kMostLookedThrough) {
    std::vector<Place> unordered, there;
    for (int64_t end : ends) unordered.push_back({{end, ArenaBehind(end)}, 0, UINT32_MAX});
    for (size_t k = 0; k < kept; ++k) {
      const PlanSpec::Interval& life = spec.values[k];
      const Range range{places[k], SaturatingAdd(places[k], numbers[k])};
      unordered.push_back({range, life.first, std::max(life.first, life.last)});
    }
    for (uint32_t k : OrderBy(unordered, [](const Place& place) { return -place.range.begin; }))
      there.push_back(unordered[k]);
    TVMVM_TRY(best, Planner(values, survey, cancelled).PlanAmong(std::move(there), behind));
  }
  // Apart from all that is there, they may lie better.
  if (best.offsets.empty() || best.total_bytes > behind) {
    TVMVM_TRY(Placement apart, Planner(values, survey, cancelled).Plan());
    apart.total_bytes = SaturatingAdd(apart.total_bytes, behind);
    if (best.offsets.empty() || apart.total_bytes < best.total_bytes) {
      for (int64_t& offset : apart.offsets) offset += behind;
      best = std::move(apart);
    }
  }
  for (uint32_t v = 0; v < values.size(); ++v) plan.offsets[values[v].index] = best.offsets[v];
  plan.total_bytes = std::max<int64_t>(0, best.total_bytes - behind);
  plan.lower_bound = std::min(plan.total_bytes, survey.lower_bound());
  return plan;
}

int64_t LowerBound(const PlanSpec& spec, std::span<const int64_t> sizes) {
  return SurveyOf(ValuesByFirst(spec, sizes)).lower_bound();
}

MemoryPlan PlanMemory(const PlanSpec& spec, std::span<const int64_t> sizes) {
  return *PlanMemory(spec, sizes, {});
}

}  // namespace tvmvm
