// The memory plans of a Vm, by the sizes they were made for: what one Invocation planned, no other one plans
// again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "allocator/account.h"
#include "allocator/planner.h"
#include "tvm-vm/program.h"

namespace tvmvm {

// A plan and its sizes; never changed.
struct KeptPlan {
  uint64_t hash = 0;
  std::vector<int64_t> sizes;
  MemoryPlan plan;

  static uint64_t HashOf(std::span<const int64_t> sizes);
  bool IsFor(std::span<const int64_t> wanted) const;
  int64_t bytes() const;
};

// Thread-safe; read without a lock. Bounded: the first plans are kept as long as this lives, later ones are
// left to those who made them.
class SharedPlans {
 public:
  static constexpr size_t kPlansKept = 64;  // for each plan of the program

  // `account`: the Vm's, which counts what is kept; null: nobody does.
  SharedPlans(size_t plans, std::shared_ptr<MemoryAccount> account)
      : account_(std::move(account)), tables_(plans) {}
  ~SharedPlans();
  SharedPlans(const SharedPlans&) = delete;
  SharedPlans& operator=(const SharedPlans&) = delete;

  // Null where it is not kept.
  const KeptPlan* Find(PlanId plan, uint64_t hash, std::span<const int64_t> sizes) const;
  // Takes the plan, unless there is no room for it; null then, and `kept` is as it was. Another one of the
  // same sizes may have come first.
  const KeptPlan* Keep(PlanId plan, std::unique_ptr<const KeptPlan>* kept);

 private:
  struct Table {
    std::atomic<size_t> count{0};
    std::array<std::atomic<const KeptPlan*>, kPlansKept> plans{};
  };

  const std::shared_ptr<MemoryAccount> account_;
  std::mutex mutex_;  // of who adds
  std::vector<Table> tables_;
};

}  // namespace tvmvm
