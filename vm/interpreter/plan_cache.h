// The memory plans that one Invocation uses, by the sizes they were made for: its Vm's, and beside them its
// own. Bounded, so that a service that sees ever new shapes does not grow.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tvm-vm/device.h"
#include "vm/interpreter/shared_plans.h"

namespace tvmvm {

class PlanCache {
 public:
  static constexpr size_t kPlansKept = 64;  // of its own, for each plan of the program

  // `account` counts what is kept here; null: nobody does. `shared`: what all Invocations of the Vm know;
  // null: nothing. It outlives this.
  explicit PlanCache(const std::vector<PlanSpec>& specs, MemoryAccount* account = nullptr,
                     SharedPlans* shared = nullptr)
      : specs_(specs), account_(account), shared_(shared), tables_(specs.size()) {}
  ~PlanCache() { Clear(); }
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  // sizes[k] >= 0 for every value of the plan; where there are more, they are what PlanAmong takes. Valid
  // until the next call; null where `cancel` (which may be null) ended the planning. A hit allocates nothing.
  // When memory runs out, what is kept stays as it was.
  const MemoryPlan* Get(PlanId plan, std::span<const int64_t> sizes, const CancelToken* cancel);

  int64_t misses() const { return misses_; }
  void Clear();

 private:
  struct Table {
    std::vector<std::unique_ptr<const KeptPlan>> own;
    const KeptPlan* last = nullptr;  // that the last call gave
    size_t victim = 0;               // of its own, that goes next
  };

  const MemoryPlan* Keep(PlanId plan, std::unique_ptr<const KeptPlan> made);
  void Drop(Table* table);

  const std::vector<PlanSpec>& specs_;
  MemoryAccount* account_;
  SharedPlans* shared_;
  std::vector<Table> tables_;
  int64_t misses_ = 0;
};

}  // namespace tvmvm
