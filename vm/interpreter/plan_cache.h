// Memory plans by the sizes they were made for. Belongs to one Invocation; bounded, so that a service that
// sees ever new shapes does not grow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allocator/account.h"
#include "allocator/planner.h"
#include "tvm-vm/device.h"
#include "tvm-vm/program.h"

namespace tvmvm {

class PlanCache {
 public:
  static constexpr size_t kPlansKept = 64;  // for each plan of the program

  // `account` counts what is kept; null: nobody does.
  explicit PlanCache(const std::vector<PlanSpec>& specs, MemoryAccount* account = nullptr)
      : specs_(specs), account_(account), tables_(specs.size()) {}
  ~PlanCache() { Clear(); }
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  // sizes[k] >= 0 for every value of the plan. Valid until the next call; null where `cancel` (which may be
  // null) ended the planning. A hit allocates nothing. When memory runs out, what is kept stays as it was.
  const MemoryPlan* Get(PlanId plan, std::span<const int64_t> sizes, const CancelToken* cancel);

  int64_t misses() const { return misses_; }
  void Clear();

 private:
  struct Entry {
    uint64_t hash = 0;
    std::vector<int64_t> sizes;
    MemoryPlan plan;
  };
  struct Table {
    std::vector<Entry> entries;
    size_t last = 0;    // the entry that the last call gave
    size_t victim = 0;  // the entry that goes next
  };

  static int64_t BytesOf(const Entry& entry);
  void Drop(Table* table);

  const std::vector<PlanSpec>& specs_;
  MemoryAccount* account_;
  std::vector<Table> tables_;
  int64_t misses_ = 0;
};

}  // namespace tvmvm
