// The cheapest division of items between two sides, by maximum flow (Dinic 1970): each item costs something
// on either side, and pairs of items cost something where they are apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tvmvm::placement {

class MinCut {
 public:
  using Item = uint32_t;
  static constexpr int64_t kForbidden = int64_t{1} << 50;  // more than all costs together may be

  MinCut();
  Item Add(int64_t cost_on_first, int64_t cost_on_second);
  void AddCost(Item item, int64_t cost_on_first, int64_t cost_on_second);
  // `cost` where `a` is on the first side and `b` on the second; nothing the other way round.
  void AddEdge(Item a, Item b, int64_t cost);

  // For each item whether it is on the second side. Where sides cost the same, the first one.
  std::vector<bool> Solve();

 private:
  struct Arc {
    uint32_t to;
    int64_t capacity;
  };

  void AddArc(uint32_t from, uint32_t to, int64_t capacity);
  bool FindLevels();
  int64_t Push(uint32_t node, int64_t limit);

  static constexpr uint32_t kSource = 0, kSink = 1, kFirstItem = 2;  // nodes of the network
  std::vector<Arc> arcs_;                                            // arc k's reverse is k ^ 1
  std::vector<std::vector<uint32_t>> out_;                           // by node: its arcs
  std::vector<int> level_;
  std::vector<size_t> next_;
};

}  // namespace tvmvm::placement
