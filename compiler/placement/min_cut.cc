#include "compiler/placement/min_cut.h"

#include <algorithm>

namespace tvmvm::placement {

MinCut::MinCut() : out_(kFirstItem) {}

MinCut::Item MinCut::Add(int64_t cost_on_first, int64_t cost_on_second) {
  out_.emplace_back();
  const auto item = static_cast<Item>(out_.size() - kFirstItem - 1);
  AddCost(item, cost_on_first, cost_on_second);
  return item;
}

// The source is on the first side, the sink on the second: what is on the second side cuts the arc from the
// source.
void MinCut::AddCost(Item item, int64_t cost_on_first, int64_t cost_on_second) {
  AddArc(kSource, item + kFirstItem, cost_on_second);
  AddArc(item + kFirstItem, kSink, cost_on_first);
}

void MinCut::AddEdge(Item a, Item b, int64_t cost) {
  if (a != b) AddArc(a + kFirstItem, b + kFirstItem, cost);
}

void MinCut::AddArc(uint32_t from, uint32_t to, int64_t capacity) {
  if (capacity <= 0) return;
  out_[from].push_back(static_cast<uint32_t>(arcs_.size()));
  arcs_.push_back({to, std::min(capacity, kForbidden)});
  out_[to].push_back(static_cast<uint32_t>(arcs_.size()));
  arcs_.push_back({from, 0});
}

// Distances to the sink along arcs with room. False: the source does not reach it.
bool MinCut::FindLevels() {
  level_.assign(out_.size(), -1);
  std::vector<uint32_t> queue{kSink};
  level_[kSink] = 0;
  for (size_t head = 0; head < queue.size(); ++head)
    for (uint32_t arc : out_[queue[head]]) {
      const uint32_t from = arcs_[arc].to;
      if (arcs_[arc ^ 1].capacity == 0 || level_[from] >= 0) continue;
      level_[from] = level_[queue[head]] + 1;
      queue.push_back(from);
    }
  return level_[kSource] >= 0;
}

// Pushes up to `limit` along one path of falling levels, found without recursion: graphs are as deep as
// models.
int64_t MinCut::Push(uint32_t node, int64_t limit) {
  std::vector<uint32_t> path;  // arcs from the source
  while (node != kSink) {
    bool advanced = false;
    for (size_t& at = next_[node]; at < out_[node].size(); ++at) {
      const Arc& arc = arcs_[out_[node][at]];
      if (arc.capacity == 0 || level_[arc.to] != level_[node] - 1) continue;
      path.push_back(out_[node][at]);
      node = arc.to;
      advanced = true;
      break;
    }
    if (advanced) continue;
    if (path.empty()) return 0;
    node = arcs_[path.back() ^ 1].to;  // a dead end: back, and on with the next arc
    ++next_[node];
    path.pop_back();
  }
  for (uint32_t arc : path) limit = std::min(limit, arcs_[arc].capacity);
  for (uint32_t arc : path) {
    arcs_[arc].capacity -= limit;
    arcs_[arc ^ 1].capacity += limit;
  }
  return limit;
}

std::vector<bool> MinCut::Solve() {
  while (FindLevels()) {
    next_.assign(out_.size(), 0);
    while (Push(kSource, INT64_MAX) > 0) {
    }
  }
  // What no longer reaches the sink is on the first side: the largest such set.
  std::vector<bool> second;
  for (size_t node = kFirstItem; node < out_.size(); ++node) second.push_back(level_[node] >= 0);
  return second;
}

}  // namespace tvmvm::placement
