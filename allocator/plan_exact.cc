#include "allocator/plan_exact.h"

#include <array>

namespace tvmvm::planning {
namespace {

class Search {
 public:
  Search(const std::vector<Value>& values, int64_t bound, Placement best)
      : values_(values), bound_(bound), best_(std::move(best)) {
    current_.offsets.resize(values.size());
    for (size_t v = 0; v < values.size(); ++v)
      for (size_t u = 0; u < values.size(); ++u)
        if (values[v].first <= values[u].last && values[u].first <= values[v].last) meets_[v] |= 1u << u;
  }

  Placement Run() {
    Place(0, 0, 0);
    return std::move(best_);
  }

 private:
  // `placed` has the values below; the next lies no lower than `floor`.
  void Place(uint32_t placed, int64_t floor, size_t count) {
    if (best_.total_bytes <= bound_) return;
    if (count == values_.size()) {
      best_ = current_;
      return;
    }
    for (size_t v = 0; v < values_.size(); ++v) {
      if ((placed & 1u << v) != 0) continue;
      int64_t offset = 0;
      for (size_t u = 0; u < values_.size(); ++u)
        if ((placed & meets_[v] & 1u << u) != 0)
          offset = std::max(offset, SaturatingAdd(current_.offsets[u], values_[u].size));
      offset = AlignUp(offset, values_[v].alignment);
      const int64_t end = SaturatingAdd(offset, values_[v].size);
      if (offset < floor || end >= best_.total_bytes) continue;
      const int64_t total = current_.total_bytes;
      current_.offsets[v] = offset;
      current_.total_bytes = std::max(total, end);
      Place(placed | 1u << v, offset, count + 1);
      current_.total_bytes = total;
    }
  }

  const std::vector<Value>& values_;
  const int64_t bound_;
  Placement best_, current_;
  std::array<uint32_t, kMostExactValues> meets_ = {};
};

}  // namespace

Placement PlaceExactly(const std::vector<Value>& values, int64_t bound, Placement best) {
  return Search(values, bound, std::move(best)).Run();
}

}  // namespace tvmvm::planning
